"""The text format of protocol buffers: what is read, what is refused by line, and that neither takes long."""

import time
import tracemalloc
from random import Random

import pytest

from regal.files import ParseError
from regal.frontends.costgraph import parse, to_text
from regal.frontends.costgraph_text import MESSAGES, parse_nodes
from regal.graph import example_graph
from tests.frontends.costgraphs import PUBLISHED, makes, node, reads, single_groups
from tests.fuzz.texts import cut, flip, insert, truncate
from tests.strategies import random_graph

EVERY_FIELD = r"""
# a comment { } "
cost { cost: 1.5e3f dimension: 'memory' } cost: < cost: -inf >; cost: [{ cost: .5 }, <cost: nan>],
node <
  name: "a\x41\101\n\\\'\"\u00e9\U0001F600" 'b'
    # between
    "c";
  device: "/job:x", id: 0x10
  input_info: [] output_info: [{ size: 010, alias_input_port: - 1 }, < alias_input_port: -1 size: 7
    shape { dim { size: -1 name: "n" } dim: { size: 3 } unknown_rank: false } dtype: DT_FLOAT >]
  control_input: [] inaccurate: 1 compute_time: 3 memory_time: 4 host_temp_memory_size: 5
  device_temp_memory_size: 6 host_persistent_memory_size: 7 device_persistent_memory_size: 8
  is_final: True
>
"""


def test_every_field_of_the_format_is_read():
    graph = parse(EVERY_FIELD.encode())
    assert graph.op_names == ("aAA\n\\'\"é😀bc",)
    assert graph.tensor_bytes.tolist() == [8, 7]
    assert graph.is_output.all()


def test_an_empty_text_is_an_empty_graph():
    assert parse(b"").num_ops == 0
    assert parse(b"# nothing\n").num_ops == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("node {\n name: 'a'\n", "line 3: the text ends inside Node"),
        ("node { name: 'a' }\n}", "line 2: a field of CostGraphDef must stand here, not '}'"),
        ("node { name: 'a'\nid: 1\n id: 2 }", "line 3: Node has a second id"),
        ("node {\ncolour: 1 }", "line 2: Node has no field 'colour'"),
        ("nodes { }", "line 1: CostGraphDef has no field 'nodes'"),
        ("node { name 'a' }", "line 1: a colon must follow name"),
        ("node { name: a }", "line 1: a string must stand here, not 'a'"),
        ("node { name:", "line 1: a string must stand here, not the end of the text"),
        ("node { name: 'a }", 'line 1: no token of the text format: "\'a }"'),
        ("node { name: 'a\n' }", "line 1: no token"),
        ("node { name: '\\q' }", "line 1: no escape of a string"),
        ("node { name: '\\ud800' }", "line 1: no character"),
        ("node { name: '\\xff' }", "line 1: the string is not UTF-8 text"),
        ("node { id: 1.5 }", "line 1: an integer must stand here, not '1.5'"),
        ("node { id: 08 }", "an integer must stand here, not '08'"),
        ("node { id: 0x }", "an integer must stand here, not '0x'"),
        ("node { id: 'a' }", "an integer must stand here"),
        ("node { id: 2147483648 }", "an integer of 32 bits must stand here, not 2147483648"),
        ("node { compute_cost: 0x8000000000000000 }", "an integer of 64 bits must stand here"),
        ("node { compute_cost: 99999999999999999999999999 }", "an integer must stand here"),
        ("node { is_final: yes }", "true or false must stand here, not 'yes'"),
        ("node { control_input: [1 2] }", r"a comma or \] must stand here, not '2'"),
        ("node { control_input: [1,] }", r"an integer must stand here, not '\]'"),
        ("node { id: [1] }", "an integer must stand here"),
        ("node: 3", "Node must stand here in braces, not '3'"),
        ("node { output_info { dtype: {} } }", "a name or number must stand here, not '{'"),
        ("cost { cost: 1e }", "a number must stand here, not '1e'"),
        ("node { >", "a field of Node must stand here, not '>'"),
        ("node { id: 1 ;; }", "a field of Node must stand here, not ';'"),
        ("[type.googleapis.com/a] { }", r"a field of CostGraphDef must stand here, not '\['"),
        ("\0", "no token of the text format"),
        ("node { n\xe9: 1 }", "Node has no field 'n'"),
    ],
)
def test_broken_text_is_refused_by_line(text, message):
    with pytest.raises(ParseError, match="^text: (?s:.*)" + message) as caught:
        parse(text.encode())
    assert "\n" not in str(caught.value)


