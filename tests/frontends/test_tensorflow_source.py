import gzip

import pytest

tf = pytest.importorskip("tensorflow")

from tensorflow.core.framework import graph_pb2  # noqa: E402
from tensorflow.core.protobuf import saved_model_pb2  # noqa: E402

from regal.files import ParseError  # noqa: E402
from regal.frontends import tensorflow_source  # noqa: E402
from regal.frontends.tensorflow import load  # noqa: E402


class Layer(tf.Module):
    """sin(x @ w) with an open batch."""

    def __init__(self):
        super().__init__()
        self.w = tf.Variable(tf.ones((10, 20)))

    @tf.function(input_signature=[tf.TensorSpec((None, 10))])
    def __call__(self, x):
        return {"y": tf.sin(x @ self.w)}


def frozen(build):
    graph = tf.Graph()
    with graph.as_default():
        build()
    return graph.as_graph_def()


def sine():
    tf.sin(tf.compat.v1.placeholder(tf.float32, [None, 10], name="x"), name="sine")


@pytest.fixture
def saved(tmp_path):
    folder = tmp_path / "layer"
    layer = Layer()
    tf.saved_model.save(layer, str(folder), signatures={"serving_default": layer.__call__, "other": layer.__call__})
    return folder


def edit(folder, change):
    model = saved_model_pb2.SavedModel()
    path = folder / "saved_model.pb"
    model.ParseFromString(path.read_bytes())
    change(model)
    path.write_bytes(model.SerializeToString())


# GraphDef


def test_a_graph_def_and_its_file(tmp_path):
    graph_def = frozen(sine)
    graph = load(graph_def, default_dimension=4)
    assert graph.op_types == ("Sin",)
    assert graph.tensor_bytes.tolist() == [160, 160]
    (tmp_path / "net.pb").write_bytes(graph_def.SerializeToString())
    from_file = load(tmp_path / "net.pb", default_dimension=4)
    assert (from_file.sha256, from_file.name) == (graph.sha256, "net")
    (tmp_path / "net.pb.gz").write_bytes(gzip.compress(graph_def.SerializeToString()))
    assert load(str(tmp_path / "net.pb.gz"), default_dimension=4).sha256 == graph.sha256


def test_a_graph_def_of_the_caller_stays_as_it_is():
    graph_def = frozen(sine)
    before = graph_def.SerializeToString(deterministic=True)
    load(graph_def, default_dimension=4)
    assert graph_def.SerializeToString(deterministic=True) == before


def test_outputs_are_chosen():
    def build():
        x = tf.compat.v1.placeholder(tf.float32, [10])
        tf.cos(tf.sin(x, name="sine"))
        tf.exp(x)

    graph = load(frozen(build), outputs=["sine:0"])
    assert graph.op_types == ("Sin",)
    assert graph.is_output.tolist() == [False, True]


def test_a_graph_of_tensorflow_1_returns_what_nobody_reads():
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [10])
        tf.cos(tf.sin(x))
        tf.exp(x)
    loaded = load(graph)
    assert loaded.op_types == ("Sin", "Cos", "Exp")
    assert [loaded.op_types[op] for op in loaded.producer[loaded.is_output]] == ["Cos", "Exp"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a GraphDef: there is no node in it"),
        (b"\xff" * 20, "not a GraphDef: the protobuf data are broken or end too early"),
        (b"\x1f\x8b\x08\x00", "the gzip data end too early"),
    ],
)
def test_files_that_hold_no_graph_are_refused(tmp_path, content, message):
    path = tmp_path / "net.pb"
    path.write_bytes(content)
    with pytest.raises(ParseError, match=message) as caught:
        load(path)
    assert str(caught.value).startswith(str(path))
    assert str(caught.value).count(str(path)) == 1


def test_a_broken_node_is_named_with_its_file(tmp_path):
    graph_def = frozen(sine)
    graph_def.node[1].input[0] = "nowhere"
    (tmp_path / "net.pb").write_bytes(graph_def.SerializeToString())
    with pytest.raises(ParseError, match=r"net\.pb: node 'sine': its input 'nowhere' names no node$"):
        load(tmp_path / "net.pb")


