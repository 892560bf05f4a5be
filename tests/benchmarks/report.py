"""The Markdown table of a results file, and its place in the README."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

README = Path(__file__).parents[2] / "README.md"
BEGIN = "<!-- benchmark table: begin -->"
END = "<!-- benchmark table: end -->"
TWO_CORES = 1.8
"""Gain of pure arithmetic from a second thread that shows a second core at hand."""

Results = Mapping[str, Any]
Row = tuple[str, str, str]
"""What was measured, the figure, the target."""


def report(results: Results) -> str:
    """The tables of all sections that ``results`` has."""
    sections: dict[str, Callable[[Any], list[Row]]] = {
        "engine": _engine,
        "job": _job,
        "threads": _threads,
        "decode": _decode,
        "scale": _scale,
        "start": _start,
        "bounds": _bounds,
        "mutants": _mutants,
    }
    rows = [row for name, make in sections.items() if name in results for row in make(results[name])]
    parts = [_table(("What", "Measured", "Target"), rows)]
    if "engine" in results:
        parts.append(_generations(results["engine"]))
    if "job" in results:
        parts.append(_graphs(results))
    parts.append(_conditions(results))
    return "\n\n".join(parts)


def write_readme(readme: Path, results: Results) -> None:
    """Replace what stands between the markers of ``readme`` by the report.

    Raises
    ------
    ValueError
        Where the markers are missing.
    """
    before, _, after = split_readme(readme.read_text())
    readme.write_text(f"{before}{BEGIN}\n{report(results)}\n{END}{after}")


def split_readme(text: str) -> tuple[str, str, str]:
    """What stands before, between and behind the markers of the README's ``text``; between them without margins.

    Raises
    ------
    ValueError
        Where the markers are missing.
    """
    before, begin, rest = text.partition(BEGIN)
    table, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"README.md must have the marks {BEGIN} and {END}, in this order")
    return before, table.strip(), after


def _engine(section: Sequence[dict[str, Any]]) -> list[Row]:
    rows = []
    for dtype in ("uint16", "float64"):
        costs = [case["milliseconds"] for case in section if case["decoder"] == "first key"]
        ratios = [cost[f"brkga, {dtype} keys"] / cost["NumPy"] for cost in costs]
        what = f"A generation of `brkga` with {dtype} keys, against eight lines of NumPy"
        rows.append((what, " and ".join(f"{ratio:.2f}×" for ratio in ratios), "≤ 0.5×"))
    return rows


def _job(section: Sequence[dict[str, Any]]) -> list[Row]:
    ratios = [graph["seconds"]["C++"] / graph["seconds"]["ours"] for graph in section if "C++" in graph["seconds"]]
    if not ratios:
        return []
    what = f"BRKGA, {section[0]['evaluations']:,} evaluations, one thread, against plain C++"
    return [(what, f"{statistics.median(ratios):.1f}× faster ({_range(ratios, '×')})", "")]


def _threads(section: Sequence[dict[str, Any]]) -> list[Row]:
    machine = statistics.median(graph["machine"] for graph in section)
    gains = list(_gains(section).values())
    figure = f"not measured: another job held a core, and pure arithmetic gained {machine:.2f}× only"
    if gains:
        figure = f"{statistics.median(gains):.2f}× ({_range(gains, '×', 2)}); pure arithmetic {machine:.2f}×"
    return [("The same on two threads", figure, "≥ 1.7×")]


def _gains(section: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Gain of each graph during whose runs two cores were at hand."""
    return {graph["graph"]: graph["gain"] for graph in section if graph["machine"] >= TWO_CORES}


def _decode(section: Sequence[dict[str, Any]]) -> list[Row]:
    multiples = [graph["decode_microseconds"] / graph["pass_microseconds"] for graph in section]
    nanoseconds = [1e3 * graph["decode_microseconds"] / graph["events"] for graph in section]
    figure = f"{statistics.median(multiples):.1f}× ({_range(multiples, '×')}), {_range(nanoseconds, ' ns', 0)} an event"
    return [("A whole decode against one pass over its events", figure, "")]


