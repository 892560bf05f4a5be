"""The committed results are complete and their report follows from them."""

import csv
from pathlib import Path

from experiments.examples import FIELDS, GRAPHS, METHODS, ROOT, report, run


def committed() -> list[dict[str, str]]:
    with open(ROOT / "results" / "examples.csv", newline="") as file:
        return list(csv.DictReader(file))


def test_every_graph_method_and_seed_is_there_once():
    rows = committed()
    graphs = {path.name.removesuffix(".json.gz") for path in Path(GRAPHS).glob("*.json.gz")}
    keys = [(row["graph"], row["method"], int(row["seed"])) for row in rows]
    assert len(keys) == len(set(keys))
    seeds = {seed for _, _, seed in keys}
    assert set(keys) == {(graph, method, seed) for graph in graphs for method in METHODS for seed in seeds}


def test_the_report_follows_from_the_rows():
    assert report(committed()) == (ROOT / "results" / "examples.md").read_text()


def test_a_live_slice_gives_the_committed_figures(monkeypatch):
    name = "torch.timm.cpubone_nano.train"
    monkeypatch.setattr("experiments.examples.GRAPHS", _OneGraph(name))
    timeless = [field for field in FIELDS if field != "seconds"]
    live = [{field: str(row[field]) for field in timeless} for row in run(1)]
    kept = [{field: row[field] for field in timeless} for row in committed()]
    assert live == [row for row in kept if row["graph"] == name and row["seed"] == "0"]


class _OneGraph:
    def __init__(self, name: str) -> None:
        self.name = name

    def glob(self, pattern: str):
        return [GRAPHS / f"{self.name}.json.gz"]
