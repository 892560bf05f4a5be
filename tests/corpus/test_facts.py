from regal.corpus.facts import facts, search_facts
from regal.graph import GraphBuilder, example_graph


def test_facts_of_a_small_graph():
    # weight(100) ─┐
    # first ─(8)───┴> second ─(4)─> third    third waits for first besides
    builder = GraphBuilder("g")
    weight, a, b = (builder.add_tensor(size) for size in (100, 8, 4))
    unread = builder.add_tensor(1000)
    builder.add_op("first", outputs=[a], runtime=1.0)
    builder.add_op("second", inputs=[weight, a], outputs=[b], runtime=2.0)
    builder.add_op("third", inputs=[b], control_inputs=[0])
    found = facts(builder.build())
    assert unread == 3
    expected = {
        "ops": 3,
        "edges": 2,
        "control_inputs": 1,
        "tensors": 4,
        "depth": 3,
        "bytes": 1112,
        "persistent_bytes": 100,
        "running_time": 3.0,
        "program_order_peak": 112,
        "bound": 112,
        "bound_complete": True,
        "headroom": 0.0,
    }
    assert {key: found[key] for key in expected} == expected


def test_headroom_is_what_an_order_can_save_at_most():
    found = facts(example_graph("branches"))
    assert found["program_order_peak"] == 601
    assert found["bound"] == 101
    assert found["headroom"] == round(1 - 101 / 601, 6)


def test_an_empty_graph_has_facts():
    found = facts(GraphBuilder("empty").build())
    assert (found["ops"], found["depth"], found["edges"], found["headroom"]) == (0, 0, 0, 0.0)


def test_more_evaluations_are_never_worse():
    found = search_facts(example_graph("branches"))
    assert 0 < found["brkga_20k"] <= found["brkga_2k"]
