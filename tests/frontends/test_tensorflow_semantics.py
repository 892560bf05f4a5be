"""Random programs: whatever order the graph allows, every op reads what it would read in program order."""

import random

import pytest

tf = pytest.importorskip("tensorflow")

from regal.frontends.tensorflow import DEFAULT_RATES  # noqa: E402
from regal.frontends.tensorflow_build import build_graph  # noqa: E402
from regal.frontends.tensorflow_program import flatten  # noqa: E402
from regal.frontends.tensorflow_simplify import Kind  # noqa: E402
from regal.frontends.tensorflow_storage import roles_of  # noqa: E402
from tests.fidelity_tensorflow import cases, compare  # noqa: E402

ELEMENTS = 40
READS = {"ReadVariableOp"}
UPDATES = {"AssignVariableOp", "AssignAddVariableOp"}


def random_graph_def(rng, size):
    """Ops, views, lists, constants, variables that are read and updated, and control edges, at random."""
    graph = tf.Graph()
    with graph.as_default():
        handles = [
            tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[ELEMENTS], shared_name=f"v{at}", name=f"v{at}")
            for at in range(rng.randint(1, 3))
        ]
        values = [tf.compat.v1.placeholder(tf.float32, [ELEMENTS], name="x"), tf.constant([1.5] * ELEMENTS)]
        waits = []

        def pick():
            return rng.choice(values[-6:])

        def update():
            handle, value = rng.choice(handles), pick()
            assign = rng.choice([tf.raw_ops.AssignVariableOp, tf.raw_ops.AssignAddVariableOp])
            waits.append(assign(resource=handle, value=value))

        def gather_waits():
            with tf.control_dependencies(rng.sample(waits, min(len(waits), rng.randint(1, 3)))):
                waits.append(tf.no_op())

        def item():
            listed = tf.raw_ops.TensorListReserve(element_shape=[ELEMENTS], num_elements=2, element_dtype=tf.float32)
            for at in range(2):
                listed = tf.raw_ops.TensorListSetItem(input_handle=listed, index=at, item=pick())
            values.append(
                tf.raw_ops.TensorListGetItem(
                    input_handle=listed, index=0, element_shape=[ELEMENTS], element_dtype=tf.float32
                )
            )

        steps = [
            lambda: values.append(tf.raw_ops.ReadVariableOp(resource=rng.choice(handles), dtype=tf.float32)),
            lambda: values.append(tf.raw_ops.ReadVariableOp(resource=rng.choice(handles), dtype=tf.float32)),
            update,
            update,
            lambda: values.append(tf.sin(pick())),
            lambda: values.append(tf.raw_ops.AddV2(x=pick(), y=pick())),
            lambda: values.append(tf.identity(pick())),
            lambda: values.append(tf.raw_ops.Reshape(tensor=pick(), shape=[ELEMENTS])),
            lambda: values.extend(tf.raw_ops.IdentityN(input=[pick(), pick()])),
            lambda: values.append(tf.fill([ELEMENTS], 2.0) * tf.constant(3.0)),
            gather_waits,
            item,
        ]
        for _ in range(size):
            with tf.control_dependencies(rng.sample(waits, min(len(waits), rng.choice([0, 0, 1, 2])))):
                rng.choice(steps[:-2] if not waits else steps)()
            if rng.random() < 0.3:
                waits.append(values[-1].op)
    return graph.as_graph_def(add_shapes=True)


def in_program_order(program):
    """What every value is when the nodes run one after another, and variables are where they are read."""
    values, variables = {}, {}
    for at, node in enumerate(program.nodes):
        read = [values[source] for source in node.inputs]
        if node.op == "VarHandleOp":
            values[at, 0] = node.name
        elif node.op in READS:
            values[at, 0] = variables.get(read[0], read[0])
        elif node.op in UPDATES:
            variables[read[0]] = (node.name, variables.get(read[0], read[0]), read[1])
        else:
            values |= {(at, output): evaluate(node, read, output) for output in range(len(node.outputs))}
    return values, variables


def evaluate(node, read, output):
    """A value as the term that computes it; views and lists are what they refer to."""
    if node.op in ("Identity", "IdentityN", "Reshape"):
        return read[output]
    if node.op == "TensorListSetItem":
        return [*as_list(read[0]), read[2]]
    if node.op == "TensorListReserve":
        return []
    return (node.name, output, *map(repr, read))


def as_list(value):
    return value if isinstance(value, list) else [value]


def in_some_order(program, graph, rng):
    """What every value is when the ops of ``graph`` run in a random order that it allows, each storage in one place."""
    roles, place = roles_of(program), {node.name: at for at, node in enumerate(program.nodes)}
    contents = {}

    def content(storage):
        node = program.nodes[storage[0]]
        if storage not in contents and roles.kinds[storage[0]] is not Kind.OP:  # from the start
            contents[storage] = look(node, storage[1])
        return contents[storage]

    def look(node, output):
        if node.op == "VarHandleOp":
            return node.name
        return evaluate(node, [value(source) for source in node.inputs], output)

    def value(source):
        parts = roles.storage[source]
        node = program.nodes[source[0]]
        if node.op == "TensorListSetItem":
            return [*as_list(value(node.inputs[0])), value(node.inputs[2])]
        return content(parts[0])

    waiting = {op: len(before) for op, before in enumerate(graph.predecessors.to_lists())}
    ready = [op for op, count in waiting.items() if count == 0]
    values = {}
    while ready:
        op = ready.pop(rng.randrange(len(ready)))
        at = place[graph.op_names[op]]
        node = program.nodes[at]
        if node.op in UPDATES:
            variable = roles.writes[at][0]
            contents[variable] = (node.name, content(variable), value(node.inputs[1]))
        elif node.op in READS:
            contents[at, 0] = values[at, 0] = content(roles.storage[node.inputs[0]][0])
        elif node.op != "NoOp":
            read = [value(source) for source in node.inputs]
            for output in range(len(node.outputs)):
                contents[at, output] = values[at, output] = evaluate(node, read, output)
        for other in graph.successors[op].tolist():
            waiting[other] -= 1
            ready += [other] * (waiting[other] == 0)
    return values, {program.nodes[variable[0]].name: content(variable) for variable in roles.variables}


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_mean_the_same_in_every_order(seed):
    rng = random.Random(seed)
    program = flatten(random_graph_def(rng, rng.randint(5, 40)), results=None)
    graph = build_graph(program, "random", mode=None, simplify=True, rates=DEFAULT_RATES)
    wanted, variables = in_program_order(program)
    for _ in range(5):
        values, found = in_some_order(program, graph, rng)
        assert values == {source: wanted[source] for source in values}
        assert found == {name: variables.get(name, name) for name in found}


@pytest.mark.parametrize("seed", range(100, 130))
def test_random_programs_keep_memory_and_order_when_simplified(seed):
    rng = random.Random(seed)
    graph = tf.Graph()
    with graph.as_default():
        tf.graph_util.import_graph_def(random_graph_def(rng, rng.randint(5, 40)), name="")
    assert compare(f"seed {seed}", graph).is_explained


def by_hand():
    return [
        pytest.param(build, id=name) for name, build in cases() if name.partition(" ")[0] not in ("keras", "sonnet")
    ]


@pytest.mark.parametrize("build", by_hand())
def test_graphs_by_hand_keep_memory_and_order_when_simplified(build):
    assert compare("by hand", build()).is_explained
