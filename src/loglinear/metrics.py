"""Accuracy, precision, recall and F1 of labels and of chunks, and the confusions between labels.

The module imports the standard library alone, to load fast. `loglinear.schemes` says how chunks are read,
`loglinear.calibration` compares confidences with what is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict

from loglinear.calibration import calibration, tagging_calibration
from loglinear.data.columns import as_lists
from loglinear.data.labels import check_comparable
from loglinear.display.fragment import in_notebook
from loglinear.display.scores import confusions_html, per_cent, scores_html
from loglinear.display.table import data_frame, facts
from loglinear.errors import DataError, DataWarning, warn
from loglinear.options import one_of
from loglinear.schemes import (
    Chunk,
    checked_scheme,
    chunks,
    detect_scheme,
    found_scheme,
    is_tag,
    parsed_tag,
    read_chunks,
)
from loglinear.score_tables import confusion_matrix, most_frequent_confusions, score_table
from loglinear.visible import counted, listed

if TYPE_CHECKING:
    import pandas

    from loglinear.data.inputs import Labels

__all__ = [
    "Chunk",
    "Evaluation",
    "Score",
    "calibration",
    "chunk_f1",
    "chunk_f1_scorer",
    "chunk_scores",
    "chunks",
    "detect_scheme",
    "evaluate",
    "tagging_calibration",
]

# Fewest tokens on which labels that gold and predicted data do not share are worth a warning.
_FEW_TOKENS = 20


class Score(TypedDict):
    """Precision, recall and F1 of one chunk type or one label; 0 where undefined.

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
    """The result of `evaluate`. Scores are between 0 and 1; 0 where undefined.

    Attributes:
        accuracy: fraction of tokens with the correct label.
        sentence_accuracy: fraction of sentences without a wrong label.
        precision: fraction of predicted chunks that are correct, all types together; None without a scheme.
        recall: fraction of gold chunks that were predicted; None without a scheme.
        f1: harmonic mean of precision and recall; None without a scheme.
        per_type: chunk type -> `Score`, sorted by name; empty without a scheme.
        per_label: label -> `Score` over tokens, sorted by name.
        n_tokens: number of tokens compared.
        n_sentences: number of sentences compared.
        scheme: tagging scheme of the chunks; None if the labels do not follow one.
        mode: how chunks were counted, "conlleval" or "strict"; None without a scheme.
        confusion: gold label -> predicted label -> number of tokens; sorted by name, without zeros.

    Example:
        >>> from loglinear.metrics import evaluate
        >>> scores = evaluate([["DET", "NOUN"], ["VERB"]], [["DET", "VERB"], ["VERB"]])
        >>> round(scores.accuracy, 3), scores.sentence_accuracy, scores.f1
        (0.667, 0.5, None)
        >>> scores.confusion["NOUN"]
        {'VERB': 1}
    """

    accuracy: float
    sentence_accuracy: float
    precision: float | None
    recall: float | None
    f1: float | None
    per_type: dict[str, Score]
    per_label: dict[Any, Score]
    n_tokens: int
    n_sentences: int
    scheme: str | None
    mode: str | None
    confusion: dict[Any, dict[Any, int]]

    @property
    def averages(self) -> dict[str, dict[str, float]]:
        """Precision, recall and F1 of the labels, averaged: "macro" weights labels equally, "weighted" by support."""
        return _averages(self.per_label.values())

    @property
    def type_averages(self) -> dict[str, dict[str, float]]:
        """Precision, recall and F1 of the chunk types, averaged likewise; empty without a scheme."""
        return {} if self.scheme is None else _averages(self.per_type.values())

    def to_frame(self, by: Literal["type", "label"] | None = None) -> pandas.DataFrame:
        """Return the scores of chunk types, or of labels, as a pandas DataFrame with the columns of `Score`.

        Args:
            by: "type" or "label"; by default types if the labels follow a tagging scheme.

        Raises:
            MissingPackageError: pandas is not installed.
            OptionError: unknown rows, or types of labels without a scheme.
        """
        if by is None:
            by = "label" if self.scheme is None else "type"
        one_of("by", by, ("label",) if self.scheme is None else ("type", "label"))
        rows = self.per_label if by == "label" else self.per_type
        columns = {by: [*rows]} | {name: [dict(row)[name] for row in rows.values()] for name in Score.__annotations__}
        return data_frame("Evaluation.to_frame", columns, by)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: accuracies, scores of chunks or else of labels, and confusions to unfold."""
        overall: dict[str, float | None] = {"accuracy": self.accuracy, "sentence accuracy": self.sentence_accuracy}
        overall |= {"precision": self.precision, "recall": self.recall, "F1": self.f1}
        rows = {"data": f"{counted(self.n_sentences, 'sentence')}, {counted(self.n_tokens, 'token')}"}
        rows |= {name: f"{per_cent(share)} %" for name, share in overall.items() if share is not None}
        by, scores = ("label", self.per_label) if self.scheme is None else ("type", self.per_type)
        return in_notebook(facts(rows, "evaluation") + scores_html(by, scores) + confusions_html(self.confusion))

    def to_dict(self, *, samples: bool = False) -> dict[str, Any]:
        """Return everything, ready for JSON.

        Args:
            samples: whether tokens are samples of a classifier: `n_samples` stands for `n_tokens`, and sentences are
                left out.
        """
        values = self._asdict() | {"averages": self.averages, "type_averages": self.type_averages}
        if samples:
            del values["sentence_accuracy"], values["n_sentences"]
            values["n_samples"] = values.pop("n_tokens")
        return values

    def __str__(self) -> str:
        """Return the tables of `report`."""
        return self.report()

    def report(self, *, samples: bool = False, noun: str = "sample", width: int = 60) -> str:
        """Return tables for people, in per cent: accuracies; scores of chunks, or else of labels; confusions.

        ``print(evaluation)`` shows them, too.

        Args:
            samples: whether tokens are samples of a classifier, and sentences are to be left out.
            noun: what a sample is called, such as text.
            width: columns of the terminal: longer names lose their middle, and a confusion matrix that is wider gives
                way to the most frequent confusions.
        """
        sizes = {noun: self.n_tokens} if samples else {"sentence": self.n_sentences, "token": self.n_tokens}
        head = ", ".join(counted(n, noun) for noun, n in sizes.items())
        lines = [head, f"accuracy           {100 * self.accuracy:6.2f}"]
        if not samples:
            lines.append(f"sentence accuracy  {100 * self.sentence_accuracy:6.2f}")
        lines += ["", *(self._label_table(width) if self.scheme is None else self._chunk_table(width))]
        matrix = confusion_matrix([*self.per_label], self.confusion, width)
        lines += ["", *(matrix or most_frequent_confusions(self.confusion, width))]
        return "\n".join(lines).rstrip()

    def _chunk_table(self, width: int) -> list[str]:
        strict = f" (strict {self.scheme})" if self.mode == "strict" else ""
        total = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        support = sum(scores["support"] for scores in self.per_type.values())
        rows = [(name or "words", scores) for name, scores in self.per_type.items()]
        averages = {f"{name} average": scores | {"support": support} for name, scores in self.type_averages.items()}
        rows += [("overall", total | {"support": support}), *averages.items()]  # type: ignore[list-item]
        return score_table(f"chunks{strict}", rows, width)

    def _label_table(self, width: int) -> list[str]:
        averages = {f"{name} average": scores | {"support": self.n_tokens} for name, scores in self.averages.items()}
        return score_table("label", [*self.per_label.items(), *averages.items()], width) if self.per_label else []


def evaluate(
    gold: Labels,
    predicted: Labels,
    *,
    scheme: str | None = None,
    mode: str = "conlleval",
) -> Evaluation:
    """Compare predicted label sequences with the gold ones.

    Both arguments may be generators. They are read once and not stored, except in mode "strict" without a scheme. An
    empty sentence counts as correct. Labels are strings, integers, or other values of one type.

    Args:
        gold: gold label sequences.
        predicted: predicted label sequences, of the same number and lengths. None is a missing label, as in a sentence
            for which every label sequence is forbidden; it counts as wrong, and is not part of a chunk.
        scheme: tagging scheme of both, as in `chunks`; None to detect it from all labels; "none" if the labels do not
            encode chunks.
        mode: "conlleval" also counts chunks of malformed sequences; "strict" counts only well-formed ones, as seqeval's
            mode="strict" does.

    Raises:
        DataError: two sequences differ in length, or the numbers of sequences differ (the message names the sentence,
            from 1); a sequence is a string or unordered; labels have several types, or gold labels are partial; or a
            label does not belong to the given scheme.
        OptionError: unknown scheme or mode.

    Warns:
        DataWarning: none of the gold labels is ever predicted, nor the reverse, on at least 20 tokens.

    Example:
        >>> from loglinear import evaluate
        >>> scores = evaluate([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "I-PER", "O", "O"]])
        >>> scores.accuracy, scores.precision, scores.recall
        (0.75, 1.0, 0.5)
        >>> scores.per_type["LOC"]["support"]
        1
    """
    scores = scores_of(gold, predicted, scheme=scheme, mode=mode)
    if scores.n_tokens >= _FEW_TOKENS and scores.accuracy == 0.0:
        truth = [label for label in scores.confusion if scores.confusion[label]]
        guesses = {label for row in scores.confusion.values() for label in row} - {None}
        if guesses and guesses.isdisjoint(truth):
            labels = f"the gold labels are {_some(truth)}, the predicted labels {_some(sorted(guesses, key=str))}"
            warn(f"gold and predicted data have no label in common: {labels}; check both", DataWarning)
    return scores


def labelled_tokens(
    gold: Sequence[Sequence[Any]], predicted: Sequence[Sequence[Any]]
) -> tuple[Sequence[Sequence[Any]], Sequence[Sequence[Any]]]:
    """Return the gold and predicted labels of the tokens whose gold label is not None."""
    if not any(None in labels for labels in gold):
        return gold, predicted
    pairs = [
        [pair for pair in zip(true, guess, strict=True) if pair[0] is not None]
        for true, guess in zip(gold, predicted, strict=True)
    ]
    return [[label for label, _ in row] for row in pairs], [[label for _, label in row] for row in pairs]


def scores_of(gold: Labels, predicted: Labels, *, scheme: str | None = None, mode: str = "conlleval") -> Evaluation:
    """Return what `evaluate` returns, without a warning about the labels."""
    pairs: Iterable[tuple[list[Any], list[Any]]] = _pairs(gold, predicted)
    name = None if scheme is None else checked_scheme((), scheme, mode)
    if scheme is None and mode == "strict":
        # The well-formed chunks depend on the scheme, and the scheme depends on all labels.
        pairs = list(pairs)
        distinct = {label for pair in pairs for labels in pair for label in labels}
        name = found_scheme(distinct - {None}, mode)
    chunk_counts, confusions = _Counts(), Counter[tuple[Any, Any]]()
    parsed: dict[Any, tuple[str, str]] = {}
    labels: set[Any] = set()
    n_sentences = n_right_sentences = 0
    for true, guess in pairs:
        n_sentences += 1
        n_right_sentences += true == guess
        confusions.update(zip(true, guess, strict=True))
        for label in {*true, *guess} - labels - {None}:
            labels.add(label)
            if is_tag(label):
                parsed[label] = parsed_tag(label)
        if len(parsed) == len(labels) and (scheme is None or name):
            # A token without a predicted label is outside every chunk.
            gold_chunks, guessed = (
                read_chunks([parsed.get(y, ("O", "")) for y in sequence], name, mode) for sequence in (true, guess)
            )
            chunk_counts.add_chunks(gold_chunks, guessed)
    name = found_scheme(labels, mode) if scheme is None else checked_scheme(labels, scheme, mode)
    micro = chunk_counts.micro() if name else None
    n_tokens = sum(confusions.values())
    ordered = _sorted(labels)
    return Evaluation(
        accuracy=_quotient(sum(n for (true, guess), n in confusions.items() if true == guess), n_tokens),
        sentence_accuracy=_quotient(n_right_sentences, n_sentences),
        precision=micro["precision"] if micro else None,
        recall=micro["recall"] if micro else None,
        f1=micro["f1"] if micro else None,
        per_type=chunk_counts.scores() if name else {},
        per_label=_label_scores(ordered, confusions),
        n_tokens=n_tokens,
        n_sentences=n_sentences,
        scheme=name,
        mode=mode if name else None,
        confusion=_nested(ordered, confusions),
    )


def chunk_f1(gold: Labels, predicted: Labels) -> float:
    """Return the F1 of chunks, as `evaluate` computes it.

    Raises:
        DataError: the labels do not follow a tagging scheme; or see `evaluate`.

    Example:
        >>> from loglinear.metrics import chunk_f1
        >>> chunk_f1([["B-PER", "I-PER", "O"], ["B-LOC"]], [["B-PER", "I-PER", "O"], ["O"]])
        0.6666666666666666
    """
    return chunk_scores(gold, predicted)["f1"]


def chunk_scores(gold: Labels, predicted: Labels) -> dict[str, float]:
    """Return precision, recall and F1 of chunks by name, as `evaluate` computes them.

    Raises:
        DataError: the labels do not follow a tagging scheme; or see `evaluate`.

    Example:
        >>> from loglinear.metrics import chunk_scores
        >>> chunk_scores([["B-PER", "O"], ["B-LOC"]], [["B-PER", "O"], ["O"]])["recall"]
        0.5
    """
    scores = evaluate(gold, predicted)
    if scores.f1 is None and scores.n_tokens:
        message = f"a score of chunks needs tags such as B-PER, I-PER and O; the labels are {_some(scores.per_label)}"
        raise DataError(message)
    return {"precision": scores.precision or 0.0, "recall": scores.recall or 0.0, "f1": scores.f1 or 0.0}


def chunk_f1_scorer(estimator: Any, X: Any, y: Labels | None = None) -> float:
    """Return the F1 of the chunks predicted by an estimator; a scorer for scikit-learn's `scoring`.

    Args:
        estimator: a fitted `ChainCRF`, or any estimator or pipeline that predicts a label sequence per sentence.
        X: sentences, or a labelled `Corpus`.
        y: their label sequences; None with a Corpus.

    Raises:
        DataError: the labels do not follow a tagging scheme.

    Example:
        >>> from sklearn.model_selection import cross_val_score
        >>> from loglinear import ChainCRF
        >>> from loglinear.metrics import chunk_f1_scorer
        >>> X, y = [[["w=Ada"], ["w=sings"]]] * 4, [["B-PER", "O"]] * 4
        >>> cross_val_score(ChainCRF(), X, y, cv=2, scoring=chunk_f1_scorer).tolist()
        [1.0, 1.0]
    """
    return chunk_f1(X.gold() if y is None else y, estimator.predict(X))


class _Counts:
    """Numbers of gold, predicted and correct chunks, by type."""

    def __init__(self) -> None:
        self.by_type: dict[str, list[int]] = {}

    def add_chunks(self, gold: list[Chunk], predicted: list[Chunk]) -> None:
        for column, chunks_of_kind in enumerate((gold, predicted, set(gold) & set(predicted))):
            for type_, _, _ in chunks_of_kind:
                self.by_type.setdefault(type_, [0, 0, 0])[column] += 1

    def scores(self) -> dict[str, Score]:
        return {name: _score(*self.by_type[name]) for name in sorted(self.by_type)}

    def micro(self) -> Score:
        support, predicted, correct = (sum(counts[i] for counts in self.by_type.values()) for i in range(3))
        return _score(support, predicted, correct)


def _label_scores(labels: Sequence[Any], confusions: Counter[tuple[Any, Any]]) -> dict[Any, Score]:
    support, predicted = Counter[Any](), Counter[Any]()
    for (true, guess), n in confusions.items():
        support[true] += n
        predicted[guess] += n
    return {label: _score(support[label], predicted[label], confusions[label, label]) for label in labels}


def _nested(labels: Sequence[Any], confusions: Counter[tuple[Any, Any]]) -> dict[Any, dict[Any, int]]:
    """Return gold label -> predicted label -> number, the labels in the order given, without numbers of 0."""
    place = {label: at for at, label in enumerate(labels)}
    rows: dict[Any, dict[Any, int]] = {}
    pairs = [pair for pair in confusions if pair[1] is not None]
    for true, guess in sorted(pairs, key=lambda pair: (place[pair[0]], place[pair[1]])):
        rows.setdefault(labels[place[true]], {})[labels[place[guess]]] = confusions[true, guess]
    return rows


def _score(support: int, predicted: int, correct: int) -> Score:
    return {
        "precision": _quotient(correct, predicted),
        "recall": _quotient(correct, support),
        "f1": _quotient(2 * correct, support + predicted),
        "support": support,
        "predicted": predicted,
        "correct": correct,
    }


def _averages(scores: Iterable[Score]) -> dict[str, dict[str, float]]:
    """Return the averages of scores: with equal weights, and weighted by support."""
    rows = [([row["precision"], row["recall"], row["f1"]], row["support"]) for row in scores]
    weights = {"macro": [1] * len(rows), "weighted": [support for _, support in rows]}
    return {
        average: {
            name: _quotient(sum(w * row[at] for w, (row, _) in zip(by, rows, strict=True)), sum(by))
            for at, name in enumerate(("precision", "recall", "f1"))
        }
        for average, by in weights.items()
    }


def _quotient(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else 0.0


def _sorted(labels: Iterable[Any]) -> list[Any]:
    """Return labels in order, those of NumPy as Python's; raise DataError unless they have one type."""
    plain = [label.item() if hasattr(label, "item") else label for label in labels]
    by_type = {type(label).__name__: label for label in sorted(plain, key=str, reverse=True)}
    if len(by_type) > 1:
        named = ", ".join(f"{label!r} ({kind})" for kind, label in sorted(by_type.items()))
        message = f"the labels have several types: {named}; use one type for gold and predicted labels"
        raise DataError(message)
    try:
        return sorted(plain)
    except TypeError:
        message = f"labels of type {type(plain[0]).__name__} have no order; give strings or whole numbers"
        raise DataError(message) from None


