"""Ctrl-C while estimators train, and development data: scored, chosen by, stopped by."""

from __future__ import annotations

import _thread
import json
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from loglinear import ChainCRF, Corpus, GraphCRF, MaxEnt, PairwiseMRF
from loglinear.datasets import demo_paths
from loglinear.errors import OptionError
from loglinear.models.training import run
from loglinear.models.training.chain import evaluate_model
from loglinear.result import Result, Status
from loglinear.solvers import Grafting
from loglinear.trace import Trace, TraceRecord
from oracles.command_line import column_text, sentences

SENTENCES, LABELS = [[["a"], ["b"], ["c"]], [["c"], ["a"]]] * 6, [["A", "B", "C"], ["C", "A"]] * 6
RNG = np.random.default_rng(0)
X, y = RNG.normal(size=(60, 6)), RNG.integers(0, 3, 60)
GRAPHS = [(X[:4], np.array([[0, 1], [1, 2], [2, 3]]))] * 3


def interrupted_at(iteration):
    def interrupt(record, state):
        if record.iteration == iteration:
            raise KeyboardInterrupt

    return [interrupt]


@pytest.mark.parametrize(
    ("estimator", "data"),
    [
        (ChainCRF(), (SENTENCES, LABELS)),
        (ChainCRF(solver="sag"), (SENTENCES, LABELS)),
        (MaxEnt(), (X, y)),
        (MaxEnt(l1=0.1), (X, y > 1)),
        (GraphCRF(), (GRAPHS, [y[:4]] * 3)),
        (PairwiseMRF(l1=0.1, objective="likelihood", inference="exact"), (X > 0,)),
        (PairwiseMRF(l1=0.1, objective="pseudolikelihood"), (X > 0,)),
        (PairwiseMRF(l1="ebic", objective="pseudolikelihood"), (X > 0,)),
    ],
    ids=lambda each: repr(each) if hasattr(each, "fit") else "",
)
def test_ctrl_c_ends_fit_like_any_other_function_and_the_weights_reached_are_kept(estimator, data):
    with pytest.raises(KeyboardInterrupt, match=r"interrupted at iteration \d+; the estimator has the weights"):
        estimator.fit(*data, callbacks=interrupted_at(2))
    result: Result = estimator.result_
    assert result.status is Status.INTERRUPTED
    assert np.isfinite(result.objective)
    assert len(estimator.predict(data[0])) == len(data[0])


@pytest.mark.parametrize(
    ("kind", "options", "data"),
    [
        (ChainCRF, {}, (SENTENCES, LABELS)),
        (MaxEnt, {}, (X, y)),
        (GraphCRF, {"inference": "loopy_bp"}, (GRAPHS, [y[:4]] * 3)),
        (PairwiseMRF, {"l1": 0.1, "objective": "pseudolikelihood"}, (X > 0,)),
    ],
)
def test_a_warning_of_fit_names_the_line_that_calls_fit(kind, options, data):
    with pytest.warns(ConvergenceWarning, match="iteration limit after 1 iteration .*details: result_") as caught:
        kind(max_iterations=1, **options).fit(*data)
    assert caught[0].filename == __file__
    assert ("or use inference='trw'" in str(caught[0].message)) == (kind is GraphCRF)


def test_ctrl_c_ends_a_grid_search():
    fits = []

    def interrupt(record, state):
        fits.append(record.iteration)
        if len(fits) > 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        GridSearchCV(ChainCRF(), {"l2": [0.1, 1.0]}, cv=2).fit(SENTENCES, LABELS, callbacks=[interrupt])
    assert len(fits) == 3


@pytest.mark.thread_unsafe
def test_a_signal_ends_fit():
    crf = ChainCRF(l1=1e-3, max_iterations=None, solver="sgd_l1", solver_options={"passes": 10**6})
    timer = threading.Timer(0.2, _thread.interrupt_main)

    def begin(record, state):
        if record.iteration == 1:
            timer.start()

    with pytest.raises(KeyboardInterrupt, match="the estimator has the weights"):
        crf.fit(SENTENCES * 50, LABELS * 50, callbacks=[begin])
    timer.join()
    assert crf.predict(SENTENCES[:2]) == LABELS[:2]


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """Training and development data of which the training data are soon learnt by heart."""
    folder = tmp_path_factory.mktemp("dev")
    found = []
    for path, name, count in zip(demo_paths(), ("train", "dev"), (40, 60), strict=True):
        (folder / name).write_text(column_text(sentences(path, 0, count)), encoding="utf-8")
        found.append(Corpus.read(folder / name, template="pos"))
    return found


SOON_LEARNT = {"l2": 1e-4, "tolerance": 1e-9, "max_iterations": 60}


def accuracy(crf, corpus):
    return evaluate_model(crf.model_, corpus).accuracy


