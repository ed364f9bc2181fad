"""Penalty factors, signs and groups by the names of attributes and families, of chains and classifiers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from loglinear import ChainCRF, DataWarning, ElasticNet, MaxEnt, OptionError, Problem, minimize
from loglinear.models.training.families import NamedWeights, line_names, named_weights_of, template_with
from loglinear.solvers import OWLQN

X = [[["w[-2]=a", "w[0]=x", "bias"], ["w[-2]=b", "w[0]=y", "bias"]], [["w[-2]=b", "w[0]=x", "bias"]]] * 6
Y = [["A", "B"], ["A"]] * 6
TABLE = np.random.default_rng(0).normal(size=(60, 3))
CLASSES = np.where(TABLE[:, 0] + 0.5 * TABLE[:, 1] > 0.1, "yes", "no")


def named(*attributes, lines=()):
    numbers = np.arange(len(attributes))
    return NamedWeights.of(attributes, ["A"], numbers, np.zeros_like(numbers), lines=lines)


def test_a_family_is_what_precedes_the_first_separator_or_a_line():
    weights = named("w[-2]=a=b", "word:x", "=", ":", "bias", "U1:a", "Uxy", lines=["U1:", "U"])
    assert weights.families == ["w[-2]", "word", "=", ":", "bias", "U1", "U"]
    assert line_names("#U\nC low=%X[0,0]\nU00:%x[0,0]\n*01:%x[1,0]\nB\n") == ["U00:", "*01:"]


def test_the_most_specific_name_counts_and_brackets_are_not_special():
    weights = named("w[-2]=a", "w[-2]=b", "w[0]=a", "bias")
    by = weights.by_attribute("penalty_factor", {"w*": 3.0, "w[-2]": 2.0, "w[-2]=b": 0.5, "b??s": 0.0})
    assert by == {0: 2.0, 1: 0.5, 2: 3.0, 3: 0.0}


def test_unknown_names_are_refused_with_a_suggestion_and_the_families():
    with pytest.raises(OptionError, match=r"called 'w\[-3\]' \(did you mean w\[-2\]\?\); families are w\[-2\], bias"):
        named("w[-2]=a", "bias").by_attribute("penalty_factor", {"w[-3]": 2.0})


def test_patterns_that_contradict_each_other_are_refused():
    with pytest.raises(OptionError, match=r"'w\*' and '\*a' contradict each other for attribute 'wa'"):
        named("wa").by_attribute("signs", {"w*": "+", "*a": "-"})


def test_a_template_keeps_the_lines_of_some_families():
    template = "# words\nC low=%X[0,0]\nU00:%x[0,0]\nU01:%x[1,0]\nB\nT\n"
    assert template_with(template, ["U01", "triples"]) == "# words\nC low=%X[0,0]\nU01:%x[1,0]\nT\n"
    assert template_with(template, ["U00", "transitions"]) == "# words\nC low=%X[0,0]\nU00:%x[0,0]\nB\n"


def test_a_chain_has_the_optimum_of_its_factors_and_signs():
    crf = ChainCRF(
        l1=0.2,
        penalty_factor={"w[-2]": 2.0, "bias": 0.0, "transitions": 3.0},
        signs={"w[0]": {"A": "+"}, "transitions": "-"},
        solver=OWLQN(tolerance=0.0),
        n_jobs=1,
    ).fit(X, Y)
    data = crf._data_by(X, Y, None)(None, None)
    names = data.feature_names(np.arange(data.n_features))
    of = {None: 3.0, "w[-2]": 2.0, "bias": 0.0}
    factors = [of.get(name.attribute and name.attribute.partition("=")[0], 1.0) for name in names]
    signs = [
        -1 if name.attribute is None else int(name.attribute.startswith("w[0]") and name.labels == ("A",))
        for name in names
    ]
    problem = Problem(data, ElasticNet(0.2, factors=factors, signs=signs))
    other = minimize(problem, OWLQN(tolerance=0.0))
    assert crf.result_.objective == pytest.approx(other.objective, rel=1e-7)
    assert all(weight <= 0.0 for weight in crf.result_.w[: data.feature_counts.transitions])


def test_features_of_labels_alone_are_families():
    data = ChainCRF(order=2)._data_by([[["a"]] * 4] * 2, [["A", "B", "A", "B"]] * 2, None)(None, None)
    assert named_weights_of(data).families == ["transitions", "triples", "a"]


@pytest.mark.parametrize(
    ("signs", "expected"),
    [({"x": "+"}, 1.0), ({"x": "-"}, 0.0), ({"x": {"yes": "+"}}, 1.0), ({"x": {"no": "+"}}, 0.0)],
)
def test_the_sign_of_one_class_is_the_opposite_of_the_other(signs, expected):
    rows = [{"x": value} for value in TABLE[:, 0]]
    model = MaxEnt(l2=0.5, signs=signs).fit(rows, CLASSES)
    assert np.sign(model.coef_[0, 0]) == expected


def test_equal_signs_of_two_classes_are_refused():
    with pytest.raises(OptionError, match="'0' has the same sign for both classes"):
        MaxEnt(signs={"0": {"yes": "+", "no": "+"}}).fit(TABLE, CLASSES)


def test_a_factor_of_zero_leaves_a_column_unpenalised():
    model = MaxEnt(l2=1e6, penalty_factor={"0": 0.0}).fit(TABLE, np.roll(CLASSES, 1))
    assert abs(model.coef_[0, 0]) > 1e-3
    assert_allclose(model.coef_[0, 1:], 0.0, atol=1e-4)


def test_groups_leave_out_whole_columns_in_all_classes():
    classes = np.digitize(TABLE[:, 0], [-0.5, 0.5])
    model = MaxEnt(l1=4.0, l1_groups="attributes").fit(TABLE, classes)
    zero = ~model.coef_.any(axis=0)
    assert zero.tolist() == [False, True, True]
    assert (model.coef_[:, 0] != 0.0).all()


def test_settings_are_saved_and_loaded(tmp_path):
    options = {"penalty_factor": {"w*": 2.0}, "signs": {"w[0]": {"A": "+"}, "bias": "-"}}
    ChainCRF(l1=0.1, **options).fit(X, Y).save(tmp_path / "model")
    loaded = ChainCRF.load(tmp_path / "model")
    assert {name: getattr(loaded, name) for name in options} == options
    MaxEnt(l1=0.1, l1_groups="families").fit(TABLE, CLASSES).save(tmp_path / "classifier")
    assert MaxEnt.load(tmp_path / "classifier").l1_groups == "families"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty_factor": {"w[0]": -1.0}}, r"penalty_factor\['w\[0\]'\]=-1.0"),
        ({"penalty_factor": {"w[0]": float("inf")}}, r"penalty_factor\['w\[0\]'\]=inf"),
        ({"penalty_factor": {3: 1.0}}, "has the name 3, which is not a string"),
        ({"penalty_factor": 2.0}, "is not a mapping"),
        ({"signs": {"w[0]": "plus"}}, r"signs\['w\[0\]'\]='plus' is not one of \+, -"),
        ({"signs": {"w[0]": {"A": "0"}}}, r"signs\['w\[0\]'\]\['A'\]"),
        ({"signs": {"w[0]": {"C": "+"}}}, "there is no label 'C'; labels are A, B"),
        ({"signs": {"w[1]": "+"}}, "did you mean w"),
        ({"l1_groups": "families"}, "needs an L1 penalty"),
        ({"l1_groups": "lines", "l1": 1.0}, "is not one of families, attributes"),
        ({"l1_groups": "families", "l1": 1.0, "penalty_factor": {"w[0]=x": 2.0}}, "have different factors"),
        ({"signs": {"w[0]": "+"}, "solver": "sag"}, "sag .*; use owlqn"),
        ({"l1_groups": "families", "l1": 1.0, "solver": "owlqn"}, "use prox_gradient"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        ChainCRF(**options).fit(X, Y)


def test_what_cannot_have_them_says_so():
    options = {"penalty_factor": {"w[0]": 2.0}}
    old = ChainCRF(l2=1.0).fit(X, Y)
    with pytest.raises(OptionError, match="a prior is not available with penalty_factor"):
        ChainCRF(**options).fit(X, Y, prior=old)
    with pytest.raises(OptionError, match="l1='cv' is not available with penalty_factor"):
        MaxEnt(l1="cv", penalty_factor={"0": 2.0}).fit(TABLE, CLASSES)
    with pytest.raises(OptionError, match="inference is not available with penalty_factor"):
        MaxEnt(penalty_factor={"0": 2.0}).fit(TABLE, CLASSES).inference(TABLE, CLASSES)


def test_without_any_penalty_left_separable_data_are_warned_of():
    with pytest.warns(DataWarning, match="grow without limit"):
        MaxEnt(l2=1.0, penalty_factor={"*": 0.0}).fit(TABLE[:, :2], CLASSES)


@pytest.mark.parametrize("penalty", [{"l2": 100.0}, {"l1": 100.0}, {"l1": 1.0, "l1_groups": "families"}])
def test_factors_out_of_the_range_of_numbers_are_refused(penalty):
    with pytest.raises(OptionError, match=r"penalty_factor: 1e\+308 times l1 or l2 exceeds the range"):
        ChainCRF(penalty_factor={"bias": 1e308}, **penalty).fit(X, Y)


def test_signs_of_a_label_as_a_number_and_as_a_string_must_not_differ():
    with pytest.raises(OptionError, match="'0' has both signs for label '1'"):
        MaxEnt(signs={"0": {1: "+", "1": "-"}}).fit(TABLE, (CLASSES == "yes").astype(int))
