"""What all estimators share: parameters that derive from dataclasses of options, threads, callbacks, warnings.

The module imports neither NumPy nor scikit-learn, which takes seconds and a hundred megabytes: a chain labels text
without them, and is trained without the latter. What scikit-learn asks of an estimator is answered by its own
BaseEstimator, imported when it is asked for.
"""

from __future__ import annotations

import re
import textwrap
import warnings
from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import cache
from inspect import Parameter, Signature, cleandoc, get_annotations, getattr_static, signature
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import OptionError
from .training.options import RunOptions, thread_count
from .translations import hint

if TYPE_CHECKING:
    from ..minimize import Callback
    from ..result import Result

__all__ = ["Estimator", "check_end", "check_fitted"]

T = TypeVar("T")


class Estimator:
    """Base of the estimators; an estimator that needs scikit-learn anyway has its BaseEstimator as a further base.

    The parameters of a subclass are the fields of the dataclasses in its ``options``, and the attributes that its body
    annotates and gives a default; the body may give a field of the options another default. The subclass gets a
    constructor with these parameters, whose signature scikit-learn and `help` can read. Its docstring gets a line of
    Args for every option that the docstring does not describe itself::

        class Model(Estimator, options=(SolverOptions,)):
            template: str | None = None
    """

    def __init__(self, **parameters: Any) -> None:
        """Subclasses get a constructor of their own, which takes their parameters."""

    def __init_subclass__(cls, *, options: Iterable[type] = (), without: Iterable[str] = (), **keywords: Any) -> None:
        if options:
            shared = [each for kind in (*options, RunOptions) for each in fields(kind) if each.name not in {*without}]
            own = {name: kind for name, kind in get_annotations(cls).items() if name in vars(cls)}
            types = {each.name: each.type for each in shared} | own
            defaults = {each.name: each.default for each in shared} | {name: vars(cls)[name] for name in own}
            for name in own:
                delattr(cls, name)
            cls.__init__ = _constructor(cls.__qualname__, types, defaults)  # type: ignore[method-assign]
            cls.__doc__ = _documented(cls.__doc__, {each.name: each.metadata["help"] for each in shared})
        super().__init_subclass__(**keywords)

    def __getattr__(self, name: str) -> Any:
        """Return what scikit-learn's BaseEstimator has under this name: tags, routing of metadata, views."""
        own = getattr_static(type(self), name, None)
        if isinstance(own, property) and own.fget is not None:  # which has raised an AttributeError
            return own.fget(self)
        if name == "__sklearn_tags__" or not name.endswith("_"):
            counterpart: Any = _counterpart(type(self))  # type: ignore[arg-type]
            if hasattr(counterpart, name):
                found = getattr_static(counterpart, name)
                return found.__get__(self, counterpart) if hasattr(found, "__get__") else found
        message = f"{type(self).__name__!r} object has no attribute {name!r}"
        raise AttributeError(message)

    def __repr__(self) -> str:
        """Return the parameters that are not at their defaults, as scikit-learn's estimators print themselves."""
        defaults = signature(type(self).__init__).parameters
        given = ((name, getattr(self, name)) for name in self._get_param_names())
        changed = (f"{name}={value!r}" for name, value in given if repr(value) != repr(defaults[name].default))
        return f"{type(self).__name__}({', '.join(changed)})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the parameters and, once fitted, labels, size and how training ended."""
        from .summary import summary_html

        return summary_html(self)

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the names of the parameters, sorted."""
        return sorted(name for name in signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, and if ``deep`` the parameters of those that are estimators."""
        return dict(_base_estimator().get_params(self, deep=deep))

    def set_params(self, **params: Any) -> Any:
        """Set parameters by name, as scikit-learn's searches do; return self.

        Raises:
            OptionError: there is no such parameter, but another program has it; says how it is called here.
            ValueError: there is no such parameter.
        """
        known = self.get_params(deep=False)
        unknown = {name: value for name, value in params.items() if name not in known}
        if words := hint(unknown, known):
            message = f"{type(self).__name__} has no parameter {', '.join(map(repr, unknown))}{words}"
            raise OptionError(message)
        return _base_estimator().set_params(self, **params)

    def _options(self, kind: type[T], **changes: Any) -> T:
        """Return a dataclass of options made of the parameters of the same names."""
        given = {each.name: getattr(self, each.name) for each in fields(kind) if each.name in vars(self)}  # type: ignore[arg-type]
        return kind(**given | changes)

    @property
    def _threads(self) -> int:
        """Threads to run on; 0 is all cores."""
        return thread_count(self.n_jobs)

    def _observers(self, callbacks: Iterable[Callback]) -> tuple[Callback, ...]:
        """Return the callbacks, followed by a callback that prints if the estimator is verbose."""
        if not self.verbose:
            return tuple(callbacks)
        from .training.run import Printer

        return (*callbacks, Printer())