TOKENS = (b"{", b"}", b"<", b":", b"[", b"-", b"'", b'"', b"\\", b"#", b" id", b"1e9", b"99999999999", b"\x00", b"\xff")


def token(data, rng):
    """A token that does not belong there."""
    at = rng.randint(0, len(data))
    return data[:at] + rng.choice(TOKENS) + data[at:]


def digit(data, rng):
    """Another number."""
    places = [at for at, byte in enumerate(data) if byte in b"0123456789"]
    at = rng.choice(places or [0])
    return data[:at] + rng.choice((b"0", b"1", b"3", b"-1", b"07")) + data[at + 1 :]


def mutants(text, count, seed=0):
    rng = Random(seed)
    for _ in range(count):
        data = text.encode()
        for _ in range(rng.choice((1, 1, 2, 5))):
            data = rng.choice((truncate, flip, insert, cut, token, digit, digit))(data, rng)
        yield data


def test_damaged_texts_are_read_or_refused_in_one_line():
    graphs = (example_graph("branches"), random_graph(Random(1), min_ops=20))
    texts = [PUBLISHED, *(to_text(graph).replace("\n", " ") for graph in graphs)]
    read = refused = 0
    for data in (data for seed, text in enumerate(texts) for data in mutants(text, 400, seed)):
        try:
            parse(data)
            message = ""
        except ParseError as error:
            message = str(error)
        assert "\n" not in message
        read, refused = read + (not message), refused + bool(message)
    assert (read > 100, refused > 500) == (True, True), (read, refused)


def test_every_beginning_of_a_text_is_read_or_refused():
    for end in range(len(PUBLISHED) - 2):  # the last brace is missing
        try:
            graph = parse(PUBLISHED[:end].encode())
        except ParseError:
            continue
        assert graph.num_ops < 4


@pytest.mark.parametrize(
    "text",
    [
        b"#\n" * 500_000,
        b'node { name: "' + b"\\\\" * 500_000,
        b'node { name: "' + b"'a' " * 100_000 + b'" }',
        b"node { id: " + b"1" * 1_000_000,
        b"cost { cost: " + b"1" * 1_000_000,
        b"a" * 1_000_000,
        b"node { name: " + b"'' " * 50_000,
        b"{" * 1_000_000,
        b"node { output_info {" * 50_000,
    ],
    ids=range(9),
)
def test_hostile_texts_take_little_time_and_memory(text):
    tracemalloc.start()
    start = time.process_time()
    try:
        parse(text)
    except ParseError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert time.process_time() - start < 5
    assert peak < 60 * 2**20


def test_texts_of_too_many_values_are_refused_before_they_are_parsed():
    with pytest.raises(ParseError, match="2000000 messages with 0 values could take more than"):
        parse_nodes(b"node{}" * 2_000_000, "text")
    with pytest.raises(ParseError, match="0 messages with 5000000 values"):
        parse_nodes(b",,,,," * 1_000_000, "text")


def test_the_estimate_of_memory_is_above_the_memory():
    nodes = 500
    text = (node("a", 1, *[reads(1)] * 5, *[makes(1)] * 5, "control_input: [1, 2, 3]") * nodes).encode()
    tracemalloc.start()
    parsed = list(parse_nodes(text, "text"))
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(parsed) == nodes
    assert size < text.count(b"{") * 500 + (text.count(b":") + text.count(b",")) * 150


