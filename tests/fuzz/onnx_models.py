"""Mutated ONNX models: damaged bytes, and well-formed models that mean nothing."""

from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from regal.graph import read_graph
from tests.fuzz.cases import Case
from tests.fuzz.judge import LONGEST_MESSAGE, Wrong, check_success, expect_files, run
from tests.fuzz.texts import compress, cut, flip, insert, truncate

NUMBERS = (0, 1, 2, 3, 7, 13, -1, -2, -100, 2**31 - 1, 2**31, -(2**31), 2**40, 2**62, 2**63 - 1, -(2**63))
BYTES: tuple[Any, ...] = (flip, flip, flip, truncate, cut, insert, compress)


@cache
def small_model() -> bytes:
    """A model with a convolution, a branch, a reshape, an attribute of each kind, and a dynamic dimension."""
    from onnx import TensorProto, helper

    def value(name: str, shape: list[Any]) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    branches = [
        helper.make_graph([helper.make_node(op, ["h"], [op])], op, [], [value(op, ["b", 4])]) for op in ("Neg", "Abs")
    ]
    nodes = [
        helper.make_node("Conv", ["image", "k"], ["c"], strides=[1, 1], pads=[1, 1, 1, 1], auto_pad="NOTSET"),
        helper.make_node("Reshape", ["c", "s"], ["r"], allowzero=0),
        helper.make_node("Transpose", ["r"], ["t"], perm=[1, 0]),
        helper.make_node("Transpose", ["t"], ["u"], perm=[1, 0]),
        helper.make_node("Gemm", ["u", "w"], ["h"], alpha=0.5, transB=1),
        helper.make_node("If", ["cond"], ["y"], then_branch=branches[0], else_branch=branches[1]),
        helper.make_node("Concat", ["h", "y"], ["z"], axis=1),
        helper.make_node("Split", ["z"], ["p", "q"], axis=1, num_outputs=2),
        helper.make_node("Softmax", ["p"], ["v"], axis=-1),
    ]
    weights = [
        helper.make_tensor("k", TensorProto.FLOAT, [2, 3, 3, 3], bytes(216), raw=True),
        helper.make_tensor("s", TensorProto.INT64, [2], [0, -1]),
        helper.make_tensor("w", TensorProto.FLOAT, [4, 32], bytes(512), raw=True),
    ]
    inputs = [value("image", ["b", 3, 4, 4]), helper.make_tensor_value_info("cond", TensorProto.BOOL, [])]
    graph = helper.make_graph(nodes, "small", inputs, [value("v", ["b", 4]), value("q", ["b", 4])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]).SerializeToString()


def make_case(seed: int) -> Case:
    """The mutated model of a seed."""
    import onnx

    rng = Random(seed)
    names: list[str] = []
    data = small_model()
    if rng.random() < 0.6:
        model = onnx.ModelProto.FromString(data)
        for _ in range(rng.choice((1, 1, 2, 4))):
            mutation = rng.choice((attribute, attribute, attribute, shape, wiring, operator, opset))
            names.append(mutation.__name__)
            mutation(model, rng)
        data = model.SerializeToString()
    else:
        for _ in range(rng.choice((1, 1, 2, 4))):
            damage = rng.choice(BYTES)
            names.append(damage.__name__)
            data = damage(data, rng)
    return Case(seed, "onnx", 0, tuple(names), data)


def judge(case: Case, folder: Path) -> tuple[str, str]:
    """Convert the model; what comes out must be a graph."""
    path, target = folder / "m.onnx", folder / "g.json"
    path.write_bytes(case.data)
    dimension = Random(case.seed).choice(("2", "b=2", "0", "999999999"))
    answer = run("convert", str(path), str(target), "--dim", dimension)
    if answer.code == 0:
        check_success(answer, f"{target}: ")
        expect_files(folder, path, target)
        read_graph(target)
        return "graph", ""
    expect_files(folder, path)
    text = answer.error
    if answer.code != 2 or not text.endswith("\n") or not text[:-1].isprintable() or len(text) > LONGEST_MESSAGE:
        raise Wrong(f"exit code {answer.code}, not one printable line: {text!r}")
    if not text.startswith(f"regal: {path}: ") or "Traceback" in text or "failed with exit code" in text:
        raise Wrong(f"does not name the file, or the reader broke: {text!r}")
    return "crash" if "crashed" in text else "refused", text


def attribute(model: Any, rng: Random) -> None:
    """An attribute of another value, another type, or another name."""
    node = rng.choice(model.graph.node)
    if not node.attribute:
        return
    found = rng.choice(node.attribute)
    if found.ints and rng.random() < 0.8:
        found.ints[rng.randrange(len(found.ints))] = rng.choice(NUMBERS)
        if rng.random() < 0.3:
            del found.ints[rng.randrange(len(found.ints)) :]
    elif rng.random() < 0.8:
        found.i = rng.choice(NUMBERS)
    elif rng.random() < 0.5:
        found.type = rng.randrange(15)
    else:
        found.name = rng.choice(("axis", "perm", "strides", "to", "value", ""))


def shape(model: Any, rng: Random) -> None:
    """A weight or input of another shape or element type."""
    if rng.random() < 0.5:
        weight = rng.choice(model.graph.initializer)
        if rng.random() < 0.5:
            weight.dims[rng.randrange(len(weight.dims))] = rng.choice(NUMBERS)
        else:
            weight.data_type = rng.randrange(30)
        return
    kind = rng.choice((*model.graph.input, *model.graph.output)).type.tensor_type
    if kind.shape.dim and rng.random() < 0.7:
        rng.choice(kind.shape.dim).dim_value = rng.choice(NUMBERS)
    else:
        kind.elem_type = rng.randrange(30)


def wiring(model: Any, rng: Random) -> None:
    """A node that reads or writes another value."""
    node, other = rng.choices(model.graph.node, k=2)
    names = [*other.input, *other.output, "", "nothing"]
    side = rng.choice((node.input, node.output))
    if side and rng.random() < 0.6:
        side[rng.randrange(len(side))] = rng.choice(names)
    elif rng.random() < 0.5:
        side.append(rng.choice(names))
    elif side:
        del side[rng.randrange(len(side))]


def operator(model: Any, rng: Random) -> None:
    """Another operator of ONNX, with the inputs and attributes of the old one."""
    import onnx.defs

    schema = rng.choice(onnx.defs.get_all_schemas())
    node = rng.choice(model.graph.node)
    node.op_type, node.domain = schema.name, schema.domain


def opset(model: Any, rng: Random) -> None:
    """Another opset."""
    model.opset_import[0].version = rng.choice((0, 1, 5, 7, 11, 13, 18, 25, 999, -1))
