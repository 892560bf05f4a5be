"""Fill the README's example outputs by running their commands: ``python -m experiments.readme``.

A block that follows the line ``<!-- output -->`` is run line by line: what stands behind ``$ `` is a command, all
other lines are replaced by what it prints. Tables between ``<!-- include FILE -->`` and ``<!-- end -->`` are copied.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from regal.files import write_text

ROOT = Path(__file__).parent.parent
OUTPUT = re.compile(r"(<!-- output -->\n```console\n)(.*?)(```\n)", re.DOTALL)
INCLUDE = re.compile(r"(<!-- include (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def filled(text: str) -> str:
    """``text`` with every block's output and every included table made anew."""
    text = OUTPUT.sub(lambda match: match[1] + _run_block(match[2]) + match[3], text)
    return included(text)


def included(text: str) -> str:
    """``text`` with every included table copied from its file."""
    return INCLUDE.sub(lambda match: match[1] + (ROOT / match[2]).read_text() + match[4], text)


def _run_block(block: str) -> str:
    lines = []
    for line in block.splitlines():
        if line.startswith("$ "):
            words = shlex.split(line[2:])
            if words[0] == "regal":
                words = [sys.executable, "-m", "regal.cli.main", *words[1:]]
            environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1"}
            done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
            lines += [line, *(printed.rstrip() for printed in done.stdout.splitlines())]
    return "".join(f"{line}\n" for line in lines)


def main() -> None:
    """Rewrite README.md."""
    readme = ROOT / "README.md"
    write_text(readme, filled(readme.read_text()))


if __name__ == "__main__":
    main()
