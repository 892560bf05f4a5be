"""``CostGraphDef`` texts in pieces, and what their graphs are compared by."""

from regal.frontends.costgraph import parse
from regal.graph import GraphBuilder

PUBLISHED = """\
node {
  name: "_SOURCE"
}
node {
  name: "node_0"
  id: 1
  control_input: 0
}
node {
  name: "node_1"
  id: 2
  output_info {
    size: 61
    alias_input_port: -1
  }
  control_input: 0
  compute_cost: 44
}
node {
  name: "node_2"
  id: 3
  output_info {
    size: 39
    alias_input_port: -1
  }
  control_input: 0
  compute_cost: 52
}
node {
  name: "node_3"
  id: 4
  input_info {
    preceding_node: 2
  }
  input_info {
    preceding_node: 3
  }
  output_info {
    size: 47
    alias_input_port: -1
  }
  control_input: 0
  control_input: 1
  compute_cost: 58
}
"""
"""In the shape of REGAL's synthetic set."""


def node(name, id=0, *fields):
    return f'node {{ name: "{name}" id: {id} {" ".join(fields)} }}\n'


def reads(id, port=0):
    return f"input_info {{ preceding_node: {id} preceding_port: {port} }}"


def makes(size, alias=-1):
    return f"output_info {{ size: {size} alias_input_port: {alias} }}"


def graph_of(*nodes):
    return parse("".join(nodes).encode())


def table(graph):
    """``{op: (bytes read, bytes written, control inputs by name)}``; small graphs where sizes tell tensors apart."""
    size, names = graph.tensor_bytes, graph.op_names
    rows = zip(names, graph.inputs, graph.outputs, graph.control_inputs, strict=True)
    return {
        name: (size[inputs].tolist(), size[outputs].tolist(), [names[op] for op in control])
        for name, inputs, outputs, control in rows
    }


def canonical(graph, op_types=True):
    """What the format can hold, whatever the numbers of the tensors."""
    place = {}
    for op, tensors in enumerate(graph.outputs.to_lists()):
        place |= {tensor: (op, port) for port, tensor in enumerate(tensors)}
    persistent = [tensor for tensor in range(graph.num_tensors) if tensor not in place]
    place |= {tensor: (-1, port) for port, tensor in enumerate(persistent)}
    return {
        "names": graph.op_names,
        "types": graph.op_types if op_types else None,
        "runtime": graph.runtime.tolist(),
        "workspace": graph.workspace.tolist(),
        "inputs": [[place[tensor] for tensor in row] for row in graph.inputs.to_lists()],
        "control": [sorted(row) for row in graph.control_inputs.to_lists()],
        "tensors": sorted(
            (place[tensor], size, bool(output) and place[tensor][0] >= 0)
            for tensor, (size, output) in enumerate(zip(graph.tensor_bytes.tolist(), graph.is_output, strict=True))
        ),
    }


def single_groups(graph):
    """``graph`` without the colocation groups, and running times that are whole units."""
    builder = GraphBuilder(graph.name)
    for size, output in zip(graph.tensor_bytes.tolist(), graph.is_output.tolist(), strict=True):
        builder.add_tensor(size, output)
    for op in range(graph.num_ops):
        builder.add_op(
            "op",
            name=f"op_{op}",
            inputs=graph.inputs[op].tolist(),
            outputs=graph.outputs[op].tolist(),
            control_inputs=graph.control_inputs[op].tolist(),
            runtime=float(round(graph.runtime[op] * 60)),
            workspace=int(graph.workspace[op]),
            colocation=op,
        )
    return builder.build()
