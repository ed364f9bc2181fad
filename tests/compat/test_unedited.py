"""Programs written for python-crfsuite and sklearn-crfsuite, run as they are after `loglinear.compat.install()`.

The packages are in the optional group `compat`; a test is skipped where its package is not installed.
"""

from __future__ import annotations

import importlib.util
import lzma
import os
import subprocess
import sys
from pathlib import Path

import pytest

from loglinear.datasets import demo_paths
from oracles.patience import patience

INSTALL = """
import sys
import loglinear.compat
loglinear.compat.install()
"""


def run(code, *packages, arguments=()):
    """What a program prints that begins with `install()`."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed (pip install 'loglinear[compat]')")
    command = [sys.executable, "-c", INSTALL + code, *map(str, arguments)]
    # NLTK writes nowhere else.
    environment = {**os.environ, "NLTK_DATA": str(Path(arguments[0]).parents[1]) if arguments else ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=patience(120))
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def tagged(tmp_path_factory):
    """A file of words and tags."""
    path = tmp_path_factory.mktemp("tagged") / "words.txt"
    with lzma.open(demo_paths()[0], "rt", encoding="utf-8") as file:
        path.write_text("\n\n".join(file.read().split("\n\n")[:150]), encoding="utf-8")
    return path


READ = """
sentences = [
    [tuple(line.split("\\t")[::2]) for line in block.splitlines()]
    for block in open(sys.argv[1], encoding="utf-8").read().strip().split("\\n\\n")
]
"""


def test_nltks_tagger(tagged, tmp_path):
    code = (
        READ
        + """
from nltk.tag import CRFTagger
tagger = CRFTagger(verbose=False, training_opt={"c2": 0.1, "max_iterations": 40})
tagger.train(sentences, sys.argv[2])
print(round(tagger.accuracy(sentences), 3))
other = CRFTagger()
other.set_model_file(sys.argv[2])
words = [[word for word, _ in sentence] for sentence in sentences[:20]]
assert other.tag_sents(words) == tagger.tag_sents(words)
assert type(other._tagger).__module__.startswith("loglinear."), type(other._tagger)
"""
    )
    assert float(run(code, "nltk", arguments=[tagged, tmp_path / "model"])) > 0.95


def test_usaddress():
    code = """
import usaddress
assert type(usaddress.TAGGER).__module__.startswith("loglinear.")
print(usaddress.tag("123 Main St. Suite 100 Chicago, IL"))
"""
    printed = run(code, "usaddress")
    assert "'AddressNumber': '123'" in printed
    assert "'StateName': 'IL'" in printed
    assert "Street Address" in printed


def test_parserators_training(tmp_path):
    """The training of modules such as usaddress and probablepeople."""
    ada = "<Name><Given>Ada</Given> <Surname>Lovelace</Surname></Name>"
    data = tmp_path / "labeled.xml"
    data.write_text(f"<Names>{ada}<Name><Title>Dr.</Title> <Surname>Ng</Surname></Name></Names>", encoding="utf-8")
    code = """
import types
from parserator import training
import pycrfsuite

def tokens2features(tokens):
    features = [{"dot": token.endswith("."), "length": "l%d" % len(token), "word": token} for token in tokens]
    for at in range(len(tokens) - 1):
        features[at]["next"] = dict(features[at + 1])
    return features

module = types.SimpleNamespace(tokens2features=tokens2features)
data = list(training.readTrainingData([sys.argv[1]], "Name"))
training.train(module, data, sys.argv[2])
tagger = pycrfsuite.Tagger()
tagger.open(sys.argv[2])
assert type(tagger).__module__.startswith("loglinear.")
print([tagger.tag(tokens2features([token for token, _ in parts])) for _, parts in data])
"""
    printed = run(code, "parserator", arguments=[data, tmp_path / "learned.crfsuite"])
    assert printed.splitlines()[-1] == "[['Given', 'Surname'], ['Title', 'Surname']]"


def test_the_tutorial_of_sklearn_crfsuite(tagged):
    """Its calls: fit, report, searching for c1 and c2, the strongest weights."""
    code = (
        READ
        + """
from collections import Counter
import scipy.stats
from sklearn.metrics import make_scorer
from sklearn.model_selection import RandomizedSearchCV
import sklearn_crfsuite
from sklearn_crfsuite import metrics, scorers

def word2features(sent, i):
    word = sent[i][0]
    features = {
        "bias": 1.0, "word.lower()": word.lower(), "word[-3:]": word[-3:], "word[-2:]": word[-2:],
        "word.isupper()": word.isupper(), "word.istitle()": word.istitle(), "word.isdigit()": word.isdigit(),
    }
    if i > 0:
        features.update({"-1:word.lower()": sent[i - 1][0].lower()})
    else:
        features["BOS"] = True
    if i == len(sent) - 1:
        features["EOS"] = True
    return features

X = [[word2features(sent, i) for i in range(len(sent))] for sent in sentences]
y = [[label for _, label in sent] for sent in sentences]
crf = sklearn_crfsuite.CRF(algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=30, all_possible_transitions=True)
crf.fit(X[:100], y[:100])
labels = list(crf.classes_)
y_pred = crf.predict(X[100:])
print(metrics.flat_f1_score(y[100:], y_pred, average="weighted", labels=labels, zero_division=0))
sorted_labels = sorted(labels, key=lambda name: (name[1:], name[0]))
report = metrics.flat_classification_report(y[100:], y_pred, labels=sorted_labels, digits=3, zero_division=0)
assert "weighted avg" in report
crf = sklearn_crfsuite.CRF(algorithm="lbfgs", max_iterations=10, all_possible_transitions=True)
params_space = {"c1": scipy.stats.expon(scale=0.5), "c2": scipy.stats.expon(scale=0.05)}
f1_scorer = make_scorer(metrics.flat_f1_score, average="weighted", labels=labels, zero_division=0)
rs = RandomizedSearchCV(crf, params_space, cv=3, n_iter=2, scoring=f1_scorer, random_state=0)
rs.fit(X[:60], y[:60])
crf = rs.best_estimator_
print("model size: {:0.2f}M".format(rs.best_estimator_.size_ / 1000000))
for (label_from, label_to), weight in Counter(crf.transition_features_).most_common(3):
    print("%-6s -> %-7s %0.6f" % (label_from, label_to, weight))
for (attr, label), weight in Counter(crf.state_features_).most_common(3):
    print("%0.6f %-8s %s" % (weight, label, attr))
assert not (set(crf.attributes_) - {attr for attr, _ in crf.state_features_})
"""
    )
    printed = run(code, arguments=[tagged]).splitlines()
    assert float(printed[0]) > 0.6
    assert printed[1].startswith("model size: 0.")
    assert len(printed) == 8


def test_eli5_explains_the_weights():
    code = """
import eli5
import sklearn_crfsuite
X, y = [[{"w": "the"}, {"w": "dog"}], [{"w": "Dogs"}, {"w": "bark"}]], [["D", "N"], ["N", "V"]]
crf = sklearn_crfsuite.CRF(c1=0.01, c2=0.01, max_iterations=30).fit(X, y)
print(eli5.format_as_text(eli5.explain_weights(crf, top=5)))
"""
    printed = run(code, "eli5")
    assert "Transition features" in printed
    assert "w:bark" in printed