# Against the protobuf library

WRITTEN = ("name", "device", "id", "input_info", "output_info", "temporary_memory_size", "is_final", "control_input")
FIELD_NUMBERS = {field: number for number, field in enumerate((*WRITTEN, "compute_cost"), start=1)}
"""Of the fields that are written; the order of text that the library prints."""
SCALARS = ("string", "int32", "int64", "bool", "float")


@pytest.fixture(scope="module")
def cost_graph_def():
    """The message class that the table of fields describes, as the protobuf library knows it."""
    pytest.importorskip("google.protobuf")
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    Field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="cost_graph.proto", package="costs", syntax="proto3")
    dtypes = file.enum_type.add(name="DataType")
    for number, name in enumerate(("DT_INVALID", "DT_FLOAT")):
        dtypes.value.add(name=name, number=number)
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for place, (field, kind) in enumerate(fields.items(), start=100 if name == "Node" else 1):
            label = Field.LABEL_REPEATED if kind.repeated else Field.LABEL_OPTIONAL
            number = FIELD_NUMBERS.get(field, place) if name == "Node" else place
            entry = message.field.add(name=field, number=number, label=label)
            if kind.of in SCALARS:
                entry.type = getattr(Field, f"TYPE_{kind.of.upper()}")
            else:
                entry.type = Field.TYPE_ENUM if kind.of == "enum" else Field.TYPE_MESSAGE
                entry.type_name = ".costs.DataType" if kind.of == "enum" else f".costs.{kind.of}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("costs.CostGraphDef"))


def test_the_library_reads_and_prints_what_is_written(cost_graph_def):
    from google.protobuf import text_format

    graphs = [example_graph("branches"), *(single_groups(random_graph(Random(seed))) for seed in range(20))]
    for text in (PUBLISHED, *map(to_text, graphs)):
        assert text_format.MessageToString(text_format.Parse(text, cost_graph_def())) == text


def outline(node):
    return (
        node.get("id", 0),
        node.get("name", ""),
        [(info.get("preceding_node", 0), info.get("preceding_port", 0)) for info in node.get("input_info", [])],
        [(info.get("size", 0), info.get("alias_input_port", 0)) for info in node.get("output_info", [])],
        node.get("control_input", []),
        node.get("is_final", False),
    )


def outline_of_message(node):
    return (
        node.id,
        node.name,
        [(info.preceding_node, info.preceding_port) for info in node.input_info],
        [(info.size, info.alias_input_port) for info in node.output_info],
        list(node.control_input),
        node.is_final,
    )


@pytest.mark.filterwarnings("ignore:.*invalid escape sequence:DeprecationWarning")
def test_the_library_takes_and_refuses_the_same_texts(cost_graph_def):
    """But for escapes that C does not know, names of dtypes and octal fractions, where one of both is less strict."""
    from google.protobuf import text_format

    other_rules = ("no escape of a string", "has no value named", "Invalid octal float")
    read = refused = 0
    for seed, text in enumerate((PUBLISHED, EVERY_FIELD.replace("- 1", "-1"), to_text(example_graph("chain")))):
        for data in mutants(text, 500, seed):
            ours, theirs, reasons = None, None, ""
            try:
                ours = [outline(node) for node in parse_nodes(data, "text")]
            except ParseError as error:
                reasons += str(error)
            try:
                theirs = [outline_of_message(node) for node in text_format.Parse(data, cost_graph_def()).node]
            except (text_format.ParseError, UnicodeDecodeError) as error:
                reasons += str(error)
            if not any(rule in reasons for rule in other_rules):
                assert ours == theirs, (reasons, data)
                read, refused = read + (ours is not None), refused + (ours is None)
    assert (read > 100, refused > 500) == (True, True), (read, refused)
