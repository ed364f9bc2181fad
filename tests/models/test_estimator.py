"""Laws of what all estimators share: every option stands once, and parameters, flags and settings derive from it."""

from __future__ import annotations

import argparse
import copy
import dataclasses
import inspect
import json
import pickle
import subprocess
import sys
from dataclasses import fields, replace
from typing import ClassVar

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

import loglinear
from loglinear import ChainCRF, ChainFeatures, ElasticNet, GraphCRF, MaxEnt, OptionError, PairwiseMRF, TextClassifier
from loglinear.cli.commands import select, structure, train
from loglinear.models.estimator import Estimator
from loglinear.models.files.chain import open_model
from loglinear.models.training import options as training_options
from loglinear.models.training.options import ChosenSolverParameters, Minimisation, SolverOptions, thread_count
from loglinear.models.training.structure import NetworkOptions
from loglinear.solvers import LBFGS, SOLVERS

PUBLIC = [getattr(loglinear, name) for name in loglinear.__all__]
ESTIMATORS = [kind for kind in PUBLIC if isinstance(kind, type) and issubclass(kind, Minimisation)]
OPTIONS = [each for kind in (SolverOptions, ChainFeatures) for each in fields(kind)]
# Another value than the default for every option of chains and solvers: of a truth value it is the other one.
OTHERS = {each.name: not each.default for each in OPTIONS if isinstance(each.default, bool)} | {
    "l1": 0.25,
    "l2": 0.5,
    "solver": "two_stage",
    "tolerance": 1e-3,
    "gap": 1e-3,
    "solver_options": {"memory": 5},
    "penalty_factor": {"a": 2.0},
    "signs": {"b": "+"},
    "l1_groups": "families",
    "random_state": 7,
    "max_iterations": 3,
    "min_count": 2,
    "order": 2,
    "constraints": [["A", "A"]],
    "invalid_labels": "skip",
    "class_weight": {"A": 2.0},
}
X = [["a", "b", "a"], ["b", "a"], ["c", "a", "b", "b"]]
Y = [["A", "B", "A"], ["B", "A"], ["B", "A", "B", "B"]]


def parser_of(command):
    parser = argparse.ArgumentParser()
    command.configure(parser)
    return parser


