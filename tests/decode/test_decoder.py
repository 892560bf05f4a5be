from concurrent.futures import ThreadPoolExecutor
from random import Random

import numpy as np
import pytest
from hypothesis import given

from regal.cluster import Cluster, Device
from regal.cost.reference import evaluate
from regal.decode import Decoder, Layout, encode, reference
from regal.decode.decoder import tails
from regal.graph import GraphBuilder, example_graph
from regal.plan import RUN, Plan, check_plan, plan_from_order
from regal.problem import Objective, Problem
from tests.agreement import check_cutoffs
from tests.strategies import SINGLE_OBJECTIVES, plans, random_graph

UNEQUAL = Cluster((Device(60), Device(90, 2.0)))


def decoder_and_keys(
    objective: Objective | str, rows: int = 6, cluster: Cluster = UNEQUAL
) -> tuple[Decoder, np.ndarray]:
    decoder = Decoder(Problem(example_graph("diamond"), cluster, objective))
    keys = np.random.default_rng(3).integers(0, 2**16, (rows, decoder.layout.num_keys), np.uint16)
    return decoder, keys


def costs_of(decoder: Decoder, keys: np.ndarray) -> list:
    graph, cluster = decoder.problem.graph, decoder.problem.cluster
    return [evaluate(reference.decode(graph, cluster, row)) for row in keys]


@pytest.mark.parametrize("objective", SINGLE_OBJECTIVES)
def test_the_fitness_is_what_the_problem_ranks_by(objective):
    decoder, keys = decoder_and_keys(objective)
    costs = costs_of(decoder, keys)
    fitness = decoder(keys)
    assert fitness.shape == ((6,) if decoder.num_columns == 1 else (6, 2))
    assert [tuple(row) for row in fitness.reshape(6, -1).tolist()] == [decoder.problem.rank(cost) for cost in costs]
    check_cutoffs(decoder, keys, costs)


def test_pareto_has_both_figures_and_no_cutoff():
    decoder, keys = decoder_and_keys("pareto")
    expected = [[cost.max_peak_memory, cost.running_time] for cost in costs_of(decoder, keys)]
    assert decoder.num_columns == 2
    assert decoder(keys).tolist() == expected
    assert decoder(keys, np.zeros(2)).tolist() == expected


@pytest.mark.parametrize("objective", list(Objective))
def test_costs_do_not_depend_on_the_objective(objective):
    decoder, keys = decoder_and_keys(objective)
    peaks, seconds = decoder.costs(keys)
    costs = costs_of(decoder, keys)
    assert [tuple(row) for row in peaks.tolist()] == [cost.peak_memory for cost in costs]
    assert seconds.tolist() == [cost.running_time for cost in costs]


def test_a_cutoff_of_running_time_is_a_pair():
    decoder, keys = decoder_and_keys("running-time", cluster=Cluster.uniform(2, memory=80))
    fitness = decoder(keys)
    assert len(set(map(tuple, fitness.tolist()))) > 1
    best, worst = min(fitness.tolist()), max(fitness.tolist())
    assert decoder(keys, np.array(best)).tolist() == [best] * 6
    kept = decoder(keys, np.array(worst))
    assert kept.tolist() == fitness.tolist()


def test_devices_without_memory():
    decoder, keys = decoder_and_keys("peak-utilisation", cluster=Cluster((Device(0), Device(10))))
    costs = costs_of(decoder, keys)
    assert decoder(keys).tolist() == [cost.peak_utilisation(decoder.problem.cluster) for cost in costs]
    assert np.inf in decoder(keys)
    check_cutoffs(decoder, keys, costs)


def test_one_million_petabytes_are_counted_to_the_byte():
    # all ──> 2^63 - 1 bytes of outputs
    builder = GraphBuilder()
    sizes = [2**53 - 1] * 1024 + [1023]
    builder.add_op("all", outputs=[builder.add_tensor(size, is_output=True) for size in sizes])
    for objective in ("peak-memory", "running-time"):
        decoder = Decoder(Problem(builder.build(), Cluster.uniform(1), objective))
        keys = np.zeros((1, decoder.layout.num_keys), np.uint16)
        assert decoder.costs(keys)[0].tolist() == [[2**63 - 1]]
        assert decoder.plan(keys[0]).events() == [("run", 0)]
    assert Decoder(Problem(builder.build(), Cluster.uniform(1)))(keys).tolist() == [2.0**63]


def test_padding_and_strides_do_not_matter():
    decoder, keys = decoder_and_keys("peak-memory")
    wide = np.full((12, decoder.layout.num_padded_keys + 8), 12345, np.uint16)
    wide[::2, : keys.shape[1]] = keys
    view = wide[::2, : decoder.layout.num_padded_keys]
    assert not view.flags.c_contiguous
    assert decoder(view).tolist() == decoder(keys).tolist()
    assert decoder.plan(view[1]).schedule.tolist() == decoder.plan(keys[1]).schedule.tolist()


