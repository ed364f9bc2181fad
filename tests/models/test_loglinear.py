"""Log-linear models of tables: equal to R's loglin and glm and to statsmodels, and the laws of fitted margins."""

from __future__ import annotations

import pickle
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from loglinear import DataWarning, LogLinear, NotFittedError, OptionError
from loglinear.objectives.table import TableObjective
from loglinear.tables.design import Design, margin
from loglinear.tables.formula import generators_of, terms_of

# Agresti (2002), Categorical Data Analysis, table 8.3: alcohol, cigarettes, marijuana of 2,276 students, yes before no.
STUDENTS = np.array([[[911, 538], [44, 456]], [[3, 43], [2, 279]]])
# Data sets of R: HairEyeColor (Snee 1974), hair x eye x sex; UCBAdmissions, admitted x gender x department; Titanic,
# class x sex x age x survived. R stores the first axis fastest.
HAIR = [32, 53, 10, 3, 11, 50, 10, 30, 10, 25, 7, 5, 3, 15, 7, 8, 36, 66, 16, 4, 9, 34, 7, 64, 5, 29, 7, 5, 2, 14, 7, 8]
BERKELEY = [
    512,
    313,
    89,
    19,
    353,
    207,
    17,
    8,
    120,
    205,
    202,
    391,
    138,
    279,
    131,
    244,
    53,
    138,
    94,
    299,
    22,
    351,
    24,
    317,
]
LINER = [0, 0, 35, 0, 0, 0, 17, 0, 118, 154, 387, 670, 4, 13, 89, 3, 5, 11, 13, 0, 1, 13, 14, 0, 57, 14, 75, 192]
LINER += [140, 80, 76, 20]
TABLES = {
    "students": (STUDENTS, "ACM"),
    "hair": (np.reshape(HAIR, (4, 4, 2), order="F"), "HES"),
    "berkeley": (np.reshape(BERKELEY, (2, 2, 6), order="F"), "AGD"),
    "titanic": (np.reshape(LINER, (4, 2, 2, 2), order="F"), "CSAL"),
}
# Students: Agresti (2002), table 8.6. The others: R 4.2.2, loglin(..., eps = 1e-10).
DEVIANCES = [
    ("students", "A + C + M", 1286.02, 1411.39, 4),
    ("students", "A + C*M", 534.21, 505.60, 3),
    ("students", "A*C + M", 843.83, 704.91, 3),
    ("students", "A*M + C*M", 187.75, 177.61, 2),
    ("students", "A*C + C*M", 92.02, 80.81, 2),
    ("students", "A*C + A*M", 497.37, 443.76, 2),
    ("students", ".^2", 0.374, 0.401, 1),
    ("hair", "H + E + S", 166.3001395, 164.9247174, 24),
    ("hair", "H*E + S", 19.85656104, 19.56712273, 15),
    ("hair", ".^2", 6.761250419, 6.869027239, 9),
    ("berkeley", ".^2", 20.20427533, 18.82428078, 5),
    ("berkeley", "A*D + G*D", 21.73550678, 19.93841338, 6),
    ("berkeley", ".", 2097.671212, 2000.328068, 16),
    ("titanic", ".", 1243.663231, 1637.445466, 25),
]


def fitted(name, formula, **options):
    counts, names = TABLES[name]
    return LogLinear(formula, **options).fit(counts, names=names and [*names])


@pytest.mark.parametrize(("name", "formula", "deviance", "pearson", "df"), DEVIANCES)
def test_published_deviances_and_degrees_of_freedom(name, formula, deviance, pearson, df):
    model = fitted(name, formula)
    digits = 0.005 if name == "students" else 1e-6
    assert model.deviance_ == pytest.approx(deviance, abs=digits)
    assert pearson is None or model.pearson_ == pytest.approx(pearson, abs=digits)
    assert model.df_ == df
    assert model.deviance_p_ == pytest.approx(scipy.stats.chi2.sf(model.deviance_, df), rel=1e-9)


