"""The benchmarks run at tiny sizes, the yardsticks compute what they should, and the committed figures are whole."""

import importlib
import json
import math
import shutil
import socket
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import regal
from regal.cost.reference import evaluate
from regal.decode.reference import decode
from regal.graph import read_graph
from tests.benchmarks import decode as decode_benchmark
from tests.benchmarks import engine, yardstick
from tests.benchmarks.__main__ import RESULTS, SECTIONS, main, run
from tests.benchmarks.engine_yardsticks import with_deap, with_numpy, with_pymoo
from tests.benchmarks.machine import facts
from tests.benchmarks.options import Options
from tests.benchmarks.report import BEGIN, END, README, report, split_readme, write_readme
from tests.benchmarks.scale_plot import scaling_svg
from tests.benchmarks.stack import OPS_PER_BLOCK, training_stack

QUICK = Options(repetitions=1, quick=True)


class TestCommittedResults:
    @pytest.fixture
    def results(self):
        if not RESULTS.exists():
            pytest.skip("nothing was measured yet")
        return json.loads(RESULTS.read_text())

    def test_every_section_is_there(self, results):
        assert set(SECTIONS) <= set(results)
        assert results["machine"]["commit"] is not None

    def test_every_sample_graph_is_there(self, results):
        names = {read_graph(file).name for file in Options().graphs}
        assert len(names) == 8
        for section in ("job", "threads", "decode", "bounds"):
            assert names <= {case["graph"] for case in results[section]}

    def test_every_figure_is_a_sane_number(self, results):
        def check(value):
            if isinstance(value, dict):
                for part in value.values():
                    check(part)
            elif isinstance(value, list):
                for part in value:
                    check(part)
            elif isinstance(value, float):
                assert math.isfinite(value)
                assert value >= 0

        check(results)
        assert all(case["best_bytes"] >= case["bound_bytes"] for case in results["bounds"])
        assert all(case["decode_microseconds"] > case["pass_microseconds"] for case in results["decode"])
        assert all(case["evaluations"] == 5000 for case in results["job"])

    def test_they_do_not_name_the_machine(self, results):
        assert socket.gethostname() not in json.dumps(results)

    def test_readme_shows_them(self, results):
        if not README.exists() or BEGIN not in README.read_text():
            pytest.skip("the README has no place for the table")
        assert split_readme(README.read_text())[1] == report(results)


class TestReport:
    @pytest.mark.parametrize("between", ["\n", "\nold\n", "\nold\n\nolder\n"])
    def test_write_readme_replaces_what_stands_between_the_marks(self, tmp_path, between):
        results = {"start": {"import regal": 0.1, "regal --help": 0.2}, "machine": facts(), "repetitions": 1}
        readme = tmp_path / "README.md"
        readme.write_text(f"before\n{BEGIN}{between}{END}\nafter\n")
        write_readme(readme, results)
        assert readme.read_text() == f"before\n{BEGIN}\n{report(results)}\n{END}\nafter\n"
        assert "import regal" in split_readme(readme.read_text())[1]

    @pytest.mark.parametrize("text", ["", f"{BEGIN}\n", f"{END}\n", f"{END}\n{BEGIN}\n"])
    def test_missing_marks_are_an_error(self, text):
        with pytest.raises(ValueError, match=r"README\.md must have the marks"):
            split_readme(text)

    @pytest.mark.parametrize(("machine", "said"), [(1.95, "1.75× (1.70 to 1.80×)"), (1.0, "not measured")])
    def test_a_gain_counts_only_where_two_cores_were_at_hand(self, machine, said):
        section = [{"graph": name, "gain": gain, "machine": machine} for name, gain in (("a", 1.7), ("b", 1.8))]
        assert said in report({"threads": section, "machine": facts(), "repetitions": 1})

    def test_quick_sections_are_measured_and_reported(self, tmp_path, capsys):
        output = tmp_path / "results.json"
        main(["--quick", "--repetitions", "1", "--only", "engine", "decode", "mutants", "--output", str(output)])
        results = json.loads(output.read_text())
        assert {"machine", "engine", "decode", "mutants"} <= set(results)
        assert capsys.readouterr().out == report(results) + "\n"

    @pytest.mark.slow
    def test_all_quick_sections_are_measured_and_reported(self, tmp_path):
        plot = tmp_path / "scale.svg"
        results = run(list(SECTIONS), Options(repetitions=1, quick=True, plot=plot))
        assert report(results).count("\n") > 20
        assert plot.read_text().startswith("<svg")


