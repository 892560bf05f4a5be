"""Agents that learn by reinforcement, and learning to learn, in Sonnet: of ours on its modules."""
# ruff: noqa: D102 - a module's text says what its call does

from __future__ import annotations

import sonnet as snt
import tensorflow as tf
from sonnet_layers import cross_entropy, floats, integers, square_error, unroll
from sonnet_steps import Network

BATCH, ACTIONS = 32, 6


def torso() -> snt.Sequential:
    """Convolutions over a stack of frames (Mnih et al., 2015)."""
    layers = [(32, 8, 4), (64, 4, 2), (64, 3, 1)]
    convolutions = [layer for shape in layers for layer in (snt.Conv2D(*shape, padding="VALID"), tf.nn.relu)]
    return snt.Sequential([*convolutions, snt.Flatten(), snt.Linear(256), tf.nn.relu])


class Dueling(snt.Module):
    """Values of actions as value of the state plus advantages (Wang et al., 2016)."""

    def __init__(self) -> None:
        super().__init__()
        self.torso = torso()
        self.value, self.advantage = snt.nets.MLP([128, 1]), snt.nets.MLP([128, ACTIONS])

    def __call__(self, frames: tf.Tensor) -> tf.Tensor:
        x = self.torso(frames)
        advantage = self.advantage(x)
        return self.value(x) + advantage - tf.reduce_mean(advantage, -1, keepdims=True)


class Members(snt.Module):
    """Modules by name, of which some learn."""

    def __init__(self, **modules: snt.Module) -> None:
        super().__init__()
        for name, module in modules.items():
            setattr(self, name, module)