def named(option):
    return option.name


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The settings in the file of a model trained with every option at its other value, and the model opened again."""
    path = tmp_path_factory.mktemp("saved") / "model"
    # A bound of the distance (gap) is not available with penalties of families, which test_families.py saves.
    given = OTHERS | {"solver": "owlqn", "penalty_factor": None, "signs": None, "l1_groups": None}
    with pytest.warns(match="iteration limit"):
        ChainCRF(**given).fit([[[word] for word in sentence] for sentence in X], Y).save(path)
    opened = ChainCRF.load(path)
    return json.loads(opened.model_.settings), opened, given


def test_every_option_has_another_value_here():
    assert {each.name for each in OPTIONS} == set(OTHERS)
    assert all(OTHERS[each.name] != each.default for each in OPTIONS)


@pytest.mark.parametrize("option", OPTIONS, ids=named)
def test_an_option_is_a_parameter_of_the_estimator_with_the_same_default(option):
    parameter = inspect.signature(ChainCRF).parameters[option.name]
    assert parameter.default == option.default
    assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
    assert ChainCRF().get_params()[option.name] == option.default
    assert ChainCRF(**{option.name: OTHERS[option.name]}).get_params()[option.name] == OTHERS[option.name]


@pytest.mark.parametrize("option", OPTIONS, ids=named)
def test_an_option_is_a_flag_with_the_same_default(option):
    parser = parser_of(train)
    (action,) = [each for each in parser._actions if each.dest == option.name]
    assert action.default == option.default
    assert action.help
    given = parser.parse_args(["data", "-m", "model"])
    assert getattr(given, option.name) == option.default


@pytest.mark.parametrize("option", fields(ChainFeatures), ids=named)
def test_what_defines_the_features_of_a_chain_is_a_flag_of_every_command_that_makes_them(option):
    for command in (train, select):
        (action,) = [each for each in parser_of(command)._actions if each.dest == option.name]
        assert action.default == option.default


@pytest.mark.parametrize("option", fields(NetworkOptions), ids=named)
def test_an_option_of_networks_is_a_parameter_and_where_it_is_a_flag_has_the_same_default(option):
    assert inspect.signature(PairwiseMRF).parameters[option.name].default == option.default
    # The command has other defaults of its own for three of them: it chooses l1, and needs no inference.
    if option.name not in {"l1", "objective", "inference"}:
        for action in parser_of(structure)._actions:
            assert action.dest != option.name or action.default == option.default


@pytest.mark.parametrize("option", OPTIONS, ids=named)
def test_an_option_is_a_setting_in_the_model_file_that_loading_restores(option, saved):
    settings, opened, given = saved
    assert settings[option.name] == given[option.name]
    assert getattr(opened, option.name) == given[option.name]


@pytest.mark.parametrize("option", OPTIONS, ids=named)
def test_an_option_has_a_help_text_that_the_docstring_gives(option):
    chosen = {each.name: each for each in fields(ChosenSolverParameters)}  # estimators may choose strengths
    option = chosen.get(option.name, option)
    lines = " ".join((ChainCRF.__doc__ or "").split())
    assert f"{option.name}: {' '.join(option.metadata['help'].split()).removesuffix('.')}." in lines


# What happens to labels that break constraints is decided before the objective is made.
NATIVE = [option for option in fields(ChainFeatures) if option.name != "invalid_labels"]


@pytest.mark.parametrize("option", NATIVE, ids=named)
def test_the_native_objective_reads_every_option_of_features(option):
    from loglinear import ChainObjective, Corpus

    corpus = Corpus.encode([[[word] for word in sentence] for sentence in X], Y)
    features = replace(ChainFeatures(), **{option.name: OTHERS[option.name]})
    made = [ChainObjective(corpus, features), ChainObjective(corpus)]
    seen = [(each.feature_counts, each.value_and_gradient(np.zeros(each.n_features))[0]) for each in made]
    assert seen[0] != seen[1]


def test_the_help_of_train_has_a_line_for_every_solver():
    text = parser_of(train).format_help()
    for name in SOLVERS:
        assert f"  {name} " in (parser_of(train).epilog or ""), name
    assert "--solver NAME" in text


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_parameters_can_be_read_set_cloned_pickled_and_printed(kind):
    estimator = kind(l1=0.5, max_iterations=7)
    assert estimator.get_params() == {**kind().get_params(), "l1": 0.5, "max_iterations": 7}
    assert list(estimator.get_params()) == sorted(estimator.get_params())
    for deep in (False, True):
        assert ("solver__l1" in kind(solver=ChainCRF()).get_params(deep=deep)) is deep
    assert set(inspect.signature(kind).parameters) == set(estimator.get_params())
    assert clone(estimator).get_params() == estimator.get_params()
    assert pickle.loads(pickle.dumps(estimator)).get_params() == estimator.get_params()
    assert repr(estimator) == f"{kind.__name__}(l1=0.5, max_iterations=7)"
    assert repr(kind(l1=np.array([0.5, 1.0]))) == f"{kind.__name__}(l1=array([0.5, 1. ]))"
    assert estimator.set_params(l1=1.5).l1 == 1.5
    assert kind(solver=ChainCRF()).set_params(solver__l1=2.5).solver.l1 == 2.5


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_every_parameter_is_documented(kind):
    for name in kind().get_params():
        assert f"\n    {name}: " in kind.__doc__, name
    assert kind.__doc__.count("\nArgs:\n") == 1


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_an_unknown_parameter_is_a_type_error_that_names_it(kind):
    with pytest.raises(TypeError, match=rf"{kind.__name__}.*'typo'"):
        kind(typo=1)
    with pytest.raises(TypeError, match="unexpected keyword arguments 'typo', 'other'"):
        kind(typo=1, other=2)
    with pytest.raises(TypeError):
        kind(1.0)


def test_an_estimators_own_default_wins_over_the_options():
    assert PairwiseMRF().l1 == "ebic"
    assert ChainCRF().l1 == 0.0


def test_estimators_need_no_docstrings():
    program = "from loglinear import ChainCRF; print(ChainCRF.__doc__, ChainCRF().l1)"
    found = subprocess.run([sys.executable, "-OO", "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "None 0.0\n"


def test_a_subclass_inherits_the_parameters_or_has_a_constructor_of_its_own():
    class Same(ChainCRF):
        pass

    class Other(ChainCRF):
        def __init__(self, *, extra=1, l1=0.0):
            super().__init__(l1=l1)
            self.extra = extra

    assert Same().get_params() == ChainCRF().get_params()
    assert Other(extra=3, l1=2.0).get_params() == {"extra": 3, "l1": 2.0}


def test_a_new_option_needs_no_other_line():
    from loglinear.cli.options import add_options, chosen
    from loglinear.options import Options, option, option_class

    @option_class
    class Toy(Options):
        widened_gap: bool = option(default=False, help="a toy; for tests. It does nothing.")

    class Model(Estimator, Toy):
        """A model.

        Args:
            mine: its own.
        """

        mine: int = 3

    assert Model(widened_gap=True)._options(Toy) == Toy(widened_gap=True)
    assert Model().get_params() == {"mine": 3, "widened_gap": False, "n_jobs": None, "verbose": False}
    assert "    mine: its own.\n    widened_gap: a toy; for tests. It does nothing.\n" in Model.__doc__
    parser = argparse.ArgumentParser()
    add_options(parser, Toy)
    assert chosen(Toy, parser.parse_args(["--widened-gap"])) == Toy(widened_gap=True)
    assert "a toy; for tests\n" in parser.format_help()


def test_the_default_solvers_are_those_that_the_docstring_names(tmp_path):
    X, two, three = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0]], ["a", "b", "b"], ["a", "b", "c"]
    tokens, labels = [[["x"], ["y"]]], [["A", "B"]]
    wide, many = np.eye(3, 200) + 0.1, [[f"w{k}" for k in range(600)], ["x"], ["y"]]
    trained = {
        ("lbfgs", "chain without l1"): ChainCRF().fit(tokens, labels),
        ("owlqn", "chain with it"): ChainCRF(l1=0.1).fit(tokens, labels),
        ("prox_newton", "two classes of a table without l1"): MaxEnt().fit(X, two),
        ("prox_newton", "two classes and few attributes without l1"): MaxEnt().fit([["x"], ["y"], ["y"]], two),
        ("lbfgs", "two classes and many attributes without l1"): MaxEnt().fit(many, two),
        ("prox_newton", "three classes and few columns without l1"): MaxEnt().fit(X, three),
        ("lbfgs", "three classes and many columns without l1"): MaxEnt().fit(wide, three),
        ("prox_newton", "two classes with it"): MaxEnt(l1=0.1).fit(X, two),
        ("prox_newton", "three classes and few columns with it"): MaxEnt(l1=0.1).fit(X, three),
        ("prox_newton", "three classes and many columns with it"): MaxEnt(l1=0.1).fit(wide, three),
        ("owlqn", "many classes with it"): MaxEnt(l1=0.1).fit(np.eye(24, 30) + 0.1, [*range(12)] * 2),
        ("prox_newton", "one against the rest with it"): MaxEnt(l1=0.1, multi_class="ovr").fit(X, three),
    }
    for (solver, what), model in trained.items():
        model.save(tmp_path / "m")
        settings = open_model(str(tmp_path / "m"))[1]
        assert settings["solver"] == "auto"
        assert settings["training"]["chosen"].startswith(f"{solver} ("), what
    claim = "by default auto, which picks one for the data and the penalty and names it at the end."
    for kind in (ChainCRF, MaxEnt, GraphCRF):
        assert claim in " ".join(kind.__doc__.split())
    with pytest.raises(OptionError, match="l1 > 0"):
        PairwiseMRF(l1=0.0).fit([["a", "b"], ["b", "a"], ["a", "a"]])
    assert "The default needs an l1 > 0" in " ".join(PairwiseMRF.__doc__.split())


def test_options_that_are_not_given_are_filled_in_and_0_is_given():
    assert SolverOptions().penalty() == ElasticNet(0.0, 1.0)
    assert SolverOptions(l1=0.5).penalty() == ElasticNet(0.5, 0.0)
    assert SolverOptions(l1=0.5, l2=0.25).penalty() == ElasticNet(0.5, 0.25)
    assert SolverOptions(l2=0.0).penalty() == ElasticNet(0.0, 0.0)
    assert SolverOptions(solver="lbfgs", tolerance=0.0).make_solver() == ("lbfgs", LBFGS(tolerance=0.0))
    assert SolverOptions(solver="sag", random_state=7, solver_options={"seed": 3}).make_solver()[1].seed == 3
    given = SolverOptions(solver="sag", random_state=7, max_iterations=None)
    assert given.make_solver()[1].seed == 7
    assert given.settings()["max_iterations"] is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"l1": -1.0, "solver": "lbfgs"}, "l1=-1.0 is not a valid penalty"),
        ({"max_iterations": -1}, "max_iterations=-1 is not a valid limit"),
        ({"solver": "nothing"}, "'nothing'"),
        ({"solver": 3}, "solver=3 is neither the name of a solver nor a solver object"),
        ({"solver": "sag", "solver_options": [1]}, "not a mapping of names to values"),
        ({"solver": "sag", "solver_options": {1: 1}}, "has the name 1, which is not a string"),
        ({"solver": LBFGS(), "solver_options": {"memory": 3}}, "pass them to the solver object"),
    ],
)
def test_options_of_solvers_are_checked_before_data_are_read(options, said):
    with pytest.raises(OptionError, match=said):
        SolverOptions(**options).check()


def test_a_number_of_threads_is_a_whole_one_and_none_stands_for_all():
    assert [thread_count(n_jobs) for n_jobs in (None, -1, 1, 3)] == [0, 0, 1, 3]
    for wrong in (0, -(2**17), 1.5, True):
        with pytest.raises(OptionError, match="n_jobs"):
            thread_count(wrong)


@pytest.mark.parametrize("n_jobs", [-2, -3, -1000])
def test_negative_numbers_of_threads_leave_cores_free_as_in_joblib(n_jobs):
    assert thread_count(n_jobs) == joblib.effective_n_jobs(n_jobs)


def test_minus_two_threads_are_all_cores_but_one(monkeypatch):
    monkeypatch.setattr(training_options, "cores", lambda: 8)
    assert [thread_count(n_jobs) for n_jobs in (-1, -2, -8, -9)] == [0, 7, 1, 1]


def test_a_chain_labels_text_without_numpy_and_is_trained_without_scikit_learn(tmp_path):
    X, y = [[["a"], ["b"]]] * 2, [["A", "B"]] * 2
    ChainCRF(l1=0.01).fit(X, y).save(tmp_path / "m")
    program = f"""
