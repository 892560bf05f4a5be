"""Train, valid or test: decided by a model's family alone, the same in every corpus."""

from __future__ import annotations

import hashlib

TRAIN, VALID, TEST = SPLITS = ("train", "valid", "test")
SHARES = (0.6, 0.2)
"""Share of the families in train and in valid; the rest is test."""
SALT = "regal families 47"
"""Of the salts 1 to 1000 the one whose splits of the pytorch and tensorflow corpora, by graphs and by families, came
closest to the shares; chosen when the graphs were traced, before anything was trained or compared on them."""
PINNED = frozenset({"beit", "bert", "convnext", "cpubone", "csat", "csatv2", "densenet", "florence"})
"""Families of the graphs in ``datasets/examples``: the library was developed on them, so they are for training."""


def split_of(family: str) -> str:
    """``"train"``, ``"valid"`` or ``"test"``: a hash of the family's name, but for those in :data:`PINNED`.

    Relatives share a family over packages and frameworks, so that no relative of a test graph is trained on.

    Examples
    --------
    >>> split_of("bert")
    'train'
    """
    if family in PINNED:
        return TRAIN
    digest = hashlib.sha256(f"{SALT}: {family}".encode()).digest()
    place = int.from_bytes(digest[:8], "big") / 2**64
    return TRAIN if place < SHARES[0] else VALID if place < sum(SHARES) else TEST
