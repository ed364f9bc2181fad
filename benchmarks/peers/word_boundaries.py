"""Where a word ends in Chinese text, as a classification: PFR 199801, a month of the People's Daily split into words.

A sample is a place between two characters of a line, of class 1 if a word ends there. Its nine attributes are the
characters, pairs and triples of characters around it: 1,822,173 samples and 2,609,645 columns.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

# Offsets of an attribute's characters from the one before the place.
TEMPLATES = ((-1,), (0,), (1,), (2,), (-1, 0), (0, 1), (1, 2), (-1, 0, 1), (0, 1, 2))
SHAPE = (1_822_173, 2_609_645)
# Stands before, after and between lines; twice, so that no attribute reaches beyond it.
PADDING = "\0\0"
INSIDE, END_OF_WORD, END_OF_LINE = range(3)


def characters(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The characters of a file, as numbers from 0 on, and what comes after each."""
    text, after = [PADDING], [END_OF_LINE] * len(PADDING)
    for line in path.read_text(encoding="utf-8-sig").splitlines():
        words = line.split()
        if words:
            for word in words:
                after += [*([INSIDE] * (len(word) - 1)), END_OF_WORD]
            after[-1] = END_OF_LINE
            after += [END_OF_LINE] * len(PADDING)
            text += [*words, PADDING]
    codes = np.frombuffer("".join(text).encode("utf-32-le"), dtype=np.uint32)
    return np.unique(codes, return_inverse=True)[1].astype(np.int64), np.array(after, dtype=np.int8)


def load(data: Path, samples: int | None = None) -> tuple[csr_array, np.ndarray]:
    """X of ones, shape (n_samples, n_columns), and y of zeros and ones, shape (n_samples,).

    Args:
        data: the folder of the corpora.
        samples: only so many, the first ones, and the columns that they have; None for all.

    Raises:
        ValueError: the samples and columns are not as many as they should be.
    """
    character, after = characters(data / "pfr199801" / "words.txt")
    places = np.flatnonzero(after != END_OF_LINE)[:samples]
    many, columns, width = character.max() + 1, [], 0
    for template in TEMPLATES:
        code = np.zeros(len(places), dtype=np.int64)
        for offset in template:
            code = code * many + character[places + offset]
        names, number = np.unique(code, return_inverse=True)
        columns.append((number + width).astype(np.int32))
        width += len(names)
    start = np.arange(0, len(places) * len(TEMPLATES) + 1, len(TEMPLATES), dtype=np.int32)
    shape = (len(places), width)
    if samples is None and shape != SHAPE:
        message = f"PFR 199801 gives samples and columns {shape}, not {SHAPE}"
        raise ValueError(message)
    indices = np.stack(columns, axis=1).ravel()
    return csr_array((np.ones(len(indices)), indices, start), shape=shape), after[places].astype(np.int64)
