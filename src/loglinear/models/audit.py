"""Audit of labels: which labels of the data are probably wrong, by models that have not seen them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse

from ..data.corpus import Corpus
from ..data.inputs import Array, Labels, Samples, Sentences
from ..data.sample_values import classes_of
from ..data.samples import attribute_corpus, labels_and_weights, rows_of
from ..data.tokens import in_context, sample_texts, shown_words
from ..errors import DataError, DataWarning, warn
from ..networks.numbering import Numbers
from ..options import fail, seed_number
from ..vectors import Vector
from ..visible import counted, listed
from .chain import ChainCRF
from .maxent import MaxEnt
from .summary import first_lines
from .text_classifier import TextClassifier, texts_of
from .training.out_of_fold import Labelled, OutOfFold, leave_out

__all__ = ["Audit", "Disagreement", "Finding", "audit", "out_of_fold"]

Model: TypeAlias = "ChainCRF | MaxEnt"

# Attributes that a finding's reason names.
REASONS = 3


class Finding(NamedTuple):
    """A label, or the labels of tokens in a row, that a model which has not seen them would change.

    Attributes:
        sentence: number of the sentence, sample or text, from 0.
        start: number of the first token, from 0.
        end: one past the last token.
        words: what is shown of these tokens.
        given: their labels in the data.
        suggested: the labels that the model predicts.
        probability: of the given label, the largest of all these tokens.
        suggested_probability: of the suggested label at that token.
        reason: the attributes of that token that speak most for the suggested label and against the given one, with
            the differences of their weights in nats.
        alike: number of tokens with the same attributes as that token by label, the most frequent first.
        context: the sentence, with these tokens in brackets; long sentences are cut.

    Example:
        >>> from loglinear import audit, ChainCRF
        >>> sentence, labels = [["the"], ["dog"]], ["DET", "NOUN"]
        >>> X, y = [sentence, [["the"], ["cat"]], [["the"], ["cow"]], [["the"], ["pig"]]], [labels] * 4
        >>> found = audit(ChainCRF(l2=0.1), X, [*y[:3], ["NOUN", "NOUN"]], folds=4)
        >>> found.findings[0].sentence, found.findings[0].given, found.findings[0].suggested
        (3, ['NOUN'], ['DET'])
    """

    sentence: int
    start: int
    end: int
    words: list[str]
    given: list[Any]
    suggested: list[Any]
    probability: float
    suggested_probability: float
    reason: str
    alike: dict[Any, int]
    context: str


class Disagreement(NamedTuple):
    """Tokens with the same attributes that have different labels.

    Attributes:
        words: what is shown of the first of these tokens.
        counts: number of tokens by label, the most frequent first.
        places: sentence and token of each that does not have the most frequent label.
    """

    words: str
    counts: dict[Any, int]
    places: list[tuple[int, int]]


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """The labels of the data that are probably wrong.

    Attributes:
        findings: the most suspicious first: those whose given label is least probable.
        disagreements: tokens, or samples, that are the same but have different labels; the most frequent ones first.
        unjudged: number of tokens by label whose label no model without their fold has seen: it has no probability.
        out_of_fold: the probabilities that the audit is based on.
    """

    findings: list[Finding] = field(repr=False)
    disagreements: list[Disagreement] = field(repr=False)
    unjudged: dict[Any, int]
    out_of_fold: OutOfFold[Any] = field(repr=False)

    def __repr__(self) -> str:
        """Return the numbers of findings and disagreements, and the first findings."""
        counts = [counted(len(self.findings), "finding"), counted(len(self.disagreements), "disagreement")]
        if self.unjudged:
            counts.append(f"{sum(self.unjudged.values()):,} labels not judged")
        return first_lines(f"Audit: {', '.join(counts)}", self.findings, _line_of)

    @property
    def confusions(self) -> dict[tuple[Any, Any], int]:
        """Number of tokens in findings by given and suggested label, the most frequent first."""
        pairs = (pair for finding in self.findings for pair in zip(finding.given, finding.suggested, strict=True))
        return dict(Counter(pair for pair in pairs if pair[0] != pair[1]).most_common())


def _line_of(finding: Finding) -> str:
    """Return a finding as a line."""
    labels = f"{'/'.join(map(str, finding.given))} -> {'/'.join(map(str, finding.suggested))}"
    place = f"sentence {finding.sentence}, token {finding.start}"
    return f"{place}: {labels} (p = {finding.probability:.2g}) {finding.context}"


def audit(
    model: Model,
    X: Corpus | Sentences | Samples,
    y: Labels | Array | None = None,
    *,
    folds: int = 5,
    random_state: int = 0,
    words: Sequence[Sequence[str]] | None = None,
) -> Audit:
    """Look for labels that are probably wrong: train without each fold of the data in turn, and let the model label it.

    Source: Northcutt, Jiang & Chuang (JAIR 70, 2021) for classifiers: labels ranked by their out-of-fold probability.

    Cost: a training on all data but a fold, for each fold. Folds are trained side by side.

    Args:
        model: its options are used, not its weights: `ChainCRF`, `MaxEnt` or `TextClassifier`.
        X: as for `fit`.
        y: as for `fit`.
        folds: number of folds, 2 to 1000. More find more, and take longer.
        random_state: seed of the folds.
        words: what to show of the tokens of each sentence; by default the words or attributes in X.

    Raises:
        DataError: the data are invalid or not labelled, or partially labelled, or all sentences are the same.
        OptionError: an option is out of range, or the model is of another kind.

    Warns:
        DataWarning: some labels occur in one fold alone, so no model can judge them.

    Example:
        >>> from loglinear import MaxEnt, audit
        >>> X = [["good", "film"], ["good", "fun"], ["bad", "film"], ["bad", "plot"], ["good", "plot"], ["bad", "fun"]]
        >>> found = audit(MaxEnt(l2=0.1), X, ["+", "+", "-", "-", "-", "-"], folds=3)
        >>> finding = found.findings[0]
        >>> finding.sentence, finding.given, finding.suggested
        (4, ['-'], ['+'])
    """
    data = _labelled(model, X, y)
    if words is not None:
        data.words = _checked_words(words, data.gold)
    held_out = leave_out(data.labelled, folds, seed_number("random_state", random_state), model._threads)
    seen = _seen(data.labelled, held_out.folds)
    unjudged = _unjudged(data, held_out, seen)
    runs = [
        (sentence, start, end)
        for sentence, labels in enumerate(data.gold)
        for start, end in _runs(labels, held_out.predicted[sentence], seen[held_out.folds[sentence]])
    ]
    number_of = {label: number for number, label in enumerate(held_out.labels)}
    suspects = sorted(_suspect(data, held_out, number_of, *run) for run in runs)
    reasons = data.reasons(held_out, suspects)
    alike = _by_context(data)
    findings = [
        _finding(data, held_out, suspect, reason, alike) for suspect, reason in zip(suspects, reasons, strict=True)
    ]
    return Audit(findings, _disagreements(data, alike), unjudged, held_out)


def out_of_fold(
    model: Model,
    X: Corpus | Sentences | Samples,
    y: Labels | Array | None = None,
    *,
    folds: int = 5,
    random_state: int = 0,
) -> OutOfFold[Any]:
    """Return the probabilities of all labels by models that have not seen them; see `audit` for the arguments.

    Example:
        >>> from loglinear import ChainCRF, out_of_fold
        >>> X, y = [[["the"], ["dog"]], [["the"], ["cat"]], [["dog"]]], [["DET", "NOUN"], ["DET", "NOUN"], ["NOUN"]]
        >>> found = out_of_fold(ChainCRF(l2=0.1), X, y, folds=3)
        >>> found.labels, found.marginals[0].round(2).tolist()
        (['NOUN', 'DET'], [[0.08, 0.92], [0.95, 0.05]])
    """
    seed = seed_number("random_state", random_state)
    return leave_out(_labelled(model, X, y).labelled, folds, seed, model._threads)


def _labelled(model: object, X: Any, y: Any) -> _Sentences | _Samples:
    """Return the data of an audit; raise OptionError if the model is of another kind."""
    if isinstance(X, Iterator):
        X = [*X]
    if scipy.sparse.issparse(X):
        X = scipy.sparse.csr_array(X)
    if isinstance(model, ChainCRF):
        return _Sentences(model, X, y)
    if isinstance(model, MaxEnt):
        return _Samples(model, X, y)
    fail("model", model, "cannot be audited; give a ChainCRF, MaxEnt or TextClassifier")


def _checked_words(words: Sequence[Sequence[str]], gold: list[list[Any]]) -> list[list[str]]:
    """Return the words of sentences; raise OptionError if they are not as many as there are labels."""
    if [*map(len, words)] != [*map(len, gold)]:
        fail("words", words, "does not have a list for each sentence with a word for each token")
    return [[*row] for row in words]


class _Suspect(NamedTuple):
    """A run of tokens whose labels a model would change, and the token whose given label is most probable.

    A run is as suspicious as the least suspicious of its labels: where a model sees another chunk, some of the given
    labels are next to impossible even if both readings make sense.
    """

    probability: float
    suggested_probability: float
    sentence: int
    start: int
    end: int
    token: int
    given: int
    suggested: int


class _Sentences:
    """Labelled sentences of a chain."""

    items = "tokens"

    def __init__(self, model: ChainCRF, X: Any, y: Any) -> None:
        corpus = model._corpus(X, y, model.template)
        _refuse_unlabelled(corpus)
        corpus.check_whole("an audit needs complete labels; leave out such sentences")
        self.corpus, self.gold, self.words = corpus, corpus.gold(), shown_words(X, corpus)
        self.ends, self.ids, self.values = corpus.core.rows()
        self.lengths = np.array(corpus.core.lengths(), dtype=np.int64)
        self.first_tokens = np.cumsum(self.lengths) - self.lengths
        self.contexts = _contexts(self.ends, self.ids, self.values)
        keys = [self.contexts[at : at + n].tobytes() for at, n in zip(self.first_tokens, self.lengths, strict=True)]

        def train(rows: Numbers, stopped: Callable[[Any, Any], bool]) -> ChainCRF:
            part = corpus[rows]
            part.format = "python"  # a part may look odd as a file, such as one with a single sentence
            trained: ChainCRF = _copy(model).fit(part, callbacks=[stopped])
            return trained

        def answers(trained: ChainCRF, rows: Numbers) -> tuple[list[Any], list[Vector], list[list[Any]]]:
            held = corpus[rows]
            return [*trained.classes_], [*trained.marginals(held)], [*trained.predict(held)]

        targets = corpus.core.targets().astype(np.int64)
        self.labelled: Labelled[Any] = Labelled(corpus.labels, targets, self.lengths, _numbered(keys), train, answers)

    def reasons(self, held_out: OutOfFold[ChainCRF], suspects: Sequence[_Suspect]) -> list[str]:
        """Return for each suspect the attributes of its token that speak most for the suggested label."""
        names = self.corpus.core.names()
        rows = []
        for suspect in suspects:
            token = self.first_tokens[suspect.sentence] + suspect.token
            entries = slice(self.ends[token - 1] if token else 0, self.ends[token])
            rows.append([(names[id], value) for id, value in zip(self.ids[entries], self.values[entries], strict=True)])
        texts = [""] * len(suspects)
        for fold, model in enumerate(held_out.models):
            ours = [at for at, suspect in enumerate(suspects) if held_out.folds[suspect.sentence] == fold]
            wanted = {name for at in ours for name, _ in rows[at]}
            weights: dict[str, dict[str, float]] = defaultdict(dict)
            for name, label, weight in model.model_.state_features():
                if name in wanted:
                    weights[name][label] = weight
            names_of = self.corpus.core.labels
            labels = [*names_of, *map(str, held_out.labels[len(names_of) :])]
            for at in ours:
                old, new = labels[suspects[at].given], labels[suspects[at].suggested]
                texts[at] = _strongest(
                    (value * (weights[name].get(new, 0.0) - weights[name].get(old, 0.0)), name)
                    for name, value in rows[at]
                )
        return texts


class _Samples:
    """Labelled samples of a classifier: each a sentence of one token, or the tokens of a corpus' sentences."""

    items = "samples"

    def __init__(self, model: MaxEnt, X: Any, y: Any) -> None:
        corpus = None if isinstance(model, TextClassifier) else attribute_corpus(X)
        if corpus is not None and corpus is X:
            _refuse_unlabelled(corpus)
            corpus.check_whole("an audit needs complete labels; leave out such samples")
            y, _ = labels_and_weights(corpus, y, None)
        classes = classes_of(y)
        labels, targets = np.unique(classes, return_inverse=True)
        lengths = np.array(corpus.core.lengths()) if X is corpus and corpus is not None else np.ones(classes.size, int)
        ends = np.cumsum(lengths)
        texts = texts_of(X) if isinstance(model, TextClassifier) else sample_texts(X, corpus, classes.size)
        self.gold, self.words = _cut(classes.tolist(), ends), _cut(texts, ends)
        self.X, self.first_tokens = X, ends - lengths
        if isinstance(model, TextClassifier):
            self.contexts = _numbered(texts)
        else:
            self.contexts = _rows_alike(X, classes.size) if corpus is None else _contexts(*corpus.core.rows())
        groups = _numbered(map(tuple, _cut(self.contexts.tolist(), ends)))

        def train(rows: Numbers, stopped: Callable[[Any, Any], bool]) -> MaxEnt:
            y = None if isinstance(X, Corpus) else classes[rows]
            trained: MaxEnt = _copy(model).fit(rows_of(X, rows), y, callbacks=[stopped])
            return trained

        def answers(trained: MaxEnt, rows: Numbers) -> tuple[list[Any], list[Vector], list[list[Any]]]:
            own, ends = trained.classes_.tolist(), np.cumsum(lengths[rows])
            probabilities = trained.predict_proba(rows_of(X, rows))
            predicted = [own[number] for number in probabilities.argmax(axis=1).tolist()]
            return own, np.split(probabilities, ends[:-1]), _cut(predicted, ends)

        self.labelled: Labelled[Any] = Labelled(
            labels.tolist(), targets, lengths, groups, train, answers, "sample", True
        )

    def reasons(self, held_out: OutOfFold[MaxEnt], suspects: Sequence[_Suspect]) -> list[str]:
        """Return for each suspect the columns that speak most for the suggested label."""
        texts = [""] * len(suspects)
        for fold, model in enumerate(held_out.models):
            ours = [at for at, suspect in enumerate(suspects) if held_out.folds[suspect.sentence] == fold]
            if not ours:
                continue
            own = {label: number for number, label in enumerate(model.classes_.tolist())}
            sentences = np.array([suspects[at].sentence for at in ours])
            # Rows of the matrix are tokens: those of each sentence follow one another.
            matrix = scipy.sparse.csr_array(model._matrix(rows_of(self.X, sentences)))
            firsts = np.cumsum([0, *(len(self.gold[sentence]) for sentence in sentences)])
            coef = model.coef_ if len(own) > 2 else np.vstack([np.zeros_like(model.coef_), model.coef_])
            names = model._column_names()
            for at, first in zip(ours, firsts.tolist(), strict=False):
                row = first + suspects[at].token
                entries = slice(matrix.indptr[row], matrix.indptr[row + 1])
                columns = matrix.indices[entries]
                labels = held_out.labels[suspects[at].suggested], held_out.labels[suspects[at].given]
                new, old = (own[label] for label in labels)
                weights = matrix.data[entries] * (coef[new, columns] - coef[old, columns])
                called = [f"column {column}" if names is None else names[column] for column in columns]
                texts[at] = _strongest(zip(weights.tolist(), called, strict=True))
        return texts