@pytest.mark.parametrize(
    ("name", "formula"), [("students", ".^2"), ("hair", "H*E + S"), ("titanic", "C*S + S*L + A*L")]
)
def test_parameters_errors_and_residuals_equal_statsmodels(name, formula):
    generalized = pytest.importorskip("statsmodels.genmod.generalized_linear_model")
    families = pytest.importorskip("statsmodels.genmod.families")
    model = fitted(name, formula)
    for coding in ("effects", "treatment"):
        design = Design(model.counts_.shape, tuple(terms_of(formula, model.names_)), coding)
        X = design.rows(np.arange(model.counts_.size))
        other = generalized.GLM(model.counts_.ravel(), X, family=families.Poisson()).fit(tol=1e-12)
        parameters = model.parameters(coding)
        np.testing.assert_allclose(parameters["estimate"], other.params, atol=1e-6)
        np.testing.assert_allclose(parameters["se"], other.bse, rtol=1e-6)
        np.testing.assert_allclose(parameters["p"], other.pvalues, atol=1e-6)
    np.testing.assert_allclose(model.expected_.ravel(), other.fittedvalues, atol=1e-6)
    assert model.deviance_ == pytest.approx(other.deviance, abs=1e-6)
    assert model.aic_ == pytest.approx(other.aic, abs=1e-6)
    leverages = other.get_hat_matrix_diag()
    np.testing.assert_allclose(model.residuals("raw").ravel(), other.resid_response, atol=1e-6)
    np.testing.assert_allclose(model.residuals().ravel(), other.resid_pearson, atol=1e-6)
    np.testing.assert_allclose(model.residuals("deviance").ravel(), other.resid_deviance, atol=1e-6)
    free = leverages < 1 - 1e-9
    adjusted = (other.resid_pearson / np.sqrt(np.where(free, 1 - leverages, 1.0)))[free]
    np.testing.assert_allclose(model.residuals("adjusted").ravel()[free], adjusted, atol=1e-5)


def test_levels_have_the_order_of_the_table_and_those_of_rows_are_sorted():
    cells = {("yes", 10): 3, ("no", 10): 4, ("yes", 9): 5, ("no", 9): 6}
    rows = [(*cell, count) for cell, count in cells.items()]
    frame = pd.DataFrame(rows, columns=["x1", "x2", "n"])
    ordered = frame.assign(x1=pd.Categorical(frame["x1"], ["yes", "no"], ordered=True))
    assert LogLinear(".").fit(cells).levels_ == [["yes", "no"], [10, 9]]
    assert LogLinear(".").fit(frame, counts="n").levels_ == [["no", "yes"], [9, 10]]
    assert LogLinear(".").fit(ordered, counts="n").levels_ == [["yes", "no"], [9, 10]]


@pytest.mark.parametrize("seed", range(3))
def test_cells_that_a_model_fits_exactly_have_no_adjusted_residuals(seed):
    counts = np.random.default_rng(seed).integers(1, 50, (3, 3))
    assert np.isnan(LogLinear("A*B").fit(counts, names=["A", "B"]).residuals("adjusted")).all()


def test_the_sample_size_of_bic_is_the_number_of_samples():
    model = fitted("students", "A*C + M")
    assert model.bic_ - model.aic_ == pytest.approx(model.n_parameters_ * (np.log(2276) - 2))


def test_effects_and_treatment_parameters_are_those_of_r():
    # R 4.2.2: loglin(HairEyeColor, list(c(1, 2), 3), param = TRUE)$param; glm(Freq ~ Hair * Eye + Sex, poisson).
    model = fitted("hair", "H*E + S")
    effects = model.effects()
    assert effects["(constant)"] == pytest.approx(2.494747823, abs=1e-6)
    np.testing.assert_allclose(effects["H"], [-0.3063649487, 0.9520080703, -0.3471908365, -0.2984522852], atol=1e-6)
    np.testing.assert_allclose(effects["S"], [-0.05749570436, 0.05749570436], atol=1e-6)
    first = [0.97521318256, -0.3986670774, 0.10474598226, -0.6812920874]
    np.testing.assert_allclose(effects["H:E"][0], first, atol=1e-6)
    frame = model.to_frame("treatment")
    np.testing.assert_allclose(frame["estimate"][:3], [3.4672128521, 0.5596157879, -0.9614111672], atol=1e-6)
    np.testing.assert_allclose(frame["se"][:3], [0.1288445655, 0.1520172479, 0.2305806160], atol=1e-6)
    assert frame["levels"][1] == "1"
    assert model.aic_ == pytest.approx(192.7352886, abs=1e-6)


