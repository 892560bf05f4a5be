"""Variants of a graph: the same structure, other sizes and running times, always within the bounds of the format."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regal.augmentation import SCALAR, augment, variants
from regal.graph import CSR, GraphBuilder, example_graph, read_graph
from regal.graph.json_io import graph_to_json
from tests.strategies import graphs, random_graph

QUIET = {"sizes": 0.0, "runtimes": 0.0}


def training_step():
    """Forward, loss, backward and update; tensor sizes as drawn.

        x 400, w 1000 -> linear -> h 800 -> loss -> l 4 (output)
                     x, h, l -> grad -> g 1000 -> scale -> s 1000 -> update w (in place)
                                    \\-> d 1000 -> reshape -> e 700 (output)

    ``g`` and ``s`` are as large as ``w`` and end in its update; ``d`` is as large too, but is read for something else.
    """
    builder = GraphBuilder("step")
    x, w, h, loss = (builder.add_tensor(size) for size in (400, 1000, 800, 4))
    g, d, s, e = (builder.add_tensor(size) for size in (1000, 1000, 1000, 700))
    builder.mark_output(loss)
    builder.mark_output(e)
    builder.add_op("linear", inputs=[x, w], outputs=[h], runtime=3.0, workspace=50, colocation=0)
    builder.add_op("loss", inputs=[h], outputs=[loss], runtime=1.0)
    builder.add_op("grad", inputs=[x, h, loss], outputs=[g, d], runtime=2.0)
    builder.add_op("scale", inputs=[g], outputs=[s], runtime=1.5)
    builder.add_op("reshape", inputs=[d], outputs=[e], runtime=1.5)
    builder.add_op("update", inputs=[s, w], control_inputs=[0], runtime=1.5, colocation=0)
    return builder.build()


class TestBatch:
    def test_what_grows(self):
        double = augment(training_step(), 0, batch=2.0, **QUIET)
        #                                        x    w     h     l  g     d     s     e
        assert double.tensor_bytes.tolist() == [400, 1000, 1600, 4, 1000, 2000, 1000, 1400]
        assert double.workspace.tolist() == [100, 0, 0, 0, 0, 0]

    @pytest.mark.parametrize("listed", [True, False])
    def test_inputs_grow_where_they_are_known(self, listed):
        graph = training_step()
        if listed:
            graph.meta["source"] = {"inputs": [0]}
        inputs = None if listed else (0,)
        assert augment(graph, 0, batch=2.0, inputs=inputs, **QUIET).tensor_bytes.tolist()[:2] == [800, 1000]
        assert augment(graph, 0, batch=2.0, inputs=(), **QUIET).tensor_bytes.tolist()[:2] == [400, 1000]

    def test_running_times_follow_the_bytes_that_ops_move(self):
        # the shortest running time, 1 second, is the launch; linear moves 2200 -> 3000 bytes, loss 804 -> 1604,
        # grad 3204 -> 5004, scale and update as before, reshape 1700 -> 3400
        double = augment(training_step(), 0, batch=2.0, **QUIET)
        assert double.runtime.tolist() == pytest.approx([1 + 2 * 3000 / 2200, 1, 1 + 5004 / 3204, 1.5, 2.0, 1.5])

    def test_a_factor_is_drawn_between_the_ends(self):
        factors = [v.meta["augmentation"]["batch"] for v in variants(training_step(), 300, 0, batch=(0.5, 8.0))]
        assert 0.5 <= min(factors) < 0.55
        assert 7.2 < max(factors) <= 8.0
        assert 1.6 < np.median(factors) < 2.5  # the middle of the logarithms is 2

    def test_the_size_of_a_model_traced_at_another_batch(self):
        torch = pytest.importorskip("torch")
        from regal.frontends.torch import trace

        nn = torch.nn
        model = nn.Sequential(
            *(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2)),
            *(nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)),
        )
        small, large = (trace(model, torch.ones(batch, 3, 32, 32), training=True) for batch in (4, 32))
        image = small.tensor_bytes.tolist().index(4 * 3 * 32 * 32 * 4)
        guess = augment(small, 0, batch=8.0, inputs=[image], **QUIET)
        assert small.tensor_bytes.sum() < large.tensor_bytes.sum() / 6
        assert np.abs(guess.tensor_bytes - large.tensor_bytes).sum() < 1e-3 * large.tensor_bytes.sum()
        assert guess.runtime.sum() == pytest.approx(large.runtime.sum(), rel=0.02)


class TestNoise:
    def test_every_size_and_running_time_has_its_own(self):
        builder = GraphBuilder("wide")
        tensors = [builder.add_tensor(10**6) for _ in range(2000)]
        for tensor in tensors:
            builder.add_op("op", outputs=[tensor], runtime=1.0, workspace=10**6)
        graph = augment(builder.build(), 1, batch=1.0, sizes=0.2, runtimes=0.1)
        for values, middle, spread in (
            (graph.tensor_bytes, 1e6, 0.2),
            (graph.workspace, 1e6, 0.2),
            (graph.runtime, 1.0, 0.1),
        ):
            share = values / middle - 1
            assert -spread <= share.min() < -0.98 * spread
            assert 0.98 * spread < share.max() <= spread
            assert abs(share.mean()) < 0.03 * spread * 2
            assert len(np.unique(values)) > 1900

    def test_zero_stays_zero_and_nothing_else_becomes_zero(self):
        builder = GraphBuilder("small")
        tensors = [builder.add_tensor(size) for size in (0, 1, 9, 0)]
        builder.add_op("op", outputs=tensors, runtime=0.0)
        for graph in variants(builder.build(), 50, 3, batch=(1e-9, 1e-3), sizes=0.99):
            assert [size > 0 for size in graph.tensor_bytes.tolist()] == [False, True, True, False]
            assert graph.workspace.tolist() == [0]
            assert graph.runtime.tolist() == [0.0]

    def test_none_at_all_is_the_graph(self):
        graph = random_graph(Random(5))
        assert augment(graph, 9, batch=1.0, **QUIET).sha256 == graph.sha256


class TestStructure:
    @settings(max_examples=50, deadline=None)
    @given(graph=graphs(), seed=st.integers(0, 2**64 - 1), batch=st.sampled_from([1e-300, 0.3, 7.0, 2.0**53]))
    def test_it_stays_and_every_bound_holds(self, graph, seed, batch):
        variant = augment(graph, seed, batch=batch, sizes=0.9, runtimes=0.9)  # checks itself when it is made
        assert (variant.op_names, variant.op_types) == (graph.op_names, graph.op_types)
        assert np.array_equal(variant.is_output, graph.is_output)
        assert np.array_equal(variant.colocation, graph.colocation)
        for name in ("inputs", "outputs", "control_inputs"):
            old, new = getattr(graph, name), getattr(variant, name)
            assert isinstance(new, CSR)
            assert new.to_lists() == old.to_lists()
        for old, new in ((graph.tensor_bytes, variant.tensor_bytes), (graph.workspace, variant.workspace)):
            assert np.array_equal(old == 0, new == 0)
        total = sum(variant.tensor_bytes.tolist()) + sum(variant.workspace.tolist())
        before = sum(graph.tensor_bytes.tolist()) + sum(graph.workspace.tolist())
        assert total < max(2**53, before + graph.num_tensors + graph.num_ops)

    def test_the_topology_hash_stays(self):
        topology_hash = pytest.importorskip("regal.corpus").topology_hash
        graph = random_graph(Random(0), min_ops=30)
        assert {topology_hash(each) for each in variants(graph, 5, 0)} == {topology_hash(graph)}

    def test_the_longest_running_times_stay_within_the_bound(self):
        builder = GraphBuilder("slow")
        for runtime in (9e279, 1e-300, 0.0):
            builder.add_op("op", runtime=runtime, outputs=[builder.add_tensor(100)])
        graph = builder.build()
        for variant in variants(graph, 20, 0, batch=1e15, runtimes=0.9):
            assert variant.runtime.sum() < 1e280

    def test_no_ops(self):
        assert augment(GraphBuilder("empty").build(), 0).num_ops == 0


class TestSeeds:
    def test_a_seed_repeats_itself(self):
        graph = example_graph("branches")
        assert augment(graph, 7).sha256 == augment(graph, 7).sha256 != augment(graph, 8).sha256

    def test_a_variant_is_the_same_on_every_machine(self):
        assert augment(training_step(), 2024).tensor_bytes.tolist() == [425, 1132, 5204, 4, 1100, 5652, 938, 3435]

    def test_a_series(self):
        graph = example_graph("branches")
        series = list(variants(graph, 5, 3, sizes=0.1))
        assert len({each.sha256 for each in series}) == 5
        assert [each.sha256 for each in variants(graph, 2, 3, sizes=0.1)] == [each.sha256 for each in series[:2]]
        for each in series:
            seed = each.meta["augmentation"]["seed"]
            assert each.name == f"{graph.name}~{seed}"
            assert augment(graph, seed, sizes=0.1).sha256 == each.sha256

    def test_what_was_done_is_written_down_and_can_be_saved(self):
        graph = training_step()
        graph.meta["record"] = {"name": "step"}
        meta = augment(graph, 4, batch=(0.5, 0.5), sizes=0.1, runtimes=0.3).meta
        facts = {"of": "step", "seed": 4, "batch": 0.5, "sizes": 0.1, "runtimes": 0.3}
        assert meta == {"record": {"name": "step"}, "augmentation": facts}
        assert "augmentation" not in graph.meta

    def test_it_goes_through_a_file(self, tmp_path):
        from regal.graph import write_graph

        graph = augment(training_step(), 4)
        write_graph(graph, tmp_path / "g.json.gz")
        assert graph_to_json(read_graph(tmp_path / "g.json.gz")) == graph_to_json(graph)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": -1}, r"seed must be an integer from 0 to 18446744073709551615, not -1"),
        ({"seed": True}, "seed must be an integer"),
        ({"batch": 0.0}, r"batch must be one positive factor or a pair of them, lowest first, not 0\.0"),
        ({"batch": (2.0, 1.0)}, r"batch must be .* not \(2\.0, 1\.0\)"),
        ({"batch": float("nan")}, "batch must be"),
        ({"batch": 1e16}, "batch must be"),
        ({"sizes": 1.0}, r"sizes must be at least 0 and below 1, not 1\.0"),
        ({"runtimes": -0.1}, r"runtimes must be at least 0 and below 1, not -0\.1"),
        ({"inputs": [8]}, "an input must be an integer from 0 to 7, not 8"),
        ({"inputs": [2]}, "an input must be a tensor without a producer, unlike 2"),
        ({"inputs": ["x"]}, "an input must be an integer"),
    ],
)
def test_what_is_refused(options, message):
    options = {"seed": 0, **options}
    seed = options.pop("seed")
    with pytest.raises(ValueError, match=message):
        augment(training_step(), seed, **options)
    with pytest.raises(ValueError, match=message):
        variants(training_step(), 3, seed, **options)  # refused at once, not at the first variant


@pytest.mark.parametrize("inputs", [[2], "all", {"x": 0}, 99])
def test_inputs_of_a_file_are_checked(inputs):
    graph = training_step()
    graph.meta["source"] = {"inputs": inputs}
    with pytest.raises(ValueError, match="an input must be"):
        augment(graph, 0)


def test_a_count_is_a_whole_number():
    with pytest.raises(ValueError, match="count must be an integer from 0"):
        variants(training_step(), -1, 0)
    assert list(variants(training_step(), 0, 0)) == []


def test_scalars_are_told_by_their_size():
    builder = GraphBuilder("scalars")
    tensors = [builder.add_tensor(size) for size in (SCALAR, SCALAR + 1)]
    builder.add_op("op", outputs=tensors)
    assert augment(builder.build(), 0, batch=10.0, **QUIET).tensor_bytes.tolist() == [SCALAR, 10 * (SCALAR + 1)]
