"""The comparison of two groups' networks, against a permutation test written by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from loglinear import DataError, DataWarning, OptionError, PairwiseMRF, compare_networks
from loglinear.data.table import Table
from loglinear.datasets import make_network
from loglinear.models.network_comparison import _joined
from loglinear.models.training.permutation import differences, holm, permuted_groups
from loglinear.networks.numbering import Numbering

STRONG = make_network("chain", n_variables=4, n_samples=150, strength=3.0, random_state=0).X
WEAK = make_network("chain", n_variables=4, n_samples=100, strength=0.1, random_state=1).X
TRAINING = PairwiseMRF(l1=8.0)


def network(X):
    """Weights of all pairs of binary variables."""
    table = np.zeros((4, 4))
    model = PairwiseMRF(l1=8.0).fit(X)
    table[tuple(model.edges_.T)] = [block[1, 1] for block in model.weights_]
    return table[np.triu_indices(4, 1)]


@pytest.mark.parametrize("paired", [False, True])
def test_p_values_are_those_of_a_permutation_test_by_hand(paired):
    first, second = (STRONG[:100], WEAK) if paired else (STRONG, WEAK)
    found = compare_networks(first, second, TRAINING, n=9, paired=paired, random_state=3)
    both, sizes = np.concatenate([first, second]), (len(first), len(second))

    def statistics(one, other):
        a, b = network(one), network(other)
        return np.abs(a - b), abs(np.abs(a).sum() - np.abs(b).sum())

    edges, strength = statistics(first, second)
    counts, m, s = np.ones(6), 1, 1
    for number in range(9):
        rows = permuted_groups(sizes, 3, number, paired=paired)
        assert_array_equal(np.sort(np.concatenate(rows)), np.arange(sum(sizes)))
        assert tuple(map(len, rows)) == sizes
        if paired:
            assert_array_equal(np.sort(rows[0] % sizes[0]), np.arange(sizes[0]))
        other_edges, other_strength = statistics(both[rows[0]], both[rows[1]])
        counts, m, s = (
            counts + (other_edges >= edges),
            m + (other_edges.max() >= edges.max()),
            s + (other_strength >= strength),
        )
    assert_allclose(found.p, counts / 10)
    assert (found.structure_p, found.strength_p) == (m / 10, s / 10)
    assert_allclose([found.structure, found.strength], [edges.max(), strength], rtol=1e-9)
    assert_allclose(found.weights, np.stack([network(first), network(second)], axis=1), rtol=1e-9)
    assert found.sizes == sizes


def test_pairs_that_do_not_differ_have_a_p_value_of_1():
    found = compare_networks(STRONG, WEAK, PairwiseMRF(l1=20.0), n=3)
    assert (found.differences == 0.0).any()
    assert (found.p[found.differences == 0.0] == 1.0).all()


def test_tables_of_weights_differ_by_the_norm_of_their_difference():
    numbering = Numbering([2, 3, 2])
    first, second = np.random.default_rng(0).normal(size=(2, numbering.n_features))
    found = differences(numbering, first, second)
    for at, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        tables = first[numbering.block(i, j)], second[numbering.block(i, j)]
        assert found.edges[at] == pytest.approx(np.linalg.norm(tables[0] - tables[1]))
    strengths = [sum(np.linalg.norm(w[numbering.block(*e)]) for e in [(0, 1), (0, 2), (1, 2)]) for w in (first, second)]
    assert found.strengths == pytest.approx(tuple(strengths))
    assert (found.structure, found.strength) == pytest.approx((found.edges.max(), abs(strengths[0] - strengths[1])))


def test_numbers_of_one_group_and_texts_of_the_other_stay_what_they_are():
    assert _joined(np.array([1, 2]), np.array(["a"])).tolist() == [1, 2, "a"]


def test_holm_is_that_of_the_definition():
    p = np.array([0.01, 0.04, 0.03, 0.005, 0.5])
    order = np.argsort(p)
    expected = np.empty(5)
    for rank, at in enumerate(order):
        expected[at] = min(1.0, max((5 - k) * p[order[k]] for k in range(rank + 1)))
    assert_allclose(holm(p), expected)


def test_a_difference_is_found_on_any_number_of_threads():
    one, two = (compare_networks(STRONG, WEAK, PairwiseMRF(l1=8.0, n_jobs=n), n=19) for n in (1, 2))
    assert (one.structure_p, one.strength_p) == (0.05, 0.05)
    assert_array_equal(one.p, two.p)
    assert {(0, 1), (1, 2), (2, 3)} <= set(map(tuple, one.networks[0].edges_.tolist()))
    assert one[("column 0", "column 1")]["p"] == 0.05
    assert one.to_frame().p.is_monotonic_increasing


def test_columns_go_by_name_and_missing_values_stay_with_their_rows():
    names, random = ["a", "b", "c", "d"], np.random.default_rng(0)
    first, second = (pd.DataFrame(X, columns=names).astype(object) for X in (STRONG, WEAK))
    for frame in (first, second):
        frame.mask(random.random(frame.shape) < 0.1, None, inplace=True)
    found = compare_networks(first, second, TRAINING, n=5, groups=("one", "two"))
    again = compare_networks(first, second[names[::-1]], TRAINING, n=5, groups=("one", "two"))
    assert_array_equal(found.p, again.p)
    assert found["a", "b"] == found["b", "a"]
    assert [*found["a", "b"]] == ["one", "two", "difference", "p", "p_holm"]
    with pytest.raises(DataError, match=r"no variable 'A' \(did you mean a\?\)"):
        found["A", "b"]
    with pytest.raises(DataError, match="names one variable twice"):
        found["a", "a"]
    assert found.to_frame().columns.tolist() == ["first", "second", "one", "two", "difference", "p", "p_holm"]
    lines = str(found).splitlines()
    tests = f"p = {found.structure_p:.3g} (structure), {found.strength_p:.3g} (strength)"
    assert lines[0] == f"<comparison of two networks: {tests}>"
    assert lines[1].startswith("  one: n = 150, ")
    assert lines[4].endswith("(5 permutations)")
    assert lines[5].split() == ["p", "Holm", "diff.", "first", "second"]


def test_rows_that_a_table_counts_are_rows():
    names = ["a", "b", "c", "d"]
    distinct, counts = np.unique(STRONG, axis=0, return_counts=True)
    table = Table(names, [column.astype(object) for column in distinct.T], counts=counts)
    found = compare_networks(table, WEAK, TRAINING, n=1)
    assert found.sizes == (150, 100)


@pytest.mark.parametrize(
    ("second", "options", "message"),
    [
        (pd.DataFrame(WEAK, columns=list("abce")), {}, r"men does not have columns 'd' of women; give both groups the"),
        (WEAK[:, :3], {}, "women has 4 columns, men has 3; give both groups the same columns"),
        (WEAK[:0], {}, "men: X has no rows"),
        (WEAK[:1], {}, "men has 1 sample with values; give two or more"),
        (
            np.column_stack([WEAK[:, :3], np.ones(100, np.int64)]),
            {},
            r"column 'd' has the single value 1 in men, so that",
        ),
        (WEAK, {"paired": True}, "paired=True needs groups of one size, not 150 and 100 samples"),
    ],
)
def test_groups_that_cannot_be_compared_are_refused(second, options, message):
    with pytest.raises(DataError, match=message.replace("column 'd'", "d")):
        compare_networks(
            pd.DataFrame(STRONG, columns=list("abcd")), second, TRAINING, groups=("women", "men"), **options
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n=0"),
        ({"n": 10**8}, "n=100000000 is not a whole number from 1 to 10000000"),
        ({"groups": ("p", "q")}, "are not two different names"),
        ({"groups": ("women",)}, "are not two different names"),
        ({"groups": ("women", "men", "others")}, "are not two different names"),
        ({"groups": "ab"}, "are not two different names"),
        ({"groups": 5}, "are not two different names"),
        ({"paired": "yes"}, "paired='yes'"),
        ({"estimator": 10.0}, "estimator=10.0 is not a PairwiseMRF"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        compare_networks(STRONG, WEAK, **{"estimator": TRAINING, **options})


def test_what_one_group_lacks_is_said():
    second = np.where(WEAK == 1, 2, WEAK)
    first = np.where(np.random.default_rng(0).random(STRONG.shape) < 0.1, 2, STRONG)
    with pytest.warns(DataWarning, match="b does not have these states of the other group: column 0 1, column 1 1"):
        compare_networks(first, second, TRAINING, n=1, groups=("a", "b"))
    gaps = np.where(np.arange(100)[:, None] < 3, None, WEAK.astype(object))
    with pytest.warns(DataWarning, match="ignored 3 rows of group 2 without any value"):
        assert compare_networks(STRONG, gaps, TRAINING, n=1).sizes == (150, 97)
    with pytest.warns(DataWarning, match="ignored 3 pairs of rows, one of which has no value"):
        assert compare_networks(STRONG[:100], gaps, TRAINING, n=1, paired=True).sizes == (97, 97)
    with pytest.warns(DataWarning, match="neither network has edges"):
        compare_networks(STRONG, WEAK, PairwiseMRF(l1=500.0), n=1)


def test_ctrl_c_ends_with_the_permutations_that_are_done():
    def observe(done):
        if done == 2:
            raise KeyboardInterrupt

    found = compare_networks(STRONG, WEAK, PairwiseMRF(l1=8.0, n_jobs=1), n=50, observe=observe)
    assert found.n == 2
    assert found.structure_p in (1 / 3, 2 / 3, 1.0)


@pytest.mark.slow
def test_p_values_of_samples_of_one_network_are_uniform():
    X = make_network("chain", n_variables=4, n_samples=60 * 200, strength=1.5, random_state=0).X.reshape(60, 2, 100, 4)
    p = [compare_networks(*groups, PairwiseMRF(l1=4.0), n=39, random_state=k).structure_p for k, groups in enumerate(X)]
    # Of a uniform distribution the mean of 60 is 0.51 with standard deviation 0.037, and 6 of 60 are up to 0.1.
    assert 0.40 < np.mean(p) < 0.62
    assert 1 <= np.sum(np.array(p) <= 0.1) <= 13


def test_a_figure_has_the_pairs_that_differ_and_says_in_which_group_they_are_stronger(tmp_path):
    found = compare_networks(STRONG, WEAK, TRAINING, n=19, groups=("women", "men"))
    found.save_figure(tmp_path / "d.html")
    page = (tmp_path / "d.html").read_text(encoding="utf-8")
    assert "higher weight in women" in page
    assert "Largest differences" in page
    assert f"4 variables, {len(found.order())} edges" in page
    found.save_figure(tmp_path / "d.svg", level=0.4)
    assert len(found.order(0.4)) == np.sum(found.p_holm <= 0.4) > 0
    assert "<!-- higher weight in women -->" in (tmp_path / "d.svg").read_text(encoding="utf-8")
    with pytest.raises(OptionError, match="level=0"):
        found.save_figure(tmp_path / "d.svg", level=0.0)
