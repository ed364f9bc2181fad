"""Accuracy, and precision, recall and F1 over chunks, of label sequences.

A chunk is a typed stretch of tokens: a phrase, an entity, a word. One rule reads every tagging scheme (`chunks`). Its
results equal conlleval's (the CoNLL script) on IOB1 and IOB2, and those of seqeval's default mode on IOB1, IOB2 and
IOBES, for well-formed and for malformed sequences. The module imports the standard library alone, to load fast.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from operator import eq
from typing import Any, NamedTuple, TypedDict

from loglinear.errors import DataError, OptionError

Chunk = tuple[str, int, int]
"""Type, first token, one past the last token."""

# The role of each tag in every scheme: B begins, I continues, E ends a chunk; S is a chunk of one token.
_ROLES = {"B": "B", "B2": "I", "B3": "I", "I": "I", "M": "I", "E": "E", "L": "E", "S": "S", "U": "S"}

# The tags of each scheme, besides O.
_TAGS = {
    "IOB": frozenset({"B", "I"}),
    "IOBES": frozenset({"B", "I", "E", "S"}),
    "BILOU": frozenset({"B", "I", "L", "U"}),
    "BMES": frozenset({"B", "B2", "B3", "M", "E", "S"}),
}

# Other names of schemes.
_ALIASES = {"IOB1": "IOB", "IOB2": "IOB", "BIO": "IOB", "BIOES": "IOBES", "BMES6": "BMES"}


class Score(TypedDict):
    """Agreement of predicted with gold items of one chunk type or one label; fractions are 0 where undefined.

    Example:
        >>> from loglinear.metrics import evaluate
        >>> evaluate([["A", "B", "B"]], [["A", "B", "A"]]).per_label["A"]
        {'precision': 0.5, 'recall': 1.0, 'f1': 0.6666666666666666, 'support': 1, 'predicted': 2, 'correct': 1}
    """

    precision: float
    recall: float
    f1: float
    support: int
    predicted: int
    correct: int


class Evaluation(NamedTuple):
    """The result of `evaluate`. Fractions lie between 0 and 1; a quotient with denominator 0 is 0.

    Attributes:
        accuracy: fraction of tokens with the right label.
        sentence_accuracy: fraction of sentences with right labels only.
        precision: fraction of predicted chunks that are gold chunks, all types together; None without a scheme.
        recall: fraction of gold chunks that were predicted; None without a scheme.
        f1: harmonic mean of precision and recall; None without a scheme.
        per_type: chunk type -> `Score`, sorted by name; empty without a scheme.
        per_label: label -> `Score` over tokens, sorted by name; not in `to_dict`.
        n_tokens: number of tokens compared.
        n_sentences: number of sentences compared.
        scheme: the tagging scheme by which chunks were read; None if the labels follow none.

    Example:
        >>> from loglinear.metrics import evaluate
        >>> scores = evaluate([["DET", "NOUN"], ["VERB"]], [["DET", "VERB"], ["VERB"]])
        >>> round(scores.accuracy, 3), scores.sentence_accuracy, scores.f1
        (0.667, 0.5, None)
        >>> sorted(scores.to_dict())[:4]
        ['accuracy', 'f1', 'n_sentences', 'n_tokens']
    """

    accuracy: float
    sentence_accuracy: float
    precision: float | None
    recall: float | None
    f1: float | None
    per_type: dict[str, Score]
    per_label: dict[str, Score]
    n_tokens: int
    n_sentences: int
    scheme: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return everything except `per_label`, ready for JSON."""
        values = self._asdict()
        del values["per_label"]
        return values


