"""Parameters of CRFsuite, sklearn-crfsuite, scikit-learn's classifiers and glmnet in the words of this library.

The module imports the standard library alone: the command line uses it to answer a mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["hint"]


class _Translation(NamedTuple):
    """Parameters of another program and their counterparts here.

    Attributes:
        theirs: the other program's parameters, by name.
        here: the parameters to give instead, by name; empty if there are none.
        remark: a note in parentheses; may be empty.
    """

    theirs: Mapping[str, object]
    here: Mapping[str, object]
    remark: str = ""


def hint(unknown: Mapping[str, Any], available: Collection[str], spelt: Callable[[str, Any], str] | None = None) -> str:
    """Return parameters of other programs in the words of this library, as the end of a message that names them.

    Args:
        unknown: unknown parameters, by name; names that no other program has are ignored.
        available: the existing parameters; a translation into any other is ignored.
        spelt: how a parameter and its value are written; by default name=value.

    Returns:
        The end of the message; empty if there is nothing to translate.
    """
    translations = _of_crfsuite(unknown)
    if "multi_class" in available:  # only classifiers are compared with LogisticRegression
        translations += _of_scikit_learn(unknown)
        if spelt is None:
            translations += _of_python(unknown)
    if "ngrams" in available:
        translations += _of_vectorizers(unknown)
    write = spelt or (lambda name, value: f"{name}={value!r}")

    def words(parameters: Mapping[str, Any]) -> str:
        return ", ".join(write(name, value) for name, value in parameters.items())

    parts = [
        (
            f"use {words(translation.here)} for {words(translation.theirs)}"
            if translation.here
            else f"leave out {words(translation.theirs)}"
        )
        + (f" ({translation.remark})" if translation.remark else "")
        for translation in translations
        if {*translation.here} <= {*available}
    ]
    return f"; {'; '.join(parts)}" if parts else ""


def _of_crfsuite(parameters: Mapping[str, Any]) -> list[_Translation]:
    """Translate parameters of CRFsuite, python-crfsuite, sklearn-crfsuite: they minimise nll + c1 |w|_1 + c2 |w|^2."""
    translations = []
    for name, value in parameters.items():
        here: dict[str, object] = {}
        remark = _LEFT_OUT.get(name, "")
        if name == "c2":
            here = {"l2": _rounded(2 * value) if _is_number(value) else "2 * c2"}
        elif name == "delta":
            period = parameters.get("period", 10)
            numbers = _is_number(value) and _is_number(period) and period > 0
            here = {"tolerance": _rounded(value / period) if numbers else "delta / period"}
        elif name == "algorithm" and value == "l2sgd":
            here = {"solver": "sag"}
        elif name == "algorithm":
            remark = "the solver depends on l1 and l2" if value == "lbfgs" else "not a method of loglinear"
        elif name == "num_memories":
            here = {"solver_options": {"memory": value}}
        elif name in _RENAMED or name.startswith("all_possible_"):
            here = {_RENAMED.get(name, name.replace("possible_", "")): value}
        if here or remark:
            translations.append(_Translation({name: value}, here, remark))
    if parameters.get("c1") and "c2" not in parameters:
        translations.append(_Translation({"c2": 1}, {"l2": 2}, "CRFsuite's default"))
    return translations


def _of_scikit_learn(parameters: Mapping[str, Any]) -> list[_Translation]:
    """Translate parameters of LogisticRegression: it minimises C * nll + (1 - r)/2 |w|^2 + r |w|_1."""
    translations = []
    of_penalty = {name: parameters[name] for name in ("C", "penalty", "l1_ratio") if name in parameters}
    if of_penalty:
        C, penalty, ratio = parameters.get("C", 1.0), parameters.get("penalty", "l2"), parameters.get("l1_ratio")
        share = 1.0 if penalty == "l1" else 0.0 if ratio is None else ratio
        here: dict[str, object] = {"l2": 0.0}
        of_no_strength = _is_number(C) and C == 0
        remark = "" if "C" in parameters or penalty is None else "for C=1, scikit-learn's default"
        if penalty is not None:
            numbers = _is_number(C) and C > 0 and _is_number(share)
            values = {"l1": share / C, "l2": (1 - share) / C} if numbers else {"l2": "1 / C"}
            here = {name: _rounded(value) for name, value in values.items() if value} or here
        translations.append(_of_no_strength(C) if of_no_strength else _Translation(of_penalty, here, remark))
    if "max_iter" in parameters:
        translations.append(
            _Translation({"max_iter": parameters["max_iter"]}, {"max_iterations": parameters["max_iter"]})
        )
    if "tol" in parameters:
        remark = "the relative decrease of the objective"
        translations.append(_Translation({"tol": parameters["tol"]}, {"tolerance": parameters["tol"]}, remark))
    if parameters.get("dual"):
        here = {"solver": "dual_cd", "fit_intercept": False}
        translations.append(_Translation({"dual": parameters["dual"]}, here))
    return translations


def _of_no_strength(C: object) -> _Translation:
    return _Translation({"C": C}, {}, "C is above 0; l2 is 1 / C, so a large l2 is a strong penalty")


def _of_python(parameters: Mapping[str, Any]) -> list[_Translation]:
    """Translate parameters whose counterparts the command line does not have."""
    translations = []
    if of_search := {name: parameters[name] for name in _OF_SEARCH if name in parameters}:
        remark = "5 folds; fit(groups=) keeps samples together; cross_validation_ has the losses"
        translations.append(_Translation(of_search, {"l1": "cv"}, remark))
    if strengths := {name: parameters[name] for name in _STRENGTHS if name in parameters}:
        here = {"l1": "n * lambda * alpha", "l2": "n * lambda * (1 - alpha)"}
        translations.append(_Translation(strengths, here, "glmnet's, for n samples; SGDClassifier's alpha is l2 / n"))
    return translations + [
        _Translation({name: value}, {}, _IN_FIT[name]) for name, value in parameters.items() if name in _IN_FIT
    ]


def _of_vectorizers(parameters: Mapping[str, Any]) -> list[_Translation]:
    """Translate parameters of CountVectorizer and TfidfVectorizer."""
    translations = []
    lengths = _lengths(parameters.get("ngram_range"))
    for name, value in parameters.items():
        here: dict[str, object] = {}
        if name == "analyzer" and value in ("char", "char_wb"):
            here = {"words": f"characters:{lengths}"}
        elif name == "ngram_range" and parameters.get("analyzer") not in ("char", "char_wb"):
            here = {"ngrams": lengths}
        elif name == "min_df" and isinstance(value, int):
            here = {"min_count": value}
        elif name in ("use_idf", "sublinear_tf") and value:
            here = {"tfidf": True}
        if here or name in _OF_TEXTS:
            translations.append(_Translation({name: value}, here, "" if here else _OF_TEXTS[name]))
    return translations


def _lengths(value: object) -> str:
    """Return the lengths of n-grams that scikit-learn writes (1, 2) as text."""
    if isinstance(value, Sequence) and len(value) == 2 and all(map(_is_number, value)):
        return f"{value[0]}-{value[1]}" if value[0] != value[1] else f"{value[0]}"
    return "N-M"


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _rounded(value: object) -> object:
    """Return a number without the last digits, where rounding shows; other values as they are."""
    return float(f"{value:.12g}") if _is_number(value) else value


# Parameters of CRFsuite that have another name and the same value here.
_RENAMED = {
    "c1": "l1",
    "min_freq": "min_count",
}

# Parameters of CRFsuite that have no counterpart, and others that need a remark.
_LEFT_OUT = {
    "min_freq": "it counts the tokens of an attribute, whatever their labels",
    "period": "tolerance is the decrease per step",
    "epsilon": "training does not stop by the gradient",
    "model_filename": "call save(path) after fit",
    "keep_tempfiles": "loglinear keeps no temporary files",
    **dict.fromkeys(("linesearch", "max_linesearch"), "each solver has its own line search"),
    **dict.fromkeys(("pa_type", "c", "error_sensitive", "averaging", "variance", "gamma"), "not a method of loglinear"),
}

# Parameters of LogisticRegressionCV and of searches, and the strengths of glmnet and SGDClassifier.
_OF_SEARCH = ("Cs", "cv", "l1_ratios", "scoring", "n_splits", "refit", "nfolds")
_STRENGTHS = ("alpha", "lambda_", "lambda", "lambda1", "lambda2")

# Parameters of scikit-learn that `fit` has, and others that need a remark.
_IN_FIT = {
    "intercept_scaling": "the intercept is not penalised",
    **dict.fromkeys(("warm_start", "coef_init", "intercept_init"), "fit(X, y, start=model) is a warm start"),
    **dict.fromkeys(("sample_weight", "sample_weights"), "give it to fit(X, y, sample_weight=...)"),
}

# Parameters of scikit-learn's vectorizers that have no counterpart with every value.
_OF_TEXTS = {
    "analyzer": "words=... says what texts are cut into",
    "ngram_range": "words='characters:N-M' has the lengths",
    "lowercase": "all words are in lower case",
    "stop_words": "with l1, words that do not help get no weight",
    "min_df": "min_count is a number of texts",
    **dict.fromkeys(("max_df", "max_features"), "min_count and l1 leave words out"),
}
