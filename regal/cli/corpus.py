"""``regal inspect --corpus``."""

from __future__ import annotations

import json

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from regal.corpus import load_corpus
from regal.plot.corpus import HEADINGS, corpus_groups, group_texts


def run(source: str, as_json: bool) -> None:
    """Print how many graphs of which size a corpus holds; headrooms are medians."""
    corpus = load_corpus(source)
    groups = corpus_groups(corpus)
    splits = {name: len(names) for name, names in corpus.splits.items()}
    if as_json:
        facts = {"name": corpus.name, "splits": splits, "groups": [group._asdict() for group in groups]}
        print(json.dumps(facts, allow_nan=False))
        return
    title = ", ".join(f"{count} {name}" for name, count in splits.items())
    table = Table(
        title=f"{escape(corpus.name)}: {len(corpus)} graphs ({title})",
        box=SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in HEADINGS[:2] else "right", no_wrap=True)
    for group in groups:
        table.add_row(*map(escape, group_texts(group)))
    Console().print(table)
