"""The tool that writes the generated parts of the data cards."""

import importlib.util
import sys
from pathlib import Path

import pytest

from regal.corpus import load_corpus
from tests.tiny_corpus import write_tiny_corpus

DATASETS = Path(__file__).parents[2] / "datasets"


def script(name):
    spec = importlib.util.spec_from_file_location(name, DATASETS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


cards = script("cards")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two corpora of three graphs, a folder of generated graphs, and cards with marks."""
    for name in ("tensorflow", "zoo"):
        (tmp_path / name).mkdir()
        write_tiny_corpus(tmp_path / name)
        index = tmp_path / name / "corpus.json"
        index.write_text(index.read_text().replace('"name": "tiny"', f'"name": "{name}"'))
        (tmp_path / name / "README.md").write_text(f"# {name}\n\n<!-- table -->\nold\n<!-- /table -->\n\nend\n")
    (tmp_path / "README.md").write_text("<!-- table -->\n<!-- /table -->\n")
    (tmp_path / "synthetic").mkdir()
    monkeypatch.setattr(cards, "DATASETS", tmp_path)
    monkeypatch.setattr(cards.synthetic, "split", lambda name: load_corpus(tmp_path / "zoo"))
    return tmp_path


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["cards.py", *arguments])
    cards.main()


def test_cards_and_comparison_are_written_between_the_marks(folder, monkeypatch):
    (folder / "zoo" / "log.csv").write_text(
        "name,package,outcome\na,regal,ok\nb,regal,ok\nc,regal,duplicate\nd,other,timeout\n"
    )
    run(monkeypatch, "--no-pictures")
    text = (folder / "zoo" / "README.md").read_text()
    assert text.startswith("# zoo\n\n<!-- table -->\n| package | mode |")
    assert text.endswith("\n<!-- /table -->\n\nend\n")
    assert "old" not in text
    assert "| regal | inference | 3 | 2 |" in text
    assert "| train | 1 | 1 |" in text
    assert "| test | 2 | 1 |" in text
    assert "| valid |" not in text
    assert "| 2–10 % | 3 |" in text
    assert "| 5–20 % | 3 |" in text  # 100 to 90
    assert "| tried | ok | duplicate | timeout |" in text
    assert "| regal | 2 | 1 | 0 |" in text
    assert "| other | 0 | 0 | 1 |" in text
    assert "| `regal.chain.inference` | bert | 3 | 3 | 3 | 0.0 | 0.0 | 0.0 | 5.0% |" in text
    table = (folder / "README.md").read_text()
    rows = [line.split(" | ")[0].strip("| ") for line in table.splitlines() if line.startswith("| ")][2:]
    assert rows[:3] == ["[tensorflow](tensorflow/README.md)", "[zoo](zoo/README.md)",
                        "[synthetic](synthetic/README.md), made on demand"]  # fmt: skip
    assert len(rows) == 3 + len(cards.PAPERS)
    assert len({line.count("|") for line in table.splitlines() if line.startswith("| ")}) == 1
    assert "The mean graph of `xla`" not in table


def test_writing_twice_changes_nothing(folder, monkeypatch):
    run(monkeypatch, "--no-pictures")
    before = {path: path.read_bytes() for path in folder.rglob("*.md")}
    run(monkeypatch, "--no-pictures")
    assert {path: path.read_bytes() for path in folder.rglob("*.md")} == before


def test_only_the_named_card_and_the_comparison_are_written(folder, monkeypatch):
    run(monkeypatch, "zoo", "--no-pictures")
    assert "old" in (folder / "tensorflow" / "README.md").read_text()
    assert "old" not in (folder / "zoo" / "README.md").read_text()
    with pytest.raises(SystemExit):
        run(monkeypatch, "zo")


@pytest.mark.parametrize("text", ["", "<!-- table -->", "<!-- /table --><!-- table -->", "<!-- table -->" * 2])
def test_a_card_without_a_pair_of_marks_is_refused(tmp_path, text):
    (tmp_path / "README.md").write_text(text)
    with pytest.raises(ValueError, match="there must be one <!-- table --> and after it one <!-- /table -->"):
        cards.replace_table(tmp_path / "README.md", "new")
    assert (tmp_path / "README.md").read_text() == text


def test_xla_is_measured_in_graphs_of_tensorflow(folder, monkeypatch):
    (folder / "zoo").rename(folder / "xla")
    index = folder / "xla" / "corpus.json"
    text = index.read_text().replace('"name": "zoo"', '"name": "xla"')
    index.write_text(text.replace('"ops":3', '"ops":6').replace('"edges": 3', '"edges": 12'))
    monkeypatch.setattr(cards.synthetic, "split", lambda name: load_corpus(folder / "tensorflow"))
    corpora = cards.all_corpora(folder)
    assert [corpus.name for corpus in corpora] == ["tensorflow", "xla"]
    assert "has 1.0 × the ops and 4.0 × the edges of that of `tensorflow`" in cards.comparison(corpora)


def test_pictures_are_small_and_the_same_every_time(folder, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(str(DATASETS))
    run(monkeypatch)
    pictures = {path.name: path.read_bytes() for path in (folder / "pictures").iterdir()}
    assert set(pictures) == {"ops.svg", "edges.svg", "depth.svg", "room.svg"}
    for content in pictures.values():
        assert content.startswith(b"<?xml")
        assert b"tensorflow" in content
        assert b"zoo" in content
        assert len(content) < 60_000
    run(monkeypatch)
    assert {path.name: path.read_bytes() for path in (folder / "pictures").iterdir()} == pictures


@pytest.mark.parametrize("path", sorted(DATASETS.glob("*/README.md")), ids=lambda path: path.parent.name)
def test_every_card_of_a_corpus_has_its_marks(path):
    if (path.parent / "corpus.json").exists():
        text = path.read_text()
        assert text.count(cards.BEGIN) == text.count(cards.END) == 1
        assert text.index(cards.BEGIN) < text.index(cards.END)
