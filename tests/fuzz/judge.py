"""What the command line makes of a mutant, and whether that is what it should."""

import io
import re
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from random import Random

from regal.cli.main import main
from regal.graph import ComputationGraph, read_graph
from regal.plan.json_io import PlanFile, read_plans
from regal.problem import Problem
from tests import oracle
from tests.fuzz import corpus
from tests.fuzz.cases import Case

BUDGET = "120"
LONGEST_MESSAGE = 600
PLACE = re.compile(
    r"(plan \d+: )?("
    r"op \d+|tensor \d+|graph: |format must be|not JSON|not TOML|not UTF-8|nested too deeply"
    r"|broken gzip|the gzip|the key '|the key \"|\S+ is not a JSON number|an integer of|rule [1-5]: "
    r"|schedule|placement|cluster|default_link|device|link|graph_sha256|peak_memory|running_time"
    r"|feasible|lower_bound|objective|search|the plan is of another graph|a device's|a link names"
    r"|a link connects|two links|plans must|a cluster has|number of peak|unknown key|\w+ is missing"
    r"|all bytes|\w+ must be text|a size is|speed|the running times|with the cluster"
    r")"
)
"""How a message goes on behind the file's path: it names a place in the file."""
INTERNAL = re.compile(
    r"Traceback|object is not|has no attribute|numpy|dtype|int64|cannot be interpreted|NoneType|unhashable|<class"
    r"|invalid literal for|unpack|codec|too large to convert|set_int_max|Errno|ufunc"
)
"""What no message may say: the words of Python and its libraries, which advise nobody."""

OF_NO_FILE = ("regal: all bytes times the number of devices", "regal: with the cluster's speeds and links")
"""How messages begin that are about a graph and a cluster together."""


class Wrong(AssertionError):
    """The command line did what it must not."""


@dataclass(frozen=True)
class Answer:
    """Exit code and output of one command."""

    code: int
    out: str
    error: str