def test_wide_keys_mean_the_same():
    decoder, keys = decoder_and_keys("peak-memory")
    assert (
        decoder(keys.astype(np.uint32) << 16).tolist()
        == decoder(keys).tolist()
        == decoder(keys.astype(np.uint32)).tolist()
    )


def test_no_rows_and_no_ops():
    decoder, keys = decoder_and_keys("peak-memory")
    assert decoder(keys[:0]).shape == (0,)
    for objective in Objective:
        empty = Decoder(Problem(GraphBuilder().build(), Cluster.uniform(2), objective))
        keys = np.zeros((3, empty.layout.num_padded_keys), np.uint16)
        assert not empty(keys).any()
        assert empty.plan(keys[0]).events() == []


def test_wrong_rows_are_refused():
    decoder, keys = decoder_and_keys("peak-memory")
    with pytest.raises(ValueError, match="a chromosome has 20 keys, not 19"):
        decoder(keys[:, :19])
    with pytest.raises(ValueError, match="keys are uint16 or uint32, not float64"):
        decoder.plan(keys[0] / 2**16)


@pytest.mark.parametrize("num_threads", [1, 2, 4])
def test_threads_share_a_decoder(num_threads):
    graph = random_graph(Random(6), max_ops=60, min_ops=60)
    decoder = Decoder(Problem(graph, Cluster.uniform(2, bandwidth=5.0), "running-time"))
    keys = np.random.default_rng(0).integers(0, 2**16, (400, decoder.layout.num_keys), np.uint16)
    with ThreadPoolExecutor(num_threads) as pool:
        parts = list(pool.map(decoder, np.array_split(keys, 16)))
    assert np.concatenate(parts).tolist() == decoder(keys).tolist()


@given(plans())
def test_every_valid_plan_can_be_encoded(plan):
    keys = encode(plan)
    layout = Layout.of(plan.graph, plan.cluster.num_devices)
    assert (keys.dtype, keys.shape) == (layout.key_dtype, (layout.num_padded_keys,))
    for decoded in (
        reference.decode(plan.graph, plan.cluster, keys),
        Decoder(Problem(plan.graph, plan.cluster)).plan(keys),
    ):
        assert decoded.placement.tolist() == plan.placement.tolist()
        assert decoded.schedule.tolist() == plan.schedule.tolist()


def test_a_plan_of_more_events_than_16_bits_tell_apart():
    # 100 chains of 400 ops; each op reads the tensor that the op before it in its chain made on the other device
    builder = GraphBuilder("chains")
    for op in range(40_000):
        inputs = [op - 100] if op >= 100 else []
        builder.add_op("op", inputs=inputs, outputs=[builder.add_tensor(op % 7)], runtime=op % 5)
    graph, rng = builder.build(), np.random.default_rng(0)
    chain = rng.permutation(np.repeat(np.arange(100), 400))
    step = np.zeros(100, np.int64)
    order = []
    for number in chain:
        order.append(int(number + 100 * step[number]))
        step[number] += 1
    placement = np.arange(40_000) // 100 % 2
    plan = plan_from_order(graph, Cluster.uniform(2, bandwidth=1e3), placement, order)
    assert len(plan.schedule) == 79_900 > 2**16
    check_plan(plan)
    keys = encode(plan)
    assert keys.dtype == np.uint32
    decoder = Decoder(Problem(graph, plan.cluster))
    decoded = decoder.plan(keys)
    assert np.array_equal(decoded.placement, plan.placement)
    assert np.array_equal(decoded.schedule, plan.schedule)
    assert np.array_equal(reference.decode(graph, plan.cluster, keys).schedule, plan.schedule)
    peaks, seconds = decoder.costs(keys[None])
    cost = evaluate(plan)
    assert (tuple(peaks[0].tolist()), float(seconds[0])) == (cost.peak_memory, cost.running_time)


def test_tails_are_the_longest_ways_to_the_end_at_the_highest_speed():
    # a (1) ──> b (2) ──> d (1)     at speed 2
    #   └────> c (3) ──┘
    assert tails(example_graph("diamond"), UNEQUAL).tolist() == [2.0, 0.5, 0.5, 0.0]


def test_encoding_keeps_the_key_of_an_unneeded_copy_out_of_the_way():
    plan = Plan(example_graph("chain"), Cluster.uniform(2), [0, 1, 1], [[0, RUN], [1, 1], [1, RUN], [2, RUN]])
    keys = encode(plan)
    transfers = keys[Layout.of(plan.graph, 2).transfers].reshape(3, 2)
    assert (transfers > 0).tolist() == [[False, True], [False, False], [False, False]]
