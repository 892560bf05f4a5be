"""A corpus as a small table: by framework and mode, how many graphs of which size."""

from __future__ import annotations

from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from regal.plot.html import card, table
from regal.plot.style import safe

if TYPE_CHECKING:
    from regal.corpus import Corpus, Record


class Group(NamedTuple):
    """Graphs of one package and mode; counts of ops are those of the graphs."""

    package: str
    mode: str
    graphs: int
    families: int
    smallest: int
    median: float
    largest: int
    headroom: float
    search_headroom: float | None


HEADINGS = ("package", "mode", "graphs", "families", "ops: min/med/max", "room", "search")


def corpus_groups(corpus: Corpus) -> list[Group]:
    """One group per package and mode, and one of all."""
    members: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in corpus.records:
        members[record.package, record.mode].append(record)
    groups = [_group(*key, members[key]) for key in sorted(members)]
    return [*groups, _group("all", "", list(corpus.records))] if groups else []


def group_texts(group: Group) -> list[str]:
    """The group's row of a table, under :data:`HEADINGS`: ``room`` is that of an order, ``search`` that of BRKGA."""
    search = "" if group.search_headroom is None else f"{group.search_headroom:.1%}"
    ops = f"{group.smallest}/{group.median:.0f}/{group.largest}"
    return [group.package, group.mode, f"{group.graphs}", f"{group.families}", ops, f"{group.headroom:.1%}", search]


def corpus_to_html(corpus: Corpus) -> str:
    """HTML preview of a corpus; headrooms are medians."""
    rows = [HEADINGS, *([safe(text, 40, True) for text in group_texts(group)] for group in corpus_groups(corpus))]
    return card(f"Corpus {safe(corpus.name, quote=True)}, {len(corpus)} graphs", table(rows, header=True))


def _group(package: str, mode: str, records: list[Record]) -> Group:
    ops = [record.ops for record in records]
    searched = [share for record in records if (share := record.search_headroom) is not None]
    return Group(
        package=package,
        mode=mode,
        graphs=len(records),
        families=len({record.family for record in records}),
        smallest=min(ops),
        median=median(ops),
        largest=max(ops),
        headroom=median(record.headroom for record in records),
        search_headroom=median(searched) if searched else None,
    )