def _taken(values: tf.Tensor, actions: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(values * tf.one_hot(actions, values.shape[-1]), -1)


def dueling_dqn(double: bool) -> Network:
    """Ours on Sonnet modules: a target network, and the online one choosing its action where it is ``double``."""
    net = Members(online=Dueling(), target=Dueling())

    def loss(frames: tf.Tensor, following: tf.Tensor, actions: tf.Tensor, rewards: tf.Tensor) -> tf.Tensor:
        later = net.target(following)
        if double:
            best = _taken(later, tf.argmax(net.online(following), -1, output_type=tf.int32))
        else:
            best = tf.reduce_max(later, -1)
        wanted = tf.stop_gradient(rewards + 0.99 * best)
        return square_error(_taken(net.online(frames), actions), wanted)

    frames = floats(BATCH, 84, 84, 4)
    targets = [frames, integers(BATCH), floats(BATCH)]
    return Network(net, [frames], net.online, {"online": loss}, targets)


def actor_critic() -> Network:
    """Ours on Sonnet modules: advantage actor-critic with an entropy bonus (Mnih et al., 2016)."""
    net = Members(torso=torso(), policy=snt.Linear(ACTIONS), value=snt.Linear(1))

    def forward(frames: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        x = net.torso(frames)
        return net.policy(x), tf.squeeze(net.value(x), -1)

    def loss(frames: tf.Tensor, actions: tf.Tensor, returns: tf.Tensor) -> tf.Tensor:
        logits, values = forward(frames)
        log_policy = tf.nn.log_softmax(logits)
        advantage = tf.stop_gradient(returns - values)
        entropy = -tf.reduce_mean(tf.reduce_sum(tf.exp(log_policy) * log_policy, -1))
        gain = tf.reduce_mean(_taken(log_policy, actions) * advantage)
        return 0.5 * square_error(values, returns) - gain - 0.01 * entropy

    return Network(net, [floats(BATCH, 84, 84, 4)], forward, loss, [integers(BATCH), floats(BATCH)])


def recurrent_agent(steps: int) -> Network:
    """Ours on Sonnet modules: a torso on all steps at once, an LSTM over them, two heads (Espeholt et al., 2018)."""
    net = Members(torso=torso(), core=snt.LSTM(128), policy=snt.Linear(ACTIONS), value=snt.Linear(1))

    def forward(frames: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        x = tf.unstack(snt.BatchApply(net.torso)(frames))
        outputs, _ = unroll(net.core, x, net.core.initial_state(frames.shape[1]))
        stacked = tf.stack(outputs)
        return net.policy(stacked), tf.squeeze(net.value(stacked), -1)

    def loss(frames: tf.Tensor, actions: tf.Tensor, rewards: tf.Tensor) -> tf.Tensor:
        logits, values = forward(frames)
        values, rewards = tf.unstack(values), tf.unstack(rewards)
        returns = [values[-1]]
        for reward in rewards[-2::-1]:
            returns.append(reward + 0.99 * returns[-1])
        advantage = tf.stop_gradient(tf.stack(returns[::-1])) - tf.stack(values)
        gain = _taken(tf.nn.log_softmax(logits), actions) * tf.stop_gradient(advantage)
        return tf.reduce_mean(advantage**2) - tf.reduce_mean(gain)

    inputs = [floats(steps, 8, 84, 84, 4)]
    return Network(net, inputs, forward, loss, [integers(steps, 8), floats(steps, 8)])


def continuous_control(critics: int) -> Network:
    """Ours on Sonnet modules: actor and critics, each with its own update in one step.

    One critic as in Lillicrap et al., 2016; two, of which the lower counts, as in Fujimoto et al., 2018.
    """
    observation, action = 24, 4

    def critic() -> snt.Sequential:
        return snt.Sequential([lambda pair: tf.concat(pair, -1), snt.nets.MLP([256, 256, 1])])

    def actor() -> snt.Sequential:
        return snt.Sequential([snt.nets.MLP([256, 256, action]), tf.tanh])

    online = {f"critic_{i}": critic() for i in range(critics)}
    later = {f"late_{name}": critic() for name in online}
    net = Members(actor=actor(), late_actor=actor(), **online, **later)

    def acted(state: tf.Tensor, *_: tf.Tensor) -> tf.Tensor:
        return -tf.reduce_mean(net.critic_0([state, net.actor(state)]))

    def judged(name: str) -> tf.Tensor:
        def loss(state: tf.Tensor, move: tf.Tensor, reward: tf.Tensor, following: tf.Tensor) -> tf.Tensor:
            chosen = net.late_actor(following)
            values = [getattr(net, name)([following, chosen]) for name in later]
            lowest = values[0] if len(values) == 1 else tf.minimum(*values)
            return square_error(getattr(net, name)([state, move]), tf.stop_gradient(reward + 0.99 * lowest))

        return loss

    losses = {"actor": acted, **{name: judged(name) for name in online}}
    targets = [floats(256, action), floats(256, 1), floats(256, observation)]
    return Network(net, [floats(256, observation)], net.actor, losses, targets)


def planning_model(steps: int) -> Network:
    """Ours on Sonnet modules: a learned model run ``steps`` ahead, with heads at each (Schrittwieser et al., 2020)."""
    net = Members(
        representation=snt.nets.MLP([256, 128], activate_final=True),
        dynamics=snt.nets.MLP([256, 128], activate_final=True),
        reward=snt.nets.MLP([64, 1]),
        prediction=snt.nets.MLP([64, ACTIONS + 1]),
    )

    def forward(observation: tf.Tensor, actions: tf.Tensor) -> list[tuple[tf.Tensor, tf.Tensor]]:
        state = net.representation(observation)
        heads = [(net.prediction(state), tf.zeros([observation.shape[0], 1]))]
        for action in tf.unstack(actions, axis=1):
            state = net.dynamics(tf.concat([state, tf.one_hot(action, ACTIONS)], -1))
            heads.append((net.prediction(state), net.reward(state)))
        return heads

    def loss(observation: tf.Tensor, actions: tf.Tensor, policy: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
        total = tf.zeros([])
        for k, (head, reward) in enumerate(forward(observation, actions)):
            logits, value = tf.split(head, [ACTIONS, 1], -1)
            total += cross_entropy(logits, policy[:, k]) + square_error(value + reward, values[:, k, None])
        return total

    inputs = [floats(64, 32), integers(64, steps)]
    return Network(net, inputs, forward, loss, [integers(64, steps + 1), floats(64, steps + 1)])


def inner_gradient(tasks: int, steps: int) -> Network:
    """Ours on Sonnet modules: gradients of what is left after ``steps`` of descent per task (Finn et al., 2017)."""
    net = snt.nets.MLP([64, 64, 5])

    def run(x: tf.Tensor, weights: list[tf.Tensor]) -> tf.Tensor:
        for layer in range(3):
            x = tf.matmul(x, weights[2 * layer + 1]) + weights[2 * layer]
            x = tf.nn.relu(x) if layer < 2 else x
        return x

    def adapted(x: tf.Tensor, y: tf.Tensor) -> list[tf.Tensor]:
        weights = [tf.identity(variable) for variable in net.trainable_variables]  # b, w of each layer in turn
        for _ in range(steps):
            with tf.GradientTape() as tape:
                tape.watch(weights)
                inner = cross_entropy(run(x, weights), y)
            weights = [w - 0.01 * g for w, g in zip(weights, tape.gradient(inner, weights), strict=True)]
        return weights

    def forward(support: tf.Tensor, labels: tf.Tensor, query: tf.Tensor) -> list[tf.Tensor]:
        net(query[0])  # makes the variables when it is called first
        return [run(query[t], adapted(support[t], labels[t])) for t in range(tasks)]

    def loss(support: tf.Tensor, labels: tf.Tensor, query: tf.Tensor, wanted: tf.Tensor) -> tf.Tensor:
        return cross_entropy(tf.stack(forward(support, labels, query)), wanted)

    inputs = [floats(tasks, 25, 64), integers(tasks, 25), floats(tasks, 25, 64)]
    return Network(net, inputs, forward, loss, [integers(tasks, 25)])