@pytest.mark.parametrize("method", ["ipf", "lbfgs", "bfgs", "prox_gradient"])
@pytest.mark.parametrize("formula", ["H*E + S", "H + E*S", ".^2", "H"])
def test_all_methods_have_the_same_fit(method, formula):
    expected = fitted("hair", formula, method="newton").expected_
    np.testing.assert_allclose(fitted("hair", formula, method=method).expected_, expected, atol=2e-5)


def test_the_gradient_is_that_of_finite_differences_and_the_value_is_by_enumeration():
    rng = np.random.default_rng(1)
    counts = rng.poisson(4.0, (2, 3, 2)).astype(float)
    possible = np.ones(counts.shape, bool)
    possible[0, 1, 1] = counts[0, 1, 1] = 0
    terms = terms_of(".^2", list("ABC"))[1:]
    design = Design(counts.shape, tuple(terms))
    objective = TableObjective(counts, possible, design)
    w = rng.normal(size=objective.n_features)
    scores = (design.rows(np.arange(12)) @ w)[possible.ravel()]
    by_cell = scores - np.log(np.exp(scores).sum())
    value, gradient = objective.value_and_gradient(w)
    assert value == pytest.approx(-counts[possible] @ by_cell)
    steps = 1e-6 * np.eye(w.size)
    slopes = [(objective.value_and_gradient(w + h)[0] - objective.value_and_gradient(w - h)[0]) / 2e-6 for h in steps]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-5)
    out = np.empty_like(w)
    assert objective.value_and_gradient(w, out)[1] is out


small_tables = arrays.arrays(np.int64, (2, 3, 2), elements=st.integers(1, 30))
models = st.sampled_from(["A + B + C", "A*B + C", "A*B + B*C", ".^2", "A*B*C", "C*A + B"])


@settings(max_examples=15, deadline=None)
@given(counts=small_tables, formula=models, method=st.sampled_from(["newton", "ipf"]))
def test_fitted_margins_of_generators_are_the_observed_ones(counts, formula, method):
    model = LogLinear(formula, method=method).fit(counts, names=list("ABC"))
    for generator in generators_of(terms_of(formula, model.names_)):
        np.testing.assert_allclose(margin(model.expected_, generator), margin(counts, generator), atol=1e-5)


@settings(max_examples=10, deadline=None)
@given(counts=small_tables)
def test_deviance_is_additive_over_nested_models(counts):
    small, large = (LogLinear(formula).fit(counts, names=list("ABC")) for formula in ("A*B + C", ".^2"))
    n = counts
    between = 2 * (n * np.log(large.expected_ / small.expected_)).sum()
    assert small.deviance_ == pytest.approx(large.deviance_ + between, abs=1e-6)
    by_fit = 2 * (large.expected_ * np.log(large.expected_ / small.expected_)).sum()
    assert between == pytest.approx(by_fit, abs=1e-6)
    assert small.df_ - large.df_ == large.n_parameters_ - small.n_parameters_


@settings(max_examples=10, deadline=None)
@given(counts=small_tables, zeros=arrays.arrays(np.bool_, (2, 3, 2)), formula=models)
def test_structural_zeros_have_an_expected_count_of_0_and_are_no_cells(counts, zeros, formula):
    zeros = zeros & (np.arange(12).reshape(2, 3, 2) % 5 == 0)
    model = LogLinear(formula).fit(np.where(zeros, 0, counts), names=list("ABC"), structural_zeros=zeros)
    assert (model.expected_[zeros] == 0).all()
    assert np.isnan(model.residuals("raw")[zeros]).all()
    X = Design((2, 3, 2), tuple(terms_of(formula, list("ABC")))).rows(np.arange(12))[~zeros.ravel()]
    rank = np.linalg.matrix_rank(X)
    assert (model.df_, model.n_parameters_) == (len(X) - rank, rank)
    assert model.expected_.sum() == pytest.approx(counts[~zeros].sum())


