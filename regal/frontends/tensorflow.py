"""TensorFlow graphs as computation graphs.

How a TensorFlow graph is read:

- Calls of functions are inlined. Nodes that neither a result nor an effect needs are left out, as a runtime does.
- A variable is one persistent tensor, whoever holds a handle of it; so is an input of the graph. Reading a variable
  reads the persistent tensor. An op that updates a variable (Assign, ResourceApply ...) is an in-place update: it
  reads the variable, has no output tensor for it, comes after all earlier readers by control inputs and shares a device
  with all readers. Who reads the variable later has the update as a control input. A value that was read before an
  update and is needed after it (in program order) is a copy, as TensorFlow makes it.
- Identity, Reshape, Squeeze, ExpandDims, StopGradient and the like return their input's storage: they are contracted,
  and whoever reads the result reads the storage. So is TensorListFromTensor, whose items look into the tensor. Slice,
  Transpose, Split and Cast copy and stay ops.
- A constant is a persistent tensor if an op reads it and it has more than ``PARAMETER_BYTES`` (64) bytes; a smaller
  one (an axis, a shape, a number) is a parameter of its reader. Ops without an effect on constants alone are folded
  into constants, unless the result is larger than that and than what it is made of, such as a fill; so are Shape, Size
  and Rank of values whose shape is known. Random ops are never folded.
- Control edges are kept, through all nodes that vanish; where more than ``MAX_SPREAD`` (16) meet in one of these, a
  NoOp that takes no time gathers them.
- Loops and branches (While, If) and calls of Python stay one op each, counted in ``meta["source"]["opaque_ops"]``.
- A value of unknown size has as many elements as the largest input of its op that is no variable or constant, else
  as its largest input; the scratch that a batch norm hands to its gradient has 0 bytes.
  ``meta["source"]["unknown_shapes"]`` counts such values.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from regal.frontends.roofline import Rates
from regal.frontends.tensorflow_build import build_graph
from regal.frontends.tensorflow_source import read_source
from regal.frontends.tensorflow_trace import trace_step
from regal.graph import ComputationGraph

DEFAULT_RATES = Rates()

__all__ = ["load", "trace", "trace_model"]


def load(
    source: Any,
    *,
    name: str | None = None,
    mode: str | None = None,
    outputs: list[str] | None = None,
    default_dimension: int | None = None,
    signature: str | None = None,
    simplify: bool = True,
    rates: Rates = DEFAULT_RATES,
) -> ComputationGraph:
    """Read a TensorFlow graph; see the module's description for what becomes what.

    Nothing is run but TensorFlow's shape inference, which computes constants that sizes follow from;
    :func:`regal.frontends.tensorflow_process.load_file` does so in a process of its own.

    Parameters
    ----------
    source : ConcreteFunction, tf.function with an input signature, tf.Graph, GraphDef, or path
        A path is a file that holds a binary GraphDef (``.pb``), or a folder that holds a SavedModel.
    name : str, optional
        Of the graph.
    mode : str, optional
        Written into ``meta``: ``"inference"``, ``"training"`` or ``"step"``.
    outputs : list of str, optional
        Names of the values that a tf.Graph or GraphDef returns, such as ``"logits:0"``; what they do not need is left
        out. By default every value that nobody reads.
    default_dimension : int, optional
        Size of the dimensions that inputs leave open, such as the batch.
    signature : str, optional
        Of a SavedModel; by default ``"serving_default"``, or the only one.
    simplify : bool
        Otherwise every node is an op; those that vanish when simplified take no time and allocate nothing, except that
        folded ones compute.
    rates : Rates
        Roofline from which runtimes follow.

    Raises
    ------
    ValueError
        For a source that is none of these, is not whole, or has shapes that do not fit; one line.

    Examples
    --------
    >>> weight = tf.Variable(tf.zeros((4, 8)))
    >>> spec = tf.TensorSpec((3, 4))
    >>> layer = tf.function(lambda x: tf.nn.relu(x @ weight), input_signature=[spec])
    >>> graph = load(layer, name="layer")
    >>> graph.op_types
    ('MatMul', 'Relu')
    >>> graph.tensor_bytes.tolist()
    [48, 128, 96, 96]
    """
    program, default_name = read_source(source, outputs, default_dimension, signature)
    return build_graph(program, name or default_name, mode=mode, simplify=simplify, rates=rates)


def trace(
    function: Any, *specs: Any, name: str | None = None, mode: str = "inference", rates: Rates = DEFAULT_RATES
) -> ComputationGraph:
    """Trace a callable on inputs of given shapes.

    Parameters
    ----------
    function : callable
        Of tensors. Variables that it makes when it is first called, as Sonnet's modules do, are the graph's.
    specs : tf.TensorSpec, or nested lists and dicts of them
    name, mode, rates
        As for :func:`load`; the name is the function's own by default.

    Raises
    ------
    ValueError
        As :func:`load`; what the function itself raises is passed on.
    """
    concrete = tf.function(function, autograph=False).get_concrete_function(*specs)
    return load(concrete, name=name or _name_of(function), mode=mode, rates=rates)


def trace_model(
    model: Any,
    *specs: Any,
    mode: str = "inference",
    loss: Any = None,
    optimizer: Any = None,
    variables: Any = None,
    name: str | None = None,
    rates: Rates = DEFAULT_RATES,
) -> ComputationGraph:
    """Trace inference, gradients or a whole training step of a model.

    Parameters
    ----------
    model : Keras model, Sonnet or TensorFlow module, or callable
        Its call gets ``training`` or ``is_training`` where it takes one.
    specs : tf.TensorSpec, or nested lists and dicts of them
        What the model is called with.
    mode : str
        ``"inference"`` returns what the model returns; ``"training"`` the loss and the gradient of every variable;
        ``"step"`` the loss, with the optimizer's update in the graph.
    loss : callable, optional
        Maps what the model returns to a scalar; by default the sum of the means of all floating-point results.
    optimizer : str or optimizer
        For ``"step"``: ``"sgd"`` (default), ``"momentum"`` or ``"adam"``, each one fused op a variable, or an
        optimizer of Keras or Sonnet.
    variables : list, or callable that returns one, optional
        What to train; by default ``model.trainable_variables``.
    name, rates
        As for :func:`load`; the name is the model's own by default, else that of its function or class.

    Raises
    ------
    ValueError
        As :func:`load`, and for a mode or optimizer that is none of these, or a model that has nothing to train; what
        the model itself raises is passed on.
    """
    concrete = trace_step(model, specs, mode=mode, loss=loss, optimizer=optimizer, variables=variables)
    return load(concrete, name=name or _name_of(model), mode=mode, rates=rates)


def _name_of(model: Any) -> str:
    """The name that a model has of its own, else that of its function or class."""
    name = getattr(model, "name", None) or getattr(model, "__name__", None)
    return name if isinstance(name, str) else type(model).__name__
