import subprocess
import sys

import pytest

from regal.cli import main as module
from regal.cli.main import main

COMMANDS = ("optimize", "verify", "inspect", "trace", "convert")


def run(*arguments, **options):
    command = [sys.executable, "-m", "regal.cli.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)


@pytest.mark.parametrize("command", [(), *((command,) for command in COMMANDS)])
def test_help(command, capsys):
    assert main([*command, "--help"]) == 0
    out, err = capsys.readouterr()
    assert "Usage:" in out
    assert all(name in out for name in COMMANDS if not command)
    assert err == ""


def test_help_names_every_option_of_optimize(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    main(["optimize", "--help"])
    out = capsys.readouterr().out
    options = (
        "devices cluster objective method evaluations seconds seed threads warm-start no-warm-start bound-seconds "
        "checkpoint output plot json dim"
    )
    for option in options.split():
        assert f"--{option}" in out


def test_without_arguments_help_is_shown(capsys):
    main([])
    assert "Usage:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bogus"], "No such command 'bogus'"),
        (["optimize"], "Missing argument"),
        (["optimize", "example:chain", "more"], "unexpected extra argument"),
        (["optimize", "example:chain", "--colour", "red"], "No such option: --colour"),
        (["optimize", "example:chain", "--evaluations", "many"], "--evaluations"),
        (["optimize", "example:chain", "--objective", "speed"], "--objective"),
        (["convert", "example:chain"], "Missing argument"),
        (["trace", "a:b"], "Missing option"),
    ],
)
def test_a_command_line_that_is_none(arguments, message, capsys):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.startswith("regal: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("raised", "code", "line"),
    [
        (ValueError("two\nlines"), 2, "regal: two lines\n"),
        (PermissionError(13, "Permission denied", "a.npz"), 2, "regal: a.npz: Permission denied\n"),
        (MemoryError(), 2, "regal: not enough memory\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_what_went_wrong_is_one_line(monkeypatch, capsys, raised, code, line):
    def fail(*arguments):
        raise raised

    monkeypatch.setattr("regal.cli.convert.run", fail)
    assert main(["convert", "a", "b"]) == code
    assert capsys.readouterr().err.lstrip("\n") == line


def test_mistakes_of_ours_are_not_hidden(monkeypatch):
    def fail(*arguments):
        raise ZeroDivisionError

    monkeypatch.setattr("regal.cli.convert.run", fail)
    with pytest.raises(ZeroDivisionError):
        main(["convert", "a", "b"])


def test_the_console_script_exits_with_the_code(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["regal", "inspect", "no.json"])
    with pytest.raises(SystemExit) as caught:
        module.entry()
    assert caught.value.code == 2


def test_as_a_process(tmp_path):
    done = run("optimize", "example:branches", "--devices", "1", "--evaluations", "50", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "106 B" in done.stdout
    failed = run("optimize", "missing.json", cwd=tmp_path)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr == "regal: missing.json: No such file or directory\n"


def test_a_reader_that_goes_away_is_no_crash():
    command = f"{sys.executable} -m regal.cli.main inspect example:branches | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120, check=False)
    assert "Traceback" not in done.stderr


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from regal.cli.main import main; main(['--help']); main(['optimize', '--help']);"
        "heavy = ('torch', 'numba', 'scipy', 'plotly', 'onnx');"
        "print([name for name in heavy if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stderr == "[]\n"