def test_the_last_record_is_scored_whatever_ends_the_training(corpora):
    train, dev = corpora
    for options in ({"l2": 1.0, "tolerance": 2e-2}, {"l2": 1.0, "max_iterations": 13}):
        crf = ChainCRF(**options)
        if "max_iterations" in options:
            with pytest.warns(ConvergenceWarning):
                crf.fit(train, X_dev=dev)
        else:
            crf.fit(train, X_dev=dev)
        trace = crf.result_.trace
        assert all(record.dev for record in trace)
        assert trace[-1].dev["accuracy"] == accuracy(crf, dev)
    crf = ChainCRF()
    with pytest.warns(ConvergenceWarning, match="callback"):
        crf.fit(train, X_dev=dev, callbacks=[lambda record, state: record.iteration == 3])
    assert crf.result_.trace[-1].dev["accuracy"] == accuracy(crf, dev)
    with pytest.raises(KeyboardInterrupt):
        crf.fit(train, X_dev=dev, callbacks=interrupted_at(4))
    assert crf.result_.trace[-1].dev["accuracy"] == accuracy(crf, dev)


def test_every_line_that_is_shown_has_a_score(corpora, capsys):
    train, dev = corpora
    crf = ChainCRF(verbose=True).fit(train, X_dev=dev)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(crf.result_.trace) > 10
    for line, record in zip(lines, crf.result_.trace, strict=True):
        assert line.endswith(f"dev accuracy {100 * record.dev['accuracy']:.2f}")
    ChainCRF(verbose=True).fit(train, callbacks=[lambda record, state: print("callback", file=sys.stderr)])
    lines = capsys.readouterr().err.splitlines()
    assert set(lines[::2]) == {"callback"}
    assert "callback" not in lines[1::2]


def test_callbacks_see_the_development_score_of_every_step(corpora):
    train, dev = corpora
    seen = []
    crf = ChainCRF(tolerance=2e-2).fit(train, X_dev=dev, callbacks=[lambda record, state: seen.append(record.dev)])
    assert len(seen) == len(crf.result_.trace) > 3
    assert all(seen)
    scores = [scores["accuracy"] for scores in seen]
    assert crf.result_.best.iteration == scores.index(max(scores))


def test_the_best_weights_are_kept_if_asked_for(corpora, tmp_path):
    train, dev = corpora
    with pytest.warns(ConvergenceWarning):
        last = ChainCRF(**SOON_LEARNT).fit(train, X_dev=dev)
    with pytest.warns(ConvergenceWarning):
        best = ChainCRF(keep="best", **SOON_LEARNT).fit(train, X_dev=dev)
    scores = [record.dev["accuracy"] for record in best.result_.trace]
    assert len(scores) == 61
    assert best.result_.kept == scores.index(max(scores)) < 60
    assert accuracy(best, dev) == max(scores) > accuracy(last, dev) == scores[-1]
    record = best.result_.trace[best.result_.kept]
    names = ("objective", "nll", "violation")
    assert [getattr(best.result_, name) for name in names] == [getattr(record, name) for name in names]
    assert best.result_.state is None
    assert best.result_.record is record
    # The result's weights are the model's.
    assert np.count_nonzero(best.result_.w) == best.model_.n_features
    best.save(tmp_path / "m")
    loaded = ChainCRF.load(tmp_path / "m")
    assert (loaded.keep, loaded.patience) == ("best", None)
    training = json.loads(loaded.model_.settings)["training"]
    assert training["kept"] == best.result_.kept
    assert training["dev"]["accuracy"] == max(scores)


@pytest.mark.parametrize("keep", [None, "last", "best"])
def test_training_stops_when_the_score_has_not_risen_for_a_while(corpora, keep):
    train, dev = corpora
    crf = ChainCRF(patience=4, keep=keep, **SOON_LEARNT).fit(train, X_dev=dev)
    assert crf.result_.status is Status.DEV_SCORE_TURNED
    scores = [record.dev["accuracy"] for record in crf.result_.trace]
    assert scores.index(max(scores)) == len(scores) - 1 - 4 < 56
    assert accuracy(crf, dev) == (scores[-1] if keep == "last" else max(scores))
    # A limit that is reached in the same step is the reason that is given.
    options = SOON_LEARNT | {"max_iterations": len(scores) - 1}
    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        ChainCRF(patience=4, keep=keep, **options).fit(train, X_dev=dev)


@pytest.mark.parametrize("resumed", [False, True])
@pytest.mark.parametrize(
    ("scores", "end"),
    [
        ([0.0, 0.0, 0.0, 0.0, 0.0, 0.3, 0.4, 0.4, 0.4], 8),
        ([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], None),
        ([0.5, 0.4, 0.4, 0.4], 2),
        ([0.5, 0.5, 0.4, 0.5, 0.5], 3),
    ],
)
def test_patience_counts_from_the_best_score_and_not_before_the_scores_first_differ(scores, end, resumed):
    def observer():
        scored = iter(scores if not resumed else scores[1:])
        data = run.DevData(lambda w: {"f1": next(scored)}, "f1", dict, run.DevOptions(patience=2))
        return run.DevScores(data)

    records = [TraceRecord(at, 0.0, 0, 0.0, 1.0, 1.0, 1, 1.0) for at in range(len(scores))]
    dev, state = observer(), SimpleNamespace(w=np.zeros(1))
    if resumed:
        records[0].dev = {"f1": scores[0]}
        dev.restore({"w": None}, Trace(records[:1]))
    stopped = [record.iteration for record in records[resumed:] if dev(record, state)]
    assert stopped[:1] == ([] if end is None else [end])


