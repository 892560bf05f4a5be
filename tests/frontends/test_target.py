import sys
from importlib.util import find_spec

import pytest

from regal.frontends.target import Target, load_target

SOURCE = """
def pair():
    return abs, (1, 2)

def table():
    return {"model": abs, "example_inputs": {"x": 1}, "loss": sum, "name": "tiny", "training": True}

def triple():
    return abs, 1, 2

def number():
    return 3

def short():
    return {"model": abs}

def long():
    return {"model": abs, "example_inputs": 1, "los": sum}

def no_model():
    return "abs", 1

def no_loss():
    return {"model": abs, "example_inputs": 1, "loss": 2}

def no_name():
    return {"model": abs, "example_inputs": 1, "name": 2}

def full():
    return {"model": abs, "example_inputs": 1, "optimizer": "adam", "data_dependent": "assume-false"}

def no_optimizer():
    return {"model": abs, "example_inputs": 1, "optimizer": 3}

def no_choice():
    return {"model": abs, "example_inputs": 1, "data_dependent": None}

def no_bool():
    return {"model": abs, "example_inputs": 1, "training": "no"}

def fails():
    raise KeyError("inside")

value = 3
"""


@pytest.fixture(autouse=True)
def module(tmp_path, monkeypatch):
    (tmp_path / "zoo_for_target.py").write_text(SOURCE)
    (tmp_path / "broken_for_target.py").write_text("import surely_not_installed\n")
    monkeypatch.chdir(tmp_path)
    yield
    for name in ("zoo_for_target", "broken_for_target"):
        sys.modules.pop(name, None)


def test_a_pair_and_a_dict_are_taken():
    assert load_target("zoo_for_target:pair") == Target(abs, (1, 2))
    assert load_target("zoo_for_target:full") == Target(abs, 1, optimizer="adam", data_dependent="assume-false")
    assert load_target("zoo_for_target:table") == Target(abs, {"x": 1}, sum, "tiny", True)


def test_the_path_is_left_as_it_was():
    before = list(sys.path)
    load_target("zoo_for_target:pair")
    assert sys.path == before


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("zoo_for_target", "must read module:function"),
        ("zoo_for_target:", "must read module:function"),
        (":pair", "must read module:function"),
        ("zoo_for_target.py:pair", "cannot import"),
        ("not_there_for_target:pair", "cannot import not_there_for_target: No module named"),
        ("broken_for_target:pair", "No module named 'surely_not_installed'"),
        ("zoo_for_target:nothing", "has no nothing"),
        ("zoo_for_target:value", "not a function, but a value: value"),
        ("zoo_for_target:triple", "not a tuple of 3"),
        ("zoo_for_target:number", "not int"),
        ("zoo_for_target:short", "lacks 'example_inputs'"),
        ("zoo_for_target:long", "unknown key 'los'"),
        ("zoo_for_target:no_model", "model must be callable, not str"),
        ("zoo_for_target:no_loss", "loss must be callable, not int"),
        ("zoo_for_target:no_name", "name must be text, not int"),
        ("zoo_for_target:no_optimizer", "optimizer must be text, not int"),
        ("zoo_for_target:no_choice", "data_dependent must be text, not NoneType"),
        ("hf:bert?batch", "an option reads name=value, each name once, not 'batch'"),
        ("timm:resnet18?batch=1&batch=2", "an option reads name=value, each name once, not 'batch=2'"),
        ("zoo_for_target:no_bool", "training must be true or false, not 'no'"),
    ],
)
def test_wrong_targets_are_refused_in_one_line(target, message):
    with pytest.raises(ValueError, match="target") as caught:
        load_target(target)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_zoos_say_what_is_not_installed(monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setitem(sys.modules, "timm", None)
    monkeypatch.setitem(sys.modules, "torchvision", None)
    with pytest.raises(ValueError, match=r"^target 'timm:resnet18': \w+ is not installed: pip install \w+$"):
        load_target("timm:resnet18")


def test_models_of_zoos_are_built():
    if find_spec("timm") is None or find_spec("torch") is None:
        pytest.skip("timm is not installed")
    found = load_target("timm:resnet10t?batch=2&image_size=64")
    assert found.name == "resnet10t"
    assert found.example_inputs[0].shape == (2, 3, 64, 64)
    assert found.data_dependent == "assume-false"
    with pytest.raises(ValueError, match="batch must be a whole number above zero, not -1"):
        load_target("timm:resnet10t?batch=-1")


def test_models_of_transformers_are_built():
    pytest.importorskip("transformers")
    found = load_target("hf:bert?num_hidden_layers=1&batch=2&sequence=16&hidden_act=relu")
    assert (found.name, found.model.config.num_hidden_layers, found.model.config.hidden_act) == ("bert", 1, "relu")
    assert found.example_inputs["input_ids"].shape == (2, 16)


def test_an_error_inside_the_function_is_passed_on():
    with pytest.raises(KeyError, match="inside"):
        load_target("zoo_for_target:fails")
