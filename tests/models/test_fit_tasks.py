"""Callbacks of scikit-learn, from version 1.9 on: which tasks they see of a training, and with which estimator."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from loglinear import ChainCRF, GraphCRF, MaxEnt, MissingPackageError, PairwiseMRF, Status, TextClassifier, grid_edges
from loglinear.datasets import make_network

callback = pytest.importorskip("sklearn.callback")

X = np.random.default_rng(0).normal(size=(80, 3))
y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
SENTENCES = [["Dogs", "bark"], ["Cats", "sleep"], ["the", "dog", "barks"]]
LABELS = [["N", "V"], ["N", "V"], ["D", "N", "V"]]
GRAPH = (np.random.default_rng(0).normal(size=(6, 1)), grid_edges(2, 3))


class Recorder:
    """Writes down what it sees; asks for a stop at the end of an iteration, if it is told to."""

    max_propagation_depth = None

    def __init__(self, stop_after=None):
        self.seen, self.estimators, self.stop_after = [], [], stop_after

    def setup(self, estimator, context):
        self.seen.append("setup")

    def teardown(self, estimator, context):
        self.seen.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.seen.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None):
        self.seen.append(("end", context.task_name, context.task_id))
        if context.task_name == "iteration" and X is not None:
            self.estimators.append((fitted_estimator, X, y, metadata))
            return context.task_id + 1 == self.stop_after
        return False


def trainings():
    yield "MaxEnt", MaxEnt(l2=0.5), (X, y)
    yield "MaxEnt of attributes", MaxEnt(l1=0.1), ([["a"], ["b"], ["a", "c"]], [0, 1, 0])
    yield "ChainCRF", ChainCRF(template="pos", l2=0.5), (SENTENCES, LABELS)
    yield "TextClassifier", TextClassifier(l2=0.5), (["good day", "bad day", "good"], ["+", "-", "+"])
    yield "GraphCRF", GraphCRF(l2=0.5), ([GRAPH], [[0, 1, 1, 0, 0, 1]])


cases = pytest.mark.parametrize(
    ("estimator", "data"), [each[1:] for each in trainings()], ids=[each[0] for each in trainings()]
)


def probabilities(estimator, X):
    return estimator.predict_marginals(X) if isinstance(estimator, ChainCRF) else estimator.predict_proba(X)


@cases
def test_every_iteration_is_a_task_within_the_training(estimator, data):
    recorder = Recorder()
    n = clone(estimator).set_callbacks(recorder).fit(*data).result_.iterations
    assert recorder.seen[:2] == ["setup", ("begin", "fit", 0)]
    assert recorder.seen[-2:] == [("end", "fit", 0), "teardown"]
    steps = [event for at in range(n + 1) for event in (("begin", "iteration", at), ("end", "iteration", at))]
    assert recorder.seen[2:-2] == steps
    assert len(recorder.estimators) == n


@cases
def test_the_estimator_of_an_iteration_is_what_training_would_give_if_it_ended_there(estimator, data):
    recorder = Recorder()
    clone(estimator).set_callbacks(recorder).fit(*data)
    early, given, _, metadata = recorder.estimators[1]
    assert given is data[0]
    assert metadata is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has not converged
        stopped = clone(estimator).set_params(max_iterations=2).fit(*data)
    for sample, other in zip(probabilities(early, data[0]), probabilities(stopped, data[0]), strict=True):
        np.testing.assert_equal(sample, other)


@cases
def test_a_callback_ends_the_training(estimator, data):
    with pytest.warns(match="stopped by a callback"):
        model = clone(estimator).set_callbacks(Recorder(stop_after=1)).fit(*data)
    assert (model.result_.status, model.result_.iterations) == (Status.STOPPED_BY_CALLBACK, 1)


def test_callbacks_do_not_change_the_weights_and_leave_nothing_behind():
    plain = MaxEnt(l2=0.5).fit(X, y)
    seen = MaxEnt(l2=0.5).set_callbacks(Recorder()).fit(X, y)
    np.testing.assert_array_equal(plain.coef_, seen.coef_)
    assert {*vars(seen)} - {*vars(plain)} == {"_skl_callbacks"}
    assert {*vars(seen.set_callbacks())} == {*vars(plain)}


def test_more_iterations_than_the_limit_are_those_of_several_models():
    recorder = Recorder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MaxEnt(multi_class="ovr", max_iterations=2).set_callbacks(recorder).fit(X, np.arange(80) % 3)
    assert recorder.seen.count("setup") == 1
    assert len(recorder.estimators) == sum(result.iterations for result in model.results_)
    assert {fitted for fitted, *_ in recorder.estimators} == {None}
    path = Recorder()
    table = make_network("chain", n_variables=3, n_samples=200, strength=3.0, random_state=0).X
    PairwiseMRF(l1="ebic", objective="pseudolikelihood", max_iterations=50).set_callbacks(path).fit(table)
    assert len(path.estimators) > 51


def test_scores_of_each_iteration_in_a_search_and_a_pipeline():
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = make_pipeline(StandardScaler(), MaxEnt().set_callbacks(monitor)).fit(X, y)
    rows = [row for row in monitor.get_logs().data if row["task_name"] == "iteration"]
    assert len(rows) == model[-1].result_.iterations
    assert rows[-1]["accuracy"] == model.score(X, y)
    recorder = Recorder()
    search = GridSearchCV(make_pipeline(MaxEnt()), {"maxent__l2": [0.1, 1.0]}, cv=2).set_callbacks(recorder)
    fitted = search.fit(X, y).best_estimator_[-1]
    assert recorder.seen.count(("begin", "iteration", 0)) == 5
    assert "_skl_callbacks" not in vars(fitted)
    assert "_parent_callback_ctx" not in vars(fitted)


def test_callbacks_get_the_weights_of_samples():
    recorder, weights = Recorder(), np.linspace(0.5, 1.5, 80)
    MaxEnt().set_callbacks(recorder).fit(X, y, sample_weight=weights)
    assert recorder.estimators[0][3] == {"sample_weight": weights}


def test_a_failed_training_tears_callbacks_down_and_leaves_the_estimator():
    recorder = Recorder()
    model = MaxEnt().set_callbacks(recorder)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((3, 1), np.nan), [0, 1, 0])
    assert recorder.seen == ["setup", ("begin", "fit", 0), "teardown"]
    model.fit(X, y)
    assert recorder.seen.count("setup") == recorder.seen.count("teardown") == 2


def test_only_callbacks_of_scikit_learn_are_accepted():
    with pytest.raises(TypeError, match="callbacks must be instances"):
        ChainCRF().set_callbacks(print)


def test_older_versions_of_scikit_learn_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    with pytest.raises(MissingPackageError, match=r"scikit-learn 1\.9 or later, and 1\.\d.* is installed"):
        MaxEnt().set_callbacks(Recorder())


@pytest.mark.slow
def test_a_chain_without_callbacks_does_not_import_scikit_learn():
    program = "import sys; from loglinear import ChainCRF; ChainCRF().fit([[['a'], ['b']]], [['A', 'B']]); "
    program += "assert 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