def check_end(result: Result, remedy: str = "", *, stacklevel: int = 2) -> None:
    """Look at how a training ended; the last thing that `fit` does, when the estimator holds the weights.

    Args:
        result: result of the training.
        remedy: text behind the status.
        stacklevel: frames from the function that calls this one to the code that a warning names; 2 is its caller.

    Raises:
        KeyboardInterrupt: Ctrl-C ended the training.

    Warns:
        ConvergenceWarning: scikit-learn's, if the training has not converged.
    """
    from ..result import Status

    if result.status is Status.INTERRUPTED:
        message = f"training was interrupted at iteration {result.iterations}; the estimator holds the weights reached"
        raise KeyboardInterrupt(message)
    if not result.status.converged:
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(f"{result.account}; see result_{remedy}", ConvergenceWarning, stacklevel=stacklevel + 1)


def check_fitted(estimator: object, attribute: str) -> None:
    """Raise scikit-learn's NotFittedError if an estimator has no attribute of this name, which `fit` sets."""
    if attribute not in vars(estimator):
        from sklearn.exceptions import NotFittedError

        message = f"this {type(estimator).__name__} is not fitted yet; call fit first, or load a model"
        raise NotFittedError(message)


def _base_estimator() -> Any:
    from sklearn.base import BaseEstimator

    return BaseEstimator


@cache
def _counterpart(kind: type) -> type:
    """Return a class of scikit-learn's with the methods of an estimator's class."""
    methods = {name: value for name, value in vars(kind).items() if callable(value)}
    return type(kind.__name__, (_base_estimator(),), methods)


def _constructor(name: str, types: dict[str, Any], defaults: dict[str, Any]) -> Callable[..., None]:
    """Return a constructor that stores its parameters, as scikit-learn wants it."""

    def __init__(self: Any, **parameters: Any) -> None:
        unknown = {parameter: value for parameter, value in parameters.items() if parameter not in defaults}
        if unknown:
            named = "an unexpected keyword argument " if len(unknown) == 1 else "unexpected keyword arguments "
            named += ", ".join(map(repr, unknown))
            message = f"{name}.__init__() got {named}{hint(unknown, defaults)}"
            raise TypeError(message)
        for parameter, value in (defaults | parameters).items():
            setattr(self, parameter, value)

    keyword = [
        Parameter(parameter, Parameter.KEYWORD_ONLY, default=default, annotation=types[parameter])
        for parameter, default in defaults.items()
    ]
    signature = Signature([Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), *keyword], return_annotation=None)
    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{name}.__init__"
    return __init__


def _documented(text: str | None, helps: dict[str, str]) -> str | None:
    """Return a docstring with a line in its Args for each option that has none there."""
    if text is None:  # python -OO
        return None
    text = cleandoc(text)
    if "\nArgs:\n" not in text:
        before, attributes, after = text.partition("\n\nAttributes:\n")
        text = f"{before}\n\nArgs:\n{attributes}{after}"
    head, args, rest = text.partition("\nArgs:\n")
    own, blank, tail = rest.partition("\n\n")
    missing = (f"{name}: {help.removesuffix('.')}." for name, help in helps.items() if not _mentions(own, name))
    lines = [textwrap.fill(line, 120, initial_indent=" " * 4, subsequent_indent=" " * 8) for line in missing]
    return head + args + "\n".join([*([own] if own else []), *lines]) + blank + tail


def _mentions(args: str, name: str) -> bool:
    return re.search(rf"^    {name}:", args, re.MULTILINE) is not None
