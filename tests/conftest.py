"""Tests import their helpers as ``tests.strategies`` and the like, and hypothesis repeats itself."""

import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parents[1]))
settings.register_profile("regal", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("regal")


@pytest.fixture
def folder(tmp_path):
    """The folder of a corpus of three tiny graphs."""
    from tests.tiny_corpus import write_tiny_corpus

    return write_tiny_corpus(tmp_path)
