"""What the command line says about itself."""

APP = """Decide where and when the ops of a neural network's computation graph run: less memory, or less time.

A first plan: `regal optimize example:branches --devices 1`. A model of yours: `regal trace my_module:my_function
--training --output model.json.gz`, then `regal inspect model.json.gz` and `regal optimize model.json.gz --output
plan.json --plot plan.html`.
"""
OPTIMIZE = """Search for a placement and a schedule of GRAPH; print what it costs and how far from optimal it can be.

Ctrl-C ends the search with the best plan so far. The same seed gives the same plan on any number of threads.
"""
VERIFY = """Recompute everything that PLAN says about GRAPH with the plain reference, on the plan's own cluster.

Exit code 0 when all of it is right, 1 with the broken rule when the plan or a figure is wrong or the graph is another
one, 2 when a file cannot be read.
"""
INSPECT = """Show what GRAPH is: counts, sizes, depth, program-order peak, lower bounds, and the headroom between them.

With --corpus: how many graphs of which size a corpus holds.
"""
TRACE = """Trace a PyTorch model into a graph file, without allocating its tensors.

TARGET is `module:function`; the function takes no argument and returns `(model, example_inputs)`, or a dict with
`model`, `example_inputs` and, if wanted, `loss`, `name`, `training`, `optimizer` and `data_dependent`. Or it is
`hf:MODEL_TYPE`, `hf:config.json`, `timm:NAME` or `torchvision:NAME`, which take options:
`hf:bert?num_hidden_layers=6&batch=8&sequence=128`.
"""
CONVERT = """Read a graph in any known format and write it as regal-graph/1 (.json or .json.gz).

A folder of graph files becomes a corpus, in a folder or in one file (.npz). Subfolders train, valid and test are its
splits.
"""

GRAPH = "A graph file (.json, .onnx, .hlo, .pbtxt, .pb, graph.txt ...), corpus:NAME:GRAPH, or example:NAME."
CORPUS = "In place of GRAPH: a corpus by name or folder; prints what it holds."
PLAN = "A plan or front file that `regal optimize --output` wrote."
TARGET = "module:function (the current folder is searched first), hf:..., timm:... or torchvision:..."
DIMENSION = "Size of a dynamic dimension of an ONNX model, e.g. --dim batch=4; `--dim 1` sets all others."
DEVICES = "Number of equal devices of 16 GiB with free links."
CLUSTER = "TOML file with devices and links, in place of --devices."
OBJECTIVE = "What to make as low as it can be; pareto gives a front of plans."
METHOD = "auto, brkga, annealing, heuristics or brute-force; for pareto: auto or nsga2."
EVALUATIONS = "Stop after this many costed plans."
SECONDS = "Stop after this long; without --evaluations the only limit."
SEED = "Seed of the random numbers."
THREADS = "Threads; more than there are cores is fine."
WARM_START = "Start from heuristic plans, and never do worse. Without it brkga is the pure algorithm."
BOUND_SECONDS = "Time for lower bounds; by default at most a fifth of the search's."
INSPECT_SECONDS = "Time for the lower bounds."
CHECKPOINT = "Save the search there now and then, and go on from it when it exists."
OUTPUT = "Write the plan (regal-plan/1, or regal-front/1 for pareto)."
PLOT = "Write a picture (.html): memory and Gantt chart, or the front for pareto."
JSON = "Print one JSON object on stdout and nothing else there."
TRACE_OUTPUT = "Graph file to write (.json or .json.gz)."
TRAINING = "Forward and backward in one graph, or forward alone; default: what the function says."
CONVERT_OUT = "Graph file to write (.json or .json.gz); for a folder of graphs a folder or an .npz file."
