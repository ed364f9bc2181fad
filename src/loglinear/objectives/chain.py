"""The objective of a linear-chain CRF over encoded sentences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from .. import _core
from ..constraints import as_json, check_constraints, resolved
from ..data.column_layout import ColumnLayout
from ..data.corpus import Corpus
from ..data.features import Feature
from ..data.formats import n_columns
from ..data.labels import typed
from ..data.survey import Survey
from ..errors import DataError
from ..options import Options, check_costs, option, option_class, thread_limit, truth_value, whole_number
from .class_weights import cost_factors
from .invalid_labels import POLICIES, are_bio, bio_errors, check_policy, valid_corpus

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ..vectors import Vector
    from .older import OlderChain

    Numbers = npt.NDArray[np.int64]

# Attributes of all tokens together; other forms of the data than blocks take some ten bytes for each.
MOST_IN_MEMORY = 100_000_000

__all__ = ["ChainData", "ChainFeatures", "ChainObjective", "FeatureCounts"]


@option_class
class ChainFeatures(Options):
    """Which features a linear chain has, which labellings, and what wrong labels cost in training.

    This is the one place where they are defined: the parameters of `ChainCRF`, the flags of the command line, the
    settings in model files and the native objective derive from these fields.

    Raises:
        OptionError: a value is out of its range.

    Example:
        >>> from loglinear import ChainFeatures, ChainObjective, Corpus
        >>> corpus = Corpus.encode([[["a"], ["b"]], [["b"]]], [["A", "B"], ["B"]])
        >>> ChainObjective(corpus).n_features
        3
        >>> ChainObjective(corpus, ChainFeatures(all_states=True, all_transitions=True)).n_features
        8
    """

    all_states: bool = option(
        default=False,
        help="also use attribute-label pairs that never occur together in training data (CRFsuite's possible_states)",
        check=truth_value,
    )
    all_transitions: bool = option(
        default=False,
        help="also use label pairs that never occur in sequence in the training data (CRFsuite's possible_transitions)",
        check=truth_value,
    )
    min_count: int = option(
        default=1,
        help="drop attributes that occur in fewer than N samples (tokens, or texts)",
        check=partial(whole_number, least=1, most=2**32 - 1),
    )
    order: int = option(
        default=1,
        help="order of the chain: 1 for features of label pairs, 2 for features of label triples as well. Order 2 "
        "needs a batch solver and at most 256 labels. A template's own lines take precedence: a T line adds "
        "triples at order 1 too, and a template with neither a T line nor a plain B line has no transitions.",
        check=partial(whole_number, least=1, most=2),
    )
    constraints: str | Sequence[tuple[Any, Any]] | None = option(
        default=None,
        help="only allow label sequences that follow a tagging scheme (BIO = IOB2, IOB1, IOBES, BILOU or BMES), in "
        "training and in tagging; `auto` takes the scheme that the labels follow, if any. "
        "Or a list of forbidden pairs (from, to), where None stands for the start or the end of a sentence.",
        check=check_constraints,
    )
    invalid_labels: str = option(
        default="error",
        help="what to do with training sentences whose labels break the constraints: error, repair (relabel them as "
        "the chunks that conlleval reads), or skip the sentences",
        choices=POLICIES,
    )
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = option(
        default=None,
        help='cost of a wrong label in training, in nats, by true label, or "balanced"; labels that are not named cost '
        "1. Costs are added to the scores of wrong labels at each token (softmax margin, Gimpel & Smith 2010), which "
        'gives more weight to rare labels. "balanced" is n_tokens / (n_labels * count of the label); None is the plain '
        "likelihood.",
        check=check_costs,
    )

    def settled(self, labels: list[Any], are_bio: Callable[[], bool]) -> ChainFeatures:
        """Return the features under the constraints that "auto" finds; see `loglinear.constraints.resolved`."""
        return replace(self, constraints=resolved(self.constraints, labels, are_bio))


class FeatureCounts(NamedTuple):
    """How many features of each kind a chain has, in the order of the weights."""

    transitions: int
    triples: int
    bigrams: int
    states: int


class ChainData(ABC):
    """Labelled sentences as the objective of a chain: a corpus in this process, or parts on any machines.

    This is what training asks of data: to be minimised, and to name labels and features.

    Attributes:
        core: the native half, which knows the features.
        requested: which features were asked for.
        features: which features there are: the constraints that "auto" found, the order that a template asks for.
        label_names: names of the labels, the most frequent first, ties in byte order.
        label_type: type of the labels: "str", "int" or "bool".
        format: format of the data, "python" for Python objects.
        template: template that formed the attributes, if there was one.
        columns: layout of the lines, and number of columns, if a template formed the attributes.
        n_features: length of w.
        n_samples: number of sentences.
        n_tokens: number of tokens.
        n_attributes: number of different attributes.
        n_entries: number of attributes of all tokens together.
        is_binary: whether every attribute has the value 1.
    """

    core: _core.ChainObjective | _core.FeatureTable
    requested: ChainFeatures
    features: ChainFeatures
    label_names: list[str]
    label_type: str
    format: str
    template: str | None
    columns: ColumnLayout
    n_features: int
    n_samples: int
    n_tokens: int
    n_attributes: int
    n_entries: int
    is_binary: bool

    @abstractmethod
    def value_and_gradient(self, w: Vector, out: Vector | None = None) -> tuple[float, Vector]:
        """Return the negative log-likelihood at w, in nats, and its gradient, shape (n_features,)."""

    @abstractmethod
    def fingerprint(self) -> dict[str, Any]:
        """Return the sizes of the data, and a checksum of what else determines the weights."""

    @property
    @abstractmethod
    def n_unknown(self) -> int:
        """Number of sentences without any known label; they contribute nothing."""

    @property
    def survey(self) -> Survey:
        """What the data consist of."""
        labels, n_read = tuple(self.label_names), 0 if self.template is None else n_columns(self.template)
        sizes = self.n_samples, self.n_tokens, self.n_attributes
        return Survey(self.format, *sizes, labels, columns=self.columns, n_read=n_read)

    def shortfalls(self) -> list[str]:
        """Return messages about data and options that teach a chain less than was meant."""
        requested, counts, survey = self.requested, self.feature_counts, self.survey
        messages = survey.oddities()
        if self.n_unknown and survey.nothing_to_learn is None:
            messages.append(f"{self.n_unknown} of {self.n_samples} sentences have no known label and are ignored")
        if str(requested.constraints).lower() == "auto" and self.features.constraints is None:
            messages.append(
                "constraints='auto': the labels do not follow a tagging scheme, so there are no constraints"
            )
        if requested.min_count > 1 and self.n_attributes and not counts.states + counts.bigrams:
            least = requested.min_count
            messages.append(
                f"no attribute is left: none occurs on {least} or more tokens; lower min_count (--min-count)"
            )
        return messages

    @property
    def labels(self) -> list[Any]:
        """The labels, the most frequent first, ties in byte order."""
        return typed([self.label_names], self.label_type)[0]

    @property
    def order(self) -> int:
        """1 or 2: how many labels before a token's own its score depends on."""
        return self.core.order

    @property
    def feature_counts(self) -> FeatureCounts:
        """How many features of each kind there are."""
        return FeatureCounts(*self.core.feature_counts)

    @property
    def n_cells(self) -> int:
        """Number of tokens times number of labels."""
        return self.n_tokens * len(self.label_names)

    @property
    def attributes_per_sample(self) -> float:
        """Mean number of attributes of a sentence, all its tokens together."""
        return self.n_entries / max(self.n_samples, 1)

    @property
    def attributes_per_token(self) -> float:
        """Mean number of attributes of a token."""
        return self.n_entries / max(self.n_tokens, 1)

    def feature_names(self, numbers: npt.ArrayLike) -> list[Feature]:
        """Return the names of features by their numbers, shape (k,).

        Cost: O(k log(n_features)).

        Raises:
            OptionError: a number belongs to no feature.
        """
        names = self.core.feature_names(_numbers(numbers))
        return [Feature(attribute, tuple(labels)) for attribute, labels in names]

    def model(self, w: Vector, settings: str = "{}") -> _core.ChainModel:
        """Return the model with these weights; features whose weights are 0 are left out.

        Args:
            w: float64, shape (n_features,).
            settings: what the model's file says of it, JSON.
        """
        return self.core.model(w, settings, self.template).constrained(as_json(self.features.constraints))

    def start_weights(self, model: _core.ChainModel) -> tuple[Vector, int]:
        """Return the weights that a model has for features of the same names, and the number of these features.

        Args:
            model: of any chain.

        Returns:
            Weights, shape (n_features,), 0 for features that the model does not have, and the number of the others.
        """
        return self.core.start_weights(model)


