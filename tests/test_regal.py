"""The package's front door."""

import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import regal


def test_every_public_name_is_there():
    assert sorted(regal.__all__) == regal.__all__
    for name in regal.__all__:
        value = getattr(regal, name)
        assert value is getattr(importlib.import_module(regal._HOME[name]), name)
        assert inspect.getdoc(value)
    assert set(regal._HOME) == set(regal.__all__)
    assert set(dir(regal)) == {*regal.__all__, "__version__"}
    assert regal.__version__


def test_other_names_are_not():
    with pytest.raises(AttributeError, match="module 'regal' has no attribute 'optimise'"):
        regal.optimise  # noqa: B018


def test_no_module_hides_a_public_name():
    # `import regal.x` sets the attribute x of the package, whatever stood there.
    modules = {module.name for module in pkgutil.iter_modules(regal.__path__)}
    assert "graph" in modules
    assert modules.isdisjoint(regal.__all__)


def test_a_star_import_brings_every_name():
    code = "from regal import *; print(optimize.__name__, verify.__name__, Cluster.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "optimize verify Cluster\n"


def test_a_graph_goes_in_and_a_plan_comes_out(tmp_path):
    graph = regal.example_graph("branches")
    result = regal.optimize(graph, devices=1, evaluations=500)
    assert isinstance(result, regal.Result)
    regal.check_plan(result.plan)
    result.save(tmp_path / "plan.json")
    (claim,) = regal.verify(graph, tmp_path / "plan.json")
    assert claim.peak_memory == result.peak_memory == (106,)
    assert isinstance(regal.optimize(graph, objective="pareto", evaluations=50), regal.Front)
    assert regal.lower_bound(regal.Problem(graph, regal.Cluster.uniform(1))).value == 101
