"""Random computation graphs from seeds: four families of random graphs, splits to train and test on, and a filter.

The filter, :mod:`regal.synthetic.filter`, loads the search and is imported by those who use it.
"""

from regal.synthetic.families import Family
from regal.synthetic.generator import FIRST_SEEDS, SPLIT_COUNTS, generate, generate_many, split

__all__ = ["FIRST_SEEDS", "SPLIT_COUNTS", "Family", "generate", "generate_many", "split"]
