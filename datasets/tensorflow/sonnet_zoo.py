"""The Sonnet zoo: what Sonnet ships, and models of ours on its modules; every builder's text says which."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import sonnet_agents as agents
import sonnet_attention as attention
import sonnet_generation as generation
import sonnet_memory as memory
import sonnet_recurrent as recurrent
import sonnet_sequence as sequence
import sonnet_structured as structured
import sonnet_vision as vision
from sonnet_steps import Network, graphs

from regal.corpus.harvest import Job
from regal.graph import ComputationGraph

SHIPPED, OURS = "shipped by Sonnet", "ours on Sonnet modules"
PACKAGE = "sonnet"


class Entry(NamedTuple):
    """A model of the zoo: its family, its batch, its builder with arguments, and how its step learns."""

    family: str
    batch: int
    build: Callable[..., Network]
    arguments: tuple[Any, ...] = ()
    optimizer: str = "adam"
    gradients: bool = False
    """Whether the graph that returns its gradients is traced too."""

    @property
    def origin(self) -> str:
        """What the builder's text says in its first words."""
        return SHIPPED if (self.build.__doc__ or "").lower().startswith(SHIPPED.lower()) else OURS

    @property
    def modes(self) -> tuple[str, ...]:
        """Of the graphs that are traced."""
        training = ("training",) if self.gradients else ()
        return ("inference", *training, f"step-{self.optimizer}")


