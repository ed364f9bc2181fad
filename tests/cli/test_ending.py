"""The end of a training says how certain the optimum is, in words."""

from dataclasses import replace

import numpy as np
import pytest

from loglinear.cli.ending import best_step, certainty, ending
from loglinear.result import Result, Status
from loglinear.trace import Trace, TraceRecord


def result(status=Status.CONVERGED, *, gap=None, violation=1e-9, scores=(), kept=None):
    """Return the end of a training with an objective of 100 nats."""
    steps = [
        TraceRecord(at, at, at, 0.1 * at, 100.0, 90.0, 3, 10.0, dev={"f1": score, "accuracy": 0.9})
        for at, score in enumerate(scores)
    ] or [TraceRecord(0, 0, 0, 0.0, 100.0, 90.0, 3, 10.0)]
    n = len(steps) - 1
    return Result(np.ones(3), status, Trace(steps), 100.0, 90.0, violation, n, n, n, 0.5, None, kept, gap=gap)


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (result(gap=0.05), "within 0.05 % of the optimum"),
        (result(gap=1e-9), "within 0.01 % of the optimum"),
        (result(Status.GAP_REACHED, gap=0.1), "within 0.1 % of the optimum"),
        (result(Status.MAX_ITERATIONS, gap=0.05), "within 0.05 % of the optimum; stopped at the iteration limit"),
        (result(gap=5.0), "probably close to the optimum, and at most 5 % from it; lower --tolerance to get closer"),
        (result(), "probably close to the optimum"),
        (result(violation=5.0), "converged; how far from the optimum is not known; lower"),
        (result(violation=5.0, gap=5.0), "not certain: the objective hardly decreases, but may be 5 % from the optimu"),
        (result(Status.MAX_ITERATIONS), "not certain: stopped at the iteration limit, before convergence; raise --max"),
        (result(Status.PASSES_MADE), "not certain: the solver made the requested number of passes"),
        (result(Status.DEV_SCORE_TURNED), "the development score no longer improves"),
        (result(Status.STALLED), "not certain: stalled"),
    ],
)
def test_the_certainty_of_an_optimum_is_said_in_words(outcome, said):
    assert certainty([outcome]).startswith(said)
    assert "violation" not in certainty([outcome])


def test_no_flag_is_recommended_to_a_command_that_does_not_have_it():
    for status in Status:
        for outcome in (result(status), result(status, violation=5.0), result(status, gap=5.0)):
            assert "--" not in certainty([outcome], remedies=False)


def test_several_models_are_as_certain_as_the_least_certain_one():
    several = [result(gap=0.01), result(Status.MAX_ITERATIONS), result(gap=0.02)]
    assert certainty(several).startswith("not certain: ")
    assert ending(several, "model 1 kB") == "stopped: 3 models, one per class, 0 iterations, 1.5 s, model 1 kB"


def test_the_end_names_the_step_that_was_kept_and_how_to_keep_a_better_one():
    last = result(scores=(0.1, 0.75, 0.5))
    assert ending([last]) == "done: 2 iterations, 0.5 s, dev F1 50.00 at iteration 2"
    assert best_step(last) == ["the best iteration was 1, with dev F1 75.00; add --keep best to keep its weights"]
    best = replace(last, kept=1)
    assert ending([best]) == "done: 2 iterations, 0.5 s, dev F1 75.00 at iteration 1 (the best)"
    assert best_step(best) == []
    tied = result(scores=(0.1, 0.75, 0.75))
    assert ending([tied]) == "done: 2 iterations, 0.5 s, dev F1 75.00 at iteration 2 (the best)"
    assert best_step(tied) == []
    assert best_step(result(scores=(0.5, 0.75))) == best_step(result()) == []


@pytest.mark.parametrize(("status", "word"), [(Status.INTERRUPTED, "interrupted"), (Status.STALLED, "stopped")])
def test_a_training_that_did_not_converge_is_not_done(status, word):
    assert ending([result(status)]) == f"{word}: 0 iterations, 0.5 s"
