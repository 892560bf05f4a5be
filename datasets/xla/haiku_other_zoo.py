"""Graphs, tables, flows, games and self-supervision: networks of ours on Haiku's modules."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
from haiku_text_zoo import mlp, norm
from steps import BATCH, INFERENCE, SCHEDULED, STEP, TRAINING, Task, haiku_task, job, spec, tokens

from regal.corpus.harvest import Job

NODES, EDGES = 512, 2048


def dense(*widths: int) -> hk.nets.MLP:
    """Layers of the given widths."""
    return hk.nets.MLP(widths)


def plain(depth: int, width: int) -> Task:
    """Many equal layers, the network that Haiku ships."""
    return haiku_task(
        lambda x, is_training: hk.nets.MLP([width] * depth)(x), spec(64, 784), optimizer="momentum", labels=tokens(64)
    )


def message_passing(rounds: int, width: int) -> Task:
    """Edges and nodes update each other (Battaglia et al., "Relational inductive biases", 2018)."""

    def forward(nodes: Any, edges: Any, senders: Any, receivers: Any, is_training: bool) -> Any:
        nodes, edges = dense(width, width)(nodes), dense(width, width)(edges)
        for _ in range(rounds):
            both = jnp.concatenate([edges, nodes[senders], nodes[receivers]], -1)
            edges = edges + norm()(dense(width, width)(both))
            arrived = jax.ops.segment_sum(edges, receivers, NODES)
            nodes = nodes + norm()(dense(width, width)(jnp.concatenate([nodes, arrived], -1)))
        return dense(width, 3)(nodes)

    return haiku_task(forward, spec(NODES, 30), spec(EDGES, 4), tokens(EDGES), tokens(EDGES))


def graph_attention(layers: int, heads: int) -> Task:
    """Softmax over the edges that reach a node (Veličković et al., "Graph attention networks", ICLR 2018)."""

    def forward(nodes: Any, senders: Any, receivers: Any, is_training: bool) -> Any:
        x = nodes
        for _ in range(layers):
            values = hk.Linear(heads * 16)(x).reshape(NODES, heads, 16)
            left, right = (hk.Linear(heads)(x) for _ in range(2))
            scores = jax.nn.leaky_relu(left[senders] + right[receivers])
            scores = jnp.exp(scores - jax.ops.segment_max(scores, receivers, NODES)[receivers])
            weights = scores / (jax.ops.segment_sum(scores, receivers, NODES)[receivers] + 1e-9)
            mixed = jax.ops.segment_sum(values[senders] * weights[..., None], receivers, NODES)
            x = jax.nn.elu(mixed.reshape(NODES, -1)) + hk.Linear(heads * 16)(x)
        return hk.Linear(40)(x)

    return haiku_task(forward, spec(NODES, 128), tokens(EDGES), tokens(EDGES), labels=tokens(NODES))


def recommender(tables: int, layers: int) -> Task:
    """Embeddings of many categories that meet in products (Naumov et al., "DLRM", 2019)."""

    def forward(dense_part: Any, ids: Any, is_training: bool) -> Any:
        x = dense(*[512] * layers, 64)(dense_part)
        looked = [hk.Embed(1000 + 100 * table, 64)(ids[:, table]) for table in range(tables)]
        looked = [each + dense(64, 64)(each) for each in looked]
        both = jnp.stack([x, *looked], 1)
        products = jnp.einsum("bid,bjd->bij", both, both)
        return dense(*[512] * layers, 1)(jnp.concatenate([x, products.reshape(products.shape[0], -1)], -1))

    return haiku_task(forward, spec(128, 13), tokens(128, tables))


def flow(couplings: int, depth: int) -> Task:
    """Invertible couplings and the log of their determinant (Dinh et al., "RealNVP", ICLR 2017)."""

    def forward(x: Any, is_training: bool) -> Any:
        total = 0.0
        for number in range(couplings):
            left, right = jnp.split(x, 2, -1)
            left, right = (right, left) if number % 2 else (left, right)
            scale, shift = jnp.split(dense(*[256] * depth, 64)(left), 2, -1)
            scale = jnp.tanh(scale)
            right = right * jnp.exp(scale) + shift
            total = total + scale.sum(-1)
            x = jnp.concatenate([left, right], -1)
        return 0.5 * (x**2).sum(-1) - total

    return haiku_task(forward, spec(64, 64))


def variational(levels: int) -> Task:
    """A ladder of latent images, sampled (Vahdat and Kautz, "NVAE", NeurIPS 2020, much reduced)."""

    def cell(x: Any) -> Any:
        y = hk.Conv2D(64, 3)(jax.nn.swish(hk.GroupNorm(8)(x)))
        return x + hk.Conv2D(64, 3)(jax.nn.swish(hk.GroupNorm(8)(y)))

    def forward(images: Any, is_training: bool) -> Any:
        x, kept, divergence = hk.Conv2D(64, 3)(images), [], 0.0
        for _ in range(levels):
            x = cell(cell(x))
            kept.append(x)
        y = jnp.broadcast_to(hk.get_parameter("start", [32, 32, 64], init=jnp.zeros), x.shape)
        for x in reversed(kept):
            mean, log_scale = jnp.split(hk.Conv2D(32, 3)(x + y), 2, -1)
            prior_mean, prior_log = jnp.split(hk.Conv2D(32, 3)(y), 2, -1)
            sample = mean + jnp.exp(log_scale) * jax.random.normal(hk.next_rng_key(), mean.shape)
            difference = (mean - prior_mean) ** 2 + jnp.exp(2 * log_scale)
            divergence = divergence + (prior_log - log_scale + 0.5 * difference * jnp.exp(-2 * prior_log)).mean()
            y = cell(cell(y + hk.Conv2D(64, 1)(sample)))
        return hk.Conv2D(3, 3)(y) - images, divergence

    return haiku_task(forward, spec(BATCH, 32, 32, 3))


def residual_tower(blocks: int) -> Callable[[Any, bool], Any]:
    """Board to features as AlphaZero does (Silver et al., Science 2018)."""

    def run(x: Any, is_training: bool) -> Any:
        def normed(x: Any) -> Any:
            return hk.BatchNorm(True, True, 0.99)(hk.Conv2D(128, 3, with_bias=False)(x), is_training)

        x = jax.nn.relu(normed(x))
        for _ in range(blocks):
            x = jax.nn.relu(x + normed(jax.nn.relu(normed(x))))
        return x

    return run


def alpha_zero(blocks: int) -> Task:
    """Policy and value of a board."""

    def forward(boards: Any, is_training: bool) -> Any:
        x = residual_tower(blocks)(boards, is_training)
        policy = hk.Linear(362)(hk.Flatten()(jax.nn.relu(hk.Conv2D(2, 1)(x))))
        return policy, jnp.tanh(dense(256, 1)(hk.Flatten()(jax.nn.relu(hk.Conv2D(1, 1)(x)))))

    return haiku_task(forward, spec(BATCH, 19, 19, 17), optimizer="momentum")


def mu_zero(unroll: int, blocks: int) -> Task:
    """A learned model of the game, unrolled along actions (Schrittwieser et al., "MuZero", Nature 2020)."""

    def forward(boards: Any, actions: Any, is_training: bool) -> Any:
        def tower() -> Callable[[Any], Any]:
            layers = [hk.Conv2D(64, 3) for _ in range(2 * blocks + 1)]

            def run(x: Any) -> Any:
                x = jax.nn.relu(layers[0](x))
                for one, two in zip(layers[1::2], layers[2::2], strict=True):
                    x = jax.nn.relu(x + two(jax.nn.relu(one(x))))
                return x

            return run

        represent, move = tower(), tower()
        policy, value, reward = hk.Linear(82), hk.Linear(1), hk.Linear(1)
        state, outputs = represent(boards), []
        for step in range(unroll):
            flat = hk.Flatten()(state)
            outputs += [policy(flat), jnp.tanh(value(flat)), reward(flat)]
            plane = jnp.broadcast_to(actions[:, step, None, None, None], (*state.shape[:-1], 1))
            state = move(jnp.concatenate([state, plane], -1))
        return outputs

    return haiku_task(forward, spec(BATCH, 9, 9, 8), spec(BATCH, unroll))


def actor_critic(depth: int) -> Task:
    """Twin critics, an actor that samples, and their targets in one loss (Haarnoja et al., "SAC", ICML 2018)."""

    def forward(seen: Any, action: Any, reward: Any, following: Any, is_training: bool) -> Any:
        actor = dense(*[256] * depth, 24)
        critics, targets = ([dense(*[256] * depth, 1) for _ in range(2)] for _ in range(2))

        def act(x: Any) -> tuple[Any, Any]:
            mean, log_scale = jnp.split(actor(x), 2, -1)
            noise = jax.random.normal(hk.next_rng_key(), mean.shape)
            chosen = jnp.tanh(mean + jnp.exp(log_scale) * noise)
            return chosen, (-0.5 * noise**2 - log_scale - jnp.log(1 - chosen**2 + 1e-6)).sum(-1, keepdims=True)

        def least(nets: list[Any], *inputs: Any) -> Any:
            both = jnp.concatenate(inputs, -1)
            return jnp.minimum(*(net(both) for net in nets))

        chosen, log_chance = act(following)
        goal = jax.lax.stop_gradient(reward + 0.99 * (least(targets, following, chosen) - 0.1 * log_chance))
        both = jnp.concatenate([seen, action], -1)
        new, log_new = act(seen)
        return [critic(both) - goal for critic in critics], 0.1 * log_new - least(critics, seen, new)

    return haiku_task(forward, spec(256, 64), spec(256, 12), spec(256, 1), spec(256, 64))


def bootstrap(blocks: int) -> Task:
    """Two views of images, one predicting the other (Grill et al., "BYOL", NeurIPS 2020)."""

    def forward(one: Any, two: Any, is_training: bool) -> Any:
        def network() -> Callable[[Any], Any]:
            net = hk.nets.ResNet((blocks,) * 4, 128, channels_per_group=(64, 128, 256, 512), bottleneck=False)
            return lambda x: dense(256, 64)(net(x, is_training))

        def unit(x: Any) -> Any:
            return x / (jnp.linalg.norm(x, axis=-1, keepdims=True) + 1e-6)

        online, target, guess = network(), network(), dense(256, 64)
        losses = [unit(guess(online(x))) - jax.lax.stop_gradient(unit(target(y))) for x, y in ((one, two), (two, one))]
        return losses

    return haiku_task(forward, spec(BATCH, 64, 64, 3), spec(BATCH, 64, 64, 3), optimizer="momentum")


def radiance(depth: int) -> Task:
    """Rays through a field of density and colour, twice sampled (Mildenhall et al., "NeRF", ECCV 2020)."""

    def waves(x: Any, count: int) -> Any:
        return jnp.concatenate(
            [each for power in range(count) for each in (jnp.sin(2**power * x), jnp.cos(2**power * x))], -1
        )

    def field(points: Any, ways: Any) -> tuple[Any, Any]:
        inputs = waves(points, 10)
        x = inputs
        for layer in range(depth):
            x = jax.nn.relu(hk.Linear(256)(jnp.concatenate([x, inputs], -1) if layer == depth // 2 else x))
        ways = jnp.broadcast_to(waves(ways, 4)[:, None], (*x.shape[:-1], 24))
        return jax.nn.relu(hk.Linear(1)(x))[..., 0], jax.nn.sigmoid(dense(128, 3)(jnp.concatenate([x, ways], -1)))

    def rendered(origins: Any, ways: Any, where: Any) -> Any:
        density, colour = field(origins[:, None] + ways[:, None] * where[..., None], ways)
        opacity = 1 - jnp.exp(-density * 0.1)
        clear = jnp.cumprod(1 - opacity + 1e-10, -1)
        return ((opacity * clear)[..., None] * colour).sum(1)

    def forward(origins: Any, ways: Any, colours: Any, is_training: bool) -> Any:
        where = jnp.linspace(2.0, 6.0, 64) + jax.random.uniform(hk.next_rng_key(), (256, 64))
        finer = jnp.sort(jnp.concatenate([where, jax.random.uniform(hk.next_rng_key(), (256, 64)) * 4 + 2], -1))
        return rendered(origins, ways, where) - colours, rendered(origins, ways, finer) - colours

    return haiku_task(forward, spec(256, 3), spec(256, 3), spec(256, 3))


def tabular(blocks: int) -> Task:
    """Residual layers over numbers and categories."""

    def forward(numbers: Any, ids: Any, is_training: bool) -> Any:
        looked = [hk.Embed(100, 16)(ids[:, column]) for column in range(20)]
        x = hk.Linear(256)(jnp.concatenate([numbers, *looked], -1))
        for _ in range(blocks):
            x = x + mlp(norm()(x))
        return hk.Linear(10)(norm()(x))

    return haiku_task(forward, spec(128, 40), tokens(128, 20), optimizer="adamw", labels=tokens(128))


def jobs() -> list[Job]:
    """Deep ones last."""
    own = partial(job, "haiku")
    both, most = (INFERENCE, STEP), (TRAINING, STEP)
    compiled = (INFERENCE, STEP, INFERENCE + SCHEDULED)
    return [
        own("mlp_6", "mlp", lambda: plain(6, 512), (STEP, STEP + SCHEDULED)),
        own("mlp_100", "mlp", lambda: plain(100, 256), most),
        own("gnn_4", "gnn", lambda: message_passing(4, 64), (*compiled, STEP + SCHEDULED)),
        own("gat_4", "gat", lambda: graph_attention(4, 8), compiled),
        own("dlrm_26", "dlrm", lambda: recommender(26, 3), (*both, STEP + SCHEDULED)),
        own("sac_3", "sac", lambda: actor_critic(3), (*most, TRAINING + SCHEDULED)),
        own("realnvp_12", "realnvp", lambda: flow(12, 2), compiled),
        own("nerf_8", "nerf", lambda: radiance(8), (*both, INFERENCE + SCHEDULED)),
        own("alphazero_20", "alphazero", lambda: alpha_zero(20), compiled),
        own("muzero_5", "muzero", lambda: mu_zero(5, 4), compiled),
        own("byol_2", "byol", lambda: bootstrap(2), most),
        own("nvae_6", "nvae", lambda: variational(6), both),
        own("tabular_24", "tabular", lambda: tabular(24), most),
        own("gnn_15", "gnn", lambda: message_passing(15, 128), most),
        own("gat_24", "gat", lambda: graph_attention(24, 8)),
        own("dlrm_100", "dlrm", lambda: recommender(100, 6)),
        own("realnvp_64", "realnvp", lambda: flow(64, 3)),
        own("alphazero_40", "alphazero", lambda: alpha_zero(40), most),
        own("muzero_16", "muzero", lambda: mu_zero(16, 8)),
        own("nvae_24", "nvae", lambda: variational(24)),
    ]
