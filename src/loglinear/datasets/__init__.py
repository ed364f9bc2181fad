"""The embedded sample, synthetic data, and the folder of larger data sets.

The sample is a part of the Universal Dependencies English Web Treebank, words with their parts of speech. Its licence
is CC BY-SA 4.0: see ATTRIBUTION.md in this folder.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import DataError
from ..extras import needed_by
from ..text_file import read_text
from .chain import ChainSample, make_chain

if TYPE_CHECKING:
    from .network import NetworkSample, make_network

__all__ = ["ChainSample", "NetworkSample", "data_dir", "demo_paths", "load_demo", "make_chain", "make_network"]

_HERE = Path(__file__).parent


def __getattr__(name: str) -> object:
    """Import the networks when they are first used: they need SciPy, and the sample does not."""
    if name not in ("NetworkSample", "make_network"):
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    with needed_by(f"loglinear.datasets.{name}", "sklearn"):
        from . import network
    return getattr(network, name)


def demo_paths() -> tuple[Path, Path]:
    """Return the training and the test file of the embedded sample.

    Both are UTF-8 text compressed by xz, with a line `word TAB XPOS TAB UPOS` for each word, and an empty line after
    each sentence. The labels are the 17 UPOS tags. No line is a comment: words may begin with "#".

    Example:
        >>> from loglinear import Corpus
        >>> from loglinear.datasets import demo_paths
        >>> train, test = demo_paths()
        >>> Corpus.read(test, template="pos")
        <Corpus of 1,655 sentences, 20,304 tokens, 66,420 attributes, 17 labels>
    """
    return _HERE / "ud-english-ewt-train.txt.xz", _HERE / "ud-english-ewt-test.txt.xz"


def load_demo() -> tuple[tuple[list[list[str]], list[list[str]]], tuple[list[list[str]], list[list[str]]]]:
    """Return the sentences of the embedded sample and their parts of speech.

    The training part has 10,445 sentences and 170,047 words, the test part 1,655 sentences and 20,304 words. `fit`
    takes words and tags as they are. `demo_paths` gives the files, which also have the tags of the Penn Treebank.

    Returns:
        Two pairs, training and test. Each pair has the words, a list of str for each sentence, and the tags, a list of
        the same length for each sentence, from the 17 UPOS tags.

    Raises:
        DataError: a file of the sample is damaged.
        OSError: a file of the sample cannot be read.

    Example:
        >>> from loglinear.datasets import load_demo
        >>> (X, y), (X_test, y_test) = load_demo()
        >>> X[3][:3], y[3][:3]
        (['Two', 'of', 'them'], ['NUM', 'ADP', 'PRON'])
        >>> len(X), len(X_test)
        (10445, 1655)
    """
    train, test = map(_words_and_tags, demo_paths())
    return train, test


def _words_and_tags(path: Path) -> tuple[list[list[str]], list[list[str]]]:
    """Return the first and the last column of a file of the sample, as lists for each sentence."""
    sentences = read_text(path).decode().removesuffix("\n\n").split("\n\n")
    rows = [[line.split("\t") for line in sentence.split("\n")] for sentence in sentences]
    words, tags = ([[row[column] for row in sentence] for sentence in rows] for column in (0, -1))
    return words, tags


def data_dir() -> Path:
    """Return the folder of the benchmark data sets, which the environment variable LOGLINEAR_DATA names.

    Raises:
        DataError: the variable is unset, or names no folder.

    Example:
        >>> from unittest.mock import patch
        >>> from loglinear.datasets import data_dir
        >>> with patch.dict("os.environ", LOGLINEAR_DATA="."):
        ...     str(data_dir())
        '.'
    """
    value = os.environ.get("LOGLINEAR_DATA")
    if not value:
        message = "LOGLINEAR_DATA is not set; set it to the folder of the benchmark data sets"
        raise DataError(message)
    path = Path(value).expanduser()
    if not path.is_dir():
        message = f"LOGLINEAR_DATA is {value!r}, which is not a folder"
        raise DataError(message)
    return path
