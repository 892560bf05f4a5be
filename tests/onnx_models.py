"""Every model that the onnx package ships, read: ``python -m tests.onnx_models``.

The files among its backend tests, the models of its operator tests, which it makes in memory, and a few written in its
text form. Each is read whole and with views and constants left as ops; the program order is run through the validator
and the cost model. Where the package's reference evaluator runs a model, every size that was not guessed is compared
with that of the value computed. What is refused must be a ``ValueError`` of one line.

The work is done in a process of its own, so that a crash or a hang of native code is one outcome among others.
"""

import argparse
import collections
import multiprocessing
import time
import warnings
from collections.abc import Iterator
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from regal.cluster import Cluster
from regal.cost.reference import evaluate
from regal.frontends.onnx import load
from regal.frontends.onnx_model import read_model
from regal.frontends.onnx_prepare import prepare
from regal.frontends.onnx_sizes import Sizes
from regal.graph import ComputationGraph
from regal.plan import check_plan, plan_from_order

MAX_SECONDS = 60.0
"""A model that takes longer counts as a hang."""
DEFAULT_DIMENSION = 3
"""Of dynamic dimensions, for models that cannot be read without."""
TEXTS = {
    "linear": """
        <ir_version: 8, opset_import: ["" : 17]>
        linear (float[N, 128] X, float[128, 10] W, float[10] B) => (float[N, 10] C)
        { T = MatMul(X, W)  S = Add(T, B)  C = Softmax(S) }""",
    "function": """
        <ir_version: 8, opset_import: ["" : 17, "local" : 1]>
        caller (float[2, 3] x) => (float[2, 3] y) { h = local.twice(x)  y = local.twice(h) }
        <domain: "local", opset_import: ["" : 17]>
        twice (a) => (b) { b = Add(a, a) }""",
    "branch": """
        <ir_version: 8, opset_import: ["" : 17]>
        branch (float[4] x, bool c) => (float[4] y)
        { y = If (c) <then_branch = g1 () => (float[4] a) { a = Neg(x) },
                      else_branch = g2 () => (float[4] b) { b = Abs(x) }> }""",
    "sequence": """
        <ir_version: 8, opset_import: ["" : 17]>
        sequence (float[4] x, float[2] z) => (float[6] y)
        { s = SequenceConstruct(x, z)  y = ConcatFromSequence<axis = 0>(s) }""",
    "packed": """
        <ir_version: 10, opset_import: ["" : 21]>
        packed (int4[5] q, float scale, float8e4m3fn[7] e, string[2] names) => (float[5] y, float[7] z, string[2] t)
        { y = DequantizeLinear(q, scale)  z = Cast<to = 1>(e)  t = Identity(names) }""",
}


class Model(NamedTuple):
    """One shipped model: a path or a loaded model, and inputs to run it with where there are some."""

    name: str
    source: Any
    inputs: list[Any] | None


class Outcome(NamedTuple):
    """What became of a model: ``loaded``, ``refused`` or ``broken``, with the reason for the last two."""

    kind: str
    reason: str
    unknown: int = 0
    opaque: int = 0
    right: int = 0
    wrong: tuple[str, ...] = ()


def shipped() -> list[Model]:
    """All models, always in the same order."""
    return [*files(), *operators(), *texts()]


def files() -> list[Model]:
    """Those that are files."""
    import onnx

    folder = Path(onnx.__file__).parent / "backend" / "test" / "data"
    return [Model(path.relative_to(folder).as_posix(), path, None) for path in sorted(folder.rglob("*.onnx"))]


def operators(*modules: str) -> list[Model]:
    """Those of the operator tests, by default of every module ``onnx.backend.test.case.node.MODULE``."""
    from onnx.backend.test.case import node
    from onnx.backend.test.loader import load_node_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in modules:  # whose import makes the models
            import_module(f"{node.__name__}.{module}")
        cases = [*node._NodeTestCases] if modules else load_node_model_tests()
    return [
        Model(f"node/{case.name}", case.model, list(case.data_sets[0][0]) if case.data_sets else None)
        for case in sorted(cases, key=lambda case: case.name)
    ]


def texts() -> list[Model]:
    """Those in text form."""
    import onnx.parser

    return [Model(f"text/{name}", onnx.parser.parse_model(text), None) for name, text in TEXTS.items()]


def read(model: Model) -> Outcome:
    """Read one model in every way; anything but a ``ValueError`` of one line gets through."""
    dimension = None
    try:
        graph = load(model.source)
    except ValueError as error:
        if "is dynamic; pass" not in str(error):
            return _refused(error)
        dimension = DEFAULT_DIMENSION
        try:
            graph = load(model.source, default_dimension=dimension)
        except ValueError as again:
            return _refused(again)
    run_program_order(graph)
    run_program_order(load(model.source, default_dimension=dimension, contract_views=False, fold_constants=False))
    source = graph.meta["source"]
    right, wrong = 0, ()
    if model.inputs is not None and dimension is None:
        right, wrong = compare_sizes(model)
    return Outcome("loaded", "", source["unknown_shapes"], source["opaque_ops"], right, wrong)