def _refuse_unlabelled(corpus: Corpus) -> None:
    """Raise DataError if every label of a corpus is unknown."""
    if corpus.n_tokens and not corpus.labels and corpus.core.first_partial() is not None:
        message = "no token has a label; an audit needs labelled data"
        raise DataError(message)


def _cut(values: Sequence[Any], ends: Numbers) -> list[list[Any]]:
    """Return values in lists that end at `ends`."""
    starts = [0, *ends[:-1].tolist()]
    return [[*values[start:end]] for start, end in zip(starts, ends.tolist(), strict=True)]


def _copy(model: Any) -> Any:
    """Return an untrained model with the same options that works on one thread and says nothing."""
    return type(model)(**{**model.get_params(deep=False), "n_jobs": 1, "verbose": False})


def _numbered(keys: Iterable[Hashable]) -> Numbers:
    """Return a number for each key; the same for keys that are the same."""
    number_of: dict[Hashable, int] = {}
    return np.array([number_of.setdefault(key, len(number_of)) for key in keys], dtype=np.int64)


def _contexts(ends: Array, ids: Array, values: Array) -> Numbers:
    """Return a number for each row of attributes; the same for rows that are the same."""
    starts = [0, *ends.tolist()]
    rows = zip(starts, ends.tolist(), strict=False)
    return _numbered(ids[start:end].tobytes() + values[start:end].tobytes() for start, end in rows)