def _some(labels: Iterable[Any]) -> str:
    return listed([repr(label) for label in labels], 8)


def _pairs(gold: Labels, predicted: Labels) -> Iterator[tuple[list[Any], list[Any]]]:
    types: tuple[set[type], set[type]] = set(), set()
    for number, (true, guess) in enumerate(
        zip_longest(as_lists(gold, "gold"), as_lists(predicted, "predicted")), start=1
    ):
        if true is None or guess is None:
            short, long = ("gold", "predicted") if true is None else ("predicted", "gold")
            message = f"sentence {number}: {long} labels without {short} labels; give both for every sentence"
            raise DataError(message)
        pair = _listed(true, number), _listed(guess, number)
        if len(pair[0]) != len(pair[1]):
            message = f"sentence {number}: {len(pair[0])} gold labels, but {len(pair[1])} predicted"
            raise DataError(message)
        for labels, seen in zip(pair, types, strict=True):
            if not seen.issuperset(map(type, labels)):
                is_gold = seen is types[0]
                check_comparable(labels, f"sentence {number}{'' if is_gold else ', predicted'}", gold=is_gold)
                seen.update(map(type, labels))
        yield pair


def _listed(labels: object, number: int) -> list[Any]:
    """Return the labels of a sentence as a list; raise DataError unless they are a sequence."""
    labels = labels.tolist() if hasattr(labels, "tolist") else labels
    if isinstance(labels, (str, Set, Mapping)) or not isinstance(labels, Iterable):
        what = "a string" if isinstance(labels, str) else f"{labels!r:.40}"
        message = (
            f"sentence {number} is {what}; evaluate takes sequences of label sequences. "
            "Wrap the labels of a classifier in lists: evaluate([y], [predicted])"
        )
        raise DataError(message)
    return list(labels)
