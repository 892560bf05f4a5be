from importlib.util import find_spec

import pytest

torch = pytest.importorskip("torch")
if find_spec("timm") is None or find_spec("torchvision") is None:
    pytest.skip("timm and torchvision are not installed", allow_module_level=True)

from torch import nn  # noqa: E402

from regal.frontends import zoo  # noqa: E402
from regal.frontends.torch import trace  # noqa: E402
from regal.frontends.torch_capture import default_loss  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the packages


def test_models_have_neither_weights_nor_inputs_with_data():
    for model, inputs in (zoo.torchvision("squeezenet1_1", batch=2), zoo.timm("resnet10t", batch=2)):
        assert all(tensor.is_meta for tensor in (*model.parameters(), *model.buffers(), *inputs))
        assert len(inputs[0]) == 2


def test_shapes_are_those_that_the_model_was_made_for():
    assert zoo.torchvision("r3d_18")[1][0].shape == (4, 3, 16, 112, 112)
    assert [tensor.shape for tensor in zoo.torchvision("raft_small", batch=1)[1]] == [(1, 3, 224, 224)] * 2
    assert zoo.timm("resnet10t", image_size=64)[1][0].shape == (4, 3, 64, 64)
    assert zoo.torchvision("resnet18", num_classes=7)[0].fc.out_features == 7


def test_what_needs_values_is_built_with_them():
    """The widths of a RegNet are read from tensors, which have none on the meta device."""
    model, _ = zoo.torchvision("regnet_x_400mf")
    assert not next(model.parameters()).is_meta


def test_segmentation_backbones_are_not_downloaded(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a download")

    monkeypatch.setattr(torch.hub, "download_url_to_file", refuse)
    model, _ = zoo.torchvision("fcn_resnet50")
    assert next(model.parameters()).is_meta


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: zoo.torchvision("nope"), "torchvision:nope: ValueError: Unknown model nope"),
        (lambda: zoo.timm("nope"), "timm:nope: RuntimeError: Unknown model"),
        (lambda: zoo.torchvision("resnet18", depth=3), "torchvision:resnet18: TypeError: "),
        (lambda: zoo.timm("resnet18", batch=0), "batch must be a whole number above zero, not 0"),
        (lambda: zoo.torchvision("resnet18", image_size="big"), "image_size must be a whole number above zero"),
    ],
)
def test_what_does_not_exist_is_refused_in_one_line(call, message):
    with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
        call()
    assert str(caught.value).startswith(message)


def test_the_loss_of_scores_is_cross_entropy():
    linear, x = nn.Linear(4, 3), torch.ones(5, 4)
    graph = trace(linear, x, training=True, loss=zoo.loss_for(linear, x))
    assert "aten._log_softmax.default" in graph.op_types
    assert 5 * 8 in graph.tensor_bytes[graph.producer < 0]  # a label for each example
    assert zoo.loss_for(nn.Conv2d(1, 1, 1), torch.ones(1, 1, 2, 2)) is default_loss