def detect_scheme(labels: Iterable[str]) -> str | None:
    """Return the name of the tagging scheme of a label set.

    A label is read as TAG or TAG-TYPE, split at its first dash; "O" is outside every chunk. The schemes, first tried
    first:

    - "IOB": the tags B and I, or nothing but O. IOB1 and IOB2 have the same labels and are read by the same rule.
    - "IOBES" (or BIOES): B, I, E, S.
    - "BILOU": B, I, L, U.
    - "BMES": B, M, E, S, and the six tags B, B2, B3, M, E, S of Chinese word segmentation. It is tried first if no
      label has a type and O is missing, as in a segmentation into words.

    A subset of a scheme's tags belongs to the scheme. If a subset belongs to several schemes, the name does not matter
    to chunks: one rule reads all schemes (`chunks`).

    Args:
        labels: labels, with or without repetitions.

    Returns:
        The name; None if there is no label, or a label belongs to no scheme (a part of speech, for example).

    Example:
        >>> from loglinear.metrics import detect_scheme
        >>> detect_scheme(["O", "B-PER", "I-PER"]), detect_scheme(["B-LOC", "E-LOC"]), detect_scheme(["DET", "NOUN"])
        ('IOB', 'IOBES', None)
    """
    distinct = set(labels)
    if not distinct:
        return None
    if distinct <= _TAGS["BMES"]:
        return "BMES"
    tags = {label.partition("-")[0] for label in distinct - {"O"}}
    return next((scheme for scheme, known in _TAGS.items() if tags <= known), None)


def chunks(labels: Sequence[str], scheme: str | None = None) -> list[Chunk]:
    """Return the chunks of one label sequence, from left to right.

    A chunk starts at B or S, at any tag other than O that follows O, E, S or the start of the sequence, and at every
    change of the type. It ends after E or S, before O, and before the start of another chunk. The rule gives chunks for
    malformed sequences, too. M, B2 and B3 are read as I, L as E, U as S. Segmentation tags have no types, and their
    chunks are words that cover the sequence.

    Args:
        labels: labels TAG or TAG-TYPE, split at the first dash, and "O".
        scheme: "IOB" ("IOB1", "IOB2", "BIO"), "IOBES" ("BIOES"), "BILOU" or "BMES"; None detects it (`detect_scheme`).

    Returns:
        Triples (type, start, end), the end exclusive; the type is "" if the label has none.

    Raises:
        DataError: a label does not belong to the scheme, or the labels follow no scheme.
        OptionError: there is no such scheme.

    Example:
        >>> from loglinear.metrics import chunks
        >>> chunks(["B-PER", "I-PER", "O", "B-LOC"])
        [('PER', 0, 2), ('LOC', 3, 4)]
    """
    _require_scheme(set(labels), scheme)
    return _chunks([_parse(label) for label in labels])


def evaluate(
    gold: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]], *, scheme: str | None = None
) -> Evaluation:
    """Compare predicted label sequences with gold ones.

    Both arguments may be generators: they are read once, and no sentence is kept. An empty sentence counts as a right
    sentence.

    Args:
        gold: the true label sequences.
        predicted: the predicted label sequences: as many, of the same lengths.
        scheme: the tagging scheme of both, as in `chunks`; None detects it from all labels.

    Raises:
        DataError: two sequences differ in length, or the numbers of sequences differ (the message names the sentence,
            counted from 1); a sequence is a string; or a label does not belong to the given scheme.
        OptionError: there is no such scheme.

    Example:
        >>> from loglinear import evaluate
        >>> scores = evaluate([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "I-PER", "O", "O"]])
        >>> scores.accuracy, scores.precision, scores.recall
        (0.75, 1.0, 0.5)
        >>> scores.per_type["LOC"]["support"]
        1
    """
    chunk_counts, label_counts = _Counts(), _Counts()
    parsed: dict[str, tuple[str, str]] = {}
    labels: set[str] = set()
    n_tokens = n_sentences = n_right = n_right_sentences = 0
    for true, guess in _pairs(gold, predicted):
        n_sentences += 1
        n_tokens += len(true)
        n_right += sum(map(eq, true, guess))
        n_right_sentences += true == guess
        label_counts.add(true, guess, [t for t, g in zip(true, guess, strict=True) if t == g])
        for label in {*true, *guess} - labels:
            labels.add(label)
            if _is_tag(label):
                parsed[label] = _parse(label)
        if len(parsed) == len(labels):
            chunk_counts.add_chunks(_chunks([parsed[y] for y in true]), _chunks([parsed[y] for y in guess]))
    if scheme is None:
        scheme = detect_scheme(labels)
    else:
        scheme = _require_scheme(labels, scheme)
    micro = chunk_counts.micro() if scheme else None
    return Evaluation(
        accuracy=_quotient(n_right, n_tokens),
        sentence_accuracy=_quotient(n_right_sentences, n_sentences),
        precision=micro["precision"] if micro else None,
        recall=micro["recall"] if micro else None,
        f1=micro["f1"] if micro else None,
        per_type=chunk_counts.scores() if scheme else {},
        per_label=label_counts.scores(),
        n_tokens=n_tokens,
        n_sentences=n_sentences,
        scheme=scheme,
    )


