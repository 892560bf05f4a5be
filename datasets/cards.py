"""Write the generated parts of the data cards: ``python datasets/cards.py [CORPUS ...]``.

What stands between ``<!-- table -->`` and ``<!-- /table -->`` in ``datasets/CORPUS/README.md`` is replaced by the
tables of the corpus; in ``datasets/README.md`` by the comparison of all of them with the papers' data. The histograms
in ``datasets/pictures`` are drawn anew. Without a name, all corpora in this folder are written.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean, median

from regal import synthetic
from regal.corpus import Corpus, Record, load_corpus
from regal.corpus.facts import depth, num_edges
from regal.files import write_text
from regal.plot.corpus import HEADINGS, corpus_groups, group_texts

DATASETS = Path(__file__).resolve().parent
BEGIN, END = "<!-- table -->", "<!-- /table -->"
ORDER = ("tensorflow", "pytorch", "xla", "go", "onnx")
"""Corpora in the order of tables and pictures; others follow by name."""
FEW = 40
"""A corpus of so many graphs or fewer is listed graph by graph."""
PAPERS = (
    ("*REGAL, TensorFlow, private*", "372", "60 / 20 / 20 %", "", ""),
    ("*REGAL, XLA, private*", "not said", "test only", "about 9 × its TensorFlow set", "about 13 × its TensorFlow set"),
    ("*REGAL, synthetic, published*", "12,000", "10,000 / 1,000 / 1,000", "50 to 200", ""),
    ("*GO, private*", "not said", "", "up to 80,000", ""),
)
"""Data, graphs, splits, ops and edges, as Paliwal et al. (2020) and Zhou et al. (2020) say."""


def main() -> None:
    """Write the cards of the command line, the comparison and the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="*", help="such as pytorch; default all")
    parser.add_argument("--no-pictures", action="store_true", help="leave the histograms as they are")
    arguments = parser.parse_args()
    corpora = all_corpora(DATASETS)
    unknown = set(arguments.corpus) - {corpus.name for corpus in corpora}
    if unknown:
        parser.error(f"no such corpus in {DATASETS}: {', '.join(sorted(unknown))}")
    for corpus in corpora:
        if not arguments.corpus or corpus.name in arguments.corpus:
            replace_table(corpus.folder / "README.md", card(corpus))
    replace_table(DATASETS / "README.md", comparison(corpora))
    if not arguments.no_pictures:
        from histograms import draw

        draw(corpora, DATASETS / "pictures")


def all_corpora(folder: Path) -> list[Corpus]:
    """The corpora in a folder, in the order of :data:`ORDER`."""
    names = [path.parent.name for path in folder.glob("*/corpus.json")]
    rank = {name: number for number, name in enumerate(ORDER)}
    return [load_corpus(folder / name) for name in sorted(names, key=lambda name: (rank.get(name, len(ORDER)), name))]


def replace_table(path: Path, text: str) -> None:
    """Put ``text`` between the marks in a file; ``ValueError`` where there is not one pair of them."""
    content = path.read_text()
    if content.count(BEGIN) != 1 or content.count(END) != 1 or content.index(BEGIN) > content.index(END):
        raise ValueError(f"{path}: there must be one {BEGIN} and after it one {END}")
    head, _, rest = content.partition(BEGIN)
    _, _, tail = rest.partition(END)
    write_text(path, f"{head}{BEGIN}\n{text.strip()}\n{END}{tail}")


def card(corpus: Corpus) -> str:
    """The tables of a corpus' data card."""
    parts = [_groups(corpus), _splits(corpus), _room(corpus.records), _outcomes(corpus.folder / "log.csv")]
    if len(corpus) <= FEW:
        parts.append(_graphs(corpus.records))
    return "\n\n".join(filter(None, parts))


def comparison(corpora: Sequence[Corpus]) -> str:
    """All corpora and the papers' data, one row each, and how the XLA graphs compare with the TensorFlow graphs."""
    heads = ("data", "graphs", "train / valid / test", "families", "ops: median (min–max)", "ops: mean", "edges: mean")
    heads += ("depth: median", "room ≥ 2 %", "opaque ops", "MB in git")
    rows = []
    for corpus in corpora:
        ops = [record.ops for record in corpus.records]
        rows.append(
            (
                f"[{corpus.name}]({corpus.name}/README.md)",
                f"{len(corpus):,}",
                " / ".join(f"{len(corpus.splits[name]):,}" for name in ("train", "valid", "test")),
                len({record.family for record in corpus.records}),
                _spread(ops),
                f"{mean(ops):,.0f}",
                f"{mean(record.edges for record in corpus.records):,.0f}",
                f"{median(record.depth for record in corpus.records):,.0f}",
                f"{mean(record.headroom >= 0.02 for record in corpus.records):.0%}",
                f"{sum(record.opaque_ops for record in corpus.records) / sum(ops):.2%}",
                f"{_stored_bytes(corpus.folder) / 1e6:.1f}",
            )
        )
    rows.append(_synthetic())
    rows += [(name, graphs, splits, "", ops, "", edges, *[""] * 4) for name, graphs, splits, ops, edges in PAPERS]
    text = _table(heads, rows, left=1)
    named = {corpus.name: corpus.records for corpus in corpora}
    if "tensorflow" in named and "xla" in named:
        ops, edges = (
            mean(map(count, named["xla"])) / mean(map(count, named["tensorflow"]))
            for count in (lambda record: record.ops, lambda record: record.edges)
        )
        text += (
            f"\n\nThe mean graph of `xla` has {ops:.1f} × the ops and {edges:.1f} × the edges of that of `tensorflow`."
        )
    return text