class ChainObjective(ChainData):
    """NLL of a linear-chain CRF, the sum over sentences of -weight log p(y | x; w), in nats.

    With costs of wrong labels it is the softmax margin (Gimpel & Smith 2010): in log Z(x) the score of a labelling is
    raised by the cost of each token whose label is wrong. A label is wrong if it is not among the token's possible
    labels. The objective stays convex.

    Where labels are distributions, y has the product q(y) of their probabilities, given that the constraints allow it,
    and a sentence adds the expectation of -log p(y | x; w), which is log Z(x) - w . E_q[f(x, y)]: linear in q, convex
    in w, and as fast as with known labels. Batch solvers minimise it. With costs, a label of probability q costs
    (1 - q) times as much as a wrong label.

    p(y | x; w) = exp(sum over tokens t of w . f(y[t-1], y[t], x, t)) / Z(x); with order 2 f sees y[t-2] as well. w
    holds the weights of four kinds of features, in this order:

    - transitions, by both labels;
    - triples, by three labels in a row;
    - bigrams: an attribute with two labels in a row;
    - states: an attribute with one label.

    It satisfies `loglinear.Objective` and can be restricted to features, aggregated over clusters of features, and cut
    into samples, so every solver can minimise it; second-order chains have no solver that goes sample by sample.

    Source: Lafferty, McCallum & Pereira (2001); Sutton & McCallum (2012), sections 2.3 and 4.
    Cost: an evaluation is a threaded pass over the data, O(T L^2) for T tokens and L labels besides the attributes,
    O(T L^3) with order 2. Values and gradients are the same on any number of threads.

    Args:
        corpus: labelled sentences.
        features: which features there are.
        threads: 0 for all cores.
        older: chain whose features are features as well, and its labels labels, even if the corpus lacks them.

    Raises:
        DataError: the corpus has no labels, or there are too many labels or features; or the labels of the older chain
            have another type.
        OptionError: the older chain has another template, or a higher order.

    Attributes:
        corpus: the sentences.

    Example:
        >>> from loglinear import OWLQN, ChainObjective, Corpus, ElasticNet, Problem, minimize
        >>> objective = ChainObjective(Corpus.encode([[["a"], ["b"]], [["b"]]], [["A", "B"], ["B"]]))
        >>> result = minimize(Problem(objective, ElasticNet(l1=0.1)), OWLQN())
        >>> for feature, weight in zip(objective.feature_names(result.w.nonzero()[0]), result.w[result.w != 0]):
        ...     print(f"{feature}  {weight:.2f}")
        A -> B  2.37
        b  -> B  2.38
    """

    core: _core.ChainObjective

    def __init__(
        self,
        corpus: Corpus,
        features: ChainFeatures = ChainFeatures(),
        *,
        threads: int = 0,
        older: OlderChain | None = None,
    ) -> None:
        check_policy(features.invalid_labels, features.constraints)
        if older is not None:
            older.check(corpus.label_type, corpus.template)
        labels = corpus.labels if older is None else older.joined(corpus)
        if not labels and corpus.n_tokens and corpus.core.first_partial() is not None:
            message = "no token has a known label: there is nothing to train on"
            raise DataError(message)
        settled = features.settled(labels, lambda: are_bio([bio_errors(corpus)]))
        corpus = valid_corpus(corpus, settled.constraints, features.invalid_labels)
        labels, counts = corpus.labels if older is None else older.joined(corpus), corpus.core.label_counts()
        counts += [0] * (len(labels) - len(counts))  # labels that the corpus lacks come last
        class_weights = cost_factors(features.class_weight, labels, counts)
        self.core = _core.ChainObjective(
            corpus.core,
            features,
            constraints=as_json(settled.constraints),
            class_weights=class_weights,
            threads=thread_limit(threads),
            older=None if older is None else older.model,
        )
        if older is not None:
            older.check_order(self.core.order)
        self.corpus, self.requested = corpus, features
        self.features = replace(settled, order=self.core.order)
        self.label_names, self.label_type = self.core.labels, corpus.label_type
        self.format, self.template, self.columns = corpus.format, corpus.template, corpus.columns
        self.n_features, self.n_samples = self.core.n_features, self.core.n_samples
        self.n_tokens = corpus.n_tokens
        self.n_attributes, self.n_entries = self.core.n_attributes, corpus.core.n_entries
        self.is_binary = corpus.core.is_binary
        self._largest: Vector | None = None

    def _like(self, core: _core.ChainObjective, largest: Vector | None = None) -> ChainObjective:
        other = object.__new__(ChainObjective)
        changed = {"core": core, "n_features": core.n_features, "n_samples": core.n_samples, "_largest": largest}
        vars(other).update(vars(self) | changed)
        return other

    def fingerprint(self) -> dict[str, Any]:
        """Return the sizes of the corpus and a checksum of its attributes by number, values, labels and weights."""
        from ..data.fingerprint import of_corpus

        return of_corpus(self.corpus)

    @property
    def is_partial(self) -> bool:
        """Whether labels are partial; the objective is then not convex."""
        return self.core.is_partial

    @property
    def is_convex(self) -> bool:
        """Whether the objective is convex: all labels are known."""
        return not self.is_partial

    @property
    def cost_constant(self) -> float:
        """What large costs add to the value at all weights that give small scores, in nats."""
        return self.core.cost_constant

    @property
    def weights(self) -> Vector:
        """Weights of the sentences, >= 0, shape (n_samples,)."""
        return self.core.weights

    @property
    def n_unknown(self) -> int:
        """Number of sentences without any known label; they contribute nothing."""
        return self.core.n_unknown

    @property
    def survey(self) -> Survey:
        """What the data consist of, with the number of tokens of each label."""
        return Survey.of(self.corpus)

    @property
    def n_threads(self) -> int:
        """Threads that an evaluation runs on."""
        return self.core.n_threads

    @property
    def n_unpenalised(self) -> int:
        """Number of weights that a penalty should leave alone: none."""
        return self.core.n_unpenalised

    @property
    def clusterable(self) -> tuple[int, int]:
        """Range of the features that may be clustered: the features of states."""
        return self.core.clusterable

    def value_and_gradient(self, w: Vector, out: Vector | None = None) -> tuple[float, Vector]:
        """Return the negative log-likelihood at w, in nats, and its gradient, shape (n_features,).

        Args:
            w: float64, shape (n_features,). Weights that are not finite give an infinite value.
            out: where to write the gradient; a new array without it.
        """
        return self.core.value_and_gradient(w, out)

    def sample_nlls(self, w: Vector) -> Vector:
        """Return -log p(y | x; w) of each sentence, not times its weight, shape (n_samples,).

        Cost: nothing at the weights of the last evaluation, else an evaluation. Sentences without weight get 0.
        """
        return self.core.sample_nlls(w)

    def hessian_diagonal(self, w: Vector) -> Vector:
        """Return about the diagonal of the Hessian at w, shape (n_features,): the curvature along each weight.

        The labels of a token are taken as independent of the labels of its neighbours: a feature of states gets the sum
        of value^2 p (1 - p), p the marginal of its label, and a transition, triple or feature of a bigram its expected
        count times the mean variance of a token's label. Cost: an evaluation.

        Args:
            w: float64, shape (n_features,).

        Raises:
            OptionError: labels are partial.
        """
        return self.core.hessian_diagonal(w)

    def largest_values(self) -> Vector | None:
        """Return the largest absolute value of each feature's attribute, shape (n_features,); None if all are 1.

        Features of labels alone have 1. Cost: a pass over the attributes, once.
        """
        if self._largest is None and not self.is_binary:
            self._largest = self.core.largest_values()
        return self._largest

    @property
    def has_hessian_diagonal(self) -> bool:
        """Whether `hessian_diagonal` is known: not with partial labels."""
        return not self.is_partial

    @property
    def is_prunable(self) -> bool:
        """Whether unlikely labels can be left out: not with attributes of bigrams, nor with partial or soft labels."""
        return self.core.is_prunable

    @property
    def stays_on_disk(self) -> bool:
        """Whether the corpus lies on disk and is large: its tokens have more than 100 million attributes."""
        return self.corpus.core.is_mapped and self.corpus.core.n_entries > MOST_IN_MEMORY

    @property
    def first_order(self) -> Numbers | None:
        """Numbers of the features that are not triples, ascending; None if the chain is of first order."""
        import numpy as np

        if self.order == 1:
            return None
        counts = self.feature_counts
        return np.delete(np.arange(self.n_features), np.s_[counts.transitions : counts.transitions + counts.triples])

    def likely_labels(
        self, w: Vector, least: float, out: Vector | None = None
    ) -> tuple[float, Vector, _core.LikelyLabels]:
        """Return value and gradient at w, and the labels of each token whose marginals are above ``least``.

        Args:
            w: float64, shape (n_features,).
            least: marginal, >= 0.
            out: where to write the gradient; a new array without it.
        """
        return self.core.likely_labels(w, least, out)

    def pruned(
        self,
        likely: _core.LikelyLabels,
        w: Vector,
        value: float,
        gradient: Vector,
        *,
        bound: float,
        links: float,
        guard: float = 1.0,
        features: npt.ArrayLike | None = None,
        cost: float = float("inf"),
    ) -> _core.PrunedObjective | None:
        """Return the objective over likely labels, which agrees with this one in value and gradient at w.

        Source: Pal, Sutton & McCallum (2006) for pruning by marginals; Lewis & Nash (2005) for the correction.

        Args:
            likely: what `likely_labels` returned at w.
            w: weights of the features in the working set, shape (k,); the weights of all others are 0.
            value: this objective at w, nats.
            gradient: of this objective at w, by the features in the working set, shape (k,).
            bound: marginal above which labels are kept, at least that of ``likely``; gold labels are kept always.
            links: marginal above which they keep their links to the labels of neighbouring tokens.
            guard: factor >= 0 of the guard, which stands for the curvature of what is pruned.
            features: numbers of the features in the working set, ascending, shape (k,); all by default.
            cost: share of the cost of this objective, by counts; None is returned if an evaluation costs more.
        """
        numbers = None if features is None else _numbers(features)
        return self.core.pruned(likely, bound, links, guard, w, value, gradient, numbers, cost)

    def restrict(self, features: npt.ArrayLike) -> ChainObjective:
        """Return the objective over some of the features, in this order; the weights of all others are 0.

        Args:
            features: their numbers, ascending, shape (k,).
        """
        numbers, largest = _numbers(features), self.largest_values()
        return self._like(self.core.restrict(numbers), None if largest is None else largest[numbers])

    def aggregate(self, cmap: npt.ArrayLike, n_clusters: int) -> _core.ChainObjective | None:
        """Return the objective over clusters of features, beta_j = gamma_cmap(j), which have no names.

        Source: Mathur & Chakrabarti (2010), Eq. 15.

        Args:
            cmap: cluster of each feature, from 0 to n_clusters - 1, shape (n_features,).
            n_clusters: number of clusters.

        Returns:
            An objective over n_clusters features; None if others than features of states are clustered.
        """
        return self.core.aggregate(_numbers(cmap), n_clusters)

    def sample(self, sentences: npt.ArrayLike) -> ChainObjective:
        """Return the objective on some of the sentences, with the features that occur there."""
        return self._like(self.core.sample(_numbers(sentences)))

    def batch(self, sentences: npt.ArrayLike, factor: float) -> ChainObjective:
        """Return the objective on some of the sentences, each weighing ``factor`` times as much, with all features.

        A sentence that is named several times counts several times.
        """
        return self._like(self.core.batch(_numbers(sentences), factor))

    def per_sample(self) -> _core.SamplePasses:
        """Return the same problem for solvers that go sample by sample; by runs of samples if it stays on disk.

        Raises:
            OptionError: the chain is of order 2.
        """
        return self.core.per_sample(by_run=self.stays_on_disk)


def _numbers(numbers: npt.ArrayLike) -> Numbers:
    import numpy as np

    return np.ascontiguousarray(numbers, dtype=np.int64)
