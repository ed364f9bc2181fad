"""Lines of `verbose`, which decide nothing about the training."""

from __future__ import annotations

import io
import sys

import pytest

from loglinear import ChainCRF


class Full(io.StringIO):
    """A stream behind which the disk is full."""

    def write(self, text):
        raise OSError(28, "No space left on device")


def test_lines_of_verbose_that_cannot_be_written_do_not_end_a_training(monkeypatch):
    X, y = [[["a"], ["b"]]] * 3, [["A", "B"]] * 3
    expected = ChainCRF(l2=0.1).fit(X, y).result_.w
    monkeypatch.setattr(sys, "stderr", Full())
    with pytest.warns(UserWarning, match="stderr cannot be written") as caught:
        crf = ChainCRF(l2=0.1, verbose=True).fit(X, y)
    assert len(caught) == 1
    assert (crf.result_.w == expected).all()
    monkeypatch.setattr(sys, "stderr", None)
    assert (ChainCRF(l2=0.1, verbose=True).fit(X, y).result_.w == expected).all()


def test_an_error_of_a_callback_ends_the_training():
    def broken(record, state):
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        ChainCRF(l2=0.1).fit([[["a"], ["b"]]], [["A", "B"]], callbacks=[broken])