def _scale(section: dict[str, Any]) -> list[Row]:
    points, largest = section["points"], section["two_threads"]
    sizes = f"{points[0]['ops']:,} to {points[-1]['ops']:,} ops"
    job = f"{largest['evaluations']:,} evaluations of {largest['ops']:,} ops, two threads"
    return [
        (f"Time of an evaluation, {sizes}", f"ops^{section['exponent']:.2f}", "≤ ops^1.1"),
        (job, f"{largest['seconds']:.0f} s", "≤ 60 s"),
        ("Peak resident memory of that process", f"{largest['peak_bytes'] / 1e9:.2f} GB", "≤ 4 GB"),
    ]


def _start(section: dict[str, float]) -> list[Row]:
    targets = {"import regal": "≤ 0.3 s", "regal --help": "≤ 0.5 s"}
    return [(f"`{name}`, fresh process", f"{section[name]:.2f} s", target) for name, target in targets.items()]


def _bounds(section: Sequence[dict[str, Any]]) -> list[Row]:
    rows = []
    for devices, name in ((1, "one device"), (2, "two devices")):
        cases = [case for case in section if case["devices"] == devices]
        gaps = [case["gap_percent"] for case in cases]
        milliseconds = [1e3 * case["seconds"] for case in cases]
        figure = f"{statistics.median(gaps):.2f} % ({_range(gaps, ' %', 2)}), in {_range(milliseconds, ' ms')}"
        rows.append((f"Best plan above the complete lower bound, {name}", figure, ""))
    return rows


def _mutants(section: dict[str, Any]) -> list[Row]:
    cost = section["milliseconds"]
    shared, exact = cost["shared tables"] / cost["uniform"], cost["exact"] / cost["uniform"]
    what = f"Beta mutants from shared tables, {section['mutants']} × {section['keys']:,} keys"
    figure = f"{cost['shared tables']:.2f} ms, uniform {cost['uniform']:.2f} ms ({shared:.1f}×; exact {exact:.0f}×)"
    return [(what, figure, "")]


def _generations(section: Sequence[dict[str, Any]]) -> str:
    """Milliseconds of a generation, a row per implementation."""
    head = ["Milliseconds of a generation", *(f"{case['keys']:,} keys, {case['decoder']}" for case in section)]
    names = list(section[0]["milliseconds"])
    return _table(head, [[name, *(f"{case['milliseconds'][name]:.2f}" for case in section)] for name in names])


def _graphs(results: Results) -> str:
    """A row per sample graph."""
    rows = []
    gains = _gains(results.get("threads", []))
    bounds = {(case["graph"], case["devices"]): case["gap_percent"] for case in results.get("bounds", [])}
    for graph in results["job"]:
        name, seconds, peaks = graph["graph"], graph["seconds"], graph["peak_bytes"]
        row = [f"`{name}`", f"{graph['ops']:,}", f"{seconds['ours']:.2f} s"]
        row += [f"{seconds['C++']:.2f} s", f"{seconds['C++'] / seconds['ours']:.1f}×"] if "C++" in seconds else ["", ""]
        row.append(f"{gains[name]:.2f}×" if name in gains else "")
        row.append(f"{peaks['ours'] / 1e6:.1f} MB")
        row.append(f"{peaks['C++'] / 1e6:.1f} MB" if "C++" in peaks else "")
        row += [f"{bounds[name, devices]:.2f} %" if (name, devices) in bounds else "" for devices in (1, 2)]
        rows.append(row)
    head = (
        "Graph",
        "Ops",
        "Search",
        "C++",
        "Ratio",
        "Two threads",
        "Peak found",
        "C++ finds",
        "Gap, 1 device",
        "Gap, 2",
    )
    return _table(head, rows)


def _conditions(results: Results) -> str:
    machine = results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return (
        f"{machine['processor']}, {machine['cores']} cores, Python {machine['python']}, {versions}; commit "
        f"{machine['commit']}, {machine['date']}; {results['repetitions']} interleaved repetitions. "
        "Search: pure BRKGA for peak memory on two devices, in processor seconds; peaks are medians over the seeds of "
        "the repetitions. Gap: best plan of the default search above the certified bound. From "
        "`tests/benchmarks/results.json` by `make bench`."
    )


def _range(values: Sequence[float], unit: str, digits: int = 1) -> str:
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}{unit}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
