"""Packages may be missing: what works without them, and what says which one it needs."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from pathlib import Path

import pytest
import sklearn.exceptions

import loglinear
from loglinear import ChainCRF, ConvergenceWarning, MissingPackageError, NotFittedError
from loglinear.extras import PACKAGES, needed_by
from oracles.missing import ALL, BUT_NUMPY, printed, run
from oracles.prose import modules

ROOT = Path(__file__).parents[1]
X, Y = [[["a"], ["b"]], [["b"]]], [["A", "B"], ["B"]]


def command(missing, *arguments):
    return run(missing, "from loglinear.cli.main import main; main(sys.argv[1:])", *arguments)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "chain.loglinear"
    ChainCRF(template="U:%x[0,0]\nB\n", l2=0.1).fit([["a", "b"], ["b"]], Y).save(path)
    return path


def extras():
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 reads no TOML")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {
        extra: {re.match(r"[\w.-]+", requirement)[0] for requirement in requirements}
        for extra, requirements in project["optional-dependencies"].items()
    }
    return {re.match(r"[\w.-]+", requirement)[0] for requirement in project["dependencies"]}, names


def test_the_extra_that_a_message_names_installs_the_package():
    needed, names = extras()
    assert needed == {"numpy"}
    for module, package in PACKAGES.items():
        distribution = {"sklearn": "scikit-learn"}.get(module, module)
        if package.extra:
            assert distribution in names[package.extra]
        else:
            assert package.name.lower() == distribution


def test_every_package_that_the_library_imports_has_a_message():
    packages = set()
    for _, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                packages |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                packages.add(node.module.partition(".")[0])
    assert packages - sys.stdlib_module_names - {*PACKAGES} <= {"loglinear", "markupsafe", "typing_extensions"}


def test_a_message_names_what_needs_the_package_and_the_inner_block_knows_better():
    with pytest.raises(MissingPackageError) as caught, needed_by("a command"), needed_by("an option"):
        import_missing("scipy.sparse")
    assert str(caught.value) == "an option needs SciPy; install it: pip install 'loglinear[sklearn]'"
    assert caught.value.name == "scipy.sparse"


def import_missing(name):
    raise ModuleNotFoundError(name, name=name)


def test_a_missing_module_that_no_extra_installs_stays_as_it_is():
    with pytest.raises(ModuleNotFoundError) as caught, needed_by("a command"):
        import_missing("loglinear.nothing")
    assert type(caught.value) is ModuleNotFoundError


def test_taggers_need_no_package(model):
    program = f"""
from loglinear import ChainCRF, Tagger
from loglinear.compat import pycrfsuite
X = [["a", "b"], ["b"]]
tagger = Tagger(sys.argv[1])
print(tagger.tag(["a", "b"]), tagger.tag_batch(X), ChainCRF.load(sys.argv[1]).predict(X))
print(ChainCRF.load(sys.argv[1]).score(X, [["A", "B"], ["A"]]), sorted(sys.modules.keys() & {set(PACKAGES)}))
"""
    assert printed(ALL, program, model) == [
        "['A', 'B'] [['A', 'B'], ['B']] [['A', 'B'], ['B']]",
        "0.6666666666666666 []",
    ]


def test_the_command_that_tags_needs_no_package(model, tmp_path):
    (tmp_path / "in.txt").write_text("a\nb\n\nb\n", encoding="utf-8")
    done = command(ALL, "tag", "--model", model, tmp_path / "in.txt")
    assert (done.returncode, done.stdout) == (0, "a\tA\nb\tB\n\nb\tB\n\n")


def test_doctor_needs_no_package():
    done = command(ALL, "doctor")
    assert done.returncode == 0, done.stderr
    assert "instruction set" in done.stdout


def test_chains_need_numpy_alone(tmp_path):
    program = f"""
import warnings
from loglinear import ChainCRF, ConvergenceWarning, evaluate
X, y = {X!r}, {Y!r}
crf = ChainCRF(l1=0.01).fit(X, y)
crf.save(sys.argv[1])
print(ChainCRF.load(sys.argv[1]).predict(X), crf.score(X, y), evaluate(y, crf.predict(X)).accuracy)
print(crf.explain(X[0]).tokens != [], crf.get_params()["l1"], crf.set_params(l1=1.0).l1)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    ChainCRF(max_iterations=1).fit(X, y)
print([warning.category is ConvergenceWarning for warning in caught])
"""
    assert printed(BUT_NUMPY, program, tmp_path / "m") == [
        "[['A', 'B'], ['B']] 1.0 1.0",
        "True 0.01 1.0",
        "[True]",
    ]


def test_the_commands_that_train_and_evaluate_chains_need_numpy_alone(tmp_path):
    data, model = tmp_path / "data.txt", tmp_path / "m"
    data.write_text("a A\nb B\n\nb B\n\n" * 5, encoding="utf-8")
    for arguments in (
        ["train", data, "--preset", "pos", "--l1", "0.1", "-m", model, "--dev", data],
        ["evaluate", "-m", model, data],
        ["explain", "-m", model, data],
        ["inspect", model],
        ["select", data, "--preset", "pos", "--size", "2"],
        ["doctor"],
    ):
        done = command(BUT_NUMPY, *arguments)
        assert (done.returncode, "needs" in done.stderr) == (0, False), done.stderr


NAMES = {
    "loglinear.MaxEnt": "loglinear.MaxEnt",
    "loglinear.GraphCRF": "loglinear.GraphCRF",
    "loglinear.PairwiseMRF": "loglinear.PairwiseMRF",
    "loglinear.ClassifierObjective": "loglinear.ClassifierObjective",
    "loglinear.ChainCRF().__sklearn_tags__()": "scikit-learn's search or pipeline",
    "__import__('loglinear.compat.sklearn_crfsuite')": "loglinear.compat.sklearn_crfsuite",
}


def test_estimators_without_scikit_learn_say_which_extra_they_need():
    program = "import loglinear\n" + "".join(
        f"try:\n    {use}\nexcept loglinear.MissingPackageError as error:\n    print(error)\n" for use in NAMES
    )
    for missing in (BUT_NUMPY, ALL):
        messages = printed(missing, program)
        assert len(messages) == len(NAMES)
        for message, name in zip(messages, NAMES.values(), strict=True):
            assert re.fullmatch(
                rf"{name} needs (scikit-learn|SciPy|NumPy); install it: pip install 'loglinear\[sklearn\]'", message
            )


def test_names_that_say_that_they_need_scikit_learn_are_those_that_do():
    program = """
