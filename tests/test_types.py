"""What type checkers and editors see: users' programs pass, and their mistakes are found."""

from __future__ import annotations

import doctest
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import loglinear
from loglinear.networks.inference import INFERENCES, InferenceName
from loglinear.solvers import SOLVERS, SolverName

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(python|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A line that ends in `# error` is a mistake, which both type checkers have to find; all other lines are right.
PROGRAM = """
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import assert_type

from loglinear import ChainCRF, GraphCRF, MaxEnt, PairwiseMRF, Result, Span, Stop, Tagger, grid_edges, minimize

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
assert_type(crf.l1, float)
assert_type(crf.l2, float | None)
assert_type(crf.fit(X, y), ChainCRF)
assert_type(crf.result_, Result)
assert_type(crf.result_.gap, float | None)
crf.nothing  # error
crf.result_.nothing  # error
crf.fit(X, y, weights=[1.0])  # error
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
network = PairwiseMRF(l1="ebic", inference=None).fit([["a", "b"], ["b", "a"]])
print(network.result_.status.converged, len(network.edges_))
graph = GraphCRF(random_state=1).fit([(np.ones((4, 1)), grid_edges(2, 2))], [[0, 1, 1, 0]])
print(graph.result_.seconds, Tagger(crf).tag(["the", "dog"]))
Stop(max_iterations="many")  # error
"""


@pytest.mark.parametrize(("names", "registry"), [(SolverName, SOLVERS), (InferenceName, INFERENCES)])
def test_the_names_that_type_checkers_accept_are_those_of_the_registry(names, registry):
    assert {*get_args(names)} == registry.keys()


def programs() -> dict[str, str]:
    """The Python of pages by name, prompts left out, and the program above."""
    found = {"program.py": PROGRAM}
    for page in (ROOT / "README.md", ROOT / "docs" / "start.md"):
        blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
        assert blocks
        found[f"{page.stem.lower()}.py"] = "\n".join(
            text if kind == "python" else doctest.script_from_examples(text) for kind, text in blocks
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
    # The pages define functions as people do.
    command += [
        "--allow-untyped-defs",
        "--allow-incomplete-defs",
        "--allow-untyped-calls",
    ]
    installed = Path(loglinear.__file__).parents[1]
    # mypy looks for packages where Python is installed, and not in the folders that PYTHONPATH names.
    path = {} if "site-packages" in installed.parts else {"MYPYPATH": str(installed)}
    done = subprocess.run(command, cwd=folder, env=os.environ | path, capture_output=True, text=True, check=False)
    errors = [re.match(r"(.+?):(\d+): error: (.*)", line) for line in done.stdout.splitlines()]
    assert done.returncode == 1, done.stderr
    compared(folder, wrong, [(str(folder / each[1]), int(each[2]), each[3]) for each in errors if each])


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