def test_cut_files_are_refused_or_read(tmp_path):
    """Whatever is left of a file, it ends in a graph or in one line."""
    data = frozen(sine).SerializeToString()
    path = tmp_path / "net.pb"
    for length in range(0, len(data), 7):
        path.write_bytes(data[:length])
        message = ""
        try:
            load(path, default_dimension=4)
        except ParseError as error:
            message = str(error)
        assert message == "" or message.startswith(f"{path}: "), length
        assert "\n" not in message


def test_long_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tensorflow_source, "MAX_FILE", 10)
    (tmp_path / "net.pb").write_bytes(frozen(sine).SerializeToString())
    with pytest.raises(ParseError, match="more than 10 bytes"):
        load(tmp_path / "net.pb")


def test_what_is_no_source_is_refused(tmp_path):
    with pytest.raises(ValueError, match="a TensorFlow source is a function, a graph, a GraphDef or a path, not int"):
        load(3)
    with pytest.raises(ValueError, match="needs an input_signature, or use trace"):
        load(tf.function(lambda x: x))
    with pytest.raises(ParseError, match="No such file"):
        load(tmp_path / "none.pb")


# SavedModel


def test_a_saved_model_is_its_function(saved):
    graph = load(saved, default_dimension=4)
    assert graph.op_types == load(Layer().__call__, default_dimension=4).op_types == ("MatMul", "Sin")
    assert sorted(graph.tensor_bytes.tolist()) == [160, 320, 320, 800]
    assert graph.tensor_bytes[graph.is_output].tolist() == [320]
    assert graph.name == "layer"


def test_a_saved_model_is_only_read(saved, monkeypatch):
    """Neither its loader nor its weights are touched."""
    monkeypatch.setattr(tf.saved_model, "load", None)
    for path in (saved / "variables").iterdir():
        path.unlink()
    assert load(saved, default_dimension=4).num_ops == 2


def test_an_open_batch_needs_a_size(saved):
    with pytest.raises(ParseError, match=r"leaves open dimensions of its shape \(None, 10\): give a size"):
        load(saved)


def test_signatures(saved):
    assert load(saved, default_dimension=4, signature="other").num_ops == 2
    with pytest.raises(ParseError, match="no signature 'none'; there are: 'other', 'serving_default'"):
        load(saved, signature="none")
    edit(saved, lambda model: model.meta_graphs[0].signature_def.pop("serving_default"))
    assert load(saved, default_dimension=4).num_ops == 2
    edit(saved, lambda model: model.meta_graphs[0].signature_def.pop("other"))
    with pytest.raises(ParseError, match="no signature 'serving_default'; there are: none"):
        load(saved)


def test_folders_that_hold_no_saved_model_are_refused(tmp_path, saved):
    with pytest.raises(ParseError, match=r"saved_model\.pb: No such file"):
        load(tmp_path)
    edit(saved, lambda model: model.meta_graphs.pop())
    with pytest.raises(ParseError, match="not a SavedModel: there is no graph in it"):
        load(saved)
    (saved / "saved_model.pb").write_bytes(b"\xff\xff")
    with pytest.raises(ParseError, match="not a SavedModel: the protobuf data are broken"):
        load(saved)


def test_a_saved_model_whose_function_is_missing_is_refused(saved):
    def change(model):
        library = model.meta_graphs[0].graph_def.library
        kept = [function for function in library.function if "signature_wrapper" not in function.signature.name]
        del library.function[:]
        library.function.extend(kept)

    edit(saved, change)
    with pytest.raises(ParseError, match=r"it calls '__inference_signature_wrapper.*', which is no function"):
        load(saved)


# Functions


def test_captured_arrays_are_persistent():
    array = tf.constant([1.0] * 100)
    graph = load(tf.function(lambda x: x + array).get_concrete_function(tf.TensorSpec((100,))))
    assert graph.tensor_bytes.tolist() == [400, 400, 400]


def test_a_graph_of_more_than_a_protobuf_holds_is_refused():
    class Huge(tf.Graph):
        def as_graph_def(self, *args, **kwargs):
            raise ValueError("GraphDef cannot be larger than 2GB.")

    with pytest.raises(ValueError, match="more than 2 GB of constants: pass them as variables"):
        load(Huge())


def test_parse_errors_of_an_empty_graph_def():
    graph = load(graph_pb2.GraphDef())
    assert graph.num_ops == 0
