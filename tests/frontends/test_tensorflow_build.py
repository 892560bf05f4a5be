import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from regal.frontends.tensorflow import load  # noqa: E402
from regal.frontends.tensorflow_build import MAX_SPREAD  # noqa: E402

KILO = tf.TensorSpec((250,))  # 1000 bytes


def variable(elements=250):
    return tf.Variable(tf.ones(elements))


def graph_of(function, *specs, **options):
    """Without TensorFlow's automatic control dependencies where ``function`` is of a graph, see ``manual``."""
    return load(tf.function(function, autograph=False).get_concrete_function(*specs), **options)


def manual(build, results=None):
    """A graph written node by node: only the control edges that it names."""
    graph = tf.Graph()
    with graph.as_default():
        build()
    return load(graph, outputs=results)


def control_names(graph):
    return {
        name: {graph.op_names[op] for op in row}
        for name, row in zip(graph.op_names, graph.control_inputs, strict=True)
        if len(row)
    }


def reads(graph, name):
    op = graph.op_names.index(name)
    return graph.tensor_bytes[graph.inputs[op]].tolist()


def groups(graph):
    names = np.array(graph.op_names)
    return [set(names[graph.colocation == group].tolist()) for group in range(graph.colocation.max(initial=-1) + 1)]


def count(graph, what):
    return graph.meta["source"][what]


# Variables


def test_tied_variables_are_one_tensor():
    w = tf.Variable(tf.ones((50, 50)))
    graph = graph_of(lambda x: tf.matmul(x @ w, w, transpose_b=True), tf.TensorSpec((2, 50)))
    assert graph.tensor_bytes[graph.producer < 0].tolist() == [400, 10_000]
    assert graph.inputs[0][1] == graph.inputs[1][1]


def test_an_assignment_writes_in_place():
    """v ─> Sin ─> Assign: reads v and the result, makes nothing; what it assigned is no result of the graph."""
    v = variable()
    graph = graph_of(lambda: v.assign(tf.sin(v)).read_value())
    assert graph.op_types == ("Sin", "AssignVariableOp")
    assert [row.tolist() for row in graph.outputs] == [[1], []]
    assert graph.inputs[1].tolist() == [0, 1]
    assert groups(graph) == [{"Sin", "AssignVariableOp"}]
    assert not graph.is_output.any()


def test_readers_before_and_after_an_assignment():
    """Both read one storage: Sin comes before AssignAdd, Cos after it. ::

    v ─> Sin ──────> (result)
    v ─> AssignAdd
    v ─> Cos ──────> (result)
    """
    v = variable()

    def step(x):
        before = tf.sin(v)
        v.assign_add(x)
        return before, tf.cos(v)

    graph = graph_of(step, KILO)
    assert graph.op_types == ("Sin", "AssignAddVariableOp", "Cos")
    assert control_names(graph) == {"AssignAddVariableOp": {"Sin"}, "Cos": {"AssignAddVariableOp"}}
    assert graph.inputs[0][0] == graph.inputs[2][0] == graph.inputs[1][0]
    assert groups(graph) == [{"Sin", "AssignAddVariableOp", "Cos"}]


def test_two_assignments_keep_their_order():
    v = variable()

    def step(x):
        v.assign_add(x)
        v.assign_sub(x)

    assert control_names(graph_of(step, KILO)) == {"AssignSubVariableOp": {"AssignAddVariableOp"}}


def test_an_assignment_waits_for_the_readers_since_the_last_one():
    v = variable()

    def step(x):
        y = tf.sin(v)
        v.assign_add(x)
        z = tf.cos(v)
        v.assign_sub(x)
        return y, z

    assert control_names(graph_of(step, KILO)) == {
        "AssignAddVariableOp": {"Sin"},
        "Cos": {"AssignAddVariableOp"},
        "AssignSubVariableOp": {"AssignAddVariableOp", "Cos"},
    }


def test_an_old_value_that_is_needed_later_is_copied():
    """The reader multiplies the value of before with the value of after: TensorFlow copies the one of before. ::

    v ─> ReadVariableOp (1000) ───────────────┐
    v ─> AssignAdd ─> (control) Mul <─ v ─────┘
    """
    v = variable()

    def step(x):
        before = v.read_value()
        v.assign_add(x)
        return before * v.read_value()

    graph = graph_of(step, KILO)
    assert graph.op_types == ("ReadVariableOp", "AssignAddVariableOp", "Mul")
    assert reads(graph, "mul") == [1000, 1000]
    assert graph.inputs[2].tolist() == [graph.outputs[0][0], graph.inputs[0][0]]
    assert control_names(graph) == {
        "AssignAddVariableOp": {"Read/ReadVariableOp"},
        "mul": {"AssignAddVariableOp"},
    }
    assert count(graph, "copied_reads") == 1


