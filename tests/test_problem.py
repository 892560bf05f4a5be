import pytest

from regal.cluster import Cluster, Device
from regal.cost import Cost
from regal.graph import GraphBuilder, example_graph
from regal.graph.checks import MAX_SECONDS
from regal.problem import Objective, Problem

CLUSTER = Cluster((Device(100), Device(50)))
COST = Cost((110, 60), 2.5)


@pytest.mark.parametrize(
    ("objective", "value", "rank"),
    [
        ("peak-memory", 110, (110,)),
        ("peak-utilisation", 1.2, (1.2,)),
        ("running-time", 2.5, (20, 2.5)),
        ("pareto", 110, (110,)),
    ],
)
def test_what_a_cost_is_worth(objective, value, rank):
    problem = Problem(example_graph("diamond"), CLUSTER, objective)
    assert problem.objective is Objective(objective)
    assert (problem.objective_value(COST), problem.rank(COST)) == (value, rank)


def test_a_plan_that_fits_ranks_before_a_faster_one():
    problem = Problem(example_graph("diamond"), CLUSTER, Objective.RUNNING_TIME)
    assert problem.rank(Cost((100, 50), 9.0)) < problem.rank(Cost((101, 0), 1.0)) < problem.rank(Cost((102, 0), 0.5))


def test_the_defaults():
    problem = Problem(example_graph("diamond"))
    assert (problem.cluster, problem.objective) == (Cluster.uniform(2), Objective.PEAK_MEMORY)
    assert problem.graph_arrays is problem.graph_arrays
    assert problem.cluster_arrays.memory.tolist() == [2**34, 2**34]


def test_an_unknown_objective_lists_the_known():
    message = "one of peak-memory, peak-utilisation, running-time, pareto, not 'speed'"
    with pytest.raises(ValueError, match=message):
        Problem(example_graph("diamond"), objective="speed")


def test_bytes_that_could_overflow_are_refused():
    builder = GraphBuilder()
    for _ in range(512):
        builder.add_tensor(2**53 - 1)
    graph = builder.build()
    assert Problem(graph, Cluster.uniform(2)).graph is graph
    with pytest.raises(ValueError, match=r"must stay below 2\^63, not \d+ \* 3"):
        Problem(graph, Cluster.uniform(3))


def test_seconds_that_could_overflow_are_refused():
    builder = GraphBuilder()
    builder.add_op("a", outputs=[builder.add_tensor(2**40)], runtime=0.1 * MAX_SECONDS)
    graph = builder.build()
    assert Problem(graph, Cluster.uniform(2)).graph is graph
    slow, thin, far = {"speed": 0.05}, {"bandwidth": 1 / MAX_SECONDS}, {"latency": MAX_SECONDS}
    for options in (slow, thin, far):
        with pytest.raises(ValueError, match=r"running times together must stay below .* seconds, not \d"):
            Problem(graph, Cluster.uniform(2, **options))
    assert Problem(graph, Cluster.uniform(1, bandwidth=1e-99)).cluster.num_devices == 1  # nothing is sent