@settings(max_examples=10, deadline=None)
@given(counts=small_tables)
def test_variables_outside_the_model_change_nothing(counts):
    model = LogLinear("A*C").fit(counts, names=list("ABC"))
    alone = LogLinear("A*C").fit(counts.sum(axis=1), names=list("AC"))
    assert (model.deviance_, model.df_, model.names_) == (alone.deviance_, alone.df_, ["A", "C"])
    np.testing.assert_array_equal(model.expected_, alone.expected_)


def test_quasi_independence_has_the_fit_of_statsmodels_on_the_other_cells():
    generalized = pytest.importorskip("statsmodels.genmod.generalized_linear_model")
    families = pytest.importorskip("statsmodels.genmod.families")
    # Bishop, Fienberg & Holland (1975), chapter 5: a table without its diagonal.
    counts = np.array([[np.nan, 20, 11, 7], [19, np.nan, 14, 9], [12, 13, np.nan, 21], [5, 8, 18, np.nan]])
    model = LogLinear("row + column").fit(counts, names=["row", "column"])
    cells = np.flatnonzero(~np.isnan(counts.ravel()))
    X = Design((4, 4), tuple(terms_of(".", ["row", "column"]))).rows(cells)
    other = generalized.GLM(counts.ravel()[cells], X, family=families.Poisson()).fit(tol=1e-12)
    np.testing.assert_allclose(model.expected_.ravel()[cells], other.fittedvalues, atol=1e-6)
    assert (model.df_, model.df_) == (5, other.df_resid)
    np.testing.assert_allclose(model.parameters()["estimate"], other.params, atol=1e-6)
    ipf = LogLinear("row + column", method="ipf").fit(counts, names=["row", "column"])
    np.testing.assert_allclose(ipf.expected_, model.expected_, atol=1e-6)


def test_an_empty_margin_is_named_and_its_parameters_are_infinite():
    counts = np.array([[[4, 6], [0, 0]], [[3, 5], [7, 9]]])
    with pytest.warns(DataWarning, match="no samples in the margin A=0, B=1"):
        model = LogLinear("A*B + C").fit(counts, names=list("ABC"))
    assert model.empty_margins_ == ["A=0, B=1"]
    assert (model.expected_[0, 1] == 0).all()
    assert (model.n_parameters_, model.df_) == (4, 2)  # 6 cells, and A*B + C without a parameter
    parameters = model.parameters("treatment")
    by_term = dict(zip(parameters["term"], zip(parameters["estimate"], parameters["note"], strict=True), strict=True))
    assert by_term["B"] == (-np.inf, "infinite")
    assert by_term["A:B"] == (np.inf, "infinite")
    assert by_term["C"][1] == ""
    # The limit is the fit of the other cells.
    inside = LogLinear("A*B + C").fit(np.where(model.expected_ > 0, counts, np.nan), names=list("ABC"))
    np.testing.assert_allclose(model.expected_, inside.expected_, atol=1e-8)
    assert inside.deviance_ == pytest.approx(model.deviance_, abs=1e-8)
    assert "not estimable (structural zeros)" in inside.parameters("treatment")["note"]


def test_cells_of_empty_margins_count_for_nothing():
    # No child is of the crew: R's glm gives the same deviance, but counts 4 empty cells and 1 infinite parameter.
    with pytest.warns(DataWarning, match="no samples in the margin C=3, A=0"):
        model = fitted("titanic", ".^2")
    assert model.deviance_ == pytest.approx(116.5880333, abs=1e-6)
    assert model.df_ == 13 - 4 + 1


