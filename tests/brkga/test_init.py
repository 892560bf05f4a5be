import ast
import subprocess
import sys
from pathlib import Path

import pytest

import brkga


def test_every_public_name_is_there():
    for name in brkga.__all__:
        assert getattr(brkga, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = brkga.nothing


def test_import_loads_no_compiler():
    code = "import brkga, sys; assert 'numba' not in sys.modules; brkga.BRKGA; assert 'numba' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_library_imports_numpy_and_numba_only():
    allowed = {"numpy", "numba", "brkga", *sys.stdlib_module_names}
    for path in Path(brkga.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, path
                names = [node.module]
            assert {name.split(".")[0] for name in names} <= allowed, path
