"""Does simplifying a TensorFlow graph keep its memory and its order?

``python -m tests.fidelity_tensorflow`` traces graphs of Keras, Sonnet and by hand. Each becomes a raw graph, in which
every node is an op, and the simplified graph; both run in program order on one device. Three rules may change the
peak, and each is applied to the raw graph alone, by a simulation that shares no code with the frontend, for its part:

- ``reads``: an op that vanishes holds no tensor any more (mostly Shape, whose result is known before the start);
- ``folded``: what is computed from constants alone is there from the start, not from its op to its last reader;
- ``parameters``: constants of at most 64 bytes take no memory.

What is left after the three must be equal to the byte, and an op must come before another in the simplified graph
exactly where it must in the raw graph (chains through folded results aside).
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np
import tensorflow as tf

from regal.cluster import Cluster
from regal.cost.reference import evaluate
from regal.frontends.tensorflow import DEFAULT_RATES
from regal.frontends.tensorflow_build import build_graph
from regal.frontends.tensorflow_simplify import PARAMETER_BYTES, Kind
from regal.frontends.tensorflow_source import read_source
from regal.frontends.tensorflow_storage import roles_of
from regal.frontends.tensorflow_trace import trace_step
from regal.graph import ComputationGraph
from regal.plan import RUN, Plan

MAX_ORDERED = 6_000
"""Raw graphs of more ops are not compared in their order, which takes a bit for every pair of ops."""
IMAGE = (2, 64, 64, 3)


class Row(NamedTuple):
    """Peaks in bytes and what explains their difference."""

    name: str
    nodes: int
    ops: int
    raw: int
    reads: int
    folded: int
    parameters: int
    simplified: int
    order: str

    @property
    def is_explained(self) -> bool:
        return self.raw + self.reads + self.folded + self.parameters == self.simplified and self.order != "differs"


def compare(name: str, concrete: Any) -> Row:
    """Both graphs of one function, and their peaks."""
    program, _ = read_source(concrete, None, None, None)
    raw = build_graph(program, name, mode=None, simplify=False, rates=DEFAULT_RATES)
    simplified = build_graph(program, name, mode=None, simplify=True, rates=DEFAULT_RATES)
    kinds = dict(zip((node.name for node in program.nodes), roles_of(program).kinds, strict=True))
    stays = set(simplified.op_names)
    vanished = np.array([name not in stays for name in raw.op_names], bool)
    folded = np.array([kinds[name] is Kind.FOLDED for name in raw.op_names], bool)
    constant = folded | np.array([kinds[name] is Kind.CONSTANT for name in raw.op_names], bool)
    lives = Lives.of(raw)
    peaks = [lives.peak()]
    if peaks[0] != program_order_peak(raw):
        raise SystemExit(f"{name}: the simulation finds {peaks[0]}, the cost model {program_order_peak(raw)}")
    lives.readers = [[op for op in readers if not vanished[op]] for readers in lives.readers]
    peaks.append(lives.peak())
    lives.birth = [-1 if op >= 0 and folded[op] else op for op in lives.birth]
    peaks.append(lives.peak())
    for op in np.flatnonzero(constant):
        for tensor in raw.outputs[op] if folded[op] else raw.inputs[op]:
            lives.sizes[tensor] *= lives.sizes[tensor] > PARAMETER_BYTES
    peaks.append(lives.peak())
    parts = [after - before for before, after in pairwise(peaks)]
    order = "-"
    if raw.num_ops <= MAX_ORDERED:
        order = "equal" if precedence(raw, stays, folded) == precedence(simplified, stays, None) else "differs"
    peak = program_order_peak(simplified)
    return Row(name, len(program.nodes), simplified.num_ops, peaks[0], *parts, simplified=peak, order=order)


def program_order_peak(graph: ComputationGraph) -> int:
    schedule = np.stack([np.arange(graph.num_ops), np.full(graph.num_ops, RUN)], axis=1)
    return evaluate(Plan(graph, Cluster.uniform(1), np.zeros(graph.num_ops, np.int32), schedule)).max_peak_memory


@dataclass
class Lives:
    """Of every tensor its bytes, the op that makes it (-1: there from the start), its readers, and whether it stays."""

    sizes: list[int]
    birth: list[int]
    readers: list[list[int]]
    stays: list[bool]

    @classmethod
    def of(cls, graph: ComputationGraph) -> "Lives":
        return cls(
            graph.tensor_bytes.tolist(), graph.producer.tolist(), graph.consumers.to_lists(), graph.is_output.tolist()
        )

    def peak(self) -> int:
        """Highest sum of live bytes in program order; what is there from the start counts if it has a reader."""
        end = 1 + max(0, *self.birth, *(op for readers in self.readers for op in readers))
        change = np.zeros(end + 1, np.int64)
        for size, birth, readers, stays in zip(self.sizes, self.birth, self.readers, self.stays, strict=True):
            if birth < 0:
                change[0] += size if readers else 0
            else:
                change[birth] += size
                change[end if stays else max(readers, default=birth) + 1] -= size
        return int(np.cumsum(change[:-1]).max())


def precedence(graph: ComputationGraph, stays: set[str], folded: np.ndarray | None) -> dict[str, frozenset[str]]:
    """Which ops of ``stays`` must run before each of them; who reads the result of a ``folded`` op waits for nobody."""
    done: list[int] = []  # bit sets: what has run once the op has
    known: list[int] = []  # what has run once somebody can read its result
    for op in range(graph.num_ops):
        controls = sum_of_sets(done[other] for other in graph.control_inputs[op])
        producers = (graph.producer[tensor] for tensor in graph.inputs[op])
        done.append(controls | sum_of_sets(known[other] for other in producers if other >= 0) | 1 << op)
        known.append(controls if folded is not None and folded[op] else done[op])
    names = graph.op_names
    kept = [op for op in range(graph.num_ops) if names[op] in stays]
    return {
        names[op]: frozenset(names[other] for other in kept if other != op and done[op] >> other & 1) for op in kept
    }


def sum_of_sets(sets: Iterable[int]) -> int:
    result = 0
    for each in sets:
        result |= each
    return result


# Cases: each makes a ConcreteFunction


def keras_model(name: str, mode: str, optimizer: Any = "momentum", shape: tuple[int, ...] = IMAGE) -> Any:
    import keras

    model = getattr(keras.applications, name)(weights=None, input_shape=shape[1:], classes=10)
    chosen = keras.optimizers.Adam() if optimizer == "keras adam" else optimizer
    return trace_step(model, [tf.TensorSpec(shape)], mode=mode, optimizer=chosen)


def keras_layers(build: Callable[[Any], list[Any]], shape: tuple[int, ...], mode: str) -> Any:
    import keras

    model = keras.Sequential([keras.layers.Input(shape[1:]), *build(keras.layers)])
    return trace_step(model, [tf.TensorSpec(shape)], mode=mode, optimizer="adam")


def sonnet_module(build: Callable[[Any], Any], shape: tuple[int, ...], mode: str, optimizer: Any = "momentum") -> Any:
    import sonnet as snt

    chosen = snt.optimizers.Adam() if optimizer == "sonnet adam" else optimizer
    return trace_step(build(snt), [tf.TensorSpec(shape)], mode=mode, optimizer=chosen)


def unrolled(core: Callable[[Any], Any], *, dynamic: bool = False) -> Callable[[Any], Any]:
    """A recurrent core of Sonnet over time."""

    def build(snt: Any) -> Any:
        class Unrolled(snt.Module):
            def __init__(self) -> None:
                super().__init__()
                self.core = core(snt)

            def __call__(self, sequence: tf.Tensor) -> tf.Tensor:
                unroll = snt.dynamic_unroll if dynamic else snt.static_unroll
                return unroll(self.core, sequence, self.core.initial_state(sequence.shape[1]))[0]

        return Unrolled()

    return build


def by_hand(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Any:
    return tf.function(function, autograph=False).get_concrete_function(*map(tf.TensorSpec, shapes))


def nested_function() -> Any:
    weight = tf.Variable(tf.ones((64, 64)))

    @tf.function
    def layer(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(x @ weight)

    def step(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(layer(x)) ** 2)
        weight.assign_sub(0.1 * tape.gradient(loss, weight))
        return loss

    return by_hand(step, (8, 64))


def old_value_kept() -> Any:
    counter = tf.Variable(tf.zeros((100,)))

    def step(x: tf.Tensor) -> tf.Tensor:
        before = counter.read_value()
        counter.assign_add(x)
        return before * counter.read_value()

    return by_hand(step, (100,))


def large_constants() -> Any:
    def step(x: tf.Tensor) -> tf.Tensor:
        mask = tf.linalg.band_part(tf.ones((256, 256)), -1, 0)
        return tf.nn.softmax(x @ x + (1.0 - mask) * -1e9)

    return by_hand(step, (256, 256))


def shape_of_activation() -> Any:
    def step(x: tf.Tensor) -> tf.Tensor:
        hidden = tf.nn.relu(x)
        small = tf.reduce_sum(hidden, axis=1)
        small = tf.sin(tf.cos(small))
        return tf.raw_ops.Fill(dims=tf.raw_ops.Shape(input=hidden), value=small[0])

    return by_hand(step, (64, 64))


def attention() -> Any:
    weights = [tf.Variable(tf.ones((32, 32))) for _ in range(4)]

    def step(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            query, key, value = (tf.einsum("bsd,de->bse", x, w) for w in weights[:3])
            scores = tf.nn.softmax(tf.einsum("bqd,bkd->bqk", query, key))
            loss = tf.reduce_mean(tf.einsum("bqk,bkd,de->bqe", scores, value, weights[3]) ** 2)
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(0.1 * gradient)
        return loss

    return by_hand(step, (4, 16, 32))


def cases() -> Iterator[tuple[str, Callable[[], Any]]]:
    for name in ("MobileNet", "MobileNetV2", "VGG16", "ResNet50", "EfficientNetB0", "MobileNetV3Small", "ConvNeXtTiny"):
        for mode in ("inference", "step"):
            yield f"keras {name} {mode}", lambda name=name, mode=mode: keras_model(name, mode)
    yield "keras DenseNet121 training", lambda: keras_model("DenseNet121", "training")
    yield "keras MobileNetV2 step, Keras Adam", lambda: keras_model("MobileNetV2", "step", "keras adam")
    wide = (2, 80, 80, 3)
    yield "keras InceptionV3 inference", lambda: keras_model("InceptionV3", "inference", shape=wide)
    yield "keras Xception step", lambda: keras_model("Xception", "step", shape=wide)
    dense = lambda k: [k.Dense(32, "gelu"), k.LayerNormalization(), k.Dropout(0.5), k.Dense(4)]  # noqa: E731
    yield "keras dense, dropout step", lambda: keras_layers(dense, (8, 16), "step")
    loop = lambda k: [k.LSTM(16, return_sequences=True), k.GRU(16), k.Dense(2)]  # noqa: E731
    yield "keras LSTM, GRU loops step", lambda: keras_layers(loop, (4, 10, 8), "step")
    unrolled_loop = lambda k: [k.LSTM(16, unroll=True), k.Dense(2)]  # noqa: E731
    yield "keras LSTM unrolled step", lambda: keras_layers(unrolled_loop, (4, 10, 8), "step")
    mlp = lambda snt: snt.nets.MLP([64, 64, 8])  # noqa: E731
    resnet = lambda snt: snt.nets.ResNet([1, 1, 1, 1], 10)  # noqa: E731
    for mode in ("inference", "training", "step"):
        yield f"sonnet MLP {mode}", lambda mode=mode: sonnet_module(mlp, (8, 32), mode)
    yield "sonnet MLP step, Sonnet Adam", lambda: sonnet_module(mlp, (8, 32), "step", "sonnet adam")
    yield "sonnet ResNet step", lambda: sonnet_module(resnet, IMAGE, "step")
    yield "sonnet LSTM step", lambda: sonnet_module(unrolled(lambda snt: snt.LSTM(32)), (8, 4, 16), "step")
    yield "sonnet GRU step", lambda: sonnet_module(unrolled(lambda snt: snt.GRU(32)), (8, 4, 16), "step")
    dynamic = unrolled(lambda snt: snt.LSTM(32), dynamic=True)
    yield "sonnet LSTM dynamic step", lambda: sonnet_module(dynamic, (8, 4, 16), "step")
    convolutional = unrolled(lambda snt: snt.Conv2DLSTM([8, 8, 3], 4, 3))
    yield "sonnet ConvLSTM step", lambda: sonnet_module(convolutional, (4, 2, 8, 8, 3), "step")
    yield "nested function", nested_function
    yield "old value kept", old_value_kept
    yield "large constants", large_constants
    yield "shape of an activation", shape_of_activation
    yield "attention", attention


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    arguments = parser.parse_args()
    columns = Row._fields[1:]
    print(f"{'graph':<36}" + "".join(f"{column:>13}" for column in columns))
    rows = []
    for name, build in cases():
        if arguments.only in name:
            rows.append(compare(name, build()))
            row = rows[-1]
            mark = "" if row.is_explained else "  NOT EXPLAINED"
            print(f"{name:<36}" + "".join(f"{getattr(row, column):>13}" for column in columns) + mark, flush=True)
    equal = sum(row.raw == row.simplified for row in rows)
    explained = sum(row.is_explained for row in rows)
    worst = max((abs(row.simplified - row.raw) / row.raw for row in rows), default=0.0)
    print(f"{len(rows)} graphs: {equal} equal, {explained} equal or explained to the byte; largest change {worst:.2%}")
    return 0 if explained == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