import sys
from loglinear import ChainCRF
X, y = {X!r}, {y!r}
slow = {{"numpy", "sklearn", "scipy", "pandas", "joblib", "loglinear.minimize"}}
heavy = lambda: print(*sorted(slow & sys.modules.keys()))
crf = ChainCRF.load({str(tmp_path / "m")!r})
assert crf.predict(X) == y and crf.score(X, y) == 1.0 and repr(crf)
heavy()
assert ChainCRF(l1=0.01).fit(X, y).marginals(X)
heavy()
assert crf.set_params(**crf.get_params()) is crf
print("sklearn" in sys.modules)
crf.__sklearn_tags__()
print("sklearn" in sys.modules)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == ["", "loglinear.minimize numpy", "False", "True"]


def test_what_scikit_learn_asks_of_a_light_estimator_it_answers_itself():
    crf = ChainCRF(l1=0.5, n_jobs=2)
    assert repr(crf) == "ChainCRF(l1=0.5, n_jobs=2)"
    assert get_tags(crf).requires_fit
    assert clone(crf).get_params() == crf.get_params()
    with pytest.raises(NotFittedError, match="this ChainCRF is not fitted"):
        _ = crf.state_features_
    with pytest.raises(NotFittedError, match="this ChainCRF is not fitted; call fit or load a model"):
        crf.predict([[["a"]]])
    assert pickle.loads(pickle.dumps(crf)).l1 == copy.deepcopy(crf).l1 == 0.5


