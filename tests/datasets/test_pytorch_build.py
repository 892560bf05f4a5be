"""What the build of the PyTorch corpus decides without a framework, and with one what it traces."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from regal.corpus.harvest import Job

FOLDER = Path(__file__).resolve().parents[2] / "datasets" / "pytorch"


def module(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module beside the build script."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module(name)


@pytest.fixture
def family(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return module("family", monkeypatch)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("qwen2", "qwen2_5_vl_text", "qwen3_moe", "qwen3_vit"), "qwen"),
        (("bert", "roc_bert", "megatron-bert", "bert-generation"), "bert"),
        (("roberta", "xlm-roberta", "xlm-roberta-xl", "roberta-prelayernorm"), "roberta"),
        (("t5", "switch_transformers"), "t5"),
        (("t5gemma", "t5gemma2_encoder"), "t5gemma"),
        (("dinov2", "dinov3_vit", "dinov2_with_registers"), "dino"),
        (("swin", "swinv2", "swin_transformer_v2_cr"), "swin"),
        (("vision_transformer", "vision_transformer_sam", "vit", "vit_mae"), "vit"),
        (("detr", "deformable_detr", "dab-detr", "rt_detr_v2", "table-transformer"), "detr"),
        (("wav2vec2", "wav2vec2-conformer"), "wav2vec2"),
        (("resnet", "resnetv2"), "resnet"),
        (("efficientformer", "efficientformer_v2"), "efficientformer"),
        (("convnext", "convnextv2"), "convnext"),
    ],
)
def test_relatives_share_a_family(family: ModuleType, names: tuple[str, ...], expected: str) -> None:
    assert {family.family_of(name) for name in names} == {expected}


def test_different_architectures_do_not(family: ModuleType) -> None:
    names = ("bert", "roberta", "t5", "mt5", "t5gemma", "gemma", "vit", "deit", "resnet", "res2net", "swin", "swin2sr")
    assert len({family.family_of(name) for name in names}) == len(names)


def test_tables_name_every_model_once(monkeypatch: pytest.MonkeyPatch, family: ModuleType) -> None:
    for table in ("timm_models", "torchvision_models"):
        models = module(table, monkeypatch).MODELS
        names = [name for group in models.values() for name in group.split()]
        assert len(names) == len(set(names)) > 30
        assert all(re.fullmatch(r"[a-z0-9_]+", family.family_of(group)) for group in models)
    assert set(module("timm_models", monkeypatch).DEPTHS) <= set(module("timm_models", monkeypatch).MODELS)


def test_constraints_pin_every_package() -> None:
    lines = [line for line in (FOLDER / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+==[0-9.]+", line) for line in lines)
    card = (FOLDER / "README.md").read_text()
    for package in ("timm", "torchvision", "transformers"):
        version = next(line.split("==")[1] for line in lines if line.startswith(f"{package}=="))
        assert f"| {package} | {version} |" in card


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("huggingface_hub")
    return module("build", monkeypatch)


def test_jobs_come_in_rounds_of_families(build: ModuleType) -> None:
    jobs = [Job(f"{family}{number}", "timm", family, 4, dict) for family in "abc" for number in range(ord(family) - 96)]
    ordered = build.in_rounds(jobs)
    assert ["".join(sorted(job.family for job in ordered[start:end])) for start, end in ((0, 3), (3, 5), (5, 6))] == [
        "abc",
        "bc",
        "c",
    ]
    assert ordered == build.in_rounds(reversed(jobs))


def test_depth_follows_from_the_name(build: ModuleType) -> None:
    names = ("bert", "roberta", "llama", "mistral")
    assert [build.depth_of(name) for name in names] == [5, 5, 3, 5]


def test_a_model_becomes_one_graph_a_mode(build: ModuleType) -> None:
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
    first, second = (build.graphs(model, (torch.zeros(4, 8),), "mlp", "momentum") for _ in range(2))
    assert tuple(first) == build.MODES
    ops = {mode: graph.num_ops for mode, graph in first.items()}
    assert ops["inference"] == 3 < ops["training"]
    assert ops["step"] == ops["training"] + 4 * 3  # velocity twice, parameter once
    assert [graph.sha256 for graph in first.values()] == [graph.sha256 for graph in second.values()]


def test_all_jobs_have_names_of_their_own(build: ModuleType) -> None:
    for package in ("timm", "torchvision", "transformers"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    jobs = build.jobs()
    assert len({job.name for job in jobs}) == len(jobs) > 800
    assert {job.package for job in jobs} == {"timm", "torchvision", "transformers"}