def _seen(data: Labelled[Any], folds: Numbers) -> list[set[Any]]:
    """Return for each fold the labels that occur outside it."""
    fold_of = np.repeat(folds, data.lengths)
    n, size = int(folds.max()) + 1, len(data.labels)
    counts = np.bincount(fold_of * size + data.targets, minlength=n * size).reshape(n, size)
    return [{data.labels[label] for label in np.flatnonzero(counts.sum(axis=0) > row)} for row in counts]


def _rows_alike(X: Any, n_samples: int) -> Numbers:
    """Return a number for each row of a matrix, the same for rows that are the same; all rows of tables differ."""
    if scipy.sparse.issparse(X):
        X.sum_duplicates()
        return _contexts(X.indptr[1:], X.indices, X.data)
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype != object:
        return _numbered(row.tobytes() for row in X)
    return np.arange(n_samples)


def _unjudged(data: _Sentences | _Samples, held_out: OutOfFold[Any], seen: list[set[Any]]) -> dict[Any, int]:
    """Return the number of tokens by label that no model without their fold has seen, and warn if there are any."""
    folds = zip(held_out.folds.tolist(), data.gold, strict=True)
    unjudged = Counter(label for fold, labels in folds for label in labels if label not in seen[fold])
    if unjudged:
        named = listed([*map(repr, unjudged)], 5)
        warn(f"labels that occur in one fold alone cannot be judged: {named}; look at them yourself", DataWarning)
    return dict(unjudged)