import loglinear
for name in loglinear.__all__:
    try:
        getattr(loglinear, name)
    except loglinear.MissingPackageError:
        print(name)
"""
    assert {*printed(BUT_NUMPY, program)} == loglinear._NEED_SKLEARN


USES = {
    "loglinear.LBFGS": "loglinear.LBFGS",
    "loglinear.ChainCRF().fit([[['a']]], [['A']])": "ChainCRF.fit",
    "loglinear.ChainCRF.load(sys.argv[1]).explain(['a'])": "ChainCRF.explain",
    "loglinear.ChainCRF.load(sys.argv[1]).marginals([['a']])": "ChainCRF.marginals",
    "trainer = pycrfsuite.Trainer(); trainer.append([['a']], ['A']); trainer.train('')": "pycrfsuite.Trainer.train",
}


def test_what_needs_numpy_says_so(model):
    program = "import loglinear\nfrom loglinear.compat import pycrfsuite\n" + "".join(
        f"try:\n    {use}\nexcept loglinear.MissingPackageError as error:\n    print(error)\n" for use in USES
    )
    assert printed(ALL, program, model) == [
        f"{name} needs NumPy; install it: pip install numpy" for name in USES.values()
    ]


@pytest.mark.parametrize(
    ("missing", "arguments", "user", "extra"),
    [
        (BUT_NUMPY, ["train", "DATA", "--model-type", "maxent", "-m", "M"], "--model-type maxent", "sklearn"),
        (BUT_NUMPY, ["structure", "DATA"], "`loglinear structure`", "sklearn"),
        (ALL, ["structure", "DATA"], "`loglinear structure`", "sklearn"),
        (BUT_NUMPY, ["report", "MODEL", "--data", "DATA", "-o", "M"], "a report", "report"),
        (BUT_NUMPY, ["train", "DATA", "--preset", "pos", "-m", "M", "--workers", "2"], "loglinear.dask", "distributed"),
        (ALL, ["train", "DATA", "--preset", "pos", "-m", "M"], "`loglinear train`", None),
        (ALL, ["inspect", "MODEL"], "`loglinear inspect`", None),
    ],
)
def test_commands_say_what_they_need(model, tmp_path, missing, arguments, user, extra):
    data = tmp_path / "data.txt"
    data.write_text("a A\nb B\n\n", encoding="utf-8")
    places = {"DATA": data, "MODEL": model, "M": tmp_path / "m"}
    done = command(missing, *(places.get(argument, argument) for argument in arguments))
    source = "numpy" if extra is None else f"'loglinear[{extra}]'"
    assert done.returncode == 2
    assert re.fullmatch(
        rf"loglinear: error: {re.escape(user)} needs [\w-]+; install it: pip install {re.escape(source)}\n",
        done.stderr,
    ), done.stderr


def test_filters_of_either_class_know_the_warning_of_a_training_that_was_stopped():
    for category in (ConvergenceWarning, sklearn.exceptions.ConvergenceWarning):
        with pytest.warns(category, match="details"):
            ChainCRF(max_iterations=1).fit(X, Y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", category)
            ChainCRF(max_iterations=1).fit(X, Y)


def test_handlers_of_either_class_catch_the_error_of_an_unfitted_estimator():
    for kind in (NotFittedError, sklearn.exceptions.NotFittedError, loglinear.LogLinearError):
        with pytest.raises(kind, match="not fitted"):
            ChainCRF().predict(X)


def test_a_warning_does_not_import_scikit_learn():
    program = f"""
import sys, warnings
from loglinear import ChainCRF, ConvergenceWarning
warnings.simplefilter("ignore", ConvergenceWarning)
ChainCRF(max_iterations=1).fit({X!r}, {Y!r})
print("sklearn" in sys.modules)
"""
    assert printed([], program) == ["False"]
