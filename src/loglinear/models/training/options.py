"""Options of training, each defined once: penalty and solver, development data, threads.

Solvers are imported when they are made, so that a program that only labels text starts without NumPy.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, cast

from ...data.words import WORDS, character_lengths, check_unit, ngram_lengths
from ...errors import OptionError
from ...options import (
    USEFUL,
    Options,
    check_class_weight,
    fail,
    keywords,
    limit,
    one_of,
    option,
    option_class,
    optional,
    real_number,
    seed_number,
    strength,
    truth_types,
    truth_value,
    whole_number,
)

if TYPE_CHECKING:
    from ...penalty import ElasticNet
    from ...solvers import Solver, SolverName
    from ...stopping import Stop

__all__ = [
    "METRICS",
    "SEED",
    "ChosenSolverParameters",
    "ClassifierParameters",
    "DevOptions",
    "DevParameters",
    "FamilyParameters",
    "Minimisation",
    "RunOptions",
    "SolverOptions",
    "SolverParameters",
    "StrengthSearch",
    "TextInput",
    "TextOptions",
    "check_solver",
    "cores",
    "thread_count",
]


def check_solver(name: str, value: object) -> None:
    """Raise OptionError if a value is neither a name nor a solver; names are looked up when the solver is made."""
    if value is None or isinstance(value, str):
        return
    from ...solvers import is_solver

    if not is_solver(value):
        fail(name, value, "is neither the name of a solver nor a solver object")


def check_verbose(name: str, value: object) -> None:
    """Raise OptionError if a value is neither a truth value nor a number, which scikit-learn uses for more output."""
    if not isinstance(value, truth_types()):
        whole_number(name, value, 0, 2**31 - 1)


def check_multi_class(name: str, value: object) -> None:
    """Raise OptionError if a value is neither "softmax" nor "ovr"; scikit-learn has other names."""
    if isinstance(value, str) and value in ("multinomial", "auto"):
        fail(name, value, 'is not one of softmax, ovr; "softmax" is the model that scikit-learn calls multinomial')
    one_of(name, value, ("softmax", "ovr"))


def thread_count(n_jobs: object, name: str = "n_jobs") -> int:
    """Return the number of threads that scikit-learn's n_jobs stands for; 0 is all cores, and -2 all but one.

    Raises:
        OptionError: it is neither None nor a whole number other than 0.
    """
    if n_jobs is None or (isinstance(n_jobs, Real) and n_jobs == -1):
        return 0
    number = whole_number(name, n_jobs, -(2**16), 2**16)
    if number == 0:
        fail(name, n_jobs, "is not a number of threads; give 1 or more, or None for all cores")
    return number if number > 0 else max(cores() + 1 + number, 1)


def cores() -> int:
    """Return the number of cores that this process may use, as the native half counts them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


SEED = optional(seed_number)


@option_class
class Minimisation(Options):
    """The options of penalty and solver, in the order in which the command line lists them.

    This is the one place where these options are defined: the parameters of estimators, the flags of the command line
    and the settings in model files derive from the fields.
    """

    l1: float = option(
        default=0.0,
        help="strength of the L1 penalty l1 * |w|_1; the same as c1 of CRFsuite and 1 / C of CRF++ with CRF-L1",
        check=strength,
    )
    l2: float | None = option(
        default=None,
        help="strength of the L2 penalty (l2 / 2) * |w|^2; the same as 2 * c2 of CRFsuite and 1 / C of CRF++ with "
        "CRF-L2; by default 1, or 0 if l1 > 0",
        check=optional(strength),
    )
    solver: SolverName | Solver[Any] | None = option(
        default=None,
        help="solver; by default auto, which picks one for the data and the penalty and names it at the end. A "
        "name or a solver object.",
        check=check_solver,
    )
    tolerance: float | None = option(
        default=None,
        help="most solvers stop when the objective decreases by less than this fraction per iteration, averaged over "
        "the last 5 iterations; by default set by the solver. Not for a solver object.",
        check=optional(partial(real_number, range="a number >= 0", fits=lambda x: x >= 0.0)),
    )
    solver_options: Mapping[str, Any] | None = option(
        default=None,
        help="further options of the solver, such as passes=10 of sgd_l1; `loglinear solvers NAME` lists them. A dict; "
        "not for a solver object.",
        check=optional(keywords),
    )
    random_state: int = option(
        default=0,
        help="random seed of stochastic solvers. None is 0; of a generator of NumPy, a copy draws the seed.",
        check=SEED,
    )
    max_iterations: int | None = option(
        default=1000, help="maximum number of iterations. None for no limit.", check=partial(limit, whole=True)
    )