def test_an_old_value_that_is_returned_is_copied_and_stays():
    v = variable()

    def step(x):
        before = v.read_value()
        v.assign_add(x)
        return before

    graph = graph_of(step, KILO)
    assert graph.op_types == ("ReadVariableOp", "AssignAddVariableOp")
    assert graph.tensor_bytes[graph.is_output].tolist() == [1000]


def test_groups_that_share_an_op_are_one():
    """The product reads both variables that are updated."""
    a, b, c = variable(), variable(), variable()

    def step(x):
        product = a * b
        for each in (a, b, c):
            each.assign_add(x)
        return product

    names = [f"AssignAddVariableOp{suffix}" for suffix in ("", "_1", "_2")]
    assert groups(graph_of(step, KILO)) == [{"mul", names[0], names[1]}, {names[2]}]


def test_a_variable_that_nobody_updates_binds_nobody():
    v = variable()
    assert graph_of(lambda x: (x * v, x + v), KILO).colocation.tolist() == [-1, -1]


def test_a_gather_reads_the_variable_itself_and_not_all_of_it():
    table = tf.Variable(tf.ones((1000, 25)))  # 100,000 bytes
    graph = graph_of(lambda ids: tf.gather(table, ids), tf.TensorSpec((10,), tf.int64))
    assert graph.op_types == ("ResourceGather",)
    assert reads(graph, "embedding_lookup" if "embedding_lookup" in graph.op_names else graph.op_names[0]) == [
        100_000,
        80,
    ]
    moved = (graph.runtime[0] - 5e-6) * 1.555e12
    assert moved == pytest.approx(1000 + 80 + 1000)


def test_handles_of_one_shared_name_are_one_variable():
    def build():
        for suffix in "ab":
            handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[250], shared_name="v", name=suffix)
            tf.sin(tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32))

    graph = manual(build)
    assert graph.tensor_bytes.tolist() == [1000, 1000, 1000]
    assert graph.inputs[0][0] == graph.inputs[1][0]


def test_reference_variables_of_tensorflow_1():
    """v ─> Sin, then Assign in place, whose result is v again."""

    def build():
        v = tf.raw_ops.VariableV2(shape=[250], dtype=tf.float32, name="v")
        sine = tf.sin(tf.identity(v))
        tf.cos(tf.raw_ops.Assign(ref=v, value=sine))

    graph = manual(build)
    assert graph.op_types == ("Sin", "Assign", "Cos")
    assert [row.tolist() for row in graph.inputs] == [[0], [0, 1], [0]]
    assert control_names(graph) == {"Cos": {"Assign"}}


# Order


def test_control_edges_are_kept_through_all_that_vanishes():
    """Sin ─(control)─> NoOp ─(control)─> Identity ─> Reshape ─> Cos: Cos waits for Sin."""

    def build():
        x = tf.raw_ops.Placeholder(dtype=tf.float32, shape=[250], name="x")
        sine = tf.sin(x, name="sine")
        with tf.control_dependencies([sine]):
            barrier = tf.no_op()
        with tf.control_dependencies([barrier]):
            same = tf.identity(x)
        tf.cos(tf.reshape(same, (10, 25)), name="cosine")

    graph = manual(build)
    assert graph.op_names == ("sine", "cosine")
    assert control_names(graph) == {"cosine": {"sine"}}
    assert graph.inputs[0].tolist() == graph.inputs[1].tolist()


def test_a_control_edge_from_a_view_waits_for_what_it_views():
    def build():
        x = tf.raw_ops.Placeholder(dtype=tf.float32, shape=[250], name="x")
        view = tf.identity(tf.sin(x, name="sine"))
        with tf.control_dependencies([view]):
            tf.cos(x, name="cosine")

    assert control_names(manual(build)) == {"cosine": {"sine"}}


def test_a_control_edge_from_a_known_shape_waits_for_what_it_is_the_shape_of():
    def build():
        x = tf.raw_ops.Placeholder(dtype=tf.float32, shape=[250], name="x")
        with tf.control_dependencies([tf.raw_ops.Shape(input=tf.sin(x, name="sine"))]):
            tf.cos(x, name="cosine")

    assert control_names(manual(build)) == {"cosine": {"sine"}}


def test_a_computed_shape_is_waited_for():
    """Reshape(x, shape) vanishes; its reader still needs the shape, which is computed. ::

    x ─────────────────────> Reshape ─> Sin
    s ─> Neg (the shape) ──────┘
    """

    def build():
        x = tf.raw_ops.Placeholder(dtype=tf.float32, shape=[250], name="x")
        sizes = tf.raw_ops.Placeholder(dtype=tf.int32, shape=[2], name="sizes")
        tf.sin(tf.ensure_shape(tf.reshape(x, tf.negative(sizes, name="shape")), [10, 25]), name="sine")

    assert control_names(manual(build)) == {"sine": {"shape"}}