def test_a_pattern_of_zeros_with_full_margins_is_seen():
    # Haberman (1974): no two-way margin is empty, but the estimate does not exist.
    counts = np.array([[[0, 5], [4, 7]], [[3, 6], [8, 0]]])
    with pytest.warns(DataWarning, match=r"A=0, B=0, C=0; A=1, B=1, C=1"):
        model = LogLinear(".^2").fit(counts, names=list("ABC"))
    np.testing.assert_allclose(model.expected_, counts, atol=1e-6)
    assert (model.df_, model.deviance_) == (0, pytest.approx(0.0, abs=1e-6))
    assert model.parameters()["note"].count("infinite") == 4


def test_zeros_that_do_no_harm_are_not_warned_of():
    counts = np.array([[[0, 5], [4, 7]], [[3, 6], [8, 2]]])
    model = LogLinear(".^2").fit(counts, names=list("ABC"))
    assert (model.expected_ > 0).all()
    assert not any(model.parameters()["note"])


@pytest.mark.parametrize("search", ["both", "backward", "forward", "l1"])
def test_choices_are_hierarchical_and_no_step_from_the_chosen_model_is_better(search):
    counts, names = TABLES["students"]
    model = LogLinear("A*C*M").choose(counts, names=[*names], search=search)
    assert model.formula_ == "A*C + A*M + C*M"
    assert min(choice.criterion for choice in model.choices_) == pytest.approx(model.bic_)


def test_steps_by_aic_end_where_rs_step_ends():
    # R 4.2.2: step(glm(Freq ~ Class * Sex * Age * Survived, poisson)), of which AIC is 185.0875375.
    counts, names = TABLES["titanic"]
    with pytest.warns(DataWarning, match="does not exist"):
        model = LogLinear("C*S*A*L").choose(counts, names=[*names], criterion="aic")
    assert model.formula_ == "C*S*A + C*S*L + C*A*L"
    assert model.aic_ == pytest.approx(185.0875375, abs=1e-6)


def test_a_penalty_leaves_the_optimality_conditions_of_groups_and_fewer_interactions_if_stronger():
    counts, names = TABLES["hair"]
    numbers = []
    for l1 in (0.5, 5.0, 20.0, 1e4):
        model = LogLinear("H*E*S", l1=l1).fit(counts, names=[*names])
        numbers.append(len(model.interactions_))
        terms = [frozenset(part) for size in (2, 3) for part in combinations(range(3), size)]
        design = Design(counts.shape, tuple(terms), "balanced")
        gradient = design.sums(counts - model.expected_)
        for number, term in enumerate(design.terms):
            norm = np.linalg.norm(gradient[design.block(number)]) / np.sqrt(design.sizes[number])
            is_active = ":".join(names[axis] for axis in sorted(term)) in model.interactions_
            assert norm == pytest.approx(l1, rel=1e-3) if is_active else norm <= l1 * (1 + 1e-6)
        np.testing.assert_allclose(margin(model.expected_, frozenset([0])), counts.sum(axis=(1, 2)), rtol=1e-6)
    assert numbers == sorted(numbers, reverse=True)
    assert (numbers[0] > 1, numbers[-1]) == (True, 0)
    assert np.isnan([model.df_, model.deviance_p_, model.aic_]).all()


def test_a_penalty_of_single_parameters_makes_some_of_them_0():
    model = LogLinear("H*E", l1=5.0, grouped=False).fit(TABLES["hair"][0].sum(axis=2), names=["H", "E"])
    assert model.interactions_ == ["H:E"]
    estimates = np.array(model.parameters()["estimate"])[7:]
    assert 0 < (np.abs(estimates) < 1e-6).sum() < estimates.size


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"method": "newtom"}, "newtom"),
        ({"method": 3}, "method=3"),
        ({"l1": -1.0}, "l1=-1.0"),
        ({"l1": 1.0, "method": "ipf"}, "has no penalty"),
        ({"grouped": 2}, "grouped=2"),
        ({"tolerance": 0.0}, "tolerance=0.0"),
        ({"formula": 3}, "formula=3"),
        ({"missing": "?"}, "missing='[?]' is not a list"),
    ],
)
def test_options_out_of_range_are_refused(options, told):
    with pytest.raises(OptionError, match=told):
        LogLinear(**{"formula": ".", **options})


