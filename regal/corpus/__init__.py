"""Corpora of graphs: opened by name or folder, split by model family, one graph per topology."""

from regal.corpus.corpus import Corpus, load_corpus
from regal.corpus.record import Record
from regal.corpus.splits import split_of
from regal.corpus.topology import topology_hash

__all__ = ["Corpus", "Record", "load_corpus", "split_of", "topology_hash"]
