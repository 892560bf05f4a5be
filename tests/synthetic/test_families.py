"""The random graphs: acyclic, repeatable, and with the counts of edges that their models have."""

import numpy as np
import pytest

from regal.synthetic.families import FAMILIES, Drawn, Family, draw


def many(family, count=120, num_ops=100):
    return [draw(family, num_ops, np.random.default_rng(seed)) for seed in range(count)]


@pytest.mark.parametrize("family", Family)
@pytest.mark.parametrize("num_ops", [1, 2, 3, 4, 5, 9, 50, 200])
def test_edges_go_forward_and_the_seed_decides(family, num_ops):
    for seed in range(5):
        drawn = draw(family, num_ops, np.random.default_rng(seed))
        assert drawn.before.shape == (num_ops, num_ops)
        assert not np.tril(drawn.before).any()
        again = draw(family, num_ops, np.random.default_rng(seed))
        assert (again.before == drawn.before).all()
        assert again.parameters == drawn.parameters


@pytest.mark.parametrize("family", Family)
def test_ops_read_about_two_tensors(family):
    reads = [drawn.before.sum() / len(drawn.before) for drawn in many(family)]
    assert 1.5 < np.mean(reads) < 2.5
    assert min(reads) < 1.3
    assert max(reads) > 2.4


def test_every_family_is_in_the_table():
    assert set(FAMILIES) == set(Family)
    assert Family.of("erdos-renyi") is Family.ERDOS_RENYI
    assert Family.of(Family.WATTS_STROGATZ) is Family.WATTS_STROGATZ
    with pytest.raises(ValueError, match=r"family must be one of erdos-renyi, barabasi-albert, .*, not 'tree'"):
        Family.of("tree")


def test_erdos_renyi_has_the_degree_that_it_drew():
    degrees = [(2 * drawn.before.sum() / 100, drawn.parameters["degree"]) for drawn in many(Family.ERDOS_RENYI)]
    found, wanted = np.transpose(degrees)
    assert np.mean(found - wanted) == pytest.approx(0, abs=0.1)
    assert np.corrcoef(found, wanted)[0, 1] > 0.9


def test_new_ops_of_barabasi_albert_read_so_many_and_hubs_grow():
    for drawn in many(Family.BARABASI_ALBERT, 30):
        links = drawn.parameters["links"]
        assert drawn.before.sum(axis=0).tolist() == [0] * links + [links] * (100 - links)
    assert hub(many(Family.BARABASI_ALBERT)) > 2 * hub(many(Family.ERDOS_RENYI))


def hub(drawn: list[Drawn]) -> float:
    """Mean of the most readers that an op has."""
    return float(np.mean([each.before.sum(axis=1).max() for each in drawn]))


def test_watts_strogatz_keeps_its_number_of_links_and_most_of_the_ring():
    for drawn in many(Family.WATTS_STROGATZ, 40):
        steps, chance = drawn.parameters["neighbours"] // 2, drawn.parameters["chance"]
        assert drawn.before.sum() == 100 * steps
        ring = np.zeros((100, 100), bool)
        for step in range(1, steps + 1):
            ring[np.arange(100), (np.arange(100) + step) % 100] = True
        kept = (drawn.before & (ring | ring.T)).sum() / drawn.before.sum()
        assert kept == pytest.approx(1 - chance, abs=0.15)


def test_a_ring_that_is_never_rewired():
    class NoChance:
        """Two neighbours each, and no random number below the chance."""

        def integers(self, low, high):
            return 1

        def uniform(self, low, high):
            return 0.0

        def random(self, size):
            return np.ones(size)

    before = FAMILIES[Family.WATTS_STROGATZ](5, NoChance()).before
    assert np.argwhere(before).tolist() == [[0, 1], [0, 4], [1, 2], [2, 3], [3, 4]]


def test_stochastic_blocks_have_the_degrees_that_they_drew():
    found, wanted = [], []
    for drawn in many(Family.STOCHASTIC_BLOCK, 300):
        found.append(2 * drawn.before.sum() / 100)
        wanted.append(drawn.parameters["inside"] + drawn.parameters["across"])
    assert np.mean(found) == pytest.approx(np.mean(wanted), rel=0.08)


@pytest.mark.parametrize("family", [Family.BARABASI_ALBERT, Family.WATTS_STROGATZ])
def test_degrees_spread_as_those_of_networkx(family):
    """The same model by other hands: mean spread of degrees over many graphs."""
    nx = pytest.importorskip("networkx")
    ours, theirs = [], []
    for seed, drawn in enumerate(many(family, 150)):
        values = drawn.parameters
        if family is Family.BARABASI_ALBERT:
            other = nx.barabasi_albert_graph(100, values["links"], seed=seed)
        else:
            other = nx.watts_strogatz_graph(100, values["neighbours"], values["chance"], seed=seed)
        ours.append((drawn.before + drawn.before.T).sum(axis=0).std())
        theirs.append(np.std([degree for _, degree in other.degree()]))
    assert np.mean(ours) == pytest.approx(np.mean(theirs), rel=0.08)
