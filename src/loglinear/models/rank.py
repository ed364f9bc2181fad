"""What to label next: the unlabelled sentences about which a model is least certain, and which are not alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse
from scipy.special import xlogy

from ..data.corpus import Corpus
from ..data.diverse import diverse
from ..data.inputs import Array, Samples, Sentences
from ..data.samples import attribute_corpus, rows_of
from ..data.tokens import in_context, sample_texts, shown_words
from ..errors import DataError
from ..networks.numbering import Numbers
from ..options import fail
from ..schemes import chunk_rule
from ..vectors import Vector
from ..visible import counted
from .chain import ChainCRF
from .estimator import check_fitted
from .files.chain import ChainModel
from .maxent import MaxEnt
from .summary import first_lines
from .text_classifier import TextClassifier, texts_of
from .training.out_of_fold import in_order
from .training.ranking import By, RankOptions

__all__ = ["Chains", "Classifiers", "Ranked", "Ranking", "Voter", "rank", "ranked", "shown"]

Part: TypeAlias = tuple[int, int, float]
Model: TypeAlias = "ChainCRF | MaxEnt"
# Sentences whose probabilities are in memory as Python objects at a time.
_TOGETHER = 5000
# Candidates for each sentence to choose, and how many sentences at most are chosen to differ: the work grows with the
# product of sentences and candidates.
_CANDIDATES, _MOST_DIVERSE = 10, 1000


class Ranked(NamedTuple):
    """A sentence to label.

    Attributes:
        sentence: number of the sentence, sample or text, from 0.
        score: how uncertain the model is, in the unit of `rank`'s argument `by`.
        similarity: cosine with the most similar sentence before it in the ranking, from 0 to 1.
        start: number of the first token, from 0, of the part that is least certain.
        end: one past its last token.
        context: the sentence with this part in brackets; long sentences are cut.
    """

    sentence: int
    score: float
    similarity: float
    start: int
    end: int
    context: str


@dataclass(frozen=True, eq=False, repr=False)
class Ranking:
    """Sentences to label, the most worthwhile first.

    Attributes:
        by: the measure of uncertainty.
        sentences: the sentences, in the order in which they were chosen.
    """

    by: By
    sentences: list[Ranked] = field(repr=False)

    def __repr__(self) -> str:
        """Return the number of sentences, and the first ones."""
        return first_lines(
            f"Ranking by {self.by}: {counted(len(self.sentences), 'sentence')}",
            self.sentences,
            lambda ranked: f"sentence {ranked.sentence}: score {ranked.score:.4g} {ranked.context}",
        )

    @property
    def positions(self) -> Numbers:
        """Numbers of the sentences, from 0, shape (n,), in the order in which they were chosen."""
        return np.array([ranked.sentence for ranked in self.sentences], dtype=np.int64)

    @property
    def scores(self) -> Vector:
        """Their scores, shape (n,). They need not fall: a similar sentence comes later."""
        return np.array([ranked.score for ranked in self.sentences])


def rank(
    model: Model,
    unlabelled: Corpus | Sentences | Samples,
    *,
    by: By = "sequence",
    n: int = 100,
    diversity: float = 0.5,
    committee: Sequence[Model] = (),
    total: bool = False,
    progress: Callable[[float], object] | None = None,
) -> Ranking:
    """Choose the sentences to label next: those that a model is least certain about and that are not alike.

    Scores, by the argument `by`; T is the number of tokens of a sentence:

    - "sequence": 1 - p(best label sequence)^(1/T), the least confidence (Culotta & McCallum 2005), where the geometric
      mean stands for the probability (Shen et al. 2018); with ``total=True`` 1 - p(best label sequence). For
      classifiers 1 - p(best class).
    - "span": 1 - p of the least certain span of the best label sequence. A token outside of spans counts as a span:
      otherwise a sentence whose only entity is missed would look certain. Chains alone.
    - "entropy": mean over tokens of the entropy of the label, in nats (Settles & Craven 2008, token entropy); with
      ``total=True`` the sum over tokens.
    - "disagreement": mean over tokens of the mean over models of KL(p || mean of the models' p), in nats (McCallum &
      Nigam 1998; Settles & Craven 2008); with ``total=True`` the sum over tokens.

    Sentences are taken one by one: the one with the largest score x (1 - diversity x similarity to the most similar
    sentence taken), where "sequence" is in nats, -log(1 - score), for this purpose. The similarity is the cosine of the
    numbers of times that sentences have each attribute. The candidates are the 10 n sentences with the largest scores.
    Of sentences that are the same only the first is chosen, and sentences without tokens are not. Ties: the first.

    Source: Settles & Craven, EMNLP 2008; Culotta & McCallum, AAAI 2005; Shen et al., ICLR 2018; Carbonell & Goldstein,
    SIGIR 1998, for the diversity.
    Cost: tagging of all sentences, or their marginals, and O(n^2 * attributes of a sentence).

    Args:
        model: a trained `ChainCRF`, `MaxEnt` or `TextClassifier`: the one that will learn from the labels.
        unlabelled: sentences, samples or texts, as for `predict`; labels are ignored. A `Corpus` for a classifier has
            sentences whose tokens are samples.
        by: measure of uncertainty, see above.
        n: number of sentences to choose; fewer are returned if there are not enough different ones.
        diversity: 0 to choose by uncertainty alone, up to 1. At most the first 1,000 sentences are chosen to differ;
            the others follow by uncertainty, and their similarity is NaN.
        committee: for "disagreement", models of the same kind that vote with the first, such as models that were
            trained on bootstrap samples of the labelled data. A label that a model lacks has probability 0 there.
        total: rank by whole sentences and not by the mean of their tokens, so that long sentences come first.
        progress: called with the share of the sentences that have been scored, from 0 to 1.

    Returns:
        The chosen sentences with scores, the most worthwhile first.

    Raises:
        OptionError: an option is out of range; or `by` does not suit the model, its labels or the committee.
        DataError: invalid sentences; names the sentence. Or no sentence has tokens.
        NotFittedError: a model has not been trained.

    Example:
        >>> from loglinear import ChainCRF, rank
        >>> crf = ChainCRF(l2=0.1).fit([[["the"], ["dog"]], [["a"], ["dog"]]], [["DET", "NOUN"]] * 2)
        >>> next_ones = rank(crf, [[["the"], ["dog"]], [["her"], ["cat"]], [["a"], ["cat"]]], n=2)
        >>> next_ones.positions.tolist(), next_ones.scores.round(2).tolist()
        ([1, 2], [0.14, 0.1])
        >>> next_ones.sentences[0].context
        '[her] cat'
    """
    options = RankOptions(by=by, n=n, diversity=diversity, total=total)
    _check_members(model, committee)
    if isinstance(unlabelled, Iterator):
        unlabelled = [*unlabelled]
    members = [model, *committee]
    data = _chains(members, unlabelled) if isinstance(model, ChainCRF) else Classifiers(members, unlabelled)
    return ranked(data, options, progress)


def ranked(
    data: Chains | Classifiers, options: RankOptions, progress: Callable[[float], object] | None = None
) -> Ranking:
    """Return the sentences of data to label next; see `rank`."""
    by = options.by
    if by == "disagreement" and data.n_models == 1:
        fail("by", by, "needs a committee (--committee): models besides the first, such as of bootstrap samples")
    if by != "disagreement" and data.n_models > 1:
        fail("by", by, "does not use a committee (--committee); leave it out, or rank by disagreement")
    if by == "span" and not data.has_spans:
        fail("by", by, "needs a chain: the samples of a classifier have no spans; rank by sequence")
    rows = np.flatnonzero(data.lengths)
    if not rows.size:
        message = f"there are no {data.items} to rank; give unlabelled ones"
        raise DataError(message)
    parts = []
    for first in range(0, rows.size, _TOGETHER):
        parts.append(data.uncertainty(by, rows[first : first + _TOGETHER], total=options.total))
        if progress is not None:
            progress(min(first + _TOGETHER, rows.size) / rows.size)
    uncertainty = Uncertainty(*map(np.concatenate, zip(*parts, strict=True)))
    return Ranking(by, _chosen(data, rows, uncertainty, options.n, options.diversity))


def _check_members(model: object, committee: Sequence[object]) -> None:
    """Raise OptionError if models cannot rank, or are of several kinds; NotFittedError if one has no weights."""
    if not isinstance(model, (ChainCRF, MaxEnt)):
        fail("model", model, "cannot rank; give a ChainCRF, MaxEnt or TextClassifier")
    kind = next(kind for kind in (ChainCRF, TextClassifier, MaxEnt) if isinstance(model, kind))
    for member in (model, *committee):
        if not isinstance(member, kind) or isinstance(member, TextClassifier) != isinstance(model, TextClassifier):
            fail("committee", member, f"is not of the kind of the model, {kind.__name__}; give models of this kind")
        check_fitted(member, "classes_")
    check_labels([_labels(member) for member in (model, *committee)])


def check_labels(labels: Sequence[list[Any]]) -> None:
    """Raise OptionError if a model of a committee has none of the labels of the first model."""
    for own in labels[1:]:
        if {*own}.isdisjoint(labels[0]):
            fail(
                "committee",
                own,
                f"are the labels of a model, none of which the first has ({labels[0]}); give models of one task",
            )


def _labels(model: Any) -> list[Any]:
    """Return the labels of a model in the order of its probabilities."""
    return [*model.classes_] if isinstance(model, ChainCRF) else list(model.classes_.tolist())


class Uncertainty(NamedTuple):
    """How uncertain a model is of some sentences, each of which has a token.

    Attributes:
        value: by which sentences are ranked, shape (n_sentences,); a score near 1 is a large number of nats.
        score: what users see.
        start: number of the first token of the part that is least certain.
        end: one past its last token.
    """

    value: Vector
    score: Vector
    start: Numbers
    end: Numbers


class Voter(NamedTuple):
    """A chain, or a classifier as a chain without transitions, and sentences with the attributes of its template.

    Attributes:
        model: the native model.
        corpus: the sentences.
        labels: the labels in the order of the model's probabilities.
        threads: number of threads, 0 for all cores.
    """

    model: ChainModel
    corpus: Corpus
    labels: list[Any]
    threads: int = 0


class Chains:
    """Sentences and chains.

    Args:
        voters: the chains, first the one that will learn, each with the same sentences.
        words: returns what is shown of the tokens of some sentences.
        has_spans: whether tokens follow one another, unlike the samples of a classifier.
    """

    items = "sentences"

    def __init__(
        self, voters: Sequence[Voter], words: Callable[[Numbers], list[list[str]]], *, has_spans: bool = True
    ) -> None:
        self.voters, self.words, self.has_spans, self.n_models = voters, words, has_spans, len(voters)
        self.lengths = np.array(voters[0].corpus.core.lengths(), dtype=np.int64)

    def uncertainty(self, by: By, rows: Numbers, *, total: bool) -> Uncertainty:
        """Return how uncertain the models are of some sentences."""
        lengths = self.lengths[rows]
        if by in ("sequence", "span"):
            return self._of_best(by, rows, lengths, total=total)
        probabilities = [
            np.concatenate([*map(np.array, model.marginals(corpus[rows].core, threads=threads))]).reshape(-1, len(own))
            for model, corpus, own, threads in self.voters
        ]
        return _by_tokens(_of_tokens(probabilities, [voter.labels for voter in self.voters]), lengths, total=total)

    def _of_best(self, by: By, rows: Numbers, lengths: Numbers, *, total: bool) -> Uncertainty:
        """Return how uncertain the first chain is of the best label sequences, or of their spans."""
        rule = None
        model, corpus, _, threads = self.voters[0]
        if by == "span" and (rule := chunk_rule(tuple(model.labels))) is None:
            fail("by", by, "needs labels of a tagging scheme such as B-PER, I-PER, O; use by='sequence'")
        taggings = model.tag(corpus[rows].core, rule=rule, threads=threads)
        parts = [min(_parts(probabilities, spans), key=lambda part: part[2]) for _, probabilities, spans, _ in taggings]
        starts, ends, least = (np.array(column) for column in zip(*parts, strict=True))
        if by == "span":
            return Uncertainty(1.0 - least, 1.0 - least, starts, ends)
        nats = -np.array([log_probability for *_, log_probability in taggings])
        nats = nats if total else nats / lengths
        return Uncertainty(nats, -np.expm1(-nats), starts, ends)

    def vectors(self, at: Numbers) -> tuple[list[bytes], scipy.sparse.csr_array]:
        """Return a key of each of some sentences, equal for equal ones, and their attributes."""
        return _attributes(self.voters[0].corpus[at])


def _chains(members: Sequence[Any], X: Any) -> Chains:
    """Return sentences and trained chains; a corpus must have the template of each."""
    voters = []
    for member in members:
        model, corpus = member._inputs(X)
        if isinstance(X, Corpus):
            X.check_template(None if X.template is None else model.template)
        voters.append(Voter(model, corpus, [*member.classes_], member._threads))
    return Chains(voters, lambda at: shown_words(rows_of(X, at), voters[0].corpus[at]))


class Classifiers:
    """Samples and classifiers: each sample a sentence of one token, or the tokens of a corpus' sentences."""

    items = "samples"
    has_spans = False

    def __init__(self, members: Sequence[Any], X: Any) -> None:
        self.model, self.labels = members[0], [_labels(member) for member in members]
        if scipy.sparse.issparse(X):
            X = scipy.sparse.csr_array(X)
        self.n_models = len(members)
        self.of_texts = isinstance(self.model, TextClassifier)
        self.X = texts_of(X) if self.of_texts else X
        self.corpus = None if self.of_texts else attribute_corpus(X)
        data = self.X if self.corpus is None else self.corpus
        self.probabilities = [] if _is_empty(data) else [member.predict_proba(data) for member in members]
        self.lengths = np.ones(len(self.probabilities[0]) if self.probabilities else 0, dtype=np.int64)
        if self.corpus is not None and self.corpus is X:
            self.lengths = np.array(self.corpus.core.lengths(), dtype=np.int64)
        self.first_tokens = np.cumsum(self.lengths) - self.lengths

    def uncertainty(self, by: By, rows: Numbers, *, total: bool) -> Uncertainty:
        """Return how uncertain the models are of some sentences."""
        lengths = self.lengths[rows]
        tokens = np.repeat(self.first_tokens[rows] - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
        probabilities = [rows_of_member[tokens] for rows_of_member in self.probabilities]
        if by != "sequence":
            return _by_tokens(_of_tokens(probabilities, self.labels), lengths, total=total)
        nats = _by_tokens(-np.log(probabilities[0].max(axis=1)), lengths, total=total)
        return nats._replace(score=-np.expm1(-nats.score))

    def vectors(self, at: Numbers) -> tuple[list[Any], scipy.sparse.csr_array]:
        """Return a key of each of some sentences, equal for equal ones, and their attributes."""
        if self.corpus is not None:
            return _attributes(self.corpus[at])
        samples = rows_of(self.X, at)
        matrix = scipy.sparse.csr_array(self.model._matrix(samples))
        return samples if self.of_texts else _keys(matrix.indptr, matrix.indices, matrix.data), matrix

    def words(self, at: Numbers) -> list[list[str]]:
        """Return what is shown of the samples of some sentences."""
        if self.of_texts:
            return [[text] for text in rows_of(self.X, at)]
        if self.corpus is None:
            return [[f"sample {position + 1}"] for position in at.tolist()]
        if self.corpus is self.X:
            return shown_words(self.corpus[at], self.corpus[at])
        return [[text] for text in sample_texts(rows_of(self.X, at), self.corpus[at], len(at))]


def _is_empty(X: Any) -> bool:
    return (X.shape[0] if hasattr(X, "shape") else len(X) if hasattr(X, "__len__") else 1) == 0


def _attributes(corpus: Corpus) -> tuple[list[bytes], scipy.sparse.csr_array]:
    """Return for each sentence a key of its tokens, and how often it has each attribute."""
    tokens = np.cumsum([0, *corpus.core.lengths()])
    keys = [b""] * len(corpus)
    for bigrams in (True, False) if corpus.core.has_bigrams else (False,):
        ends, ids, values = corpus.core.rows(bigrams=bigrams)
        bounds = np.concatenate([[0], ends])[tokens]
        # The same attributes may be those of other tokens: the numbers of attributes tell.
        pairs = zip(_keys(bounds, ids, values), _keys(tokens, np.diff(ends, prepend=0)), strict=True)
        keys = [key + attributes + counts for key, (attributes, counts) in zip(keys, pairs, strict=True)]
    return keys, scipy.sparse.csr_array((values, ids, bounds), shape=(len(corpus), corpus.n_attributes))


def _keys(bounds: Array, *columns: Array) -> list[bytes]:
    """Return the bytes of some columns between bounds, one after the other."""
    ranges = zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    return [b"".join(column[start:end].tobytes() for column in columns) for start, end in ranges]


def _parts(probabilities: Sequence[float], spans: Sequence[tuple[str, int, int, float]]) -> Iterator[Part]:
    """Yield first token, one past the last, and probability of the spans and of the tokens outside of spans."""
    covered: set[int] = set()
    for _, start, end, probability in spans:
        covered.update(range(start, end))
        yield start, end, probability
    for token, probability in enumerate(probabilities):
        if token not in covered:
            yield token, token + 1, probability


def _of_tokens(probabilities: Sequence[Vector], own: Sequence[list[Any]]) -> Vector:
    """Return the entropy of each token by one model, or the disagreement of several, in nats.

    The mean over models of KL(p || mean of the models' p) is the entropy of the mean less the mean of the entropies.
    """
    if len(own) == 1:
        return _entropy(probabilities[0])
    labels = [*dict.fromkeys(label for labels in own for label in labels)]
    rows = [in_order(labels, *pair) for pair in zip(own, probabilities, strict=True)]
    difference = _entropy(np.mean(rows, axis=0)) - np.mean([_entropy(p) for p in rows], axis=0)
    return np.asarray(np.maximum(difference, 0.0))


def _entropy(p: Vector) -> Vector:
    return np.asarray(-xlogy(p, p).sum(axis=1))


def _by_tokens(values: Vector, lengths: Numbers, *, total: bool) -> Uncertainty:
    """Return the mean, or the sum, of the tokens of each sentence, and the token with the largest value."""
    firsts = np.cumsum(lengths) - lengths
    sums = np.add.reduceat(values, firsts)
    is_largest = values == np.repeat(np.maximum.reduceat(values, firsts), lengths)
    tokens = np.arange(values.size) - np.repeat(firsts, lengths)
    largest = np.minimum.reduceat(np.where(is_largest, tokens, values.size), firsts)
    scores = sums if total else sums / lengths
    return Uncertainty(scores, scores, largest, largest + 1)


def _chosen(
    data: Chains | Classifiers, rows: Numbers, uncertainty: Uncertainty, n: int, diversity: float
) -> list[Ranked]:
    """Return the sentences to label: the first ones differ, the others follow by uncertainty."""
    value = np.minimum(uncertainty.value, np.finfo(float).max)
    order = np.argsort(-value, kind="stable")
    n_diverse = min(n, _MOST_DIVERSE)
    at = _distinct(data, rows, order, max(n, _CANDIDATES * n_diverse) if diversity else n)
    candidates = at[: _CANDIDATES * n_diverse]
    _, vectors = data.vectors(rows[candidates])
    taken = diverse(value[candidates], vectors, n_diverse, diversity)
    first = {int(candidates[row]): similarity for row, similarity in taken}
    similarities = first | {other: math.nan for other in at.tolist() if other not in first}
    chosen = np.array([*similarities][:n])
    positions, words = rows[chosen], data.words(rows[chosen])
    return [
        Ranked(position, score, similarities[number], start, end, shown(sentence, start, end))
        for number, position, score, start, end, sentence in zip(
            *(
                column.tolist()
                for column in (
                    chosen,
                    positions,
                    uncertainty.score[chosen],
                    uncertainty.start[chosen],
                    uncertainty.end[chosen],
                )
            ),
            words,
            strict=True,
        )
    ]


def _distinct(data: Chains | Classifiers, rows: Numbers, order: Numbers, most: int) -> Numbers:
    """Return the first numbers in an order whose sentences differ."""
    first: dict[Any, int] = {}
    step = min(most, _TOGETHER)
    for start in range(0, order.size, step):
        some = order[start : start + step]
        for number, key in zip(some.tolist(), data.vectors(rows[some])[0], strict=True):
            first.setdefault(key, number)
        if len(first) >= most:
            break
    return np.array([*first.values()][:most])


def shown(words: Sequence[str], start: int, end: int) -> str:
    """Return a sentence with its least certain part in brackets, unless this is all of it."""
    return " ".join(words) if end - start == len(words) else in_context(words, start, end)