def test_a_long_chain_of_views_that_wait():
    """Identity i waits for Sin i and reads Identity i - 1: the last reader waits for all 3,000, through few edges."""

    def build():
        x = value = tf.raw_ops.Placeholder(dtype=tf.float32, shape=[250], name="x")
        for _ in range(3000):
            with tf.control_dependencies([tf.sin(x)]):
                value = tf.identity(value)
        tf.cos(value, name="last")

    graph = manual(build)
    assert 3000 <= len(graph.control_inputs.values) < 2 * 3000
    assert graph.op_types.count("NoOp") < 3000 // MAX_SPREAD + 1
    before, todo = set(), [graph.op_names.index("last")]
    while todo:
        new = set(graph.predecessors[todo.pop()].tolist()) - before
        before |= new
        todo += new
    assert sum(graph.op_types[op] == "Sin" for op in before) == 3000


def test_many_control_edges_go_through_one_op():
    """20 sines before 20 cosines: 40 edges through a NoOp that takes no time, not 400."""

    def build(sines):
        x = tf.raw_ops.Placeholder(dtype=tf.float32, shape=[250], name="x")
        with tf.control_dependencies([tf.sin(x, name=f"sine{at}") for at in range(sines)]):
            barrier = tf.no_op(name="barrier")
        with tf.control_dependencies([barrier]):
            for at in range(sines):
                tf.cos(x, name=f"cosine{at}")

    graph = manual(lambda: build(20))
    controls = control_names(graph)
    assert controls.pop("barrier") == {f"sine{at}" for at in range(20)}
    assert controls == {f"cosine{at}": {"barrier"} for at in range(20)}
    assert graph.runtime[graph.op_names.index("barrier")] == 0.0
    few = manual(lambda: build(MAX_SPREAD))
    assert "barrier" not in few.op_names
    assert len(few.control_inputs.values) == MAX_SPREAD**2


# What vanishes


def test_views_share_a_storage():
    """One tensor from Sin to Cos, whatever it is called in between."""

    def step(x):
        y = tf.sin(x)
        y = tf.squeeze(tf.expand_dims(tf.reshape(y, (10, 25)), 0), 0)
        return tf.cos(tf.stop_gradient(tf.identity(y)))

    graph = graph_of(step, KILO)
    assert graph.op_types == ("Sin", "Cos")
    assert graph.inputs[1].tolist() == graph.outputs[0].tolist()
    assert count(graph, "contracted_views") == 6  # with the Identity of the result


def test_a_list_of_tensors_refers_to_them():
    """Stack reads x and Sin's result; both lists in between vanish."""

    def step(x):
        listed = tf.TensorArray(tf.float32, 2, element_shape=(250,)).write(0, x).write(1, tf.sin(x))
        return listed.stack()

    graph = graph_of(step, KILO)
    assert graph.op_types == ("Sin", "TensorListStack")
    assert graph.tensor_bytes.tolist() == [1000, 1000, 2000]
    assert graph.inputs[1].tolist() == [0, 1]
    assert count(graph, "unknown_shapes") == 0


def test_a_view_of_a_variable_is_no_result():
    v = variable()
    graph = graph_of(lambda x: (tf.reshape(v, (10, 25)), tf.sin(x)), KILO)
    assert graph.tensor_bytes[graph.is_output].tolist() == [1000]


def test_constants():
    """A large one is a tensor, a small one is none; what is made of constants is a constant, but no fill."""
    small, large = tf.constant(np.arange(16.0), tf.float32), np.arange(17.0, dtype=np.float32)

    def step(x):
        half = tf.constant(large) * 0.5  # 68 bytes
        row = tf.concat([small, [0.0]], 0)  # 68 bytes, of 64 and 4
        return x * half, x[:16] + small, x + row, tf.fill((17,), 3.0) - x

    graph = graph_of(step, tf.TensorSpec((17,)))
    assert graph.op_types == ("Mul", "StridedSlice", "AddV2", "AddV2", "Fill", "Sub")
    assert graph.tensor_bytes[graph.producer < 0].tolist() == [68, 68, 68]  # x, half, row
    assert [len(row) for row in graph.inputs] == [2, 1, 1, 2, 0, 2]
    assert count(graph, "folded_ops") == 2
    assert count(graph, "parameter_bytes") == 64 + 3 * 4 + 4 + 4  # small, the slice's numbers, the fill's


def test_random_ops_are_never_folded():
    graph = graph_of(lambda: (tf.random.uniform((2,)), tf.random.stateless_uniform((2,), seed=(1, 2))))
    assert "RandomUniform" in graph.op_types
    assert any(op_type.startswith("Stateless") for op_type in graph.op_types)