class _Counts:
    """Numbers of gold, predicted and correct items, by name."""

    def __init__(self) -> None:
        self.by_name: dict[str, list[int]] = {}

    def add(self, gold: Iterable[str], predicted: Iterable[str], correct: Iterable[str]) -> None:
        for column, names in enumerate((gold, predicted, correct)):
            for name in names:
                self.by_name.setdefault(name, [0, 0, 0])[column] += 1

    def add_chunks(self, gold: list[Chunk], predicted: list[Chunk]) -> None:
        both = set(gold) & set(predicted)
        self.add(*([type_ for type_, _, _ in found] for found in (gold, predicted, both)))

    def scores(self) -> dict[str, Score]:
        return {name: _score(*self.by_name[name]) for name in sorted(self.by_name)}

    def micro(self) -> Score:
        support, predicted, correct = (sum(counts[i] for counts in self.by_name.values()) for i in range(3))
        return _score(support, predicted, correct)


def _score(support: int, predicted: int, correct: int) -> Score:
    return {
        "precision": _quotient(correct, predicted),
        "recall": _quotient(correct, support),
        "f1": _quotient(2 * correct, support + predicted),
        "support": support,
        "predicted": predicted,
        "correct": correct,
    }


def _quotient(numerator: int, denominator: int) -> float:
    return numerator / denominator if denominator else 0.0


def _is_tag(label: str) -> bool:
    return label == "O" or label.partition("-")[0] in _ROLES


def _parse(label: str) -> tuple[str, str]:
    """Role and type of a label that is a tag."""
    if label == "O":
        return "O", ""
    tag, _, type_ = label.partition("-")
    return _ROLES[tag], type_


def _chunks(parsed: Sequence[tuple[str, str]]) -> list[Chunk]:
    found: list[Chunk] = []
    start, open_type = -1, ""
    for i, (role, type_) in enumerate(parsed):
        if start >= 0 and (role in "OBS" or type_ != open_type):
            found.append((open_type, start, i))
            start = -1
        if role == "O":
            continue
        if start < 0:
            start, open_type = i, type_
        if role in "ES":
            found.append((open_type, start, i + 1))
            start = -1
    if start >= 0:
        found.append((open_type, start, len(parsed)))
    return found


def _require_scheme(labels: Iterable[str], scheme: str | None) -> str:
    """Return the scheme's own name after a check that every label belongs to it."""
    labels = sorted(labels)
    if scheme is None:
        detected = detect_scheme(labels)
        if detected is None and labels:
            message = (
                f"the labels {', '.join(map(repr, labels[:8]))} follow no chunk tagging scheme ({', '.join(_TAGS)})"
            )
            raise DataError(message)
        return detected or "IOB"
    name = _ALIASES.get(scheme.upper(), scheme.upper())
    if name not in _TAGS:
        message = f"unknown tagging scheme {scheme!r}; known: {', '.join([*_TAGS, *_ALIASES])}"
        raise OptionError(message)
    for label in labels:
        if label != "O" and label.partition("-")[0] not in _TAGS[name]:
            message = f"label {label!r} does not belong to the scheme {name}; scheme=None detects the scheme"
            raise DataError(message)
    return name


def _pairs(gold: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]]) -> Iterator[tuple[list[str], list[str]]]:
    for number, (true, guess) in enumerate(zip_longest(gold, predicted), start=1):
        if true is None or guess is None:
            short, long = ("gold", "predicted") if true is None else ("predicted", "gold")
            message = f"sentence {number}: {short} has no more sequences, but {long} goes on"
            raise DataError(message)
        if isinstance(true, str) or isinstance(guess, str):
            message = f"sentence {number} is a string; evaluate takes sequences of label sequences"
            raise DataError(message)
        if len(true) != len(guess):
            message = f"sentence {number}: {len(true)} gold labels, but {len(guess)} predicted"
            raise DataError(message)
        yield list(true), list(guess)