@option_class
class SolverParameters(Minimisation):
    """The options of a training whose distance from the optimum can be bounded."""

    gap: float | None = option(
        default=None,
        help="stop once the objective is provably within this fraction of its optimum, from 0 to 0.1 (0.001 is 0.1 %); "
        "the tolerance is then 0, unless set or with l1 alone. With l1 and no l2 the default tolerance remains, as a "
        "proof of 1 % takes chains 2 to 7 times as long; a tolerance of 0 waits for it. Needs a convex objective. None "
        "to disable.",
        check=partial(limit, most=USEFUL),
    )


METRICS = ("f1", "accuracy", "log_likelihood")
"""Scores of held-out folds."""
# What other programs call the log-likelihood.
_LIKELIHOODS = ("nll", "loglik", "neg_log_loss", "log_loss", "deviance")


@option_class
class ChosenSolverParameters(SolverParameters):
    """The options of a training that may choose the strengths of its penalties by cross-validation."""

    l1: float | Literal["cv"] = option(  # type: ignore[assignment]
        default=0.0,
        help='strength of the L1 penalty l1 * |w|_1, the same as c1 of CRFsuite and 1 / C of CRF++ with CRF-L1; "cv" '
        "chooses it by cross-validation: the largest strength whose score on held-out folds is within one standard "
        "error of the best",
        check=lambda name, value: check_strength_or_cv(name, value),
    )
    l2: float | Literal["cv"] | None = option(  # type: ignore[assignment]
        default=None,
        help="strength of the L2 penalty (l2 / 2) * |w|^2, the same as 2 * c2 of CRFsuite and 1 / C of CRF++ with "
        'CRF-L2; "cv" chooses it by cross-validation; by default 1, or 0 if l1 > 0. With l1="cv" as well, l2 is chosen '
        "first, by the best score without an L1 penalty.",
        check=optional(lambda name, value: check_strength_or_cv(name, value)),
    )
    folds: int = option(
        default=5,
        help='number of folds that l1="cv" and l2="cv" leave out in turn',
        check=partial(whole_number, least=2, most=1000),
    )
    metric: Literal["f1", "accuracy", "log_likelihood"] | None = option(
        default=None,
        help='score of held-out folds that l1="cv" and l2="cv" go by: f1, accuracy or log_likelihood; by default f1 of '
        "chunks if the labels mark chunks, else accuracy; of classifiers log_likelihood. The f1 of classifiers is the "
        "mean over the classes.",
        choices=METRICS,
        check=optional(lambda name, value: check_metric(name, value)),
    )


def check_strength_or_cv(name: str, value: object) -> None:
    """Raise OptionError unless the value is the strength of a penalty or "cv"."""
    if not isinstance(value, str):
        strength(name, value)
    elif value != "cv":
        fail(name, value, 'is neither a number >= 0 nor "cv"')


def check_metric(name: str, value: object) -> None:
    """Raise OptionError unless the value is the name of a score of held-out folds."""
    if isinstance(value, str) and value.lower() in _LIKELIHOODS:
        fail(name, value, f"is not one of {', '.join(METRICS)} (did you mean log_likelihood?)")
    one_of(name, value, METRICS)