def test_defaults():
    assert repr(LogLinear("A + B")) == str(LogLinear("A + B")) == "LogLinear('A + B')"
    assert repr(LogLinear(".", l1=1.0, method="lbfgs")) == "LogLinear('.', method='lbfgs', l1=1.0)"
    assert repr(LogLinear(".", missing=["?"])) == "LogLinear('.', missing=['?'])"


def test_what_needs_a_fit_or_another_model_says_so():
    with pytest.raises(NotFittedError):
        LogLinear(".").deviance_  # noqa: B018
    with pytest.raises(OptionError, match="without a penalty"):
        LogLinear(".", l1=1.0).choose(STUDENTS)
    model = fitted("students", ".")
    for wrong in (lambda: model.residuals("raws"), lambda: model.parameters("sum"), lambda: model.save_figure("a.txt")):
        with pytest.raises(OptionError):
            wrong()
    with pytest.raises(OptionError, match="at most 4 variables"):
        LogLinear(".").fit(np.ones((2,) * 5, int)).save_figure("a.svg")


def test_a_fit_is_shown_and_pickled(tmp_path):
    model = fitted("students", "A*C + M")
    assert "G2 = 843.8266, df = 3" in str(model)
    assert "A:C" in model._repr_html_()
    assert pickle.loads(pickle.dumps(model)).deviance_ == model.deviance_
    cells = model.cells()
    assert list(cells) == ["A", "C", "M", "observed", "expected", "raw", "pearson", "deviance", "adjusted"]
    assert sum(cells["observed"]) == STUDENTS.sum()
    model.save_figure(tmp_path / "mosaic.svg")
    assert (tmp_path / "mosaic.svg").read_bytes().startswith(b"<?xml")


def test_a_constant_variable_and_the_saturated_and_empty_models():
    with pytest.warns(DataWarning, match="single level of B"):
        model = LogLinear("A*B").fit(np.array([[4], [6]]), names=["A", "B"])
    assert (model.df_, model.n_parameters_) == (0, 2)
    assert fitted("students", "A*C*M").df_ == 0
    uniform = fitted("students", "1")
    np.testing.assert_allclose(uniform.expected_, STUDENTS.sum() / 8)
    assert uniform.df_ == 7


@pytest.mark.slow
def test_intervals_cover_the_parameters_and_p_values_are_uniform():
    rng = np.random.default_rng(3)
    formula = "A*C + A*M"
    truth = LogLinear(formula).fit(np.array([[[90, 50], [40, 60]], [[30, 40], [25, 45]]]), names=list("ACM"))
    target = np.array(truth.parameters()["estimate"])
    covered, p_values = [], []
    for _ in range(1000):
        model = LogLinear(formula).fit(rng.poisson(truth.expected_), names=list("ACM"))
        found = model.parameters()
        covered.append(np.abs(np.array(found["estimate"]) - target) <= 1.96 * np.array(found["se"]))
        p_values.append(model.deviance_p_)
    np.testing.assert_allclose(np.mean(covered, axis=0), 0.95, atol=0.025)
    assert scipy.stats.kstest(p_values, "uniform").pvalue > 0.01


@pytest.mark.slow
def test_a_table_of_a_million_cells_has_the_same_fit_by_both_methods():
    counts = np.random.default_rng(0).poisson(3.0, (10,) * 6)
    newton, ipf = (LogLinear(".^2", method=method).fit(counts) for method in ("newton", "ipf"))
    np.testing.assert_allclose(newton.expected_, ipf.expected_, atol=1e-4)
    assert newton.df_ == 10**6 - (1 + 6 * 9 + 15 * 81)


def test_names_are_no_markup_in_notebooks():
    for shape in ((2, 2), (2, 2100)):  # the second has too many parameters to list
        model = LogLinear(".").fit(np.ones(shape), names=["<b>", "c"])
        assert "<b>" not in model._repr_html_()
    assert "<b>" not in LogLinear("`<b>`")._repr_html_()
