"""The backbones of ``keras_hub``, small configurations of ours: every part is there, the depth is a few layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
import tensorflow as tf
from hub_multimodal import MULTIMODAL
from hub_text import TEXT, Entry
from hub_vision import VISION
from steps import BATCH, INFERENCE, STEP, TRAINING, Task, input_specs, trace

from regal.corpus.harvest import Job
from regal.graph import ComputationGraph

HIDDEN = ("decoder_sequence_output", "sequence_output")
"""Which of several outputs a language model's logits are made of."""


def jobs() -> list[Job]:
    """One job a backbone; text first, which is the cheapest."""
    return [
        Job(entry.model, "keras_hub", entry.family, BATCH, lambda entry=entry: _trace(entry))
        for entry in (*TEXT, *VISION, *MULTIMODAL)
    ]


def _trace(entry: Entry) -> dict[str, ComputationGraph]:
    model = entry.build()
    embedding = getattr(model, "token_embedding", None)
    hidden = _hidden(model.output)
    language = (
        isinstance(embedding, keras.layers.ReversibleEmbedding)
        and hidden is not None
        and hidden.shape[-1] == embedding.output_dim
    )

    def call(inputs: Any, training: bool) -> Any:
        outputs = model(inputs, training=training)
        if not language:
            return outputs
        states = _hidden(outputs)
        text = states if states.shape[1] == entry.length else states[:, -entry.length :]
        return embedding(text, reverse=True)

    optimizer = keras.optimizers.Adam(1e-4)
    optimizer.build(model.trainable_variables)
    task = Task(
        name=f"keras_hub.{entry.model}",
        call=call,
        inputs=input_specs(model, entry.length, entry.sizes),
        variables=model.trainable_variables,
        optimizer=optimizer,
        labels=tf.TensorSpec([BATCH, entry.length], tf.int32) if language else None,
    )
    return trace(task, (INFERENCE, TRAINING, STEP))


def _hidden(outputs: Any) -> Any:
    """The output of shape (batch, length, width) that logits are made of, None where there is none."""
    if isinstance(outputs, Mapping):
        outputs = next((outputs[name] for name in HIDDEN if name in outputs), None)
    return outputs if outputs is not None and len(getattr(outputs, "shape", ())) == 3 else None
