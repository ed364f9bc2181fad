"""What type checkers and editors see: users' programs pass, and their mistakes are found."""

from __future__ import annotations

import doctest
import importlib.util
import json
import os
import re
import subprocess
import sys
from inspect import Parameter, signature
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import loglinear
from loglinear.networks.inference import INFERENCES, InferenceName
from loglinear.solvers import SOLVERS, SolverName, grafting, option_names
from loglinear.solvers.common import inner
from oracles.programs import blocks

ROOT = Path(__file__).parents[1]
# A line that ends in `# error` is a mistake, which both type checkers have to find; all other lines are right.
PROGRAM = """
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import scipy.sparse
from typing import Literal

from typing_extensions import assert_type

from loglinear import ChainCRF, GraphCRF, MaxEnt, PairwiseMRF, Result, Span, Stop, Tagger, Tagging
from loglinear import compare, evaluate, grid_edges, minimize
from loglinear.report.comparison import Comparison
from loglinear.datasets import load_demo
from loglinear.solvers import LabelSets

X, y = [[["w=the"], ["w=dog"]]], [["DET", "NOUN"]]
ChainCRF(nonsense=3)  # error
ChainCRF(l1="three")  # error
ChainCRF(0.5)  # error
ChainCRF(keep="newest")  # error
ChainCRF(solver="no such solver")  # error
MaxEnt(multi_class="one against one")  # error
MaxEnt(order=2)  # error
GraphCRF(inference="sampling")  # error
PairwiseMRF(objective="squares")  # error
PairwiseMRF(gap=0.1)  # error

crf = ChainCRF(template=None, l1=0.5, solver="owlqn", order=2, constraints="BIO", n_jobs=2)
assert_type(crf.l1, float | Literal["cv"])
assert_type(crf.l2, float | Literal["cv"] | None)
assert_type(crf.fit(X, y), ChainCRF)
assert_type(crf.fit(*load_demo()[0]).score(*load_demo()[1]), float)
assert_type(crf.result_, Result)
assert_type(crf.result_.gap, float | None)
crf.nothing  # error
assert_type(compare(y, crf.predict(X), y, names=("old", "new"), words=X), Comparison)
assert_type(compare(y, y, y).differences.overall["accuracy"].is_clear, bool)
compare(y, y)  # error
compare(y, y, y, mode="strict")  # error
crf.result_.nothing  # error
crf.fit(X, y, weights=[1.0])  # error
crf.fit([1, 2], y)  # error
crf.fit(X, [1, 2])  # error
crf.fit(([{"w": word, "length": len(word)}] for word in ["a", "b"]), [[1], [2]])
crf.fit([[["a"], {"w": "b"}]], [[None, {"DET", "NOUN"}]], X_dev=[[{"a"}]], y_dev=[np.array(["DET"])])
ChainCRF(template="pos").fit([["Dogs", "bark"]], [("NOUN", "VERB")]).predict([("Dogs", "bark")])
crf.predict(3)  # error
crf.predict_marginals([[1.0, 2.0]])  # error
for tagging in crf.tag(X):
    assert_type(tagging.spans, list[Span])
    print(tagging.labels, tagging.probability, [span.type for span in tagging.spans])
for labels, log_probability in crf.predict(X, n_best=2)[0]:
    print(labels, log_probability)
assert_type(crf.score(X, y), float)
assert_type(crf.state_features_, dict[tuple[str, Any], float])
print(crf.set_params(l1=1.0).get_params()["l1"], crf.set_fit_request(sample_weight=True))

model = MaxEnt(class_weight="balanced").fit([["a"], ["b"]], ["x", "y"])
assert_type(model.result_, Result)
assert_type(model.results_, list[Result])
print(model.result_.trace[-1].objective, model.predict_proba([["a"]]).max())
model.fit([["a"], ["b"]], 3)  # error
model.fit([object()], ["x"])  # error
model.score([["a"]], 3)  # error
model.fit([{"word": "good", "length": 2}, ["word:bad", "short"]], [True, False], [1.0, 2.0]).predict([["short"]])
model.fit([[0.5, 1.0], [2, 0]], [1, 2]).predict([(1.0, 0.0)]).tolist()
model.fit(np.eye(2), np.array(["x", "y"]), X_dev=[np.ones(2)], y_dev=["x"])
model.fit(scipy.sparse.csr_array(np.eye(2)), ["x", "y"]).predict_proba(scipy.sparse.eye(2))
model.fit(pd.DataFrame({"a": [1.0, 2.0]}), pd.Series(["x", "y"])).score(pd.DataFrame({"a": [1.0]}), ["x"])
network = PairwiseMRF(l1="ebic", inference=None).fit([["a", "b"], ["b", "a"]])
print(network.result_.status.converged, len(network.edges_))
print(network.named_edges().to_frame(states=True), network.named_edges()[0], network.result_.to_frame())
print(evaluate(y, y).to_frame("label"), crf.tag(X)[0].to_frame(), crf.explain(X[0]).to_frame())
evaluate(y, y).to_frame("words")  # error
PairwiseMRF().fit(3)  # error
PairwiseMRF().fit(pd.DataFrame({"a": ["x", "y"], "b": [True, False]})).predict_proba(np.array([["x", None]]))
LabelSets(passes=3, memory=5)
LabelSets(memory="five")  # error
LabelSets(nonsense=3)  # error
graph = GraphCRF(random_state=1).fit([(np.ones((4, 1)), grid_edges(2, 2))], [[0, 1, 1, 0]])
print(graph.result_.seconds, Tagger(crf).tag(["the", "dog"]))
for found in Tagger(crf).tag_batch([["the", "dog"]], probabilities=True):
    assert_type(found, Tagging)
assert_type(Tagger(crf).tag_batch((["the"] for _ in X)), list[list[Any]])
Tagger(crf).tag_batch(pa.array([["the", "dog"]]), probabilities=bool(X)).to_pylist()
Tagger(crf).tag_batch(5)  # error
Stop(max_iterations="many")  # error
"""