def test_an_estimator_is_no_dataclass_to_other_programs():
    for kind in (ChainCRF, MaxEnt, PairwiseMRF, GraphCRF):
        assert not dataclasses.is_dataclass(kind)
        assert not dataclasses.is_dataclass(kind())
        with pytest.raises(TypeError):
            dataclasses.replace(kind(), l1=3.0)


def test_dask_tells_estimators_apart_by_parameters_and_by_what_they_learned():
    tokenize = pytest.importorskip("dask.base").tokenize
    assert tokenize(ChainCRF(l2=5.0)) != tokenize(ChainCRF(l2=6.0))
    fitted = [ChainCRF().fit([[["a"]], [["b"]]], [labels, ["C"]]) for labels in (["A"], ["B"])]
    assert len({tokenize(each) for each in (ChainCRF(), *fitted)}) == 3


def test_constructors_of_users_are_kept():
    class Mine(ChainCRF):
        def __init__(self, extra=1, l1=0.2):
            super().__init__(l1=l1)
            self.extra = extra

    class Mixin:
        def __init__(self):
            self.mixed = True

    class Plain:
        pass

    class Derived(Mine, Plain):
        pass

    class Annotated(Mine):
        more: int = 2

    class Mixed(Mixin, ChainCRF):
        pass

    assert (Mine(extra=2).extra, Derived(extra=2).extra, Annotated().extra) == (2, 2, 1)
    assert Derived().l1 == Annotated().l1 == 0.2
    assert Mixed().mixed


