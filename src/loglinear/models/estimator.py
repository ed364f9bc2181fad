"""What all estimators share: parameters that derive from dataclasses of options, threads, callbacks, warnings.

The module imports neither NumPy nor scikit-learn, which takes seconds and a hundred megabytes: a chain labels text
without them, and is trained without the latter. What scikit-learn asks of an estimator is answered by its own
BaseEstimator, imported when it is needed (`LightEstimator`).
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import Field, fields, replace
from functools import cache, wraps
from inspect import Parameter, Signature, cleandoc, get_annotations, signature
from types import MethodType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from weakref import WeakSet

from ..errors import ConvergenceWarning, NotFittedError, OptionError, warn
from ..extras import needed_by
from ..options import Options, similar
from .files.schema import check_options
from .fit_tasks import FittedAt, as_task, register, steps_of
from .one_state import OneState, whole
from .portable import opened, portable
from .training.options import RunOptions, thread_count
from .translations import hint

if TYPE_CHECKING:
    from ..minimize import Callback
    from ..result import Result
    from ..trace import TraceRecord

__all__ = ["UNTRAINED", "Estimator", "LightEstimator", "check_end", "check_fitted", "refuse_unfitted"]

UNTRAINED = "this {} was loaded from a file; model files do not contain the result of the training"
"""Why a fitted estimator has no result."""

T = TypeVar("T")
E = TypeVar("E", bound="Estimator")
L = TypeVar("L", bound="LightEstimator")
_CONSTRUCTORS: WeakSet[Callable[..., None]] = WeakSet()
"""The constructors that were made here."""


def _option_classes(kind: type) -> list[type[Any]]:
    """Return the classes of options among the bases of an estimator, in the order of the bases, RunOptions last."""
    kinds = [base for base in kind.__mro__ if _is_of_options(base)]
    return sorted(kinds, key=lambda base: base is RunOptions)


@cache
def _names_of(kind: Any) -> tuple[str, ...]:
    """Return the names of the fields of a class of options."""
    return tuple(field.name for field in fields(kind))


def _is_of_options(kind: type) -> bool:
    return isinstance(vars(kind).get("__dataclass_fields__"), dict)


def _own_parameters(kind: type) -> dict[str, tuple[Any, Any]]:
    """Return type and default of the parameters that the body of an estimator's class annotates and gives a default.

    Class variables and names that begin with an underscore are not parameters.
    """
    if _is_of_options(kind):
        return {}
    public = {name: type for name, type in get_annotations(kind).items() if name in vars(kind) and name[0] != "_"}
    return {name: (type, vars(kind)[name]) for name, type in public.items() if "ClassVar" not in str(type)}


class _NotADataclass:
    """Hides the fields of options from `dataclasses`, and from Dask, which would compare estimators by them alone."""

    def __get__(self, instance: object, owner: type) -> NoReturn:
        raise AttributeError


class Estimator(OneState, RunOptions):
    """Base of the estimators.

    The parameters of an estimator are the fields of the classes of options among its bases, and the attributes that its
    own body annotates and gives a default. Type checkers read the constructor from the same lines; the one made here
    has a signature that scikit-learn and `help` can read. The docstring gets a line of Args for every option that it
    does not describe itself::

        class Model(Estimator, SolverParameters):
            template: str | None = None

    An estimator that needs scikit-learn anyway has its BaseEstimator as the last base, others are a `LightEstimator`.

    A `fit` replaces all fitted attributes at once, and if it raises leaves the estimator as it was: see `one_state.py`.
    """

    if not TYPE_CHECKING:
        # Those of any object: options are frozen dataclasses, and an estimator is not one.
        __setattr__, __delattr__ = object.__setattr__, object.__delattr__
        __eq__, __hash__ = object.__eq__, object.__hash__
        __dataclass_fields__ = _NotADataclass()

    def __init_subclass__(cls) -> None:
        has_new = _own_parameters(cls) or any(not issubclass(base, Estimator) for base in cls.__bases__)
        if has_new and _has_made_constructor(cls):
            shared: dict[str, Field[Any]] = {}
            for kind in _option_classes(cls):
                for field in fields(kind):
                    shared.setdefault(field.name, field)
            parameters = {name: (field_of.type, field_of.default) for name, field_of in shared.items()}
            for base in reversed(cls.__mro__):
                parameters |= _own_parameters(base) if issubclass(base, Options) else {}
            for name in (
                run_field.name for run_field in fields(RunOptions)
            ):  # last, after the options that the model depends on
                parameters[name] = parameters.pop(name)
            cls.__init__ = _constructor(cls.__qualname__, parameters)  # type: ignore[method-assign]
            cls.__doc__ = _documented(
                cls.__doc__, {name: documented_field.metadata["help"] for name, documented_field in shared.items()}
            )
        for name in ("fit", "partial_fit"):
            if name in vars(cls):
                method = whole(_ending_progress(vars(cls)[name] if name == "partial_fit" else as_task(vars(cls)[name])))
                setattr(cls, name, _WithoutL1(method) if name == "partial_fit" else method)
        super().__init_subclass__()

    @property
    def result_(self) -> Result:
        """Status, trace, optimality violation and bound of the distance from the optimum of the training.

        Raises:
            NotFittedError: the estimator is not fitted, or comes from a file, which holds the model alone.
            AttributeError: several models were trained.
        """
        check_fitted(self, "_results")
        if not self._results:
            refuse_unfitted(UNTRAINED.format(type(self).__name__))
        if len(self._results) > 1:
            message = f"{len(self._results)} models were trained, one per class; use results_"
            raise AttributeError(message)
        return self._results[0]

    @property
    def _trace(self) -> Sequence[TraceRecord]:
        """The records of the training; none of a model from a file, or of several models."""
        return self._results[0].trace if len(self._results) == 1 else ()

    def _set_results(self, *results: Result) -> None:
        """Keep how training ended, with read-only weights; without results of a model from a file.

        `fit` calls it when all else is set: from then on an error, such as an interrupt, leaves the new model.
        """
        self._results = tuple(map(_read_only, results))
        self._end_progress()

    def _end_progress(self) -> None:
        """End the line that shows the progress of a training, if there is one, before anything else is printed."""
        if (printer := vars(self).pop("_printer", None)) is not None:
            printer.end()

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Pickle the attributes so that any version of NumPy opens them."""
        state: Any = self.__getstate__() if hasattr(self, "__getstate__") else vars(self)  # before Python 3.11
        return opened, (type(self), portable(state, protocol))

    def __repr__(self) -> str:
        """Return the parameters that are not at their defaults, as scikit-learn's estimators print themselves."""
        defaults = signature(type(self).__init__).parameters
        parameters = ((name, getattr(self, name)) for name in self._get_param_names())
        printed = {name: repr(value) for name, value in parameters}
        # Training has filled in options of a loaded model that were left at None.
        filled_in = vars(self).get("_filled_in", {})
        changed = (
            f"{name}={text}"
            for name, text in printed.items()
            if text not in (repr(default := defaults[name].default), repr(filled_in.get(name, default)))
        )
        return f"{type(self).__name__}({', '.join(changed)})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the parameters and, once fitted, labels, size and how training ended."""
        from .summary import summary_html

        return summary_html(self._call(), self._summary(), self._fitted_attributes())

    def _fitted_attributes(self) -> dict[str, Any]:
        """Return the public fitted attributes by name, in alphabetical order; empty before the estimator is fitted."""
        properties = {name for name in dir(type(self)) if isinstance(getattr(type(self), name, None), property)}
        names = sorted(name for name in properties | {*vars(self)} if name[0] != "_" and name[-1] == "_")
        attributes = {}
        for name in names:
            with suppress(AttributeError):  # NotFittedError is one; so is what other options would have given
                attributes[name] = getattr(self, name)
        return attributes

    def _repr_mimebundle_(self, **options: object) -> dict[str, str]:
        """Return what a notebook shows, which scikit-learn's BaseEstimator would replace by its own picture."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _call(self) -> str:
        """Return the Python call that creates the estimator."""
        return repr(self)

    def _summary(self) -> dict[str, str]:
        """Return the results of training as the rows of a table; empty before the estimator is fitted."""
        return {}

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the names of the parameters, sorted."""
        return sorted(name for name in signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, and if ``deep`` the parameters of those that are estimators."""
        own = {name: getattr(self, name) for name in self._get_param_names()}
        parts = {name: value for name, value in own.items() if deep and isinstance(value, Estimator)}
        inner = {f"{name}__{key}": value for name, part in parts.items() for key, value in part.get_params().items()}
        return own | inner

    def set_params(self: E, **params: object) -> E:
        """Set parameters by name, as scikit-learn's searches do; return self.

        Raises:
            OptionError: there is no such parameter; says how it is called here if another program has it.
        """
        parameters = self.get_params()
        if unknown := {name: value for name, value in params.items() if name not in parameters}:
            words = hint(unknown, parameters) or f"; choose from {', '.join(parameters)}"
            message = f"{type(self).__name__} has no parameter {', '.join(map(repr, unknown))}{words}"
            raise OptionError(message)
        for name, value in params.items():
            part, _, inner = name.partition("__")
            if inner:
                getattr(self, part).set_params(**{inner: value})
            else:
                setattr(self, name, value)
        return self

    @classmethod
    def _of_settings(cls: type[E], settings: Mapping[str, Any], path: str) -> E:
        """Return an estimator with the parameters that are among the settings in a model's file, each checked."""
        check_options(settings, path, *_option_classes(cls))
        estimator = cls(**{name: settings[name] for name in cls._get_param_names() if name in settings})
        filled_in = {name: settings[name] for name in settings.get("defaults", ()) if name in settings}
        vars(estimator)["_filled_in"] = filled_in
        estimator._set_results()
        return estimator

    def _options(self, kind: type[T], **others: object) -> T:
        """Return a dataclass of options with the values of the parameters of the same names, or other values."""
        own = vars(self)
        values = {name: own[name] for name in _names_of(kind) if name in own}  # type: ignore[arg-type]
        if "random_state" in values:
            values["random_state"] = _seed_of(values["random_state"])
        return kind(**values | others)

    @property
    def _threads(self) -> int:
        """Threads to run on; 0 is all cores."""
        return thread_count(self.n_jobs)

    def set_callbacks(self: E, *callbacks: object) -> E:
        """Register callbacks of scikit-learn (1.9 or later), such as its `ProgressBar`, which `fit` then calls.

        The training is a task of theirs, and each iteration a task in it. A callback of a search or a pipeline reaches
        the estimator by itself. The argument ``callbacks`` of `fit` is loglinear's own, and sees more: the record of
        each step.

        The ``fitted_estimator`` of an iteration predicts with the weights reached so far. It is None for `PairwiseMRF`,
        with ``prior``, and with ``multi_class="ovr"``, which trains the models of the classes one after the other.

        Args:
            callbacks: objects with scikit-learn's `FitCallback` protocol; none to remove those set before.

        Raises:
            MissingPackageError: scikit-learn is not installed, or older than 1.9.
            TypeError: an object is not such a callback.

        Example:
            >>> from loglinear import MaxEnt
            >>> from sklearn.callback import ScoringMonitor
            >>> monitor = ScoringMonitor(scoring="accuracy")
            >>> model = MaxEnt(l2=0.1).set_callbacks(monitor).fit([["good"], ["bad"]], ["+", "-"])
            >>> monitor.get_logs().data[-1]["accuracy"]
            1.0
        """
        return register(self, callbacks)

    def _observers(self, callbacks: Iterable[Callback], at: FittedAt | None = None) -> tuple[Callback, ...]:
        """Return the callbacks, those of scikit-learn, and a callback that prints if the estimator is verbose.

        Args:
            callbacks: the user's.
            at: returns the fitted attributes at the weights of a step; None if there are none, as for several models.

        Raises:
            OptionError: an option of `RunOptions` is out of range.
        """
        from ..minimize import observers_of

        self._options(RunOptions)
        observers = (*observers_of(callbacks), *steps_of(self, at))
        if not self.verbose:
            return observers
        from .training.run import Printer

        self._printer = Printer()
        return (*observers, self._printer)


def _ending_progress(fit: Callable[..., T]) -> Callable[..., T]:
    """Return a method `fit` that ends the line of its progress, also if it raises."""

    @wraps(fit)
    def fit_to_its_end(self: Any, *args: Any, **options: Any) -> T:
        try:
            return fit(self, *args, **options)
        finally:
            self._end_progress()

    return fit_to_its_end


class LightEstimator(Estimator):
    """Base of the estimators that do not import scikit-learn: what it asks of an estimator is imported when it asks."""

    def __sklearn_tags__(self) -> object:
        """Return scikit-learn's tags."""
        return self._twin().__sklearn_tags__()

    def get_metadata_routing(self) -> object:
        """Return which metadata, such as sample weights, scikit-learn passes to which method."""
        return self._twin().get_metadata_routing()

    def set_fit_request(self: L, **requests: bool | str | None) -> L:
        """Say which arguments of `fit` scikit-learn passes on, as in ``set_fit_request(sample_weight=True)``."""
        self._twin().set_fit_request(**requests)
        return self

    def set_partial_fit_request(self: L, **requests: bool | str | None) -> L:
        """Say which arguments of `partial_fit` scikit-learn passes on."""
        self._twin().set_partial_fit_request(**requests)
        return self

    def set_predict_request(self: L, **requests: bool | str | None) -> L:
        """Say which arguments of `predict` scikit-learn passes on."""
        self._twin().set_predict_request(**requests)
        return self

    def set_score_request(self: L, **requests: bool | str | None) -> L:
        """Say which arguments of `score` scikit-learn passes on."""
        self._twin().set_score_request(**requests)
        return self

    def _get_metadata_request(self) -> object:
        return self._twin()._get_metadata_request()

    def _get_params_html(self, *args: Any, **options: Any) -> object:
        """Return the table of parameters in scikit-learn's picture of a pipeline."""
        return self._twin()._get_params_html(*args, **options)

    def _get_fitted_attr_html(self, *args: Any, **options: Any) -> object:
        """Return the table of fitted attributes in scikit-learn's picture of a pipeline, from version 1.9 on."""
        return self._twin()._get_fitted_attr_html(*args, **options)

    def _twin(self) -> Any:
        """Return an estimator of scikit-learn's own that has the methods of this class, and shares the attributes."""
        kinds = type(self).__mro__
        kinds_below = reversed(kinds[: kinds.index(LightEstimator)])
        methods = {
            name: value
            for base in kinds_below
            for name, value in vars(base).items()
            if callable(value) or isinstance(value, _WithoutL1)
        }
        twin: Any = object.__new__(type(type(self).__name__, (_base_estimator(),), methods))
        twin.__dict__ = self.__dict__
        return twin


def _read_only(result: Result) -> Result:
    """Return a result whose weights cannot be written to, as those of the model."""
    from ..vectors import read_only

    return replace(result, w=read_only(result.w))


def check_end(result: Result, remedy: str = "") -> None:
    """Look at how a training ended; the last thing that `fit` does, when the estimator holds the weights.

    Args:
        result: result of the training.
        remedy: what to do about it; it replaces the advice to scale the data.

    Raises:
        KeyboardInterrupt: Ctrl-C ended the training.

    Warns:
        ConvergenceWarning: the training has not converged, or has before a requested gap was proved.
    """
    from ..result import Status

    if result.status is Status.INTERRUPTED:
        message = f"training was interrupted at iteration {result.iterations}; the estimator has the weights so far"
        raise KeyboardInterrupt(message)
    if not result.status.converged:
        stuck = result.status in (Status.STALLED, Status.LINE_SEARCH_FAILED)
        ending = result.ending.partition(";")[0] if remedy and stuck else result.ending
        ending += f"; {remedy}" if remedy else ""
        warn(f"{ending} (details: result_.account)", _convergence_warning())
    elif result.is_unproved:
        message = f"training converged before gap={result.requested_gap:g} was proved; tolerance=0 waits for the proof"
        warn(f"{message} (details: result_.account)", _convergence_warning())


def check_fitted(estimator: object, attribute: str) -> None:
    """Raise NotFittedError if an estimator has no attribute of this name, which `fit` sets."""
    if attribute not in vars(estimator):
        refuse_unfitted(f"this {type(estimator).__name__} is not fitted; call fit or load a model")


def refuse_unfitted(message: str) -> NoReturn:
    """Raise NotFittedError; it is scikit-learn's as well in a program that has imported scikit-learn."""
    if "sklearn" in sys.modules:
        from . import scikit_learn

        raise scikit_learn.NotFittedError(message)
    raise NotFittedError(message)


def _convergence_warning() -> type[ConvergenceWarning]:
    """Return the class of the warning; it is scikit-learn's as well in a program that has imported scikit-learn.

    A program that filters scikit-learn's class has imported it. Importing it here would take up to a second.
    """
    if "sklearn" in sys.modules:
        from . import scikit_learn

        return scikit_learn.ConvergenceWarning
    return ConvergenceWarning


def _has_made_constructor(kind: type) -> bool:
    """Whether the constructor of an estimator's class, defined or inherited, is a generated one."""
    home = next(base for base in kind.__mro__ if "__init__" in vars(base))
    return home is object or _is_of_options(home) or vars(home)["__init__"] in _CONSTRUCTORS


def _seed_of(random_state: object) -> object:
    """Return the seed that a generator of NumPy draws, which is left as it was; anything else as it is."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(random_state, (numpy.random.RandomState, numpy.random.Generator)):
        return random_state
    generator = deepcopy(random_state)
    draw = generator.integers if isinstance(generator, numpy.random.Generator) else generator.randint
    return int(draw(2**31 - 1))


def _base_estimator() -> Any:
    with needed_by("scikit-learn's search or pipeline", "sklearn"):
        from sklearn.base import BaseEstimator

    return BaseEstimator


class _NotAvailableError(OptionError, AttributeError):
    """A method that an estimator does not have with its options: for `hasattr`, it is not there."""


class _WithoutL1:
    """A method that estimators with an L1 penalty do not have, as scikit-learn's `available_if` makes them."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, estimator: Any, owner: type | None = None) -> Callable[..., Any]:
        if estimator is None:
            return self._method
        l1 = estimator.l1
        if isinstance(l1, str | float | int) and l1:
            message = f"partial_fit is not available with l1={l1!r}, which each piece would apply once more; use l2"
            raise _NotAvailableError(message)
        return MethodType(self._method, estimator)


def _constructor(name: str, parameters: dict[str, tuple[Any, Any]]) -> Callable[..., None]:
    """Return a constructor that stores its parameters, as scikit-learn requires.

    Args:
        name: of the class.
        parameters: type and default of each, by name.
    """
    defaults = {parameter: default for parameter, (_, default) in parameters.items()}

    def __init__(self: object, **values: object) -> None:
        unknown = {parameter: value for parameter, value in values.items() if parameter not in defaults}
        if unknown:
            named = "an unexpected keyword argument " if len(unknown) == 1 else "unexpected keyword arguments "
            named += ", ".join(map(repr, unknown))
            words = hint(unknown, defaults) or similar(next(iter(unknown)), defaults)
            message = f"{name}.__init__() got {named}{words}"
            raise TypeError(message)
        for parameter, value in (defaults | values).items():
            setattr(self, parameter, value)

    keyword = [
        Parameter(parameter, Parameter.KEYWORD_ONLY, default=default, annotation=type)
        for parameter, (type, default) in parameters.items()
    ]
    signature = Signature([Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), *keyword], return_annotation=None)
    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{name}.__init__"
    _CONSTRUCTORS.add(__init__)
    return __init__


def _documented(text: str | None, helps: dict[str, str]) -> str | None:
    """Return a docstring with a line in its Args for each option that the Args do not mention."""
    if text is None:  # python -OO
        return None
    text = cleandoc(text)
    if "\nArgs:\n" not in text:
        before, attributes, after = text.partition("\n\nAttributes:\n")
        text = f"{before}\n\nArgs:\n{attributes}{after}"
    head, args, described = text.partition("\nArgs:\n")
    arguments, blank, tail = described.partition("\n\n")
    missing = (f"{name}: {help.removesuffix('.')}." for name, help in helps.items() if not _mentions(arguments, name))
    lines = [textwrap.fill(line, 120, initial_indent=" " * 4, subsequent_indent=" " * 8) for line in missing]
    return head + args + "\n".join([*([arguments] if arguments else []), *lines]) + blank + tail


def _mentions(args: str, name: str) -> bool:
    return re.search(rf"^    {name}:", args, re.MULTILINE) is not None