def _runs(labels: Sequence[Any], predicted: Sequence[Any], seen: set[Any]) -> list[tuple[int, int]]:
    """Return the first token, and one past the last, of the runs of tokens whose labels differ."""
    runs: list[tuple[int, int]] = []
    for token, (label, other) in enumerate(zip(labels, predicted, strict=True)):
        if label == other or label not in seen:
            continue
        start = runs.pop()[0] if runs and runs[-1][1] == token else token
        runs.append((start, token + 1))
    return runs


def _suspect(
    data: _Sentences | _Samples,
    held_out: OutOfFold[Any],
    number_of: Mapping[Any, int],
    sentence: int,
    start: int,
    end: int,
) -> _Suspect:
    rows = held_out.marginals[sentence]
    pairs = [
        (token, number_of[data.gold[sentence][token]], number_of[held_out.predicted[sentence][token]])
        for token in range(start, end)
    ]
    token, label, other = max(pairs, key=lambda pair: rows[pair[0], pair[1]])
    probabilities = float(rows[token, label]), float(rows[token, other])
    return _Suspect(*probabilities, sentence, start, end, token, label, other)


def _finding(
    data: _Sentences | _Samples,
    held_out: OutOfFold[Any],
    suspect: _Suspect,
    reason: str,
    alike: dict[int, dict[Any, int]],
) -> Finding:
    sentence, start, end = suspect.sentence, suspect.start, suspect.end
    rows = data.words[sentence], data.gold[sentence], held_out.predicted[sentence]
    words, labels, predicted = ([*row[start:end]] for row in rows)
    context = data.contexts[data.first_tokens[sentence] + suspect.token]
    return Finding(
        sentence,
        start,
        end,
        words,
        labels,
        predicted,
        suspect.probability,
        suspect.suggested_probability,
        reason,
        alike[context],
        in_context(data.words[sentence], start, end),
    )


