"""A slice of ``python -m tests.fidelity_torch``: models written by hand, byte by byte, op by op."""

import pytest

torch = pytest.importorskip("torch")

from regal.frontends.torch_capture import capture  # noqa: E402
from tests.fidelity_models import HAND_WRITTEN  # noqa: E402
from tests.fidelity_torch import MODES, TOLERANCE, check, modes_of  # noqa: E402

EXACT = ("mlp", "cnn", "encoder", "tied", "unused", "experts", "attention", "recomputed")


@pytest.mark.parametrize("name", EXACT)
def test_live_bytes_equal_those_of_a_real_run(name):
    for mode, (graph, real, ours) in modes_of(name, MODES):
        assert ours.resident == real.resident, mode
        assert ours.during == real.during, mode
        assert len(real.during) == graph.num_ops


def test_peaks_are_close_to_those_of_a_real_run():
    """Some real kernels on complex numbers make results of other strides than the recorded ones."""
    for mode, (_, real, ours) in modes_of("spectrum", MODES):
        assert ours.resident == real.resident, mode
        assert ours.peak == pytest.approx(real.peak, rel=TOLERANCE), mode


def test_a_value_that_stays_is_seen():
    """The measurement is no echo: with a value that is kept for longer it tells another story."""
    model, inputs = HAND_WRITTEN["mlp"]()
    program = capture(model, inputs, training=True)
    _, before, _ = check(program, "training")
    hidden = next(node for node in program.module.graph.nodes if "gelu.default" in str(node.target))
    output = program.module.graph.output_node()
    output.args = ((*output.args[0], hidden),)
    _, after, _ = check(program, "training")
    assert after.during[-1] == before.during[-1] + 32 * 256 * 4