def run(*arguments: str) -> Answer:
    """One command in this process, its output encoded as the console script does it."""
    out, error = (io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", "\n") for _ in range(2))
    with redirect_stdout(out), redirect_stderr(error):
        code = main(list(arguments))
    texts = []
    for stream in (out, error):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
    return Answer(code, *texts)


def judge(case: Case, folder: Path) -> tuple[str, str]:
    """Run the mutant in the empty ``folder``; return the outcome and the message. Raises :class:`Wrong`."""
    return judge_graph(case, folder) if case.kind == "graph" else judge_plan(case, folder)


def judge_graph(case: Case, folder: Path) -> tuple[str, str]:
    """Optimize a mutated graph with a tiny budget and verify the plan."""
    rng = Random(case.seed)
    path, plan = folder / f"g{rng.choice(('.json', '.json.gz'))}", folder / f"p{rng.choice(('.json', '.json.gz'))}"
    path.write_bytes(case.data)
    objective = rng.choice(("peak-memory", "running-time", "peak-memory", "running-time", "peak-utilisation", "pareto"))
    method = rng.choice(("heuristics", "brkga")) if objective != "pareto" else "auto"
    options = ["--objective", objective, "--method", method, "--devices", str(rng.randint(1, 3)), "--seed", "1"]
    options += ["--evaluations", BUDGET, "--threads", "1", "--bound-seconds", rng.choice(("0", "0.01"))]
    options += ["--json"] if rng.random() < 0.5 else []
    picture = rng.random() < 0.02
    options += ["--plot", str(folder / "picture.html")] if picture else []
    answer = run("optimize", str(path), *options, "--output", str(plan))
    if answer.code != 0:
        check_error(answer, path, 2, OF_NO_FILE)
        expect_files(folder, path)
        return "refused", answer.error
    expect_files(folder, path, plan, *([folder / "picture.html"] if picture else []))
    check_success(run("verify", str(path), str(plan)), "verified: ")
    read_graph(path)
    also = rng.random()
    if also < 0.1:
        facts = ("--bound-seconds", "0", *options[4:6], *(["--json"] if also < 0.05 else []))
        check_success(run("inspect", str(path), *facts), "")
    elif also < 0.2:
        copy = folder / "copy.json.gz"
        check_success(run("convert", str(path), str(copy)), f"{copy}: ")
        check_success(run("verify", str(copy), str(plan)), "verified: ")
    return "plan", ""


def judge_plan(case: Case, folder: Path) -> tuple[str, str]:
    """Verify a mutated plan file; what verification says must be what the oracle thinks."""
    source, path = folder / "g.json", folder / "p.json"
    source.write_text(corpus.graph_text(case.index))
    path.write_bytes(case.data)
    answer = run("verify", str(source), str(path))
    expect_files(folder, source, path)
    if answer.code == 2:
        check_error(answer, path, 2)
        return "refused", answer.error
    graph = read_graph(source)
    right = all(is_right(graph, claim) for claim in read_plans(path, graph))
    if answer.code == 1:
        check_error(answer, path, 1)
        if right:
            raise Wrong(f"the oracle finds nothing wrong: {answer.error}")
        return "found wrong", answer.error
    check_success(answer, "verified: ")
    if not right:
        raise Wrong("verified, but the oracle finds it wrong")
    return "verified", ""


def is_right(graph: ComputationGraph, claim: PlanFile) -> bool:
    """A second opinion on a plan and its figures."""
    plan, cluster = claim.plan, claim.plan.cluster
    objectives = ("peak-memory", "peak-utilisation", "running-time", "pareto")
    if claim.graph_sha256 != graph.sha256 or claim.objective not in objectives or not oracle.is_valid(plan):
        return False
    try:
        problem = Problem(graph, cluster, claim.objective)  # type: ignore[arg-type]
    except ValueError:  # more bytes or seconds than numbers hold
        return False
    cost = oracle.evaluate(plan)
    value = problem.objective_value(cost)
    return (
        claim.peak_memory == cost.peak_memory
        and claim.running_time == cost.running_time
        and claim.feasible == all(p <= d.memory for p, d in zip(cost.peak_memory, cluster.devices, strict=True))
        and (claim.lower_bound is None or claim.lower_bound <= value)
    )


def check_error(answer: Answer, path: Path, code: int, others: tuple[str, ...] = ()) -> None:
    """One line on stderr that begins with the file and names a place in it, or begins as one of ``others``."""
    if answer.code != code or answer.out:
        raise Wrong(f"exit code {answer.code}, output {answer.out[:200]!r}, {answer.error!r}")
    start, text = f"regal: {path}: ", answer.error
    if not text.endswith("\n") or "\n" in text[:-1] or not text[:-1].isprintable() or len(text) > LONGEST_MESSAGE:
        raise Wrong(f"not one printable line of at most {LONGEST_MESSAGE} characters: {text!r}")
    named = text.startswith(start) and PLACE.match(text, len(start))
    if not named and not text.startswith(others):
        raise Wrong(f"does not name a place: {text!r}")
    if INTERNAL.search(re.sub(r"'[^']*'|\"[^\"]*\"", "", text)):
        raise Wrong(f"speaks of internals: {text!r}")


def check_success(answer: Answer, start: str) -> None:
    """Exit code 0, nothing on stderr."""
    if answer.code != 0 or answer.error or not answer.out.startswith(start):
        raise Wrong(f"exit code {answer.code}, output {answer.out[:200]!r}, errors {answer.error!r}")


def expect_files(folder: Path, *paths: Path) -> None:
    """Nothing but these files is in the folder."""
    found = sorted(path.name for path in folder.iterdir())
    if found != sorted(path.name for path in paths):
        raise Wrong(f"left behind: {found}")


def kind_of(message: str) -> str:
    """A message without its path, numbers and quoted values."""
    text = re.sub(r"^regal: \S+: ", "", message.strip())
    text = re.sub(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", "'…'", text)
    return re.sub(r"-?\d[\d.]*(?:e[-+]?\d+)?", "#", text)
