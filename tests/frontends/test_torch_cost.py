import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from regal.frontends.roofline import Rates  # noqa: E402
from regal.frontends.torch import trace  # noqa: E402
from regal.frontends.torch_cost import flops, moved_bytes  # noqa: E402

aten = torch.ops.aten


def total_flops(model, inputs, training=False):
    return trace(model, inputs, training=training).meta["source"]["flops"]


def test_products_and_convolutions_count_two_for_a_multiply_add():
    a, b = torch.ones(3, 4), torch.ones(4, 5)
    assert flops(aten.mm.default, (a, b), {}, a @ b) == 2 * 3 * 4 * 5
    assert flops(aten.sin.default, (a,), {}, a) == 0
    assert total_flops(nn.Conv2d(3, 8, 3), torch.ones(2, 3, 6, 6)) == 2 * (2 * 8 * 4 * 4) * (3 * 3 * 3)


def test_training_counts_the_products_of_both_gradients():
    """Forward, gradient of the weight, gradient of the input; the first layer needs none of its input."""
    layer = nn.Linear(4, 4, bias=False)
    assert total_flops(layer, torch.ones(3, 4), training=True) == 2 * (2 * 3 * 4 * 4)
    two = nn.Sequential(layer, nn.Linear(4, 4, bias=False))
    assert total_flops(two, torch.ones(3, 4), training=True) == 5 * (2 * 3 * 4 * 4)


def test_cpu_attention_counts_its_products():
    """Two products of batch x heads x queries x keys x width forward; five for the gradients."""
    product = 2 * (2 * 3 * 5 * 5 * 7)
    q, k, v = (torch.ones(2, 3, 5, 7) for _ in range(3))
    graph = trace(F.scaled_dot_product_attention, (q, k, v))
    assert graph.op_types == ("aten._scaled_dot_product_flash_attention_for_cpu.default",)
    assert graph.meta["source"]["flops"] == 2 * product
    q.requires_grad_()
    assert flops(aten._scaled_dot_product_flash_attention_for_cpu_backward.default, (q, q, k, v), {}, q) == 5 * product


def test_bytes_are_those_of_the_views_and_never_more_than_the_storage():
    rows = torch.ones(10, 4)
    assert moved_bytes(aten.sin.default, [rows[:2]], [torch.ones(2, 4)]) == 32 + 32
    assert moved_bytes(aten.sin.default, [torch.ones(1, 4).expand(10, 4)], [rows]) == 16 + 160


def test_a_lookup_reads_what_it_writes():
    """Three rows of 16 bytes out of 1000, and three 8-byte indices."""
    rates = Rates(flops=1.0, bandwidth=1.0, overhead=0.0)
    graph = trace(nn.Embedding(1000, 4), torch.zeros(3, dtype=torch.int64), rates=rates)
    assert graph.runtime.tolist() == [48 + 24 + 48]
