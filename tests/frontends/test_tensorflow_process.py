import subprocess
import sys

import pytest

tf = pytest.importorskip("tensorflow")

from tensorflow.core.framework import graph_pb2  # noqa: E402

from regal.files import ParseError  # noqa: E402
from regal.frontends import tensorflow_process  # noqa: E402
from regal.frontends.roofline import Rates  # noqa: E402
from regal.frontends.tensorflow import load  # noqa: E402
from regal.frontends.tensorflow_process import load_file  # noqa: E402


@pytest.fixture
def file(tmp_path):
    graph = tf.Graph()
    with graph.as_default():
        tf.sin(tf.compat.v1.placeholder(tf.float32, [None, 10], name="x"), name="sine")
    path = tmp_path / "net.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    return path


@pytest.mark.slow
def test_a_file_gives_the_same_graph_as_in_this_process(file):
    options = {"default_dimension": 4, "outputs": ["sine"], "rates": Rates(flops=1e9)}
    assert load_file(file, **options).sha256 == load(file, **options).sha256


@pytest.mark.slow
def test_what_is_wrong_comes_back(file):
    with pytest.raises(ParseError, match=r"net\.pb: input 'x' leaves open dimensions of its shape"):
        load_file(file)
    with pytest.raises(ParseError, match=r"none\.pb: No such file"):
        load_file(file.with_name("none.pb"))


@pytest.mark.slow
def test_a_constant_that_would_fill_the_memory_leaves_a_size_unknown(file):
    """The size of the last Fill is the sum of 10^10 elements: shape inference would make 40 GB to know it."""
    graph = tf.Graph()
    with graph.as_default():
        sides = tf.constant([3, 5], name="sides")
        total = tf.raw_ops.Sum(input=tf.raw_ops.Fill(dims=sides, value=1), axis=[0, 1])
        tf.raw_ops.Fill(dims=tf.stack([total, 2]), value=1.0, name="result")
    graph_def = graph_pb2.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    sides = next(node for node in graph_def.node if node.name == "sides").attr["value"].tensor
    sides.tensor_content = tf.io.decode_raw(tf.io.serialize_tensor([100_000, 100_000]), tf.uint8).numpy().tobytes()[-8:]
    file.write_bytes(graph_def.SerializeToString())
    assert load_file(file).meta["source"]["unknown_shapes"] == 1


def test_a_crash_ends_in_one_line(file, monkeypatch):
    monkeypatch.setattr(tensorflow_process, "START", "import os; os.kill(os.getpid(), 6)")
    with pytest.raises(ParseError, match=r"net\.pb: TensorFlow crashed on it, or takes too much memory \(SIGABRT\)"):
        load_file(file)
    monkeypatch.setattr(tensorflow_process, "START", "raise SystemExit('what happened')")
    with pytest.raises(ParseError, match="failed with exit code 1: what happened"):
        load_file(file)


def test_reading_takes_bounded_time(file, monkeypatch):
    monkeypatch.setattr(tensorflow_process, "START", "import time; time.sleep(60)")
    monkeypatch.setattr(tensorflow_process, "MAX_SECONDS", 0.5)
    with pytest.raises(ParseError, match=r"reading it takes more than 0\.5 seconds"):
        load_file(file)


def test_the_caller_does_not_load_tensorflow():
    code = "import sys, regal.frontends.tensorflow_process; print('tensorflow' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