def _refused(error: ValueError) -> Outcome:
    text = str(error)
    return Outcome("refused" if "\n" not in text and text.isprintable() else "broken", text)


def run_program_order(graph: ComputationGraph) -> None:
    """Validate the program order on one device, and see that the peak lies between what must and what can be held."""
    order = plan_from_order(graph, Cluster.uniform(1), np.zeros(graph.num_ops, np.int32), range(graph.num_ops))
    check_plan(order)
    peak = evaluate(order).max_peak_memory
    resident = int(graph.tensor_bytes[(graph.producer < 0) & (graph.consumers.counts > 0)].sum())
    if not resident <= peak <= int(graph.tensor_bytes.sum()):
        raise AssertionError(f"{graph!r}: a peak of {peak} bytes with {resident} resident")


def compare_sizes(model: Model) -> tuple[int, tuple[str, ...]]:
    """How many sizes are those of the values that the reference evaluator computes, and which are not."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    prepared = prepare(read_model(model.source), {}, None)
    sizes = Sizes(prepared, None)
    for node in prepared.graph.node:
        sizes.add(node)
    inputs = [onnx.numpy_helper.to_array(each) if isinstance(each, onnx.TensorProto) else each for each in model.inputs]
    try:
        feeds = dict(zip((value.name for value in prepared.graph.input), inputs, strict=False))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = ReferenceEvaluator(prepared).run(None, feeds, intermediate=True)
    except (RuntimeError, TypeError, ValueError, LookupError, AttributeError):  # it cannot run every model
        return 0, ()
    right, wrong = 0, []
    for name, value in results.items():
        if name in sizes.bytes and name not in sizes.unknown and name not in feeds:
            if sizes.bytes[name] == size_of(value):
                right += 1
            else:
                wrong.append(f"{name}: {sizes.bytes[name]} bytes, not {size_of(value)}")
    return right, tuple(wrong)


def size_of(value: Any) -> int:
    """Bytes of a value as the evaluator computes it, by this project's rules for strings and packed elements."""
    if value is None:
        return 0
    if isinstance(value, (list, tuple)):
        return sum(map(size_of, value))
    array = np.asarray(value)
    if array.dtype.kind in "OUST":
        return 16 * array.size
    bits = {"int2": 2, "uint2": 2, "int4": 4, "uint4": 4, "float4_e2m1fn": 4}.get(array.dtype.name)
    return array.nbytes if bits is None else (array.size * bits + 7) // 8


def _work(models: list[Model], connection: Connection) -> None:
    for model in models:
        connection.send(read(model))


def outcomes(models: list[Model]) -> Iterator[tuple[Model, Outcome]]:
    """What becomes of each model, read in a process of its own that is started again where it dies or hangs."""
    context = multiprocessing.get_context("fork")
    waiting = models
    while waiting:
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(waiting, sender), daemon=True)
        process.start()
        sender.close()
        done = 0
        for model in waiting:
            done += 1
            if not receiver.poll(MAX_SECONDS):
                process.kill()
                yield model, Outcome("broken", f"takes more than {MAX_SECONDS:g} seconds")
                break
            try:
                yield model, receiver.recv()
            except EOFError:
                process.join()
                yield model, Outcome("broken", f"the process that read it died with code {process.exitcode}")
                break
        process.join()
        waiting = waiting[done:]


def main() -> int:
    """Read every model and print what became of them; the exit code is 1 where something is broken or wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verbose", action="store_true", help="name the models with unknown shapes or opaque ops")
    arguments = parser.parse_args()
    start = time.perf_counter()
    found = list(outcomes(shipped()))
    kinds = collections.Counter(outcome.kind for _, outcome in found)
    print(f"{len(found)} models in {time.perf_counter() - start:.0f} s")
    for kind in ("loaded", "refused", "broken"):
        print(f"  {kind}: {kinds[kind]}")
        for model, outcome in found:
            if outcome.kind == kind != "loaded":
                print(f"    {model.name}: {outcome.reason}")
    for what in ("unknown", "opaque"):
        some = [(model, getattr(outcome, what)) for model, outcome in found if getattr(outcome, what)]
        print(f"  {what}: {sum(count for _, count in some)} tensors or ops of {len(some)} models")
        for model, count in some if arguments.verbose else ():
            print(f"    {model.name}: {count}")
    wrong = [(model.name, text) for model, outcome in found for text in outcome.wrong]
    print(f"  sizes: {sum(outcome.right for _, outcome in found)} as computed, {len(wrong)} not")
    for name, text in wrong:
        print(f"    {name}: {text}")
    return int(bool(kinds["broken"] or wrong))


if __name__ == "__main__":
    raise SystemExit(main())
