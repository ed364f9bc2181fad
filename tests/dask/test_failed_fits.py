"""A fit on a cluster that raises leaves the estimator as it was."""

from __future__ import annotations

import numpy as np
import pytest

from loglinear.dask import ChainCRF, MaxEnt
from loglinear.errors import LogLinearError
from loglinear.models.estimator import Estimator

MATRIX = np.eye(3)
FITS = {
    "MaxEnt": (MaxEnt, ([(MATRIX, ["a", "b", "a"])],), ([(MATRIX[:, :2], [1, 2, 1])],), {"groups": [1, 2, 3]}),
    "ChainCRF": (
        ChainCRF,
        ([[["a"], ["b"]]], [["X", "Y"]]),
        ([[["c"], ["d"]]], [["V", "W"]]),
        {"X_dev": [[["c"]]], "y_dev": [[1]]},
    ),
}


@pytest.mark.smoke
@pytest.mark.parametrize("name", FITS)
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(client, name, monkeypatch):
    kind, data, others, bad = FITS[name]
    model = kind(client=client).fit(*data)
    before = dict(vars(model))

    def check():
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[each] is before[each] for each in before)

    with pytest.raises(LogLinearError):
        model.fit(*others, **bad)
    check()

    def fail(self, *results):
        raise KeyboardInterrupt

    monkeypatch.setattr(Estimator, "_set_results", fail)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*others)
    check()
