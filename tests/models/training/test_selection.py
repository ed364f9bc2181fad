"""The rounds of a selection, on a small chain."""

from __future__ import annotations

import numpy as np

from loglinear import ChainFeatures, ChainObjective, Corpus
from loglinear.minimize import Stop, minimize
from loglinear.models.training.options import SolverOptions
from loglinear.models.training.selection import Rounds, follow_path
from loglinear.penalty import ElasticNet
from loglinear.problem import Problem
from loglinear.result import Status
from loglinear.solvers import GraftingLight

X = [
    ["the", "old", "dog", "barks"],
    ["dogs", "bark"],
    ["the", "dog", "saw", "the", "cat"],
    ["old", "cats", "saw", "dogs"],
]
Y = [["D", "A", "N", "V"], ["N", "V"], ["D", "N", "V", "D", "N"], ["A", "N", "V", "N"]]
TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]\nB2:%x[0,0]\nB\n"


def objective(order=1):
    return ChainObjective(Corpus.encode(X, Y, template=TEMPLATE), ChainFeatures(order=order))


def test_rounds_add_up_to_what_was_selected_and_end_where_others_are():
    problem = Problem(objective(), ElasticNet(l1=0.3))
    scored = []

    def score(w):
        scored.append(np.count_nonzero(w))
        return {"active": scored[-1]}

    rounds, entered = Rounds(score), []
    callbacks = [rounds, lambda record, state: entered.append(state.selected.size)]
    result = minimize(problem, GraftingLight(select=4, steps=2), callbacks=callbacks)
    rounds.close(result)
    sizes = [each.n_features for each in rounds.rounds]
    assert sizes == sorted({0, *entered})
    assert sizes[:4] == [0, 4, 8, 12]
    # As many enter as are selected, or all that are left to enter.
    assert max(np.diff(sizes)) == 4
    assert sizes[-1] == result.state.selected.size
    assert [each.record.dev["active"] for each in rounds.rounds] == scored
    assert rounds.rounds[0].record is result.trace[0]
    assert rounds.rounds[-1].record is result.trace[-1]
    assert [record.dev is not None for record in result.trace].count(True) == len(sizes)


def test_a_path_without_development_data_chooses_its_last_point():
    found = follow_path(ChainObjective(Corpus.encode(X, Y)), SolverOptions(l1=1.0), number=3)
    assert (found.best, found.headline) == (None, None)
    assert len(found.path.points) == 3
    assert found.chosen is found.path.points[-1]


def test_a_round_that_was_stopped_is_the_last_and_has_no_score():
    rounds = Rounds(lambda w: {"accuracy": 1.0})
    solver = GraftingLight(select=4, steps=3)
    result = minimize(Problem(objective(), ElasticNet(l1=0.3)), solver, stop=Stop(max_iterations=5), callbacks=[rounds])
    assert [each.n_features for each in rounds.rounds] == [0, 4]
    rounds.close(result)
    assert [each.n_features for each in rounds.rounds] == [0, 4, 8]
    assert [each.record.dev is None for each in rounds.rounds] == [False, False, True]


def test_an_interrupt_while_a_round_is_scored_loses_no_feature():
    def score(w):
        if w.any():
            raise KeyboardInterrupt
        return {"accuracy": 0.0}

    rounds = Rounds(score)
    result = minimize(Problem(objective(), ElasticNet(l1=0.3)), GraftingLight(select=4, steps=3), callbacks=[rounds])
    assert result.status is Status.INTERRUPTED
    rounds.close(result)
    assert [each.n_features for each in rounds.rounds] == [0, 4, 8]
    assert rounds.rounds[1].record is rounds.rounds[2].record