def _strongest(weighted: Iterable[tuple[float, str]]) -> str:
    """Return the names of the largest positive weights with these."""
    largest = sorted(((weight, name) for weight, name in weighted if weight > 0.0), reverse=True)[:REASONS]
    return ", ".join(f"{name} {weight:+.2f}" for weight, name in largest)


def _by_context(data: _Sentences | _Samples) -> dict[int, dict[Any, int]]:
    """Return the number of tokens by label of each context, the most frequent label first."""
    counts: dict[int, Counter[Any]] = defaultdict(Counter)
    labels = (label for row in data.gold for label in row)
    for context, label in zip(data.contexts.tolist(), labels, strict=True):
        counts[context][label] += 1
    return {context: dict(counter.most_common()) for context, counter in counts.items()}


def _disagreements(data: _Sentences | _Samples, by_context: dict[int, dict[Any, int]]) -> list[Disagreement]:
    """Return the contexts that occur with several labels."""
    words: dict[int, str] = {}
    others: dict[int, list[tuple[int, int]]] = defaultdict(list)
    contexts = iter(data.contexts.tolist())
    for sentence, labels in enumerate(data.gold):
        for token, label in enumerate(labels):
            context = next(contexts)
            words.setdefault(context, data.words[sentence][token])
            if label != next(iter(by_context[context])):
                others[context].append((sentence, token))
    disagreements = [Disagreement(words[context], by_context[context], places) for context, places in others.items()]
    return sorted(disagreements, key=lambda disagreement: -sum(disagreement.counts.values()))
