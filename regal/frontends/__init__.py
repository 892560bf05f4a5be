"""Importers: each turns a model or a file into a ``ComputationGraph``; its framework is imported inside."""

from __future__ import annotations

from typing import Any

from regal.frontends.loading import load, missing
from regal.frontends.roofline import Rates
from regal.graph import ComputationGraph

__all__ = ["Rates", "load", "trace", "trace_jax"]


def trace(model: Any, example_inputs: Any, **options: Any) -> ComputationGraph:
    """Trace a PyTorch model; see :func:`regal.frontends.torch.trace` for the options.

    Raises
    ------
    ValueError
        When PyTorch is not installed, or the model cannot be traced.
    """
    try:
        from regal.frontends.torch import trace as trace_torch
    except ModuleNotFoundError as error:
        raise missing(error, "torch") from error
    return trace_torch(model, example_inputs, **options)


def trace_jax(function: Any, *specs: Any, **options: Any) -> ComputationGraph:
    """Lower a JAX function of arrays like ``specs``; see :func:`regal.frontends.jax.trace` for the options.

    Raises
    ------
    ValueError
        When JAX is not installed, or its program cannot be read.
    """
    try:
        from regal.frontends.jax import trace as trace_function
    except ModuleNotFoundError as error:
        raise missing(error, "jax") from error
    return trace_function(function, *specs, **options)