def test_class_variables_and_private_names_are_no_parameters():
    class Mine(ChainCRF):
        KIND: ClassVar[str] = "mine"
        _cache: dict | None = None
        depth: int = 3

    assert set(Mine().get_params()) - set(ChainCRF().get_params()) == {"depth"}
    assert Mine(depth=4, l1=0.5).get_params()["depth"] == 4


def test_a_subclass_has_metadata_routing():
    class Mine(ChainCRF):
        pass

    with sklearn.config_context(enable_metadata_routing=True):
        routing = Mine().set_fit_request(sample_weight=True).get_metadata_routing()
    assert routing.fit.requests["sample_weight"] is True


def test_no_random_state_is_the_default_one():
    X, y = [[["a"], ["b"]], [["b"]]], [["A", "B"], ["B"]]
    weights = [
        ChainCRF(l1=0.1, solver="sgd_l1", max_iterations=2, random_state=seed, solver_options={"passes": 2}).fit(X, y)
        for seed in (None, 0)
    ]
    assert np.array_equal(*(each.result_.w for each in weights))


def test_a_loaded_classifier_has_no_results(tmp_path):
    MaxEnt().fit([[0.0], [1.0]], [0, 1]).save(tmp_path / "m")
    with pytest.raises(NotFittedError, match="was loaded from a file"):
        _ = MaxEnt.load(tmp_path / "m").results_


TEXTS = ["a good film", "a bad film", "good", "bad"]
TRAINED = {
    "chain": lambda **options: ChainCRF(**options).fit(X, Y),
    "texts": lambda **options: TextClassifier(**options).fit(TEXTS, [1, 0, 1, 0]),
    "network": lambda **options: PairwiseMRF(l1=1.0, **options).fit(np.eye(4)[:, :3].repeat(9, axis=0)),
}


@pytest.mark.parametrize(
    "options", [{}, {"l2": 1.0}, {"max_iterations": None}, {"solver": "owlqn", "solver_options": {}}], ids=str
)
@pytest.mark.parametrize("kind", TRAINED)
def test_a_loaded_model_prints_as_the_saved_one(kind, options, tmp_path):
    model = TRAINED[kind](**options)
    model.save(tmp_path / "m")
    loaded = type(model).load(tmp_path / "m")
    assert repr(loaded) == repr(model)
    if hasattr(model, "n_iter_"):
        assert np.array_equal(loaded.n_iter_, model.n_iter_)
