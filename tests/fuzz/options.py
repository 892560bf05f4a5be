"""Mutated command lines."""

import json
import os
from pathlib import Path
from random import Random

from tests.fuzz import onnx_models
from tests.fuzz.cases import Case
from tests.fuzz.judge import INTERNAL, LONGEST_MESSAGE, Wrong, run
from tests.fuzz.texts import damage

TEXTS = (
    *("", " ", "0", "1", "2", "3", "-1", "1.5", "1e3", "nan", "inf", "-inf", "1e400", "0x10", "1_000", "٣", "true"),
    *("None", "9" * 30, "9" * 5000, "2147483648", "9223372036854775807", "18446744073709551615", "1024", "1025"),
    *(
        "=",
        "batch=",
        "=4",
        "batch=4",
        "batch=-1",
        "batch==4",
        "b=a=4",
        "batch=4=5",
        "batch=9999999999",
        "ü=3",
        "999999999",
    ),
    *("brkga", "BRKGA", "auto", "heuristics", "brute-force", "nsga2", "annealing", "peak-memory", "running-time"),
    *(
        "peak_memory",
        "pareto",
        "peak-utilisation",
        "[/b]",
        "a\nb",
        "\x1b[0m",
        "\udcff",
        "\U0001f600",
        "%s",
        "{0}",
        "--",
    ),
)
FILES = (
    *(
        "p.json",
        "p.json.gz",
        "p.html",
        "p.npz",
        "p.txt",
        ".json",
        "",
        ".",
        "..",
        "/",
        "none/p.json",
        "/dev/null",
        "a\nb.json",
    ),
    *("\udcff.json", "[b].json", "ü.json", "x" * 300 + ".json", "/proc/p.json", "/dev/full", "g.json", "g.onnx", "p"),
)
SOURCES = ("example:diamond", "g.json", "example:chain", "example:nobody", "none.json", "p.json", "c.toml", ".", "-")
GOOD = ("--evaluations", "60", "--seconds", "0.3", "--bound-seconds", "0")
VALUES: dict[str, tuple[str, ...]] = {
    "--devices": ("1", "2", "3", "17"),
    "--objective": ("peak-memory", "running-time", "peak-utilisation", "pareto"),
    "--method": ("auto", "brkga", "heuristics", "brute-force"),
    "--evaluations": ("1", "10", "100"),
    "--seconds": ("0.1", "1e-9"),
    "--seed": ("0", "1", "18446744073709551615"),
    "--bound-seconds": ("0", "0.1", "1e9"),
    "--dim": ("2", "b=2"),
}
"""Options with a value, and values that make sense."""
PATHS = ("--cluster", "--checkpoint", "--output", "--plot")
KNOWN = {"inspect": ("--devices", "--bound-seconds", "--dim"), "verify": ("--dim",), "convert": ("--dim",)}
"""The options of VALUES that each command has; ``optimize`` has all."""
FLAGS = ("--json", "--no-warm-start", "--warm-start", "--help", "--verbose", "-h", "--dim", "--json=1", "extra")


def make_case(seed: int) -> Case:
    """The command line of a seed."""
    rng = Random(seed)
    command = rng.choices(("optimize", "inspect", "verify", "convert", "trace", "plan", ""), (12, 4, 3, 2, 2, 1, 1))[0]
    source = rng.choice(SOURCES if rng.random() < 0.2 else SOURCES[:2])
    if rng.random() < 0.02:
        source = "g.onnx"
    arguments = [command, *([] if rng.random() < 0.02 else [source])]
    if command in ("verify", "convert"):
        arguments.append(rng.choice(FILES))
    if command == "optimize":
        arguments += GOOD
    names = [command]
    limits = rng.choice(("--evaluations", "--seconds"))  # never both, or the search may go on for ever
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        kind = rng.random()
        known = tuple(VALUES) if rng.random() < 0.1 else KNOWN.get(command, tuple(VALUES))
        name = rng.choice(known if kind < 0.7 else PATHS if kind < 0.85 and command == "optimize" else FLAGS)
        if name == limits:
            continue
        names.append(name)
        value = rng.choice(FILES if name in PATHS else VALUES[name] if name in VALUES and kind < 0.35 else TEXTS)
        arguments += [name] if name in FLAGS else [f"{name}={value}"] if rng.random() < 0.5 else [name, value]
    return Case(seed, "options", 0, tuple(names), json.dumps(arguments).encode())


def judge(case: Case, folder: Path) -> tuple[str, str]:
    """Run the command in ``folder``, where a graph, a plan, a damaged checkpoint and an ONNX model lie."""
    rng = Random(case.seed)
    arguments = json.loads(case.data)
    before = os.getcwd()
    os.chdir(folder)
    try:
        run("convert", "example:diamond", "g.json")
        if rng.random() < 0.5:
            run("optimize", "g.json", *GOOD, "--output", "p.json", "--checkpoint", "p.npz")
            if Path("p.npz").exists() and rng.random() < 0.7:
                Path("p.npz").write_bytes(damage(Path("p.npz").read_bytes(), rng)[0])
        Path("g.onnx").write_bytes(onnx_models.small_model())
        there = set(os.listdir("."))
        answer = run(*arguments)
        new = set(os.listdir(".")) - there
    finally:
        os.chdir(before)
    if any(name.startswith(".") and name != ".json" for name in new) or len(new) > 3:
        raise Wrong(f"left behind: {sorted(new)}")
    return _outcome(answer.code, answer.error)


def _outcome(code: int, error: str) -> tuple[str, str]:
    if code == 0 and not error:
        return "done", ""
    if code not in (1, 2):
        raise Wrong(f"exit code {code}: {error!r}")
    if not error.endswith("\n") or not error[:-1].isprintable() or not error.startswith("regal: "):
        raise Wrong(f"not one printable line: {error!r}")
    if len(error) > LONGEST_MESSAGE or INTERNAL.search(error):
        raise Wrong(f"too long, or speaks of internals: {error!r}")
    return "refused", error
