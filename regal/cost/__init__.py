"""The performance model: what a plan costs in memory and time.

A worked example: op ``a`` makes 8 bytes that ``b`` and ``c`` read; ``d`` joins their results; ``c`` needs 16 bytes of
workspace. ``c`` runs on device 1, the others on device 0; both links take 1 s and carry 8 bytes a second. ::

    a (8) ──> b (4) ──────> d (2)        runtimes: a 1 s, b 2 s, c 3 s, d 1 s
      └─────> c (64) ──────┘

>>> from regal.cluster import Cluster
>>> from regal.cost.reference import evaluate, trace
>>> from regal.graph import example_graph
>>> from regal.plan import RUN, Plan
>>> cluster = Cluster.uniform(2, latency=1.0, bandwidth=8.0)
>>> schedule = [[0, RUN], [0, 1], [1, RUN], [2, RUN], [2, 0], [3, RUN]]
>>> plan = Plan(example_graph("diamond"), cluster, [0, 0, 1, 0], schedule)
>>> for step, name in zip(trace(plan), ["run a", "copy 0 to 1", "run b", "run c", "copy 2 to 0", "run d"]):
...     print(f"{name:<12}{step.during:>3} bytes on {step.device}, then {step.memory}; {step.start} to {step.finish} s")
run a         8 bytes on 0, then (8, 0); 0.0 to 1.0 s
copy 0 to 1   8 bytes on 1, then (8, 8); 1.0 to 3.0 s
run b        12 bytes on 0, then (4, 8); 1.0 to 3.0 s
run c        88 bytes on 1, then (4, 64); 3.0 to 6.0 s
copy 2 to 0  68 bytes on 0, then (68, 0); 6.0 to 15.0 s
run d        70 bytes on 0, then (2, 0); 15.0 to 16.0 s
>>> evaluate(plan)
Cost(peak_memory=(70, 88), running_time=16.0)

``b`` is the last reader of ``a``'s 8 bytes on device 0 and releases them there; ``c`` does so on device 1. Running
``c`` takes 8 + 64 bytes and its workspace for a moment. The copy of ``c``'s 64 bytes (1 s + 64 / 8 s) releases them on
device 1, which is therefore busy until the copy has arrived. Only ``d``'s result, an output of the graph, stays.
"""

from regal.cost.cost import Cost

__all__ = ["Cost"]
