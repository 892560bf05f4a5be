"""What PyTorch ops compute and move: flops and bytes from the fake values of a traced graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.utils import flop_counter

aten = torch.ops.aten

READS_WHAT_IT_WRITES = {aten.embedding, aten.gather, aten.index, aten.index_select}
"""Ops that read from the tensor they look into only as many bytes as they write."""


def flops(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> int:
    """Floating-point operations of one call, a multiply-add counted as two; 0 where bytes alone decide its runtime.

    ``args``, ``kwargs`` and ``output`` hold fake tensors. The counts are those of ``torch.utils.flop_counter``
    (matrix products, convolutions, attention, and their gradients) and of :data:`CPU_FLOPS`.
    """
    packet = getattr(target, "overloadpacket", target)
    if packet in CPU_FLOPS:
        return int(CPU_FLOPS[packet](*args))
    if packet in flop_counter.flop_registry:
        return int(flop_counter.flop_registry[packet](*args, **kwargs, out_val=output))
    return 0


def moved_bytes(target: Any, inputs: Iterable[torch.Tensor], outputs: Iterable[torch.Tensor]) -> int:
    """Bytes that one call reads and writes: the elements of the views it is given, each counted once."""
    written = sum(map(touched, outputs))
    read = [touched(tensor) for tensor in inputs]
    if read and getattr(target, "overloadpacket", target) in READS_WHAT_IT_WRITES:
        read[0] = min(read[0], written)
    return sum(read) + written


def touched(tensor: torch.Tensor) -> int:
    """Bytes of its elements: an expanded view has more of them than its storage; a slice has fewer."""
    return min(tensor.numel() * tensor.element_size(), tensor.untyped_storage().nbytes())


def _attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *_: Any) -> int:
    return flop_counter.sdpa_flop_count(query.shape, key.shape, value.shape)


def _attention_backward(
    grad: torch.Tensor, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *_: Any
) -> int:
    return flop_counter.sdpa_backward_flop_count(grad.shape, query.shape, key.shape, value.shape)


CPU_FLOPS: dict[Any, Callable[..., int]] = {
    aten._scaled_dot_product_flash_attention_for_cpu: _attention,
    aten._scaled_dot_product_flash_attention_for_cpu_backward: _attention_backward,
}
"""Ops of the CPU backend that ``torch.utils.flop_counter`` does not know."""