def _synthetic() -> tuple[str, ...]:
    """The generated graphs, of which the test split is measured."""
    graphs = list(synthetic.split("test"))
    counts = [f"{count:,}" for count in synthetic.SPLIT_COUNTS.values()]
    return (
        "[synthetic](synthetic/README.md), made on demand",
        f"{sum(synthetic.SPLIT_COUNTS.values()):,}",
        " / ".join(counts),
        str(len(synthetic.Family)),
        _spread([graph.num_ops for graph in graphs]),
        f"{mean(graph.num_ops for graph in graphs):,.0f}",
        f"{mean(map(num_edges, graphs)):,.0f}",
        f"{median(map(depth, graphs)):,.0f}",
        *("", "0.00%", f"{_stored_bytes(DATASETS / 'synthetic') / 1e6:.1f}"),
    )


def _groups(corpus: Corpus) -> str:
    """What ``regal inspect --corpus`` prints."""
    return _table(HEADINGS, [group_texts(group) for group in corpus_groups(corpus)], left=2)


def _splits(corpus: Corpus) -> str:
    rows = []
    for name, members in corpus.splits.items():
        records = [record for record in corpus.records if record.name in members]
        if records:
            families = len({record.family for record in records})
            rows.append((name, len(records), families, f"{sum(record.ops for record in records):,}"))
    return _table(("split", "graphs", "families", "ops in all"), rows, left=1)


def _room(records: Sequence[Record]) -> str:
    """How many graphs have how much room: on one device above the bound, on two for a longer search."""
    classes = Counter(record.headroom_class for record in records)
    heads = ["room on one device, above the certified bound", "graphs"]
    rows = [(text, classes[name]) for name, text in (("none", "< 2 %"), ("some", "2–10 %"), ("large", "≥ 10 %"))]
    text = _table(heads, rows, left=1)
    found = [share for record in records if (share := record.search_headroom) is not None]
    if found:
        limits = ((0.0, 0.01, "< 1 %"), (0.01, 0.05, "1–5 %"), (0.05, 0.2, "5–20 %"), (0.2, 2.0, "≥ 20 %"))
        rows = [(text, sum(low <= share < high for share in found)) for low, high, text in limits]
        text += "\n\n" + _table(
            ("saved on two devices by BRKGA from 2,000 to 20,000 evaluations", "graphs"), rows, left=1
        )
    return text


def _outcomes(path: Path) -> str:
    """How many entries of the log ended how."""
    if not path.exists():
        return ""
    with open(path, newline="") as file:
        outcomes = Counter((row["package"], row["outcome"]) for row in csv.DictReader(file))
    packages = sorted({package for package, _ in outcomes})
    kinds = [
        kind for kind in ("ok", "duplicate", "error", "timeout") if any((each, kind) in outcomes for each in packages)
    ]
    rows = [(package, *(outcomes[package, kind] for kind in kinds)) for package in packages]
    return _table(("tried", *kinds), rows, left=1)


def _graphs(records: Iterable[Record]) -> str:
    heads = ("graph", "family", "ops", "edges", "depth", "weights and inputs MB", "peak MB", "bound MB", "room")
    rows = [
        (
            f"`{record.name}`",
            record.family,
            *(f"{count:,}" for count in (record.ops, record.edges, record.depth)),
            *(f"{size / 1e6:,.1f}" for size in (record.persistent_bytes, record.program_order_peak, record.bound)),
            f"{record.headroom:.1%}",
        )
        for record in records
    ]
    return _table(heads, rows, left=2)


def _spread(counts: Sequence[int]) -> str:
    return f"{median(counts):,.0f} ({min(counts):,}–{max(counts):,})"


def _stored_bytes(folder: Path) -> int:
    """Bytes of a corpus' graphs, index and log."""
    return sum(path.stat().st_size for path in folder.iterdir() if path.suffix in (".npz", ".json", ".csv"))


def _table(heads: Sequence[str], rows: Sequence[Sequence[object]], left: int) -> str:
    """A Markdown table whose first ``left`` columns hold text."""
    lines = [heads, ["---"] * left + ["---:"] * (len(heads) - left), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


if __name__ == "__main__":
    main()
