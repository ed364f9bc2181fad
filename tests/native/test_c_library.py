"""The C library: programs in C label as Python does, and come to no harm from what is not allowed.

By day a program is a shared library that finds the functions in the Python module, which exports them as well; at
night the library is built and programs are linked to it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pycrfsuite
import pytest

import loglinear
from loglinear import ChainCRF, ChainFeatures, ChainObjective, Corpus
from loglinear.models.files.settings import settings_text
from oracles.patience import patience
from oracles.samples import sentences

ROOT = Path(__file__).parents[2]
HEADER = (ROOT / "native" / "include" / "loglinear.h").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "c.md").read_text(encoding="utf-8")
COMPILER = shutil.which("cc")
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{ROOT / 'native' / 'include'}", "-pthread"]

pytestmark = pytest.mark.skipif(COMPILER is None or sys.platform != "linux", reason="needs Linux and a C compiler, cc")

# Runs a program that is a shared library, whose functions of libloglinear are the Python module's.
RUNNER = """
import ctypes, os, sys
import loglinear._core as core
ctypes.CDLL(core.__file__, mode=ctypes.RTLD_GLOBAL)
program = ctypes.CDLL(sys.argv[1])
arguments = [os.fsencode(argument) for argument in sys.argv[1:]]
code = program.main(len(arguments), (ctypes.c_char_p * (len(arguments) + 1))(*arguments, None))
ctypes.CDLL(None).fflush(None)
sys.exit(code)
"""


def compiled(source, target, *flags):
    subprocess.run([COMPILER, *FLAGS, str(source), "-o", str(target), *flags], check=True)
    return str(target)


@pytest.fixture(params=["module", pytest.param("library", marks=pytest.mark.slow)])
def program(request, tmp_path):
    """A function that compiles a program, and returns the command that runs it."""
    if request.param == "module":
        return lambda source: [
            sys.executable,
            "-c",
            RUNNER,
            compiled(source, tmp_path / "program.so", "-shared", "-fPIC"),
        ]
    folder = request.getfixturevalue("library")
    flags = [f"-L{folder}", "-lloglinear", f"-Wl,-rpath,{folder}"]
    return lambda source: [compiled(source, tmp_path / "program", *flags)]


@pytest.fixture
def label(program):
    """A function that runs label.c."""
    command = program(ROOT / "tests" / "native" / "label.c")

    def run(*arguments, text="", code=0):
        done = subprocess.run(
            [*command, *map(str, arguments)],
            input=text.encode(),
            capture_output=True,
            timeout=patience(120),
            env=ENVIRONMENT,
        )
        assert done.returncode == code, done.stderr.decode()
        return (done.stderr if code else done.stdout).decode()

    return run


ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(loglinear.__file__).parents[1]), *sys.path])}


def test_sequences_get_pythons_labels_and_marginals(label, tmp_path):
    X, y = sentences(60, 1, valued=True)
    model = ChainCRF(l2=0.5).fit(X, y)
    model.save(tmp_path / "model")
    X = [sentence for sentence in X if sentence]
    items = lambda token: "\t".join(f"{name}\t{value!r}" for name, value in token.items())  # noqa: E731
    text = "".join("".join(items(token) + "\n" for token in sentence) + "\n" for sentence in X)
    answers = label(tmp_path / "model", "sequences", text=text).removesuffix("\n\n").split("\n\n")
    rows = [[line.split("\t") for line in answer.split("\n")] for answer in answers]
    assert [[row[0] for row in sentence] for sentence in rows] == model.predict(X)
    for sentence, expected in zip(rows, model.predict_marginals(X), strict=True):
        found = np.array([[float(p) for p in row[1:]] for row in sentence])
        names = model.model_.labels
        np.testing.assert_allclose(found, [[p[name] for name in names] for p in expected], rtol=1e-9, atol=1e-12)


def test_a_model_of_crfsuite_gives_crfsuites_labels(label, tmp_path):
    X, y = sentences(60, 2)
    trainer = pycrfsuite.Trainer(verbose=False)
    for x, labels in zip(X, y, strict=True):
        trainer.append(pycrfsuite.ItemSequence(x), labels)
    trainer.train(str(tmp_path / "model.crfsuite"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "model.crfsuite"))
    X = [sentence for sentence in X if sentence]
    lines = ["\t".join(f"{name}\t1" for name in token) for sentence in X for token in [*sentence, []]]
    answers = label(tmp_path / "model.crfsuite", "sequences", text="\n".join(lines) + "\n")
    rows = [answer.split("\n") for answer in answers.removesuffix("\n\n").split("\n\n")]
    assert [[row.split("\t")[0] for row in each] for each in rows] == [tagger.tag(x) for x in X]


# A sentence that the scheme allows, with all labels.
SCHEMES = {
    "BIO": "O B-X I-X B-Y I-Y I-Y",
    "IOB1": "O I-X B-X I-X I-Y O",
    "IOBES": "O B-X I-X E-X S-X S-Y B-Y E-Y",
    "BILOU": "O B-X I-X L-X U-X U-Y B-Y L-Y",
    "BMES": "B M E S",
}


def words(n, seed):
    """Sentences of random words."""
    rng = np.random.default_rng(seed)
    return [[(f"w{word}",) for word in rng.integers(0, 9, rng.integers(1, 12))] for _ in range(n)]


def columns(X):
    """Sentences as a text in columns."""
    return "".join("".join("\t".join(token) + "\n" for token in sentence) + "\n" for sentence in X)


@pytest.mark.parametrize("constraints", [*SCHEMES, [["B", "M"], [None, "M"], ["S", None]]], ids=str)
def test_texts_get_pythons_labels_under_the_constraints_of_the_model(label, tmp_path, constraints):
    legal = SCHEMES[constraints].split() if isinstance(constraints, str) else ["B", "E", "M", "E", "S", "E"]
    corpus = Corpus.encode([[(f"w{at}",) for at in range(len(legal))]], [legal], template="U:%x[0,0]\nB\n")
    every = ChainFeatures(all_states=True, all_transitions=True, constraints=constraints)
    objective = ChainObjective(corpus, every)
    w = np.random.default_rng(0).normal(size=objective.n_features)
    settings = {"constraints": constraints, "format": "columns", "label_type": "str"}
    core = objective.model(w, settings_text("chain", settings))
    core.save(tmp_path / "model")
    X = words(80, 4)
    model = ChainCRF.load(tmp_path / "model")
    predicted = model.predict(X)
    tagged = [[(*token, label) for token, label in zip(*each, strict=True)] for each in zip(X, predicted, strict=True)]
    assert label(tmp_path / "model", "text", text=columns(X)) == columns(tagged)
    test = Corpus.encode(X, [["B"] * len(sentence) for sentence in X], template="U:%x[0,0]\nB\n")
    assert core.constrained("null").predict(test.core) != predicted  # the constraints matter


def test_a_long_text_is_labelled_as_loglinear_tag_labels_it(label, tmp_path):
    X = words(50, 5)
    y = [[str(len(word) + int(word[1:]) % 3) for (word,) in sentence] for sentence in X]
    model = ChainCRF(l2=1.0, template="U:%x[0,0]\nB\n").fit(X, y)
    model.save(tmp_path / "model")
    text = columns(words(6000, 6))
    assert len(text) > 1 << 16
    (tmp_path / "text").write_text(text)
    model.model_.tag_file(str(tmp_path / "text"), str(tmp_path / "tagged"), format="columns")
    assert label(tmp_path / "model", "text", text=text) == (tmp_path / "tagged").read_text()


def test_models_are_opened_labelled_with_and_freed_a_thousand_times_and_misuse_is_told(label, tmp_path):
    X = [[[f"w{word}"] for word in (0, 1, 2, 3, 4)], [["w4"], ["w0"]]]
    ChainCRF(l2=0.5).fit(X, [["A", "B", "C", "A", "B"], ["B", "A"]]).save(tmp_path / "model")
    assert label(tmp_path / "model", "strain") == f"{loglinear.__version__}\n"


def test_models_that_are_none_or_damaged_or_of_another_kind_are_refused(label, tmp_path):
    X = [[["a"], ["b"]]]
    ChainCRF(l2=0.5).fit(X, [["A", "B"]]).save(tmp_path / "model")
    whole = (tmp_path / "model").read_bytes()
    (tmp_path / "damaged").write_bytes(whole[:-20] + bytes(20))
    assert "damaged" in label(tmp_path / "damaged", "text", code=3)
    (tmp_path / "text").write_text("no model")
    assert "text" in label(tmp_path / "text", "text", code=3)
    assert "missing" in label(tmp_path / "missing", "text", code=3)


def test_the_program_of_the_page_prints_what_the_page_says(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    python, source, output = (
        re.search(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)[1] for kind in ("python", "c", "text")
    )
    exec(compile(python, "c.md", "exec"), {})
    Path("program.c").write_text(source)
    done = subprocess.run(
        program("program.c"), capture_output=True, text=True, check=True, timeout=patience(60), env=ENVIRONMENT
    )
    assert done.stdout == output


def test_the_header_declares_the_functions_that_there_are():
    declared = set(re.findall(r"^[\w *]*?\b(loglinear_\w+)\(", HEADER, re.MULTILINE))
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "native" / "src" / "c_api").glob("*.rs"))
    defined = {name for source in sources for name in re.findall(r'extern "C" fn (\w+)\(', source)}
    assert declared == defined
    assert len(defined) == 9
