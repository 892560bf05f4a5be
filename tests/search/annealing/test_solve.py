import numpy as np
import pytest

from regal.cluster import Cluster
from regal.cost.reference import evaluate
from regal.graph import GraphBuilder, example_graph
from regal.plan import Plan, check_plan, plan_from_order
from regal.problem import Objective, Problem
from regal.search import annealing
from regal.search.annealing import Options
from regal.search.budget import Budget

OBJECTIVES = (Objective.PEAK_MEMORY, Objective.PEAK_UTILISATION, Objective.RUNNING_TIME)


def in_program_order(problem: Problem) -> Plan:
    """Every op on the first device."""
    num_ops = problem.graph.num_ops
    return plan_from_order(problem.graph, problem.cluster, np.zeros(num_ops), range(num_ops))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_same_seed_gives_the_same_plan(objective):
    problem = Problem(example_graph("branches"), Cluster.uniform(2), objective)
    first, second = (annealing.solve(problem, Budget(3000), seed=5) for _ in range(2))
    assert np.array_equal(first.plan.schedule, second.plan.schedule)
    assert first.evaluations == second.evaluations == 3000


def test_a_result_is_never_worse_than_where_it_began():
    problem = Problem(example_graph("branches"), Cluster.uniform(1))
    plan = plan_from_order(
        problem.graph, problem.cluster, np.zeros(problem.graph.num_ops), range(problem.graph.num_ops)
    )
    result = annealing.solve(problem, Budget(5), options=Options(start=plan))
    assert result.objective_value <= evaluate(plan).max_peak_memory
    assert result.baselines == ()


def test_it_finds_the_optimum_of_a_small_graph_from_a_bad_start():
    problem = Problem(example_graph("branches"), Cluster.uniform(1))
    plan = plan_from_order(
        problem.graph, problem.cluster, np.zeros(problem.graph.num_ops), range(problem.graph.num_ops)
    )
    assert evaluate(plan).max_peak_memory == 601
    result = annealing.solve(problem, Budget(20_000), options=Options(start=plan))
    assert result.objective_value == 106


def test_cold_annealing_is_local_search():
    problem = Problem(example_graph("branches"), Cluster.uniform(2))
    result = annealing.solve(problem, Budget(2000), options=Options(hot=0.0))
    check_plan(result.plan)
    assert result.objective_value <= min(problem.objective_value(b.cost) for b in result.baselines)


def test_a_plan_that_fits_beats_a_faster_one_that_does_not():
    # two ops of one second, each with a parameter of 10 bytes; two devices of 10 bytes hold one each
    builder = GraphBuilder()
    for _ in range(2):
        builder.add_op("work", inputs=[builder.add_tensor(10)], runtime=1.0)
    slow_but_roomy = Cluster.uniform(2, memory=10)
    result = annealing.solve(Problem(builder.build(), slow_but_roomy, Objective.RUNNING_TIME), Budget(500))
    assert result.feasible
    assert result.running_time == 1.0


def test_seconds_are_kept():
    result = annealing.solve(Problem(example_graph("branches")), Budget(None, 0.3))
    assert result.stop_reason == "seconds"
    assert 0.3 <= result.search_seconds < 3.0
    assert result.evaluations > 1000


def test_progress_falls():
    values = []
    options = Options(progress=lambda progress: values.append(progress.objective_value))
    annealing.solve(Problem(example_graph("branches")), Budget(5000), options=options)
    assert len(values) > 5
    assert values == sorted(values, reverse=True)


def test_an_interruption_keeps_the_best_plan():
    def interrupt(progress):
        raise KeyboardInterrupt

    result = annealing.solve(Problem(example_graph("branches")), Budget(5000), options=Options(progress=interrupt))
    assert result.stop_reason == "interrupted"
    check_plan(result.plan)


def test_the_pareto_objective_is_refused():
    with pytest.raises(ValueError, match="annealing has one objective"):
        annealing.solve(Problem(example_graph("chain"), objective=Objective.PARETO), Budget(10))


def test_an_empty_graph_has_a_plan():
    assert annealing.solve(Problem(GraphBuilder().build()), Budget(10)).objective_value == 0
