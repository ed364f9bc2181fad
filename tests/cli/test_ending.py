"""The end of a training says how certain the optimum is, in words."""

import re
import time
from dataclasses import replace

import numpy as np
import pytest

from loglinear.cli.ending import best_step, certainty, ending, numbers
from loglinear.cli.kinds.inspected import training_lines
from loglinear.cli.progress import Progress
from loglinear.models.explain.reports import training_rows
from loglinear.models.files.settings import training_summary
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
        (replace(result(Status.GAP_REACHED, gap=1e-9), requested_gap=1e-10), "within 1e-08 % of the optimum"),
        (result(Status.GAP_REACHED, gap=0.1), "within 0.1 % of the optimum"),
        (result(Status.MAX_ITERATIONS, gap=0.05), "within 0.05 % of the optimum; stopped at the iteration limit"),
        (result(gap=5.0), "probably close to the optimum, and at most 5 % from it; lower --tolerance to get closer"),
        (result(), "probably close to the optimum"),
        (result(violation=5.0), "not certain: distance from the optimum unknown; lower --tolerance to get closer"),
        (result(violation=5.0, gap=5.0), "not certain: at most 5 % from the optimum; lower --tolerance to get closer"),
        (result(Status.MAX_ITERATIONS), "not certain: stopped at the iteration limit, before convergence; raise --max"),
        (result(Status.PASSES_MADE), "not certain: the solver made the requested number of passes"),
        (result(Status.PASSES_DIVERGED), "not certain: diverged: the passes ended above the objective at weights of 0"),
        (result(Status.DEV_SCORE_TURNED), "the development score no longer improves"),
        (result(Status.STALLED), "not certain: stalled"),
    ],
)
def test_the_certainty_of_an_optimum_is_said_in_words(outcome, said):
    assert certainty([outcome]).startswith(said)
    assert "violation" not in certainty([outcome])


@pytest.mark.parametrize("gap", [None, 0.5, 5.0])
@pytest.mark.parametrize("violation", [1e-9, 5.0])
@pytest.mark.parametrize("kept", [None, 1])
def test_a_gap_that_was_not_proved_is_told_however_sure_the_optimum_is(gap, violation, kept):
    ended = result(gap=gap, violation=violation, scores=(0.1, 0.75, 0.5), kept=kept)
    proof = "; --tolerance 0 waits for the proof of --gap 0.001"
    assert proof not in certainty([ended])
    assert certainty([replace(ended, requested_gap=1e-3)]).endswith(proof)
    assert proof not in certainty([replace(ended, requested_gap=1e-3)], remedies=False)


def test_the_end_names_the_solver_that_was_chosen():
    chosen = replace(result(), chosen="two_stage (no L1 penalty, and 9 pairs of token and label)")
    assert ending([chosen]) == "done: 0 iterations of two_stage, 0.5 s"


def test_no_flag_is_recommended_to_a_command_that_does_not_have_it():
    for status in Status:
        for outcome in (result(status), result(status, violation=5.0), result(status, gap=5.0)):
            assert "--" not in certainty([outcome], remedies=False)


@pytest.mark.parametrize(("gap", "more"), [(None, ""), (50.0, ""), (0.5, "; within 0.5 % of the optimum")])
def test_the_end_describes_the_weights_that_were_kept_and_not_the_last_ones(gap, more):
    best = result(scores=(0.1, 0.75, 0.5), kept=1, violation=5.0, gap=gap)
    assert certainty([best]) == f"weights of iteration 1, the best on the development data{more}"
    stopped = result(Status.MAX_ITERATIONS, scores=(0.1, 0.75, 0.5), kept=1, gap=gap)
    assert certainty([stopped]).startswith(f"{certainty([best]).partition(';')[0]}; stopped at the iteration limit")
    assert best.account.startswith("converged at iteration 2; weights of iteration 1, the best on the development data")
    assert "decrease per step" not in best.account
    assert str(best).split() == best.account.split()
    (lines,) = [training_lines({**training_summary([best]), "n_sentences": 1})]
    assert "                 weights of iteration 1, the best on the development data" in lines


def test_the_time_of_a_training_counts_all_that_was_done_and_not_the_solver_alone():
    assert ending([result()], seconds=22.0) == "done: 0 iterations, 22.0 s"
    with Progress(None, quiet=True) as progress:
        time.sleep(0.01)
        assert 0.01 <= progress.elapsed < 5.0


def test_scores_have_one_unit_and_one_spelling_wherever_they_are_shown():
    best = result(scores=(0.1, 0.588), kept=1)
    said = "F1 58.80, accuracy 90.00"
    assert f"dev: {said}" in numbers([best])
    assert training_rows(training_summary([best]))["scores on development data"] == said
    assert best.record.headline == "F1 58.80"


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


@pytest.mark.parametrize(
    "command", ["train data --preset pos", "train data --preset pos --model-type maxent", "structure table --l1 0.5"]
)
def test_each_training_shows_the_numbers_for_experts_on_demand_alone(done, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_text("the D\ndog N\n\nit P\nbarks V\n")
    (tmp_path / "table").write_text("a,b\n" + "x,y\nu,v\n" * 20 + "x,v\n")
    plain, verbose = (
        [re.sub(r"\d+\.\d s", "", line) for line in done(*command.split(), "-m", "m", *more).stderr.splitlines()]
        for more in ((), ("-v",))
    )
    added = [line for line in verbose if line not in plain]
    assert [line for line in plain if line not in verbose] == []
    assert re.match(r"converged.*; objective [\d.]+ .*, violation ", added[0]), added
    assert re.match(r"[\d,]+ active features of [\d,]+", added[1]), added
    assert all(line.startswith("solver ") for line in added[2:])