def test_the_last_weights_are_kept_where_they_are_the_best():
    with pytest.warns(ConvergenceWarning):
        crf = ChainCRF(keep="best", max_iterations=1).fit(SENTENCES, LABELS, X_dev=SENTENCES, y_dev=LABELS)
    first, last = (record.dev["accuracy"] for record in crf.result_.trace)
    assert first < last
    assert crf.result_.kept is None


def test_classifiers_keep_the_best_and_stop_early():
    rng = np.random.default_rng(1)
    data = rng.normal(size=(200, 50))
    right = (data[:, :3].sum(axis=1) + rng.normal(size=200) > 0).astype(int) + (data[:, 3] > 1)
    train, dev = slice(60), slice(60, None)
    model = MaxEnt(l2=1e-6, patience=3, solver="lbfgs", tolerance=1e-9).fit(
        data[train], right[train], X_dev=data[dev], y_dev=right[dev]
    )
    assert model.result_.status is Status.DEV_SCORE_TURNED
    scores = [record.dev["accuracy"] for record in model.result_.trace]
    assert model.result_.kept == scores.index(max(scores)) == len(scores) - 4
    assert model.score(data[dev], right[dev]) == max(scores) > scores[-1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"patience": 3}, "patience=3 needs development data"),
        ({"keep": "best"}, "keep='best' needs development data"),
        ({"keep": "first"}, "keep='first' is not one of last, best"),
        ({"patience": 0}, "patience=0 is not a whole number of at least 1"),
        ({"patience": 2.5}, "patience=2.5 is not a whole number"),
    ],
)
def test_options_of_development_data_are_checked(options, said):
    for estimator, data in ((ChainCRF(**options), (SENTENCES, LABELS)), (MaxEnt(**options), (X, y))):
        with pytest.raises(OptionError, match=said):
            estimator.fit(*data)


def test_the_account_says_how_far_the_optimum_is():
    crf = ChainCRF(l2=0.01, tolerance=1e-2).fit(SENTENCES, LABELS)
    result = crf.result_
    objectives = [record.objective for record in result.trace]
    step = (objectives[-6] - objectives[-1]) / 5 / objectives[-1]
    assert result.account == (
        f"converged; objective {result.objective:.2f} "
        f"(relative decrease per step {step:.1e}), violation {result.violation:.3g} "
        f"({result.trace[0].violation:.3g} at the start, 0 at an optimum); "
        f"within {100 * result.relative_gap:.2g} % of the optimum"
    )
    assert result.ending == f"converged after {result.iterations} iterations ({result.seconds:.1f} s)"
    said = r"stopped at the iteration limit after 2 iterations \(\d+\.\d s\), before convergence; raise the limit"
    with pytest.warns(ConvergenceWarning, match=said):
        ChainCRF(max_iterations=2).fit(SENTENCES, LABELS)


def test_a_penalty_that_leaves_no_feature_is_warned_of_at_the_line_that_fits():
    X, y = [[["a"], ["b"]]], [["A", "B"]]
    with pytest.warns(UserWarning, match="no feature is left: l1=100 .* below 0.75") as caught:
        ChainCRF(l1=100.0).fit(X, y)
    with pytest.warns(UserWarning, match="no feature is left") as others:
        MaxEnt(l1=100.0).fit([{"a": 1}, {"b": 1}], ["A", "B"])
    assert {each.filename for each in (*caught, *others)} == {__file__}
    with pytest.warns(UserWarning, match=r"no attribute is left.*lower min_count") as caught:
        ChainCRF(min_count=100).fit(X, y)
    assert [each.filename for each in caught] == [__file__]


@pytest.mark.parametrize("options", [{"max_features": 1}, {"candidates": lambda selection: None}])
def test_a_solver_that_selects_no_feature_does_not_blame_l1(options):
    X, y = [{"a": 1}, {"b": 1}, {"a": 1}], ["A", "B", "A"]
    with pytest.warns(UserWarning, match="no feature is left: the solver selected none; raise max_features, or check"):
        MaxEnt(l1=0.01, solver=Grafting(**options)).fit(X, y)


@pytest.mark.parametrize("keep", ["best", "last"])
def test_the_distance_is_evaluated_again_at_weights_of_an_earlier_iteration(corpora, monkeypatch, keep):
    asked = []
    monkeypatch.setattr(run, "with_distance", lambda problem, result: asked.append(result) or result)
    train, dev = corpora
    with pytest.warns(ConvergenceWarning):
        crf = ChainCRF(keep=keep, **SOON_LEARNT).fit(train, X_dev=dev)
    assert len(asked) == (crf.result_.kept is not None) == (keep == "best")