@pytest.fixture(scope="module")
def binary(tmp_path_factory):
    if shutil.which(yardstick.COMPILER) is None:
        pytest.skip("no C++ compiler")
    return yardstick.build(tmp_path_factory.mktemp("yardstick"))


class TestYardstick:
    @pytest.mark.parametrize("devices", [1, 2, 3])
    def test_its_best_chromosome_decodes_to_its_peak(self, binary, tmp_path, devices):
        (file,) = QUICK.graphs
        graph = read_graph(file)
        text, keys = yardstick.write_text(graph, tmp_path / "graph.txt"), tmp_path / "keys.txt"
        outcome = yardstick.run(binary, text, devices, 200, 1, keys)
        plan = decode(graph, regal.Cluster.uniform(devices), np.loadtxt(keys))
        assert max(evaluate(plan).peak_memory) == outcome.peak
        assert outcome.evaluations == 180

    def test_it_follows_workspaces_controls_and_outputs(self, binary, tmp_path):
        #  x ─► a ─► h ─► b ─► y (output)      c runs after a and needs 1000 bytes of workspace
        #       └┄┄┄► c
        builder = regal.GraphBuilder("controls")
        x, h = builder.add_tensor(8), builder.add_tensor(16)
        y = builder.add_tensor(4, is_output=True)
        a = builder.add_op("a", inputs=[x], outputs=[h])
        builder.add_op("b", inputs=[h], outputs=[y])
        builder.add_op("c", control_inputs=[a], workspace=1000)
        text = yardstick.write_text(builder.build(), tmp_path / "graph.txt")
        # c runs last, when only x and y are left
        assert yardstick.run(binary, text, 1, 100, 0).peak == 8 + 4 + 1000

    def test_groups_are_refused(self, tmp_path):
        builder = regal.GraphBuilder("grouped")
        builder.add_op("a", colocation=1)
        with pytest.raises(ValueError, match="knows no colocation groups"):
            yardstick.write_text(builder.build(), tmp_path / "graph.txt")


class TestEngineYardsticks:
    @pytest.mark.parametrize(("make", "package"), [(with_numpy, "numpy"), (with_deap, "deap"), (with_pymoo, "pymoo")])
    def test_each_decodes_eighty_rows_a_generation_and_improves(self, make, package):
        pytest.importorskip(package)
        seen = []

        def total(keys):
            fitness = keys.sum(axis=1)
            seen.extend(fitness.tolist())
            return fitness

        generations = make(30, total, 1)
        assert len(seen) == 100
        generations(20)
        assert len(seen) == 100 + 20 * 80
        assert min(seen) < 0.6 * min(seen[:100])

    @pytest.mark.parametrize("dtype", [np.uint16, np.float64])
    def test_ours_is_asked_for_as_many_rows(self, dtype):
        rows = []

        def first_key(keys):
            rows.append(len(keys))
            return engine.first_key(keys)

        engine.with_ours(dtype)(30, first_key, 1)(3)
        assert sum(rows) == 100 + 3 * 80


class TestStack:
    @pytest.mark.parametrize("blocks", [1, 2, 5])
    def test_every_block_has_as_many_ops(self, blocks):
        assert training_stack(blocks * OPS_PER_BLOCK).num_ops == blocks * OPS_PER_BLOCK + 1

    def test_every_weight_has_a_gradient_that_is_an_output(self):
        graph = training_stack(OPS_PER_BLOCK)
        persistent = np.flatnonzero((graph.producer < 0) & (graph.consumers.counts > 0))
        assert int(graph.is_output.sum()) == len(persistent) - 1  # all but the input of the stack


def test_recorded_orders_hold_every_event_once():
    problem = regal.Problem(training_stack(100))
    decoder = importlib.import_module("regal.decode").Decoder(problem)
    layout = decoder.layout
    keys = np.random.default_rng(1).integers(0, 2**16, (3, layout.num_padded_keys)).astype(layout.key_dtype)
    placements, orders, lengths = decode_benchmark._record(decoder, keys)
    for row in range(3):
        events = orders[row, : lengths[row]]
        assert len(np.unique(events)) == len(events)
        assert set(range(layout.num_ops)) <= set(events.tolist())
        assert placements[row].tolist() == decoder.plan(keys[row]).placement.tolist()


def test_the_plot_has_a_dot_per_point():
    points = [{"ops": 10**k, "microseconds_per_evaluation": 2.5 * 10**k} for k in (2, 3, 4)]
    root = ElementTree.fromstring(scaling_svg(points, 1.0))
    assert len(root.findall("{http://www.w3.org/2000/svg}circle")) == 3