@option_class
class StrengthSearch(ChosenSolverParameters):
    """Which strengths are chosen, and how."""

    def __post_init__(self) -> None:
        super().__post_init__()
        changed = [f"{name}={value}" for name, value in (("folds", self.folds), ("metric", self.metric))]
        is_default = (self.folds == type(self).folds, self.metric is None)
        if not self.names and not all(is_default):
            message = f"{changed[is_default.index(False)]} needs a strength to choose; add l1='cv' or l2='cv'"
            raise OptionError(message)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the penalties whose strengths are chosen."""
        return tuple(name for name in ("l1", "l2") if getattr(self, name) == "cv")

    @property
    def named(self) -> str:
        """What messages call the choice."""
        return " and ".join(f"{name}='cv'" for name in self.names)

    @property
    def fixed(self) -> dict[str, float | None]:
        """Numbers in place of strengths to choose, for `SolverOptions`: 1 of the L1 and 0 of the L2 penalty."""
        l1, l2 = (getattr(self, name) for name in ("l1", "l2"))
        return {"l1": 1.0 if l1 == "cv" else l1, "l2": 0.0 if l2 == "cv" else l2}


@option_class
class FamilyParameters(Options):
    """The options of the penalty that concern some of the weights, by the names of their attributes or families.

    A family is all attributes of a template line, or with the same text before the first `=` or `:`; or a column.
    `transitions` and `triples` are families of a chain.
    """

    penalty_factor: Mapping[str, float] | None = option(
        default=None,
        help="factor of the penalty of the weights of an attribute or family, such as w[-2]=2 or U05=2, where ``*`` "
        "and ``?`` match any text and any character. A dict of names and numbers >= 0; 0 leaves the weights "
        "unpenalised, and names that are left out have 1. Of several names that match, the most specific one counts: "
        "an attribute before a family, and either before a pattern. Like penalty.factor of glmnet.",
        check=lambda name, value: check_factors(name, value),
    )
    signs: Mapping[str, str | Mapping[str, str]] | None = option(
        default=None,
        help="sign of the weights of an attribute or family: + for weights >= 0, - for weights <= 0, or +:LABEL for "
        "the weights of one label. A dict of names or patterns, as for penalty_factor, and signs, such as "
        '{"amount": "+"} or {"amount": {"fraud": "+"}}. With two classes the weights are those of the second class. '
        "Like lower.limits and upper.limits of glmnet at 0.",
        check=lambda name, value: check_signs(name, value),
    )
    l1_groups: Literal["families", "attributes"] | None = option(
        default=None,
        help="make whole families or attributes zero: a group lasso with strength l1 in place of the L1 penalty of "
        "single weights. A group of n weights counts sqrt(n) times its Euclidean norm.",
        choices=("families", "attributes"),
    )

    @property
    def are_of_families(self) -> bool:
        """Whether the penalty is not the same for all weights."""
        return bool(self.penalty_factor or self.signs or self.l1_groups)

    def refuse_families(self, what: str) -> None:
        """Raise OptionError if the penalty is not the same for all weights, and something needs that."""
        if self.are_of_families:
            name = next(name for name in ("penalty_factor", "signs", "l1_groups") if getattr(self, name))
            message = f"{what} is not available with {name}; leave out {name}"
            raise OptionError(message)


def check_factors(name: str, value: object) -> None:
    """Raise OptionError unless the value is None or a mapping of names to finite numbers >= 0."""
    if value is None:
        return
    keywords(name, value)
    for key, factor in cast(Mapping[str, object], value).items():
        strength(f"{name}[{key!r}]", factor)


def check_signs(name: str, value: object) -> None:
    """Raise OptionError unless the value is None or a mapping of names to signs, or to signs by label."""
    if value is None:
        return
    keywords(name, value)
    for key, sign in cast(Mapping[str, object], value).items():
        by_label = sign if isinstance(sign, Mapping) else {None: sign}
        for label, of_label in by_label.items():
            of = f"{name}[{key!r}]" if label is None else f"{name}[{key!r}][{label!r}]"
            one_of(of, of_label, ("+", "-"))


@option_class
class SolverOptions(SolverParameters, FamilyParameters):
    """The solver, penalty and limits that the options stand for."""

    def check(self) -> None:
        """Raise OptionError if the options do not suit the solver: that is cheaper to find before data are read."""
        self.make_solver()
        if self.l1_groups and not self.l1:
            message = f"l1_groups={self.l1_groups!r} needs an L1 penalty, but l1=0; give an l1 > 0 (--l1)"
            raise OptionError(message)

    @property
    def strengths(self) -> tuple[float, float]:
        """l1 and l2, with the default for l2 filled in."""
        return self.l1, (0.0 if self.l1 else 1.0) if self.l2 is None else self.l2

    def penalty(self) -> ElasticNet:
        """Return the penalty, with the default for l2 filled in, before factors, signs and groups."""
        from ...penalty import ElasticNet

        return ElasticNet(*self.strengths)

    def stop(self) -> Stop:
        """Return the limits of the minimisation."""
        from ...stopping import Stop

        return Stop(max_iterations=self.max_iterations, gap=self.gap)

    def settings(self) -> dict[str, Any]:
        """Return the options as the settings in a model file, and which of them stand for a default of None."""
        penalty = self.penalty()
        stated = {
            "l1": penalty.l1,
            "l2": penalty.l2,
            "solver": self.make_solver()[0],
            "solver_options": dict(self.solver_options or {}),
            "max_iterations": None if self.max_iterations is None else int(self.max_iterations),
        }
        defaults = [name for name in ("l2", "solver", "solver_options") if getattr(self, name) is None]
        return vars(self) | stated | {"defaults": defaults}

    @property
    def _has_late_proof(self) -> bool:
        """Whether the bound of the distance from the optimum comes down long after the distance itself."""
        return bool(self.l1) and not self.l2

    def make_solver(self, default: str = "auto") -> tuple[str, Solver[Any]]:
        """Return the solver with its name.

        Args:
            default: name of the solver if none was given.

        Raises:
            OptionError: there is no such solver, or it has no such option.
        """
        from ...solvers import SOLVERS, make_solver, option_names, solver_name

        if self.solver is None or isinstance(self.solver, str):
            name = self.solver or default
            values: dict[str, object] = {}
            names = option_names(SOLVERS[name]) if name in SOLVERS else []
            if self.tolerance is not None:
                values["tolerance"] = self.tolerance
            elif self.gap is not None and "tolerance" in names and not self._has_late_proof:
                values["tolerance"] = 0.0
            if "seed" in names:
                values["seed"] = self.random_state or 0
            return name, make_solver(name, **values | dict(self.solver_options or {}))
        if self.solver_options:
            fail(
                "solver_options",
                self.solver_options,
                "need the name of a solver; pass them to the solver object instead",
            )
        return solver_name(self.solver), self.solver


@option_class
class DevParameters(Options):
    """The options for development data; the one place where these options are defined."""

    keep: Literal["last", "best"] | None = option(
        default=None,
        help="weights to keep: last, or best by score on the development data; by default last, or best if "
        "patience is set",
        choices=("last", "best"),
    )
    patience: int | None = option(
        default=None,
        help="early stopping: stop when the development score has not improved for this many iterations, counted from "
        "its first change. None to disable.",
        check=optional(partial(whole_number, least=1, most=2**31 - 1)),
    )


@option_class
class DevOptions(DevParameters):
    """The use of development data, in addition to scoring."""

    def check(self, *, has_data: bool) -> None:
        """Raise OptionError if an option is set and no development data are given."""
        if not has_data and (self.keep == "best" or self.patience is not None):
            name = f"patience={self.patience}" if self.patience is not None else "keep='best'"
            message = f"{name} needs development data; give X_dev and y_dev (--dev)"
            raise OptionError(message)

    @property
    def keeps_best(self) -> bool:
        """Whether the best weights are kept, and not the last ones."""
        return self.keep == "best" or (self.keep is None and self.patience is not None)


@option_class
class TextInput(Options):
    """How a chain cuts raw text that it labels; the one place where this option is defined."""

    tokenizer: str | None = option(
        default=None,
        help="how to cut raw text into tokens when the model labels it: whitespace, words, characters, or a regular "
        "expression whose matches are the tokens (`Tokenizer`). Saved with the model; training data have tokens, which "
        "should be cut in the same way. None for a model that labels tokens alone.",
        check=lambda name, value: _tokenizer(name, value),
    )


def _tokenizer(name: str, value: object) -> None:
    """Check the tokenizer of a chain."""
    from ...data.tokenizer import check_tokenizer

    optional(check_tokenizer)(name, value)


@option_class
class RunOptions(Options):
    """How an estimator runs; the model does not depend on it."""

    n_jobs: int | None = option(
        default=None,
        help="number of threads; None and -1 mean all cores, -2 all but one",
        check=lambda name, value: thread_count(value, name),
    )
    verbose: bool = option(
        default=False,
        help="show each iteration in one line of a notebook or terminal; else a line of stderr each",
        check=check_verbose,
    )


@option_class
class ClassifierParameters(Options):
    """What a classifier is."""

    multi_class: Literal["softmax", "ovr"] = option(
        default="softmax",
        help='how to handle more than two classes: "softmax" (one model) or "ovr" (one model per class against the '
        "rest)",
        choices=("softmax", "ovr"),
        check=check_multi_class,
    )
    fit_intercept: bool = option(default=True, help="fit an intercept", check=truth_value)
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = option(
        default=None,
        help='class weights: a dict, "balanced" (inversely proportional to class frequencies), or None',
        check=check_class_weight,
    )
    min_count: int = option(
        default=1,
        help="drop attributes that occur in fewer samples than this. Does not apply to columns without names.",
        check=partial(whole_number, least=1, most=2**32 - 1),
    )


@option_class
class TextOptions(Options):
    """How texts become attributes."""

    words: str = option(
        default=WORDS,
        help="units of texts: words, characters:N-M (n-grams of characters) or blanks (words with punctuation); by "
        "default words. ``words`` are runs of letters, digits and marks of any script, C++ and C# among "
        "them; scripts without blanks, such as Chinese and Thai, are cut into pairs of characters. "
        "``characters:2-4`` are all sequences of 2 to 4 characters. "
        "``blanks`` are words as the blanks of the text separate them, with punctuation.",
        check=check_unit,
    )
    ngrams: str = option(default="1", help="lengths of word n-grams, such as 1-2; by default 1", check=ngram_lengths)
    tfidf: bool = option(
        default=False,
        help="weight words by tf-idf. The count of a word in a text enters as 1 + log(count), and each text is scaled "
        "to a Euclidean norm of 1.",
        check=truth_value,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if character_lengths(self.words) is not None and self.ngrams != "1":
            fail("ngrams", self.ngrams, f"is not available with words={self.words!r}, which says the lengths itself")