@pytest.mark.parametrize(("names", "registry"), [(SolverName, SOLVERS), (InferenceName, INFERENCES)])
def test_the_names_that_type_checkers_accept_are_those_of_the_registry(names, registry):
    assert {*get_args(names)} == registry.keys()


def test_the_options_of_inner_solvers_that_type_checkers_accept_are_those_of_the_inner_solvers():
    compared = 0
    for kind in SOLVERS.values():
        *named, last = signature(kind).parameters.values()
        if last.kind is Parameter.VAR_KEYWORD:
            typed = re.fullmatch(r"Unpack\[(\w+)\]", last.annotation)
            options = getattr(grafting if typed[1] == "GraftingOptions" else inner, typed[1])
            assert get_type_hints(options).keys() - {"candidates", "inner"} == {*option_names(kind)} - {
                parameter.name for parameter in named
            }, kind
            compared += 1
    assert compared > 6


def programs() -> dict[str, str]:
    """The Python of pages by name, prompts left out, and the program above."""
    found = {"program.py": PROGRAM}
    for page in (ROOT / "README.md", ROOT / "docs" / "start.md"):
        found[f"{page.stem.lower()}.py"] = "\n".join(
            text if kind == "python" else doctest.script_from_examples(text)
            for kind, text, _ in blocks(page, "python", "pycon")
        )
    return found


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The folder of the programs, and file -> the lines that are mistakes."""
    folder = tmp_path_factory.mktemp("types")
    texts = programs()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    wrong = {
        name: {at for at, line in enumerate(text.splitlines(), start=1) if line.endswith("# error")}
        for name, text in texts.items()
    }
    assert len(wrong["program.py"]) > 10
    return folder, wrong


def compared(folder: Path, wrong: dict[str, set[int]], errors: list[tuple[str, int, str]]) -> None:
    """Compare the errors that a type checker has found with the mistakes."""
    for name, lines in wrong.items():
        found = {line: message for file, line, message in errors if Path(file) == folder / name}
        assert {line: message for line, message in found.items() if line not in lines} == {}
        assert lines - found.keys() == set(), f"{name}: mistakes that were not found"


def test_mypy_passes_users_programs_and_finds_their_mistakes(written):
    pytest.importorskip("mypy")
    folder, wrong = written
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--no-incremental", *wrong]
    # The pages define functions as people do, and not everybody has the stubs of pandas and SciPy. Of loglinear itself
    # the signatures are enough.
    command += [
        "--follow-imports=silent",
        "--allow-untyped-defs",
        "--allow-incomplete-defs",
        "--allow-untyped-calls",
        "--disable-error-code=import-untyped",
    ]
    installed = Path(loglinear.__file__).parents[1]
    # mypy looks for packages where Python is installed, and not in the folders that PYTHONPATH names.
    path = {} if "site-packages" in installed.parts else {"MYPYPATH": str(installed)}
    done = subprocess.run(command, cwd=folder, env=os.environ | path, capture_output=True, text=True, check=False)
    errors = [re.match(r"(.+?):(\d+): error: (.*)", line) for line in done.stdout.splitlines()]
    assert done.returncode == 1, done.stderr
    compared(folder, wrong, [(str(folder / each[1]), int(each[2]), each[3]) for each in errors if each])


@pytest.mark.slow
def test_pyright_passes_users_programs_and_finds_their_mistakes(written):
    """Basedpyright is pyright in a wheel: pyright itself fetches its program when it is first run."""
    if importlib.util.find_spec("basedpyright") is None:
        pytest.skip("basedpyright is not installed")
    folder, wrong = written
    settings = {"typeCheckingMode": "standard", "reportUnusedExpression": False}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    errors = [
        (each["file"], each["range"]["start"]["line"] + 1, each["message"])
        for each in json.loads(done.stdout)["generalDiagnostics"]
        if each["severity"] == "error"
    ]
    compared(folder, wrong, errors)
