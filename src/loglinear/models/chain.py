"""The linear-chain CRF as a scikit-learn estimator.

A program that loads a model and labels text imports neither NumPy nor what only training needs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from operator import eq
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, overload

from ..constraints import as_json, check_constraints, resolved, warn_of_no_labelling
from ..data.column_layout import ColumnLayout, check_tokens
from ..data.columns import ListColumn, as_lists, is_column
from ..data.corpus import Corpus, check_some_weight, checked_weights
from ..data.labels import typed
from ..data.per_sentence import PerSentence
from ..data.survey import check_known
from ..data.templates import TemplateText
from ..errors import DataError, OptionError, in_argument
from ..extras import needed_by
from ..objectives.chain import ChainData, ChainFeatures, ChainObjective
from ..options import one_of
from .chain_bias import BiasParameters, LabelBias
from .chain_inference import ChainInference
from .chain_single import SingleSentences
from .chain_weights import WeightsByName
from .column_tagging import tag_column
from .estimator import LightEstimator, check_end
from .files.chain import ChainModel, checked_n_best, cutting, open_model, stating
from .files.settings import class_weight_of
from .files.tagging import DECODE, Decode, Tagging, tag_corpus
from .temperature import Temperature

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ..data.inputs import ArrowData, Labels, Sentence, Sentences, TokenWeights
    from ..minimize import Callback
    from ..objectives.older import OlderChain
    from ..report.page import Report
    from ..vectors import Vector
    from .explain.explanation import Explanation
    from .training.checkpoint import Checkpoint
    from .training.prior import ChainPrior
    from .training.start import Start
from .training.options import (
    ChosenSolverParameters,
    DevOptions,
    DevParameters,
    FamilyParameters,
    SolverOptions,
    StrengthSearch,
    TextInput,
)

__all__ = ["ChainCRF"]


class ChainCRF(
    LabelBias,
    Temperature,
    WeightsByName,
    SingleSentences,
    ChainInference,
    LightEstimator,
    ChosenSolverParameters,
    FamilyParameters,
    ChainFeatures,
    DevParameters,
    BiasParameters,
    TextInput,
):
    """Linear-chain conditional random field of first or second order.

    p(y | x) = exp(sum over tokens t of w . f(y[t-1], y[t], x, t)) / Z(x), trained by minimising the sum over sentences
    of -log p(y | x), plus l1 |w|_1 + (l2 / 2) |w|^2, in nats. With order=2, f also depends on y[t-2]: label triples are
    features as well.

    Source: Lafferty, McCallum & Pereira (2001); Sutton & McCallum (2012), sections 2.3 and 4; second order: Sha &
    Pereira (2003). Departures:

    - attributes are never combined with label triples;
    - inference is over pairs of labels, not over a chain whose labels are pairs.
    Cost: the solver's; lbfgs and owlqn make one threaded pass over the data per iteration, O(T L^2) for T tokens and
    L labels in addition to the attributes, O(T L^3) with order=2. The weights are the same for any number of threads.

    X is a sequence of sentences, or an encoded `Corpus`, which contains the labels (y is then None). A sentence is a
    sequence of tokens. A token is a sequence of attribute names or a dict of attributes; with a template, a str or a
    sequence of str, its columns (see `Corpus.encode`).

    Args:
        template: name of a preset or text of a template, to form attributes from raw tokens.

    Labels are strings, integers or booleans, all of the same type. Predictions have that type; NumPy types are
    converted to Python types.

    Attributes:
        classes_: labels, the most frequent first; ties in byte order of their names.
        result_: status, trace and optimality violation of the training; NotFittedError for a loaded model.
        l1_: strength of the L1 penalty: the one that l1="cv" has chosen, or l1 itself.
        l2_: strength of the L2 penalty: the one that l2="cv" has chosen, or l2 itself.
        cross_validation_: strengths and scores that l1="cv" or l2="cv" has chosen from (`CrossValidation`); None
            otherwise.
        model_: the native model.

    Example:
        >>> from loglinear import ChainCRF
        >>> X = [[["word=The", "cap"], ["word=dog"], ["word=barks"]], [["word=Dogs", "cap"], ["word=bark"]]]
        >>> y = [["DET", "NOUN", "VERB"], ["NOUN", "VERB"]]
        >>> crf = ChainCRF(l1=0.1, l2=0.01).fit(X, y)
        >>> crf.predict(X[:1])
        [['DET', 'NOUN', 'VERB']]
        >>> ChainCRF(template="pos").fit([["Dogs", "bark"]], [["NOUN", "VERB"]]).predict([["Dogs"]])
        [['NOUN']]
    """

    template: str | None = None

    def fit(
        self,
        X: Corpus | Sentences,
        y: Labels | None = None,
        *,
        sample_weight: Iterable[float] | None = None,
        token_weight: TokenWeights | None = None,
        X_dev: Corpus | Sentences | None = None,
        y_dev: Labels | None = None,
        start: ChainCRF | str | os.PathLike[str] | None = None,
        prior: ChainCRF | str | os.PathLike[str] | None = None,
        prior_strength: float | None = None,
        callbacks: Iterable[Callback] = (),
        checkpoint: Checkpoint | None = None,
        groups: npt.ArrayLike | None = None,
    ) -> ChainCRF:
        """Train on sentences and their labels.

        Args:
            X: sentences or a labelled Corpus.
            y: a sequence of labels for each sentence; None with a Corpus.
            sample_weight: a weight >= 0 for each sentence.
            token_weight: for each sentence a number >= 0 for each token: the cost of a wrong label, in nats, multiplied
                by the class weight, if any. None for 1 with class weights, 0 otherwise. It does not change how often a
                sentence counts, which is what ``sample_weight`` does.
            X_dev: development data: sentences to score during training. The trace has the scores of every step.
            y_dev: labels of the sentences in X_dev.
            start: model to start from (warm start), or the path of its file. Features with the same names start at its
                weights, all others at 0; `result_.start` reports how many. Its template is used if the estimator has
                none. The optimum is the same as from 0, unless labels are partial. Batch solvers benefit most: passes
                of stochastic solvers first move away from the starting point, and `sag` does not use it.
            prior: older model that the new one should stay near, or the path of its file: with its weights c, the
                penalty is l1 |w - c|_1 + (prior_strength / 2) |w - c|^2. Features and labels that the new data lack
                stay in the model; c is 0 for new ones. `result_.prior` reports how many. The estimator needs the
                template of the prior, or none, and at least its order. Only batch solvers support a prior.
            prior_strength: strength of that penalty, which takes the place of l2; l2 by default. ``math.inf`` keeps the
                weights of the prior, 0 trains on the new data alone without an L2 penalty; otherwise at most 1e6.
            callbacks: called as callback(record, state) after each step; return True to stop. With a prior, the
                weights of a state are their change from the prior.
            checkpoint: file to save the state of the training to regularly, and to resume from after a crash.
            groups: group of each sentence, such as its document, shape (sentences,): l1="cv" and l2="cv" keep the
                sentences of a group in one fold.

        Raises:
            OptionError: an option is out of range, or differs from the checkpoint. Or the prior has another template.
                Or l1="cv" or l2="cv" comes with development data, a start, a prior or a checkpoint.
            DataError: invalid data; names the sentence. Or the older model has labels of another type.
            ModelFileError: the file of the older model is damaged or of another kind.
            ObjectiveError: a stochastic solver diverged.
            KeyboardInterrupt: Ctrl-C; once training has begun, the estimator holds the weights reached.

        Warns:
            DataWarning: the data look wrong: a single label, many labels that occur once, development data with labels
                that the training data do not have.
            UserWarning: the model to start from has another template; the prior has biases of labels, which the new
                model has not, or is calibrated.

        Example:
            >>> from loglinear import ChainCRF
            >>> old = ChainCRF().fit([[["w=Dogs"], ["w=bark"]]], [["NOUN", "VERB"]])
            >>> new = ChainCRF().fit([[["w=Dogs"], ["w=again"]]], [["NOUN", "ADV"]], start=old)
            >>> print(new.result_.start)
            1 of 3 features start from the older model; 1 label is new
            >>> both = ChainCRF().fit([[["w=Dogs"], ["w=again"]]], [["NOUN", "ADV"]], prior=old, prior_strength=10)
            >>> print(both.result_.prior)
            3 of 5 features have a prior from the older model, strength 10; 1 label is new
        """
        data_by = self._data_by(X, y, sample_weight, token_weight)
        models = OlderModels(start, prior, prior_strength)
        self._fit(data_by, X_dev, y_dev, models=models, callbacks=callbacks, checkpoint=checkpoint, groups=groups)
        return self

    def _data_by(
        self,
        X: Corpus | Sentences,
        y: Labels | None,
        sample_weight: Iterable[float] | None,
        token_weight: TokenWeights | None = None,
    ) -> Callable[[str | None, OlderChain | None], ChainData]:
        """Return a function that returns the objective on sentences for a template and a prior; see `fit`."""
        features, threads = self._options(ChainFeatures), self._threads

        def data(template: str | None, older: OlderChain | None) -> ChainData:
            corpus = self._corpus(X, y, template, sample_weight, token_weight)
            return ChainObjective(corpus, features, threads=threads, older=older)

        return data

    def _fit(
        self,
        data_by: Callable[[str | None, OlderChain | None], ChainData],
        X_dev: Corpus | Sentences | None,
        y_dev: Labels | None,
        *,
        models: OlderModels | ChainPrior,
        callbacks: Iterable[Callback] = (),
        checkpoint: Checkpoint | None = None,
        groups: npt.ArrayLike | None = None,
    ) -> None:
        """Train on the data that a function returns for a template and a prior; see `fit` for the other arguments."""
        with needed_by("ChainCRF.fit"):
            from .training.chain import DevSet, train_chain
            from .training.prior import ChainPrior, check_prior

        use, search = self._options(DevOptions), self._options(StrengthSearch)
        options = self._options(SolverOptions, **search.fixed)
        use.check(has_data=X_dev is not None)
        options.check()
        if search.names or groups is not None:
            from .training.chain_strengths import check_chain_search, chosen_strengths

            check_chain_search(
                search,
                options,
                dev=X_dev is not None,
                start=isinstance(models, OlderModels) and models.start is not None,
                prior=not isinstance(models, OlderModels) or models.prior is not None,
                checkpoint=checkpoint is not None,
                groups=groups is not None,
            )
        begun: Start | None = None
        prior: ChainPrior | None = None
        if isinstance(models, ChainPrior):
            prior = models
        else:
            check_prior(*models)
            begun = None if models.start is None else _opened(models.start)
            prior = None if models.prior is None else ChainPrior(_opened(models.prior, "prior"), models.prior_strength)
        for lost in (begun, prior):
            if lost is not None:
                lost.warn_of_lost(has_bias=self.label_bias is not None)
        older = begun if prior is None else prior.start
        template = self.template if older is None or self.template is not None else older.template
        with in_argument("X_dev"):
            dev_corpus = None if X_dev is None else self._corpus(X_dev, y_dev, template)
            dev = None if dev_corpus is None else DevSet(dev_corpus, use, threads=self._threads)
        data = data_by(template, None if prior is None else prior.older)
        if prior is not None and not data.n_samples:
            message = "no sentences: there is nothing to train on"
            raise DataError(message)
        if dev_corpus is not None and dev is not None:
            dev_corpus.check_label_type(data.label_type)
            dev.check_known(data.label_names)
            check_tokens(dev_corpus.format, dev_corpus.columns, data.columns)
        cross_validation = None
        if search.names:
            options, cross_validation = chosen_strengths(data, search, options, groups, self._threads)

        def at(w: Vector) -> dict[str, Any]:
            return {"model_": data.model(w), "classes_": data.labels, "_bias": None}

        model, result = train_chain(
            data,
            options,
            callbacks=self._observers(callbacks, None if prior else at),
            dev=dev,
            start=begun,
            prior=prior,
            checkpoint=checkpoint,
            tokenizer=self.tokenizer,
            cross_validation=cross_validation,
        )
        self.model_, self.classes_ = model, data.labels
        penalty = options.penalty()
        self.l1_, self.l2_, self.cross_validation_ = penalty.l1, penalty.l2, cross_validation
        self._bias: dict[Any, float] | None = None
        self._evidence = None if prior is None else prior.learned
        self._set_results(result)
        check_end(result)

    def _solver_options(self) -> SolverOptions:
        """Return how the chain was trained, with the strengths that were chosen."""
        chosen = {name: vars(self)[f"{name}_"] for name in self._options(StrengthSearch).names}
        options: SolverOptions = self._options(SolverOptions, **chosen)
        return options

    def partial_fit(
        self,
        X: Corpus | Sentences,
        y: Labels | None = None,
        *,
        sample_weight: Iterable[float] | None = None,
        token_weight: TokenWeights | None = None,
    ) -> ChainCRF:
        """Learn from one more piece of data, without forgetting the former ones.

        Each piece is learned with the weights so far as a prior. Its strength grows as data accumulate: for each weight
        it is l2 plus the curvature that the former pieces gave to the negative log-likelihood, the diagonal of their
        Hessians at the weights that they led to. Weights of which many sentences have told stay, and rare ones remain
        free. This is the Laplace approximation of the posterior with a diagonal covariance (Spiegelhalter & Lauritzen
        1990), and not exact: the guide to continued training says how near it comes to training on all pieces at once.

        Features and labels of any piece enter. Files of models do not keep the curvature: after `load` or `fit` it is
        estimated from the next piece and the number of sentences seen, so the piece should be like the former ones.

        Args:
            X: sentences or a labelled Corpus.
            y: a sequence of labels for each sentence; None with a Corpus.
            sample_weight: a weight >= 0 for each sentence.
            token_weight: for each sentence the cost of a wrong label of each token; see `fit`.

        Raises:
            OptionError: an option is out of range, l1 is above 0, l2 is 0, or labels are partial.
            DataError: invalid data; names the sentence.

        Example:
            >>> from loglinear import ChainCRF
            >>> crf = ChainCRF()
            >>> for X, y in ([["w=Dogs"], ["w=bark"]], ["NOUN", "VERB"]), ([["w=Cats"]], ["NOUN"]):
            ...     crf = crf.partial_fit([X], [y])
            >>> crf.predict([[["w=Dogs"], ["w=bark"]], [["w=Cats"]]])
            [['NOUN', 'VERB'], ['NOUN']]
        """
        with needed_by("ChainCRF.partial_fit"):
            from .training.prior import ChainEvidence, ChainPrior, check_pieces, n_seen_by

        search = self._options(StrengthSearch)
        if search.names:
            message = f"{search.named} is not available with partial_fit; give a number"
            raise OptionError(message)
        check_pieces(self._options(SolverOptions).penalty().l2)
        start, evidence = None, ChainEvidence(0, None)
        if "model_" in vars(self):
            former = vars(self).get("_evidence")
            training = json.loads(self.model_.settings).get("training")
            start, evidence = _opened(self), former or ChainEvidence(n_seen_by(training), None)
        data_by = self._data_by(X, y, sample_weight, token_weight)
        self._fit(data_by, None, None, models=ChainPrior(start, None, evidence))
        return self

    @overload
    def predict(self, X: Corpus | Sentences, *, decode: Decode = "viterbi", n_best: None = None) -> list[list[Any]]: ...

    @overload
    def predict(self, X: ArrowData, *, decode: Decode = "viterbi", n_best: None = None) -> Any: ...

    @overload
    def predict(
        self, X: Corpus | Sentences, *, decode: Decode = "viterbi", n_best: int
    ) -> list[list[tuple[list[Any], float]]]: ...

    def predict(self, X: Any, *, decode: Decode = "viterbi", n_best: int | None = None) -> Any:
        """Return the labels of each sentence, or its n most probable label sequences.

        The n-best search is exact (Soong & Huang 1991; Nagata 1994). For T tokens and L labels it costs O(n T L) in
        addition to the O(T L^2) of Viterbi and of the probabilities.

        Args:
            X: sentences, a Corpus, or a column of lists: of pandas, polars, pyarrow or any library with Arrow's
                PyCapsule interface.
            decode: "viterbi" for the most probable label sequence; "marginal" for the most probable label at each
                token (ties: the first in `classes_`), which minimises the expected number of wrong labels but may
                combine labels that do not fit together.
            n_best: number of label sequences per sentence; None for the best one, without its probability.

        Returns:
            A list of labels for each sentence; as a NumPy array, an array of lists, shape (sentences,). For a column, a
            column of the same library, null where the sentence is null; see `Tagger.tag_batch`.

            With n_best, for each sentence a list of pairs (labels, log p(labels | sentence) in nats), the most
            probable first, and fewer than n_best if there are not enough sequences. The first one has the labels
            returned without n_best. Ties are broken at the last token where the sequences differ, in the order of
            `classes_`.

        Raises:
            OptionError: unknown decode; n_best is not an integer >= 1, or is combined with decode="marginal".
            DataError: invalid sentences; names the sentence.

        Example:
            >>> import math
            >>> from loglinear import ChainCRF
            >>> crf = ChainCRF(l2=0.1).fit([[["the"], ["dog"]], [["dog"]]], [["DET", "NOUN"], ["NOUN"]])
            >>> for labels, log_probability in crf.predict([[["the"], ["dog"]]], n_best=2)[0]:
            ...     print(labels, f"{math.exp(log_probability):.3f}")
            ['DET', 'NOUN'] 0.866
            ['NOUN', 'NOUN'] 0.085
        """
        one_of("decode", decode, DECODE)
        threads = self._threads
        if n_best is None and is_column(X):
            return self._predict_column(X, decode)
        if n_best is None and decode == "viterbi" and (label_names := self._predicted_at_once(X, threads)) is not None:
            return PerSentence(typed(label_names, self._label_type))
        model, corpus = self._inputs(X)
        if n_best is None:
            names = model.predict(corpus.core, decode=decode, threads=threads)
            return PerSentence(typed(names, self._label_type))
        if decode != "viterbi":
            message = f"n_best is not available with decode={decode!r}; leave out one"
            raise OptionError(message)
        labellings_of = model.n_best(corpus.core, checked_n_best("n_best", n_best), threads=threads)
        kind = self._label_type
        return [[(typed([labels], kind)[0], log_p) for labels, log_p in labellings] for labellings in labellings_of]

    def _predict_column(self, X: object, decode: Decode) -> Any:
        """Return the labels of a column of sentences as a column of the same library."""
        model, threads = self._constrained_model, self._threads
        if decode == "viterbi":
            return tag_column(model, self._label_type, X, threads=threads)

        def labels(sentences: list[Any]) -> dict[str, list[Any]]:
            return {"labels": self.predict(sentences, decode=decode)}

        return ListColumn(X, "X").mapped(labels, tuples=model.has_template)

    def tag(self, X: Corpus | Sentences, *, decode: Decode = "viterbi") -> list[Tagging]:
        """Return the labels of each sentence, with probabilities of labels, of spans and of the whole sequence.

        A span is a chunk, if the labels of the model follow a tagging scheme (see `loglinear.metrics.chunks`). Its
        probability is the sum over all label sequences in which a chunk of its type covers exactly these tokens. The
        probabilities of all spans that cover a token, and of the label O at this token, sum to 1.

        Source: Culotta & McCallum, HLT-NAACL 2004 (constrained forward-backward).
        Cost: forward-backward, plus O(tokens of the span * L^2) per span for L labels; O(tokens of the span * L^3)
        with order=2.

        Args:
            X: sentences or a Corpus.
            decode: "viterbi" or "marginal", as in `predict`.

        Returns:
            A `Tagging` for each sentence; as a NumPy array, shape (sentences,).

        Raises:
            OptionError: unknown decode.

        Example:
            >>> from loglinear import ChainCRF
            >>> X, y = [[["Ada"], ["Lovelace"], ["wrote"]]], [["B-PER", "I-PER", "O"]]
            >>> (tagging,) = ChainCRF(l2=0.1).fit(X, y).tag(X)
            >>> tagging.labels, [round(p, 2) for p in tagging.probabilities], round(tagging.probability, 2)
            (['B-PER', 'I-PER', 'O'], [0.87, 0.91, 0.87], 0.74)
            >>> [(span.type, span.start, span.end, round(span.probability, 2)) for span in tagging.spans]
            [('PER', 0, 2, 0.82)]
        """
        one_of("decode", decode, DECODE)
        model, corpus = self._inputs(X)
        taggings = tag_corpus(model, corpus, decode=decode, label_type=self._label_type, threads=self._threads)
        return PerSentence(taggings)

    def predict_marginals(self, X: Corpus | Sentences) -> list[list[dict[Any, float]]]:
        """Return p(label | sentence) for each token of each sentence, as a dict by label.

        `cross_val_predict` joins the results of its folds. scikit-learn must be told to accept the name of the method.

        Args:
            X: sentences or a Corpus.

        Returns:
            A list of dicts for each sentence; as a NumPy array, an array of lists, shape (sentences,).

        Example:
            >>> from sklearn import config_context
            >>> from sklearn.model_selection import cross_val_predict
            >>> from loglinear import ChainCRF
            >>> X, y = [[["the"], ["dog"]], [["dog"]]] * 3, [["DET", "NOUN"], ["NOUN"]] * 3
            >>> with config_context(skip_parameter_validation=True):
            ...     probabilities = cross_val_predict(ChainCRF(l2=0.1), X, y, cv=3, method="predict_marginals")
            >>> [round(token["NOUN"], 2) for token in probabilities[0]]
            [0.06, 0.98]
        """
        sentences = self.marginals(X)
        return PerSentence([dict(zip(self.classes_, row, strict=True)) for row in rows.tolist()] for rows in sentences)

    @property
    def predict_proba(self) -> NoReturn:
        """Not available for chains: `predict_marginals` and `marginals` return the probabilities of each token.

        scikit-learn expects one row of probabilities per sample, with the same columns in every fold.

        Raises:
            AttributeError: always, so ``hasattr(crf, "predict_proba")`` is False.
        """
        message = (
            f"{type(self).__name__} has no predict_proba: each token of a sentence has its own probabilities; use "
            "predict_marginals (a dict by label for each token) or marginals (an array for each sentence)"
        )
        raise AttributeError(message)

    def marginals(self, X: Corpus | Sentences) -> list[npt.NDArray[np.float64]]:
        """Return p(label | sentence) for each sentence, shape (tokens, labels), in the order of `classes_`."""
        with needed_by("ChainCRF.marginals"):
            import numpy as np

        model, corpus = self._inputs(X)
        rows = model.marginals(corpus.core, threads=self._threads)
        return [np.array(row).reshape(-1, len(self.classes_)) for row in rows]

    def transition_marginals(self, X: Corpus | Sentences) -> list[npt.NDArray[np.float64]]:
        """Return p(y[t], y[t+1] | sentence) for each sentence, shape (tokens - 1, labels, labels)."""
        with needed_by("ChainCRF.transition_marginals"):
            import numpy as np

        model, corpus = self._inputs(X)
        size = len(self.classes_)
        pairs = model.transition_marginals(corpus.core, threads=self._threads)
        return [np.array(row).reshape(-1, size, size) for row in pairs]

    def explain(self, tokens: Sentence) -> Explanation:
        """Explain why each token of a sentence has its label.

        Args:
            tokens: one sentence, as for `predict_single`.

        Returns:
            For each token its label, which is the one that `predict` gives, its label in the best sequence in which it
            has a different one, and the contribution of each feature to the difference between the two scores. Printing
            it shows the strongest features; a notebook shows the sentence with its labels, and bars.

        Raises:
            DataError: the sentence cannot be used; names the token.

        Warns:
            DataWarning: the constraints allow no label sequence; the label of every token is then `?`.

        Example:
            >>> from loglinear import ChainCRF
            >>> crf = ChainCRF(l2=0.1).fit([[{"w": "the"}, {"w": "dog"}]], [["DT", "NN"]])
            >>> explanation = crf.explain([{"w": "the"}, {"w": "dog"}])
            >>> explanation[1].label, explanation[1].other
            ('NN', 'DT')
        """
        with needed_by("ChainCRF.explain"):
            from ..data.tokens import read_once, shown_words
            from .explain.explainer import Explainer

        def explanation(x: Sentence) -> Explanation:
            x = read_once(x)
            model.predict_single(x)  # refuses what other methods for one sentence refuse, in the same words
            _, corpus = self._inputs([x])
            return Explainer(model).explain(corpus, shown_words([x], corpus), self._threads)[0]

        model = self._constrained_model
        return self._of_one(explanation, tokens)

    def log_partition(self, X: Corpus | Sentences) -> npt.NDArray[np.float64]:
        """Return log Z(x) of each sentence, in nats, shape (sentences,)."""
        with needed_by("ChainCRF.log_partition"):
            import numpy as np

        model, corpus = self._inputs(X)
        return np.array([z for z, _ in model.log_partition(corpus.core, threads=self._threads)])

    def log_probability(self, X: Corpus | Sentences, y: Labels | None = None) -> npt.NDArray[np.float64]:
        """Return log p(y | x) of each sentence, in nats, shape (sentences,); -inf if a label is unknown.

        Warns:
            DataWarning: the constraints allow no labelling of a sentence, whose log-probability is then -inf.
        """
        with needed_by("ChainCRF.log_probability"):
            import numpy as np

        model, corpus = self._inputs(X, y)
        corpus.true_labels()
        pairs = np.array(model.log_partition(corpus.core, threads=self._threads)).reshape(-1, 2)
        warn_of_no_labelling(np.flatnonzero(pairs[:, 0] == -np.inf).tolist())
        return pairs[:, 1]

    def score(
        self,
        X: Corpus | Sentences,
        y: Labels | None = None,
        sample_weight: Iterable[float] | None = None,
        *,
        metric: str = "accuracy",
    ) -> float:
        """Return a score of the predicted labels, between 0 and 1, as `loglinear evaluate` does.

        Tokens with an unknown label, None or the mark that a file has for it, do not count.

        Args:
            X: sentences, or a labelled Corpus.
            y: a sequence of labels for each sentence; None with a Corpus.
            sample_weight: a weight >= 0 for each sentence, which applies to its tokens.
            metric: "accuracy" of tokens; "sentence_accuracy", the share of sentences without a wrong label;
                "precision", "recall" or "f1" of chunks, as `loglinear.evaluate`.

        Raises:
            OptionError: unknown metric, or a metric of chunks with weights.
            DataError: invalid data, or the model knows none of the labels; no sentence with labels has a weight
                above 0; with a metric of chunks, labels that do not follow a tagging scheme.

        Warns:
            DataWarning: at least a tenth of the tokens have labels that the model does not know.
        """
        of_chunks = ("precision", "recall", "f1")
        one_of("metric", metric, ("accuracy", "sentence_accuracy", *of_chunks))
        if metric in of_chunks and sample_weight is not None:
            message = f"metric={metric!r} does not support sample_weight; leave it out"
            raise OptionError(message)
        from ..metrics import labelled_tokens

        model, corpus = self._inputs(X, y)
        labels = corpus.known_labels(model.labels)
        check_known(corpus, model.labels, "the data")
        gold, predicted = labelled_tokens(
            labels, typed(model.predict(corpus.core, threads=self._threads), corpus.label_type)
        )
        if metric in of_chunks:
            from ..metrics import chunk_scores

            return chunk_scores(gold, predicted)[metric]
        weights = (
            [1.0] * len(corpus) if sample_weight is None else checked_weights(as_lists(sample_weight, "sample_weight"))
        )
        if len(weights) != len(corpus):
            message = f"{len(weights)} weights for {len(corpus)} sentences; give one weight per sentence"
            raise DataError(message)
        if sample_weight is not None:
            labelled = sum(weight for true, weight in zip(gold, weights, strict=True) if true)
            check_some_weight(labelled, "sentence with labels")
        right = total = 0.0
        for true, guess, weight in zip(gold, predicted, weights, strict=True):
            tokens = metric == "accuracy"
            right += weight * (sum(map(eq, true, guess)) if tokens else true == guess)
            total += weight * (len(true) if tokens else 1)
        return right / total if total else 0.0

    def report(
        self,
        X: Corpus | Sentences,
        y: Labels | None = None,
        *,
        words: Sequence[Sequence[str]] | None = None,
        title: str = "Report of a linear-chain CRF",
    ) -> Report:
        """Return a report about the model on labelled data; notebooks display it, `save` writes a single HTML file.

        Args:
            X: sentences, or a labelled Corpus.
            y: a sequence of labels for each sentence; None with a Corpus.
            words: what to show for each token; by default the token, its first column or its first attribute.
            title: title of the page.

        Returns:
            The tables as attributes: scores with confidence intervals, mistakes by entity and by label, confusions,
            features, transitions, calibration. HTML needs Jinja2: ``pip install 'loglinear[report]'``.

        Raises:
            DataError: invalid data, with the name of the sentence; or the model knows none of the labels.

        Warns:
            DataWarning: at least a tenth of the tokens have labels that the model does not know.

        Example:
            >>> from loglinear import ChainCRF
            >>> X, y = [["Dogs", "bark"], ["Cats", "sleep"]], [["NOUN", "VERB"], ["NOUN", "VERB"]]
            >>> report = ChainCRF(template="pos").fit(X, y).report(X, y)
            >>> report.scores.accuracy, report.mistakes
            (1.0, [])
        """
        with needed_by("ChainCRF.report"):
            from ..data.tokens import shown_words
            from .explain.answers import Answers
            from .explain.explainer import Explainer
            from .explain.reports import make_report

        if not isinstance(X, Corpus):
            X = list(as_lists(X, "X", tuples=self._constrained_model.has_template))
        model, corpus = self._inputs(X, y)
        gold = corpus.true_labels()
        check_known(corpus, model.labels, "the data")
        taggings = tag_corpus(model, corpus, label_type=corpus.label_type, threads=self._threads)
        trained = "training" in json.loads(self.model_.settings)
        shown = shown_words(X, corpus) if words is None else words

        def explain(sentences: Sequence[int], tokens: Sequence[Collection[int]]) -> list[Explanation]:
            texts = [shown[at] for at in sentences]
            return Explainer(model).explain(corpus[sentences], texts, self._threads, chosen=tokens)

        return make_report(
            model,
            Answers(gold, [tagging.labels for tagging in taggings], taggings, shown, corpus),
            title=title,
            items="tokens",
            command=f"{self._call()}.fit(X_train, y_train)" if trained else None,
            trace=self._trace,
            explain=explain,
        )

    def _call(self) -> str:
        """Return the Python call that creates the estimator; a template that is not a preset is shown elsewhere."""
        from .explain.reports import preset_of

        if self.template is None or "model_" not in vars(self):
            return repr(self)
        preset = preset_of(self.model_.template)
        return repr(self).replace(repr(self.template), "TEMPLATE" if preset is None else repr(preset))

    def _summary(self) -> dict[str, str]:
        from .explain.reports import labels_text, model_rows

        if "model_" not in vars(self):
            return {}
        return {
            "labels": labels_text(self.model_.labels, 20),
            **model_rows(self.model_),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, atomically, with the current constraints, biases of labels and tokenizer.

        Raises:
            OptionError: the constraints or biases do not fit the labels, or the tokenizer is not valid.
            OSError: the file cannot be written.
        """
        model = self._constrained_model
        if not self._has_constraints_of_training:
            model = stating(model, resolved(self.constraints, self.classes_))
        if self.tokenizer is not None:
            model = cutting(model, self.tokenizer)
        model.save(os.fspath(path))

    def export(self, path: str | os.PathLike[str], format: str) -> None:
        """Write the model in the format of another program, atomically.

        Args:
            path: output file.
            format: "crfsuite", "wapiti", "crf++" (binary) or "crf++-text".

        Raises:
            OptionError: unknown format.
            ModelFileError: the program cannot represent the model, such as a chain of second order; gives the reason.
            OSError: the file cannot be written.
        """
        from ..data.writing import write_output

        write_output(os.fspath(path), self._constrained_model.export(format))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ChainCRF:
        """Open a model file of this class, of the command line, or of CRFsuite, Wapiti or CRF++.

        loglinear's own files are memory-mapped; models of other programs are converted.

        Raises:
            ModelFileError: the file is damaged or of another kind.
            OSError: the file cannot be read.
        """
        model, settings = open_model(os.fspath(path), "chain")
        settings |= class_weight_of(settings)
        label_type = settings.get("label_type", "str")
        if bias := settings.get("label_bias"):
            settings["label_bias"] = dict(zip(typed([[*bias]], label_type)[0], bias.values(), strict=True))
        crf = cls._of_settings(settings | {"template": _text_of(model)}, os.fspath(path))
        (crf.l1_, crf.l2_), crf.cross_validation_ = crf._options(SolverOptions).strengths, None
        crf.model_, crf._bias = model, None if crf.label_bias is None else dict(crf.label_bias)
        crf.classes_ = typed([model.labels], label_type)[0]
        return crf

    @property
    def _label_type(self) -> str:
        return type(self.classes_[0]).__name__

    def _inputs(self, X: Corpus | Sentences, y: Labels | None = None) -> tuple[ChainModel, Corpus]:
        model = self._constrained_model
        corpus = self._corpus(X, y, _text_of(model))
        corpus.check_label_type(self._label_type)
        check_tokens(corpus.format, corpus.columns, ColumnLayout.of_settings(json.loads(model.settings)))
        return model, corpus

    @property
    def _constrained_model(self) -> ChainModel:
        """Return the native model under the current constraints, which may be set after training."""
        model = self._biased_model
        check_constraints("constraints", self.constraints)
        if self._has_constraints_of_training:
            return model
        return model.constrained(as_json(resolved(self.constraints, self.classes_)))

    @property
    def _has_constraints_of_training(self) -> bool:
        """Whether "auto" stands for the constraints that training has found."""
        return self.model_.is_constrained and str(self.constraints).lower() == "auto"

    @staticmethod
    def _corpus(
        X: Corpus | Sentences,
        y: Labels | None,
        template: str | None,
        sample_weight: Iterable[float] | None = None,
        token_weight: TokenWeights | None = None,
    ) -> Corpus:
        if not isinstance(X, Corpus):
            return Corpus.encode(X, y, template=template, sample_weight=sample_weight, token_weight=token_weight)
        if y is not None or sample_weight is not None or token_weight is not None:
            message = "a Corpus already contains labels and weights; leave out y, sample_weight and token_weight"
            raise DataError(message)
        return X


class OlderModels(NamedTuple):
    """The older models of a training: one to start from, or one to stay near; see `ChainCRF.fit`."""

    start: ChainCRF | str | os.PathLike[str] | None
    prior: ChainCRF | str | os.PathLike[str] | None
    prior_strength: float | None


def _opened(start: ChainCRF | str | os.PathLike[str], argument: str = "start") -> Start:
    """Return the model that training starts from, or stays near."""
    from .training.start import Start

    if not isinstance(start, ChainCRF):
        return Start.open(start, argument)
    return Start(start._biased_model, start._label_type, "the older model")


def _text_of(model: ChainModel) -> TemplateText | None:
    """Return the text of a model's template."""
    return None if (text := model.template) is None else TemplateText(text)