MODELS: dict[str, Entry] = {
    "mlp_4": Entry("mlp", 64, vision.mlp, (4,), "momentum", True),
    "mlp_16": Entry("mlp", 64, vision.mlp, (16,), "sgd"),
    "cifar10_convnet": Entry("cifar10_convnet", 32, vision.cifar10_convnet, (3,), "momentum", True),
    "cifar10_convnet_1": Entry("cifar10_convnet", 32, vision.cifar10_convnet, (1,), "sgd"),
    "resnet50": Entry("resnet", 8, vision.resnet, ((3, 4, 6, 3), 1), "momentum", True),
    "resnet50_v2": Entry("resnet", 8, vision.resnet, ((3, 4, 6, 3), 2), "momentum", True),
    "resnet26": Entry("resnet", 8, vision.resnet, ((2, 2, 2, 2), 1), "adam"),
    "resnet101_v2": Entry("resnet", 8, vision.resnet, ((3, 4, 23, 3), 2), "momentum"),
    "vqvae_2": Entry("vqvae", 8, generation.vqvae, (2, False), "adam", True),
    "vqvae_6": Entry("vqvae", 8, generation.vqvae, (6, False), "adam"),
    "vqvae_ema_2": Entry("vqvae", 8, generation.vqvae, (2, True), "adam", True),
    "vqvae2_ema": Entry("vqvae", 8, generation.vqvae2, (2, True), "adam"),
    "vqvae2": Entry("vqvae", 8, generation.vqvae2, (3, False), "momentum"),
    "autoencoder_4": Entry("autoencoder", 8, generation.autoencoder, (4,), "adam", True),
    "vae_1": Entry("vae", 64, generation.vae, (1,), "adam"),
    "vae_3": Entry("vae", 64, generation.vae, (3,), "adam", True),
    "vae_5": Entry("vae", 64, generation.vae, (5,), "sgd"),
    "unet_3": Entry("unet", 2, vision.unet, (3,), "adam", True),
    "unet_5": Entry("unet", 2, vision.unet, (5,), "momentum"),
    "dcgan_3": Entry("dcgan", 32, generation.dcgan, (3,), "adam", True),
    "dcgan_4": Entry("dcgan", 32, generation.dcgan, (4,), "adam"),
    "cyclegan_3": Entry("cyclegan", 1, generation.cyclegan, (3,), "adam"),
    "style_5": Entry("cyclegan", 2, generation.style, (5,), "adam"),
    "pixelcnn_5": Entry("pixelcnn", 8, generation.pixelcnn, (5,), "adam"),
    "pixelcnn_15": Entry("pixelcnn", 8, generation.pixelcnn, (15,), "adam", True),
    "mixer_4": Entry("mixer", 8, vision.mixer, (4,), "adam", True),
    "mixer_12": Entry("mixer", 8, vision.mixer, (12,), "momentum"),
    "densenet_small": Entry("densenet", 32, vision.densenet, ((6, 6, 6),), "momentum"),
    "fractalnet_4": Entry("fractalnet", 32, vision.fractalnet, (4, 3), "momentum", True),
    "fractalnet_3": Entry("fractalnet", 32, vision.fractalnet, (3, 5), "sgd"),
    "hourglass_1": Entry("hourglass", 4, vision.hourglass, (1, 4), "adam"),
    "hourglass_3": Entry("hourglass", 4, vision.hourglass, (3, 3), "momentum", True),
    "feature_pyramid_5": Entry("feature_pyramid", 4, vision.feature_pyramid, (5,), "momentum", True),
    "capsules_3": Entry("capsules", 16, vision.capsules, (3,), "adam", True),
    "siamese": Entry("siamese", 16, vision.siamese, (2,), "adam"),
    "triplet": Entry("siamese", 16, vision.siamese, (3,), "momentum", True),
    "lstm_1_24": Entry("lstm", 16, recurrent.recurrent, ("lstm", 1, 24), "adam", True),
    "lstm_2_16": Entry("lstm", 16, recurrent.recurrent, ("lstm", 2, 16), "momentum", True),
    "lstm_4_12": Entry("lstm", 16, recurrent.recurrent, ("lstm", 4, 12), "adam"),
    "lstm_residual_3": Entry("lstm", 16, recurrent.residual, ("lstm", 3, 12), "adam"),
    "lstm_skip_3": Entry("lstm", 16, recurrent.skipping, ("lstm", 3, 12), "momentum", True),
    "lstm_dropout": Entry("lstm", 16, recurrent.dropout_lstm, (16,), "adam"),
    "gru_1_24": Entry("gru", 16, recurrent.recurrent, ("gru", 1, 24), "adam", True),
    "gru_3_12": Entry("gru", 16, recurrent.recurrent, ("gru", 3, 12), "momentum"),
    "gru_residual_2": Entry("gru", 16, recurrent.residual, ("gru", 2, 16), "sgd"),
    "vanilla_1_32": Entry("rnn", 16, recurrent.recurrent, ("vanilla", 1, 32), "sgd"),
    "vanilla_4_16": Entry("rnn", 16, recurrent.recurrent, ("vanilla", 4, 16), "adam", True),
    "bilstm_1": Entry("lstm", 16, recurrent.bidirectional, ("lstm", 1, 16), "adam"),
    "bilstm_2": Entry("lstm", 16, recurrent.bidirectional, ("lstm", 2, 12), "momentum", True),
    "bigru_2": Entry("gru", 16, recurrent.bidirectional, ("gru", 2, 10), "adam"),
    "convlstm1d_2": Entry("convlstm", 16, recurrent.convlstm1d, (2, 8), "adam"),
    "convlstm2d_1": Entry("convlstm", 4, recurrent.convlstm2d, (1, 10), "adam", True),
    "convlstm2d_3": Entry("convlstm", 4, recurrent.convlstm2d, (3, 6), "momentum"),
    "seq2seq_lstm": Entry("seq2seq", 16, recurrent.seq2seq, ("lstm", 2, 12), "adam", True),
    "seq2seq_gru": Entry("seq2seq", 16, recurrent.seq2seq, ("gru", 1, 16), "momentum"),
    "pointer": Entry("pointer", 16, recurrent.pointer, (10,), "adam", True),
    "tree_lstm_16": Entry("tree_lstm", 16, recurrent.tree_lstm, (16,), "adam", True),
    "tree_lstm_64": Entry("tree_lstm", 16, recurrent.tree_lstm, (64,), "momentum"),
    "draw_10": Entry("draw", 32, recurrent.draw, (10,), "adam", True),
    "recurrent_highway_5": Entry("highway", 16, recurrent.recurrent_highway, (5, 10), "momentum"),
    "turing_machine_8": Entry("turing_machine", 16, memory.turing_machine, (8,), "adam", True),
    "turing_machine_20": Entry("turing_machine", 16, memory.turing_machine, (20,), "momentum"),
    "dnc_1": Entry("dnc", 16, memory.dnc, (1, 12), "adam"),
    "dnc_4": Entry("dnc", 16, memory.dnc, (4, 6), "momentum", True),
    "relational_8": Entry("relational", 16, memory.relational, (8,), "adam", True),
    "memory_network_3": Entry("memory_network", 32, memory.memory_network, (3,), "adam", True),
    "memory_network_6": Entry("memory_network", 32, memory.memory_network, (6,), "sgd"),
    "transformer_encoder_2": Entry("transformer", 4, attention.transformer_encoder, (2,), "adam", True),
    "transformer_encoder_6": Entry("transformer", 4, attention.transformer_encoder, (6,), "momentum"),
    "language_model_4": Entry("transformer", 4, attention.language_model, (4,), "adam", True),
    "language_model_8": Entry("transformer", 4, attention.language_model, (8,), "sgd"),
    "universal_transformer_6": Entry("transformer", 4, attention.language_model, (6, True), "adam", True),
    "translator_2": Entry("transformer", 4, attention.translator, (2,), "adam", True),
    "translator_4": Entry("transformer", 4, attention.translator, (4,), "momentum"),
    "set_transformer_2": Entry("set_transformer", 16, attention.set_transformer, (2,), "adam", True),
    "set_transformer_4": Entry("set_transformer", 16, attention.set_transformer, (4,), "momentum"),
    "perceiver_3": Entry("perceiver", 4, attention.perceiver, (3, 2), "adam", True),
    "mixture_of_experts_8": Entry("mixture_of_experts", 64, attention.mixture_of_experts, (2, 8), "adam", True),
    "mixture_of_experts_4": Entry("mixture_of_experts", 64, attention.mixture_of_experts, (4, 4), "momentum"),
    "expert_encoder_2": Entry("mixture_of_experts", 4, attention.expert_encoder, (2, 6), "adam"),
    "wavenet_small": Entry("wavenet", 4, sequence.wavenet, (1, 8), "adam", True),
    "temporal_4": Entry("tcn", 4, sequence.temporal, (4,), "adam", True),
    "temporal_8": Entry("tcn", 4, sequence.temporal, (8,), "momentum"),
    "highway_10": Entry("highway", 64, sequence.highway, (10,), "momentum", True),
    "character_tower": Entry("character_tower", 64, sequence.character_tower, (7, 2), "adam"),
    "graph_network_3": Entry("graph_network", 1, structured.graph_network, (3,), "adam", True),
    "graph_network_8": Entry("graph_network", 1, structured.graph_network, (8, True), "momentum"),
    "gcn_4": Entry("gcn", 1, structured.graph_classifier, (4,), "adam"),
    "gat_2": Entry("gcn", 1, structured.graph_classifier, (2, 8), "adam", True),
    "deep_sets_5": Entry("deep_sets", 32, structured.deep_sets, (5,), "adam", True),
    "recommender_8": Entry("recommender", 128, structured.recommender, (8,), "sgd", True),
    "recommender_16": Entry("recommender", 128, structured.recommender, (16,), "adam"),
    "real_nvp_8": Entry("normalizing_flow", 128, structured.real_nvp, (8,), "adam", True),
    "neural_ode_6": Entry("neural_ode", 64, structured.neural_ode, (6,), "adam", True),
    "dueling_dqn": Entry("dqn", 32, agents.dueling_dqn, (False,), "adam"),
    "double_dqn": Entry("dqn", 32, agents.dueling_dqn, (True,), "momentum", True),
    "actor_critic": Entry("actor_critic", 32, agents.actor_critic, (), "adam", True),
    "recurrent_agent_16": Entry("actor_critic", 8, agents.recurrent_agent, (16,), "momentum"),
    "ddpg": Entry("continuous_control", 256, agents.continuous_control, (1,), "adam"),
    "td3": Entry("continuous_control", 256, agents.continuous_control, (2,), "adam"),
    "planning_model_5": Entry("planning_model", 64, agents.planning_model, (5,), "adam", True),
    "inner_gradient_1": Entry("meta_learning", 4, agents.inner_gradient, (4, 1), "adam"),
    "inner_gradient_3": Entry("meta_learning", 2, agents.inner_gradient, (2, 3), "momentum", True),
}


def jobs() -> list[Job]:
    """One job a model; its graphs record whose it is."""
    return [Job(model, PACKAGE, entry.family, entry.batch, partial(trace, entry)) for model, entry in MODELS.items()]


def trace(entry: Entry) -> Mapping[str, ComputationGraph]:
    """The graphs of ``entry``, whose ``meta`` says whether Sonnet ships the model."""
    found = graphs(entry.build(*entry.arguments), entry.modes)
    for graph in found.values():
        graph.meta["source"]["origin"] = entry.origin
    return found
