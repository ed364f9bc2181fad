"""Labels of training data that break constraints: an error, or repaired, or left out with their sentences."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, get_args

from .. import _core
from ..constraints import Constraints, as_json, resolved
from ..data.corpus import Corpus
from ..errors import DataError, DataWarning, OptionError, warn
from ..schemes import Chunk, chunks

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["POLICIES", "InvalidLabels", "are_bio", "bio_errors", "check_policy", "valid_corpus"]

InvalidLabels = Literal["error", "repair", "skip"]
"""What to do with labels that break the constraints."""

POLICIES: tuple[str, ...] = get_args(InvalidLabels)

# The tags at the beginning and the end of a chunk, and of a chunk of one token.
_TAGS = {"IOBES": ("B", "E", "S"), "BILOU": ("B", "L", "U"), "BMES": ("B", "E", "S")}
# Tags of the second and the third token of a word, in the six-tag scheme of Chinese word segmentation.
_SIX = ("B2", "B3")


def check_policy(policy: str, constraints: Constraints, *, in_parts: bool = False) -> None:
    """Raise OptionError if a policy other than "error" does not apply.

    Args:
        policy: what to do with labels that break the constraints.
        constraints: as they were given.
        in_parts: whether the data are in parts.
    """
    if policy == "error":
        return
    reason = None
    if constraints is None or str(constraints).lower() == "none":
        reason = "needs constraints; add constraints='auto' (--constraints auto)"
    elif policy == "repair" and not isinstance(constraints, str):
        reason = "needs a tagging scheme, but the constraints are pairs of labels; use 'skip'"
    elif in_parts:
        reason = "is not available for data in parts (--workers, --cluster); repair the labels first"
    if reason is not None:
        message = f"invalid_labels={policy!r} {reason}"
        raise OptionError(message)


def valid_corpus(corpus: Corpus, constraints: Constraints, policy: str) -> Corpus:
    """Return a corpus whose labels do not break constraints: the given one, or a repaired or shorter one.

    "repair" reads the chunks of a sentence as conlleval does, and writes them in the scheme. In BIO, the first I of a
    chunk becomes B; in IOB1, a B that does not follow a chunk of its type becomes I; in IOBES, BILOU and BMES, the
    first and the last label of a chunk are set. "skip" leaves the sentences out.

    Args:
        corpus: labelled sentences.
        constraints: resolved constraints; see `loglinear.constraints.resolved`.
        policy: "error", "repair" or "skip".

    Raises:
        DataError: labels break the constraints; names the first one. Or they are partial and cannot be repaired, or no
            sentence is left.

    Warns:
        DataWarning: labels have been repaired, or sentences left out.

    Example:
        >>> import warnings
        >>> from loglinear import Corpus, DataWarning
        >>> from loglinear.objectives.invalid_labels import valid_corpus
        >>> corpus = Corpus.encode([[["in"], ["New"], ["York"]]], [["O", "I-LOC", "I-LOC"]])
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore", DataWarning)
        ...     valid_corpus(corpus, "BIO", "repair").gold()
        [['O', 'B-LOC', 'I-LOC']]
    """
    if constraints is None:
        return corpus
    places = _core.violations(corpus.core, as_json(constraints))
    if not places:
        return corpus
    sentences = list(dict.fromkeys(sentence for sentence, _ in places))
    what = _described(corpus, places) + _meant(corpus, constraints, len(places))
    if policy == "error":
        number = "1 label does" if len(places) == 1 else f"{len(places):,} labels do"
        remedy = "use invalid_labels='repair' or 'skip' (--invalid-labels), or change the constraints"
        message = f"{what}; {number} not fit the constraints: {remedy}"
        raise DataError(message)
    of_all = f"{len(sentences):,} of {len(corpus):,} sentences"
    if policy == "skip":
        valid = _without(corpus, sentences)
        if len(valid.labels) == 1 < len(corpus.labels):
            message = f"only the label {valid.labels[0]!r} is left without the {of_all} whose labels do not fit the "
            message += f"constraints; {what}; use invalid_labels='repair' (--invalid-labels repair), or change the "
            message += "constraints"
            raise DataError(message)
        warn(f"left out {of_all}, whose labels do not fit the constraints; {what}", DataWarning)
        return valid
    assert isinstance(constraints, str)
    valid, n_changed = _repaired(corpus, constraints, sentences)
    labels = "1 label" if n_changed == 1 else f"{n_changed:,} labels"
    warn(f"repaired {labels} in {of_all}; {what}", DataWarning)
    return valid


def _described(corpus: Corpus, places: Sequence[tuple[int, int]]) -> str:
    """Say where the first label is that breaks the constraints, and why."""
    sentence, token = places[0]
    labels = corpus[sentence].core.gold()
    names = [] if labels is None else labels[0]
    place, by = f"sentence {sentence}, token", "the constraints forbid"
    if token == len(names):
        return f"{place} {token - 1}: {by} {names[-1]} at the end of a sentence"
    return (
        f"{place} {token}: {by} {names[token]} {f'after {names[token - 1]}' if token else 'at the start of a sentence'}"
    )


def _meant(corpus: Corpus, constraints: Constraints, n_places: int) -> str:
    """Name the scheme that the labels follow if fewer of them break it; empty if there is none."""
    if not isinstance(constraints, str):
        return ""
    followed = resolved("auto", corpus.core.labels, lambda: are_bio([bio_errors(corpus)]))
    if not isinstance(followed, str) or followed == constraints:
        return ""
    if len(_core.violations(corpus.core, as_json(followed))) >= n_places:
        return ""
    return f"; the labels follow {followed}: constraints={followed!r} (--constraints {followed}) is probably meant"


def _without(corpus: Corpus, sentences: list[int]) -> Corpus:
    """Return the corpus without some sentences, and without labels that occur in these alone."""
    invalid = set(sentences)
    valid = corpus[[number for number in range(len(corpus)) if number not in invalid]]
    if not len(valid):
        message = "no sentence is left: the labels of all sentences break the constraints; change the constraints"
        raise DataError(message)
    return _relabelled(valid, valid.core.labels, valid.core.targets())


def _repaired(corpus: Corpus, scheme: str, sentences: list[int]) -> tuple[Corpus, int]:
    """Return the corpus with the labels of some sentences written in a scheme, and the number of labels changed."""
    names, targets = list(corpus.core.labels), corpus.core.targets()
    numbers = {name: number for number, name in enumerate(names)}
    ends = [0]
    for length in corpus.core.lengths():
        ends.append(ends[-1] + length)
    has_six = any(name in _SIX for name in names)
    n_changed = 0
    for sentence in sentences:
        first, last = ends[sentence], ends[sentence + 1]
        old = targets[first:last].tolist()
        if any(number >= len(names) for number in old):
            message = f"sentence {sentence}: its labels are partial and cannot be repaired; use invalid_labels='skip' "
            message += "(--invalid-labels skip)"
            raise DataError(message)
        labels = _written(chunks([names[number] for number in old]), last - first, scheme, has_six=has_six)
        for label in labels:
            if label not in numbers:
                numbers[label] = len(names)
                names.append(label)
        new = [numbers[label] for label in labels]
        n_changed += sum(before != after for before, after in zip(old, new, strict=True))
        targets[first:last] = new
    return _relabelled(corpus, names, targets), n_changed


def _written(parts: Iterable[Chunk], length: int, scheme: str, *, has_six: bool) -> list[str]:
    """Return the labels of chunks in a scheme."""
    labels, before = ["O"] * length, ("", 0, 0)
    for type_, start, end in parts:
        size = end - start
        if scheme == "BIO":
            tags = ["B"] + ["I"] * (size - 1)
        elif scheme == "IOB1":
            follows = before[2] == start > 0 and before[0] == type_
            tags = ["B" if follows else "I"] + ["I"] * (size - 1)
        else:
            begin, end_tag, single = _TAGS[scheme]
            inside = ["M" if scheme == "BMES" else "I"] * (size - 2)
            if has_six:
                inside[:2] = _SIX[: len(inside)]
            tags = [single] if size == 1 else [begin, *inside, end_tag]
        labels[start:end] = [f"{tag}-{type_}" if type_ else tag for tag in tags]
        before = (type_, start, end)
    return labels


def _relabelled(corpus: Corpus, names: Sequence[str], targets: npt.NDArray[np.uint32]) -> Corpus:
    core = corpus.core.relabelled(names, targets)
    return Corpus(core, corpus.template, corpus.format, corpus.label_type, corpus.columns)


def bio_errors(corpus: Corpus) -> tuple[int, int]:
    """Return the numbers of labels that break BIO and IOB1, which have the same labels."""
    n_bio, n_iob1 = (len(_core.violations(corpus.core, json.dumps(scheme))) for scheme in ("BIO", "IOB1"))
    return n_bio, n_iob1


def are_bio(errors: Iterable[tuple[int, int]]) -> bool:
    """Return whether labels are BIO rather than IOB1: at most as many labels break it.

    Args:
        errors: what `bio_errors` returns, for each part of the data.
    """
    pairs = list(errors)
    return sum(n_bio for n_bio, _ in pairs) <= sum(n_iob1 for _, n_iob1 in pairs)
