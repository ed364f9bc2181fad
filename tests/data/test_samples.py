"""Laws of samples of any kind."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from loglinear import Corpus
from loglinear.data.frames import as_frame
from loglinear.data.samples import rows_of

NUMBERS = np.arange(12.0).reshape(6, 2)
ROWS = np.array([4, 0, 5, 0])


def plain(X):
    if hasattr(X, "tocsr"):
        return X.toarray().tolist()
    frame = None if isinstance(X, (list, np.ndarray)) else as_frame(X)
    return np.asarray(X if frame is None else frame.matrix()).tolist()


@pytest.mark.parametrize("kind", ["list", "array", "csr", "coo", "pandas", "polars", "pyarrow"])
def test_rows_come_in_the_order_of_their_numbers(kind):
    if kind in ("pandas", "polars", "pyarrow"):
        library = pytest.importorskip(kind)
        columns = {"a": NUMBERS[:, 0], "b": NUMBERS[:, 1]}
        X = library.table(columns) if kind == "pyarrow" else library.DataFrame(columns)
    else:
        makers = {"list": np.ndarray.tolist, "csr": scipy.sparse.csr_array, "coo": scipy.sparse.coo_matrix}
        X = makers.get(kind, np.asarray)(NUMBERS)
    assert plain(rows_of(X, ROWS)) == NUMBERS[ROWS].tolist()


def test_rows_of_a_corpus_are_its_sentences():
    corpus = Corpus.encode([[[f"w{at}"]] for at in range(6)], [[str(at)] for at in range(6)])
    assert rows_of(corpus, ROWS).gold() == [[str(at)] for at in ROWS]
