import pytest

tf = pytest.importorskip("tensorflow")

from regal.frontends import tensorflow_storage  # noqa: E402
from regal.frontends.tensorflow_simplify import Kind  # noqa: E402
from regal.frontends.tensorflow_source import read_source  # noqa: E402
from regal.frontends.tensorflow_storage import roles_of  # noqa: E402

SPEC = tf.TensorSpec((250,))


def analysed(function, *specs):
    """The roles of the nodes of a function, and the program."""
    program, _ = read_source(tf.function(function, autograph=False).get_concrete_function(*specs), None, None, None)
    return roles_of(program), program


def place(program, name):
    return next(at for at, node in enumerate(program.nodes) if node.name == name)


def test_a_view_of_a_constant_is_no_new_constant():
    roles, program = analysed(lambda x: x + tf.reshape(tf.constant([1.0] * 250, name="c"), (250,), name="r"), SPEC)
    assert roles.kinds[place(program, "r")] is Kind.ALIAS
    assert roles.storage[place(program, "r"), 0] == ((place(program, "c"), 0),)


def test_storage_follows_views_and_reads():
    v = tf.Variable(tf.ones(250))
    roles, program = analysed(lambda x: tf.reshape(v + 0.0 * x, (10, 25), name="view") * 1.0, SPEC)
    handle = next(at for at, kind in enumerate(roles.kinds) if kind is Kind.HANDLE)
    read = next(at for at, node in enumerate(program.nodes) if node.op == "ReadVariableOp")
    assert roles.variables == {(handle, 0)}
    assert roles.storage[place(program, "view"), 0] == ((place(program, "add"), 0),)
    assert roles.storage[read, 0] == ((handle, 0),)


def test_identity_n_shares_storages_one_by_one():
    roles, program = analysed(lambda x, y: tf.raw_ops.IdentityN(input=[x, y], name="both")[::-1], SPEC, SPEC)
    both = place(program, "both")
    assert [roles.storage[both, output] for output in (0, 1)] == [((0, 0),), ((1, 0),)]


def test_writes_and_reads_of_variables():
    v, w = tf.Variable(tf.ones(250)), tf.Variable(tf.ones((250, 2)))

    def step(x):
        v.assign_add(x, name="add")
        tf.gather(w, tf.constant([3]), name="gather")
        w.scatter_sub(tf.IndexedSlices(tf.ones((1, 2)), tf.constant([3])), name="scatter")

    roles, program = analysed(step, SPEC)
    written = {program.nodes[at].op: len(storages) for at, storages in roles.writes.items()}
    assert written == {"AssignAddVariableOp": 1, "ResourceScatterSub": 1}
    assert roles.copied == set()


def test_what_an_assignment_of_tensorflow_1_returns_is_the_variable():
    """Also where another variable's old value is copied."""
    graph = tf.Graph()
    with graph.as_default():
        v, w = (tf.raw_ops.VariableV2(shape=[250], dtype=tf.float32, name=name) for name in "vw")
        old = tf.identity(w, name="old")
        tf.raw_ops.Assign(ref=w, value=tf.sin(v))
        tf.cos(tf.raw_ops.AssignAdd(ref=v, value=old, name="add"), name="cosine")
    program, _ = read_source(graph, None, None, None)
    roles = roles_of(program)
    assert roles.copied == {place(program, "old")}
    cosine = program.nodes[place(program, "cosine")]
    assert roles.stored(cosine.inputs) == [(place(program, "v"), 0)]


def test_a_random_generator_writes_its_state():
    generator = tf.random.Generator.from_seed(1)
    roles, program = analysed(lambda: generator.normal((3,)))
    assert [program.nodes[at].op for at in roles.writes] == ["RngReadAndSkip"]


def test_loops_write_what_their_bodies_write():
    v = tf.Variable(tf.ones(()))

    def loop(body):
        return analysed(lambda: tf.while_loop(lambda i: i < v, body, [0.0]))[0].writes

    assert loop(lambda i: i + v) == {}
    assert loop(lambda i: i + tf.random.uniform(()) * v) == {}
    assert len(loop(lambda i: i + v.assign_add(1.0))) == 1
    inner = tf.function(lambda i: i + v.assign_add(1.0), autograph=False)
    assert len(loop(lambda i: inner(i))) == 1


def test_reads_whose_value_is_needed_after_an_update_are_copies():
    v = tf.Variable(tf.ones(250))

    def step(x):
        first = tf.identity(v.read_value())
        second = v.read_value()
        used = second + x
        v.assign(x)
        return first + used

    roles, program = analysed(step, SPEC)
    assert len(roles.copied) == 1
    (copy,) = roles.copied
    assert roles.storage[copy, 0] == ((copy, 0),)
    later = [node for node in program.nodes if node.op == "AddV2"][-1]
    assert set(roles.stored(later.inputs)) == {(copy, 0), (place(program, "add"), 0)}


def items(x, y):
    """A list of ``x`` and ``sin(y)``, made item by item."""
    listed = tf.TensorArray(tf.float32, 2, element_shape=(250,)).write(0, x).write(1, tf.sin(y, name="sine"))
    return tf.identity(listed.stack(), name="both")


def test_a_list_refers_to_its_items():
    roles, program = analysed(items, SPEC, SPEC)
    last = max(at for at, node in enumerate(program.nodes) if node.op == "TensorListSetItem")
    assert set(roles.storage[last, 0]) >= {(0, 0), (place(program, "sine"), 0)}


def test_a_list_of_very_many_items_is_a_storage_of_its_own(monkeypatch):
    monkeypatch.setattr(tensorflow_storage, "MAX_PARTS", 2)
    roles, program = analysed(items, SPEC, SPEC)
    last = max(at for at, node in enumerate(program.nodes) if node.op == "TensorListSetItem")
    assert roles.storage[last, 0] == ((last, 0),)
    assert roles.kinds[last] is Kind.OP


def test_an_old_value_in_a_list_is_a_copy():
    v = tf.Variable(tf.ones(250))

    def step(x):
        listed = tf.TensorArray(tf.float32, 2, element_shape=(250,)).write(0, v.read_value()).write(1, x)
        v.assign(x)
        return listed.stack()

    roles, _ = analysed(step, SPEC)
    assert len(roles.copied) == 1
