"""The ``regal`` command. Heavy modules are imported inside the commands, so that ``--help`` answers at once."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated

import typer

from regal.cli import texts
from regal.cli.common import one_line
from regal.objective import Objective

USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[2]
"""The base class of everything that the command line itself refuses."""

app = typer.Typer(
    name="regal",
    help=texts.APP,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)

GraphFile = Annotated[str, typer.Argument(help=texts.GRAPH, show_default=False)]
Dimensions = Annotated[list[str] | None, typer.Option("--dim", metavar="NAME=SIZE", help=texts.DIMENSION)]


@app.command(help=texts.OPTIMIZE)
def optimize(
    graph: GraphFile,
    devices: Annotated[int, typer.Option(help=texts.DEVICES)] = 2,
    cluster: Annotated[Path | None, typer.Option(help=texts.CLUSTER)] = None,
    objective: Annotated[Objective, typer.Option(help=texts.OBJECTIVE)] = Objective.PEAK_MEMORY,
    method: Annotated[str, typer.Option(help=texts.METHOD)] = "auto",
    evaluations: Annotated[int | None, typer.Option(help=texts.EVALUATIONS, show_default="5000")] = None,
    seconds: Annotated[float | None, typer.Option(help=texts.SECONDS)] = None,
    seed: Annotated[int, typer.Option(help=texts.SEED)] = 0,
    threads: Annotated[int | None, typer.Option(help=texts.THREADS, show_default="all cores")] = None,
    warm_start: Annotated[bool, typer.Option(help=texts.WARM_START)] = True,
    bound_seconds: Annotated[float | None, typer.Option(help=texts.BOUND_SECONDS, show_default=False)] = None,
    checkpoint: Annotated[Path | None, typer.Option(help=texts.CHECKPOINT)] = None,
    output: Annotated[Path | None, typer.Option(help=texts.OUTPUT)] = None,
    plot: Annotated[Path | None, typer.Option(help=texts.PLOT)] = None,
    json_: Annotated[bool, typer.Option("--json", help=texts.JSON)] = False,
    dim: Dimensions = None,
) -> None:
    from regal.cli.optimize import Request, run

    if evaluations is None and seconds is None:
        evaluations = 5000
    request = Request(
        graph, tuple(dim or ()), devices, cluster, objective, method, evaluations, seconds, seed, threads, warm_start,
        bound_seconds, checkpoint, output, plot, json_,
    )  # fmt: skip
    run(request)


@app.command(help=texts.VERIFY)
def verify(
    graph: GraphFile,
    plan: Annotated[Path, typer.Argument(help=texts.PLAN, show_default=False)],
    dim: Dimensions = None,
) -> None:
    from regal.cli.verify import run

    raise typer.Exit(run(graph, tuple(dim or ()), plan))


@app.command(help=texts.INSPECT)
def inspect(
    graph: Annotated[str | None, typer.Argument(help=texts.GRAPH, show_default=False)] = None,
    corpus: Annotated[str | None, typer.Option(help=texts.CORPUS, show_default=False)] = None,
    devices: Annotated[int, typer.Option(help=texts.DEVICES)] = 2,
    cluster: Annotated[Path | None, typer.Option(help=texts.CLUSTER)] = None,
    bound_seconds: Annotated[float, typer.Option(help=texts.INSPECT_SECONDS)] = 60.0,
    json_: Annotated[bool, typer.Option("--json", help=texts.JSON)] = False,
    dim: Dimensions = None,
) -> None:
    if (graph is None) == (corpus is None):
        raise ValueError("inspect takes a graph, or --corpus with a name or folder")
    if corpus is not None:
        from regal.cli.corpus import run as run_corpus

        run_corpus(corpus, json_)
    elif graph is not None:
        from regal.cli.inspect import run

        run(graph, tuple(dim or ()), devices, cluster, bound_seconds, json_)


@app.command(help=texts.TRACE)
def trace(
    target: Annotated[str, typer.Argument(help=texts.TARGET, show_default=False)],
    output: Annotated[Path, typer.Option(help=texts.TRACE_OUTPUT, show_default=False)],
    training: Annotated[bool | None, typer.Option("--training/--inference", help=texts.TRAINING)] = None,
    optimizer: Annotated[str | None, typer.Option(help="Its update in the graph: sgd, momentum, adam, adamw.")] = None,
) -> None:
    from regal.cli.trace import run

    run(target, output, training, optimizer)


@app.command(help=texts.CONVERT)
def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help=texts.GRAPH, show_default=False)],
    target: Annotated[Path, typer.Argument(metavar="OUT", help=texts.CONVERT_OUT, show_default=False)],
    dim: Dimensions = None,
) -> None:
    from regal.cli.convert import run

    run(source, tuple(dim or ()), target)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code; what the user got wrong is one line on stderr and code 2."""
    try:
        return app(arguments, standalone_mode=False) or 0
    except USAGE_ERROR as error:
        message = error.format_message()  # type: ignore[attr-defined]
    except OSError as error:
        message = f"{error.filename or 'output'}: {error.strerror or error}"
    except ValueError as error:
        message = str(error)
    except MemoryError:
        message = "not enough memory"
    except (KeyboardInterrupt, typer.Abort):  # Typer itself turns most of them into 130
        return 130
    if message:
        print(one_line(f"regal: {message}"), file=sys.stderr)
        return 2
    return 0


def entry() -> None:
    """What the console script calls; characters that the terminal lacks are written as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(main())


if __name__ == "__main__":
    entry()