def test_a_known_shape_does_not_hold_its_tensor():
    """The shape of Sin's result is known: Fill does not read it, and comes whenever it likes."""

    def step(x):
        return tf.raw_ops.Fill(dims=tf.raw_ops.Shape(input=tf.sin(x)), value=1.0)

    graph = graph_of(step, KILO)
    assert graph.op_types == ("Sin", "Fill") or graph.op_types == ("Fill",)
    assert graph.inputs[graph.num_ops - 1].tolist() == []


def test_what_nobody_needs_is_left_out():
    def step(x):
        tf.exp(x)
        return tf.sin(x)

    assert graph_of(step, KILO).op_types == ("Sin",)


# What stays hidden


def test_a_loop_is_one_opaque_op():
    """It reads the variable that its body reads; nobody says how often."""
    v = variable()

    def step(x):
        return tf.while_loop(lambda i, y: i < 10, lambda i, y: (i + 1, y * v), [0, x])[1]

    graph = graph_of(step, KILO)
    assert graph.op_types == ("While",) or graph.op_types == ("StatelessWhile",)
    assert count(graph, "opaque_ops") == 1
    assert reads(graph, graph.op_names[0]).count(1000) == 2  # x and v
    assert graph.colocation.tolist() == [-1]


def test_a_loop_whose_body_writes_a_variable_updates_it():
    v = variable()

    def step(x):
        before = tf.sin(v)
        tf.while_loop(lambda i: i < 10, lambda i: (v.assign_add(x), i + 1)[1:], [0])
        return before, tf.cos(v)

    graph = graph_of(step, KILO)
    assert graph.op_types == ("Sin", "While", "Cos")
    loop = graph.op_names[1]
    assert control_names(graph) == {loop: {"Sin"}, "Cos": {loop}}
    assert groups(graph) == [set(graph.op_names)]


def test_branches_are_opaque():
    graph = graph_of(lambda p, x: tf.cond(p, lambda: tf.sin(x), lambda: tf.cos(x)), tf.TensorSpec((), tf.bool), KILO)
    assert count(graph, "opaque_ops") == 1
    assert graph.tensor_bytes[graph.is_output].tolist() == [1000]


def test_values_of_unknown_size_have_as_many_elements_as_what_they_are_made_of():
    """Greater (250 booleans) ─> Where (250 int64) ─> Squeeze ─> GatherV2 with x (250 floats) ─> Sin."""
    graph = graph_of(lambda x: tf.sin(tf.boolean_mask(x, x > 0)), KILO)
    assert graph.op_types == ("Greater", "Where", "GatherV2", "Sin")
    assert graph.tensor_bytes[graph.activations].tolist() == [250, 2000, 1000, 1000]
    assert count(graph, "unknown_shapes") == 3


def test_rows_of_unknown_number_are_those_of_the_input():
    """GatherV2 reads x (1000 floats) and the places of the rows (250): it makes at most 1000 floats."""
    graph = graph_of(lambda x: tf.boolean_mask(x, x[:, 0] > 0), tf.TensorSpec((250, 4)))
    assert graph.op_types[-1] == "GatherV2"
    assert graph.tensor_bytes[graph.is_output].tolist() == [4000]


def test_a_handle_that_does_not_tell_has_the_size_of_what_is_read():
    def build():
        handle = tf.compat.v1.placeholder(tf.resource, [], name="handle")
        value = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
        value.set_shape([250])
        tf.sin(value)

    assert manual(build).tensor_bytes.tolist() == [1000, 1000]


def test_without_simplification_views_are_ops_in_order():
    """Sin ─> Identity (reads, makes nothing) ─> Cos: Cos reads Sin's result and waits for Identity."""
    graph = graph_of(lambda x: tf.cos(tf.identity(tf.sin(x), name="view")), KILO, simplify=False)
    names = list(graph.op_names)
    assert graph.outputs[names.index("view")].tolist() == []
    assert graph.runtime[names.index("view")] == 0.0
    assert control_names(graph)["Cos"] == {"view"}
    assert reads(graph, "Cos") == [1000]


def test_scratch_of_a_batch_norm_is_empty():
    statistics = [variable(4) for _ in range(4)]
    spec = tf.TensorSpec((2, 5, 5, 4))
    graph = graph_of(lambda x: tf.compat.v1.nn.fused_batch_norm(x, *statistics, is_training=True)[0], spec)
    assert graph.tensor_bytes[graph.activations].tolist() == [800, 16, 16, 16, 16]


def test_a_size_beyond_the_format_is_refused_with_its_node():
    def build():
        tf.raw_ops.Fill(dims=tf.constant([2**30, 2**30]), value=1.0, name="huge")

    with pytest.raises(ValueError, match="node 'huge': a size must stay below 2\\^53 bytes, not 4611686018427387904"):
        manual(build)
