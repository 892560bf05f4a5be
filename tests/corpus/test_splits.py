from collections import Counter

from regal.corpus import split_of
from regal.corpus.splits import PINNED, SPLITS


def test_families_that_were_developed_on_are_for_training():
    assert {split_of(family) for family in PINNED} == {"train"}


def test_shares_are_60_20_20():
    counts = Counter(split_of(f"family {number}") for number in range(10_000))
    assert set(counts) == set(SPLITS)
    for split, share in zip(SPLITS, (0.6, 0.2, 0.2), strict=True):
        assert abs(counts[split] / 10_000 - share) < 0.02


def test_a_family_stays_where_it_is():
    """Written down, so that a change of the hash is seen: it would move graphs between training and test."""
    assert [split_of(family) for family in ("resnet", "vgg", "vit", "gpt2", "t5", "efficientnet")] == EXPECTED


EXPECTED = ["valid", "valid", "test", "train", "train", "train"]
