import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from regal.frontends import huggingface  # noqa: E402
from regal.frontends.huggingface_config import changed  # noqa: E402
from regal.frontends.torch import trace_modes  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the package

TINY = {"hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 64}


def shapes(inputs):
    return {name: tuple(tensor.shape) for name, tensor in inputs.items()}


def test_a_model_of_a_type_without_weights():
    model, inputs = huggingface.build("bert", layers=2, batch=3, sequence=8)
    assert type(model).__name__ == "BertForMaskedLM"
    assert model.config.num_hidden_layers == 2
    assert shapes(inputs) == {"input_ids": (3, 8)}
    assert all(tensor.is_meta for tensor in (*model.parameters(), *inputs.values()))


@pytest.mark.parametrize(
    ("model_type", "names"),
    [
        ("t5", {"input_ids", "decoder_input_ids"}),
        ("vit", {"pixel_values"}),
        ("wav2vec2", {"input_values"}),
        ("mixtral", {"input_ids"}),
    ],
)
def test_inputs_fit_the_model_and_all_modes_are_traced(model_type, names):
    model, inputs = huggingface.build(model_type, layers=1, batch=1, sequence=8)
    assert set(inputs) == names
    graphs = trace_modes(model, inputs, ("inference", "training", "step-sgd"), data_dependent="assume-false")
    assert 10 < graphs["inference"].num_ops < graphs["training"].num_ops < graphs["step-sgd"].num_ops


def test_a_configuration_from_a_file(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "bert", "num_hidden_layers": 1, "architectures": ["BertModel"], **TINY}))
    model, _ = huggingface.build(path, vocab_size=100)
    assert type(model).__name__ == "BertModel"
    assert (model.config.hidden_size, model.config.vocab_size) == (32, 100)


def test_heads():
    model, _ = huggingface.build("bert", head="question-answering", layers=1)
    assert type(model).__name__ == "BertForQuestionAnswering"
    assert type(huggingface.build("bert", head="base", layers=1)[0]).__name__ == "BertModel"


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("nope", {}, "hf:nope: transformers has no model type 'nope'"),
        ("bert", {"foo": 1}, "hf:bert: the configuration has no field 'foo'"),
        ("bert", {"head": "flying"}, "hf:bert: head 'flying': must be one of"),
        ("bert", {"head": "ctc"}, "hf:bert: there is no ctc model of type bert"),
        ("bert", {"hidden_size": 13}, "hf:bert: "),
        ("bert", {"batch": 0}, "batch must be a whole number above zero, not 0"),
        ("bert", {"layers": True}, "layers must be a whole number above zero, not True"),
        ("no/such/file.json", {}, "no/such/file.json: No such file or directory"),
    ],
)
def test_what_cannot_be_built_is_refused_in_one_line(source, options, message):
    with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
        huggingface.build(source, **options)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"model_type": 3}', '{"model_type": "bert", "model_type": "t5"}'])
def test_files_that_are_no_configuration_are_refused(tmp_path, text):
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"config\.json: "):
        huggingface.build(path)


def test_lists_with_an_entry_for_each_layer_are_cut():
    config = {
        "num_hidden_layers": 4,
        "layer_types": ["a", "b", "c", "d"],
        "sizes": [1, 2, 3],
        "per_layer": {"1": "x", "3": "y"},
        "id2label": {0: "a", 1: "b", 2: "c"},
        "vision": {"depths": [2, 2, 18], "width": 8},
    }
    assert changed(config, 2, {"vision.width": 16}, "hf:x") == {
        "num_hidden_layers": 2,
        "layer_types": ["a", "b"],
        "sizes": [1, 2, 3],
        "per_layer": {"1": "x"},
        "id2label": {0: "a", 1: "b", 2: "c"},
        "vision": {"depths": [1, 1, 1], "width": 16},
    }
    assert changed(config, None, {"num_hidden_layers": 3}, "hf:x")["layer_types"] == ["a", "b", "c"]
    assert changed(config, None, {}, "hf:x") == config
