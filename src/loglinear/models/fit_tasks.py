"""Callbacks of scikit-learn 1.9 (`sklearn.callback`): a training is a task of theirs, and each iteration one in it.

scikit-learn is imported only once a callback is set, or a search or pipeline of scikit-learn passes its own on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import MissingPackageError
from ..extras import needed_by

if TYPE_CHECKING:
    from ..trace import TraceRecord
    from ..vectors import Vector

__all__ = ["FittedAt", "as_task", "register", "steps_of"]

T = TypeVar("T")

FittedAt = Callable[["Vector"], Mapping[str, Any]]
"""Returns the fitted attributes of an estimator at weights, shape (n_features,)."""

# Where scikit-learn keeps the callbacks of an estimator, and a search or a pipeline the task that a `fit` is part of.
_CALLBACKS, _PARENT = "_skl_callbacks", "_parent_callback_ctx"
# Where an estimator keeps its own task while it trains.
_TASK = "_fit_task"


def register(estimator: T, callbacks: tuple[object, ...]) -> T:
    """Give an estimator the callbacks of scikit-learn, in place of those that it has; see `Estimator.set_callbacks`."""
    support: Any = _callback_module().CallbackSupportMixin
    support.set_callbacks(estimator, *callbacks)
    return estimator


def as_task(fit: Callable[..., T]) -> Callable[..., T]:
    """Return a method `fit` that scikit-learn's callbacks see as a task, if the estimator has any."""

    @wraps(fit)
    def fit_as_task(self: Any, *args: Any, **options: Any) -> T:
        attributes = vars(self)
        if _TASK in attributes or not (_CALLBACKS in attributes or _PARENT in attributes):
            return fit(self, *args, **options)
        arguments = signature(fit).bind(self, *args, **options).arguments
        return _FitTask(self, arguments).run(lambda: fit(self, *args, **options))

    return fit_as_task


def steps_of(estimator: object, at: FittedAt | None) -> tuple[Callable[[TraceRecord, Any], bool], ...]:
    """Return the callback of `minimize` that shows each step to scikit-learn's callbacks; none without a task.

    Args:
        estimator: estimator that trains.
        at: returns its fitted attributes at the weights of a step; None if a step has no estimator.
    """
    task: _FitTask | None = vars(estimator).get(_TASK)
    return () if task is None else (task.steps(at),)


class _FitTask:
    """The task of a training.

    Args:
        estimator: estimator that trains.
        arguments: arguments of its `fit`, by name.
    """

    def __init__(self, estimator: Any, arguments: Mapping[str, Any]) -> None:
        weights = arguments.get("sample_weight")
        self._estimator = estimator
        self._data = {
            "estimator": estimator,
            "X": arguments.get("X"),
            "y": arguments.get("y"),
            "metadata": None if weights is None else {"sample_weight": weights},
        }
        self._open: list[Any] = []
        self._begun = 0

    def run(self, fit: Callable[[], T]) -> T:
        """Train within the task; callbacks are torn down even if the training raises."""
        support = _callback_module()

        def fit_in_task(estimator: Any) -> T:
            limit = estimator.max_iterations
            # One more iteration has begun when the last one ends.
            self._context = support.CallbackSupportMixin._init_callback_context(
                estimator, max_subtasks=None if limit is None else limit + 1
            )
            setattr(estimator, _TASK, self)
            try:
                self._context.call_on_fit_task_begin(**self._data)
                trained = fit()
                self._close()
                self._context.call_on_fit_task_end(**self._data, reconstruction_attributes={})
                return trained
            finally:
                delattr(estimator, _TASK)

        trained: T = support.with_callbacks(fit_in_task)(self._estimator)
        return trained

    def steps(self, at: FittedAt | None) -> Callable[[TraceRecord, Any], bool]:
        """Return a callback of `minimize` whose steps are tasks of the training."""

        def step(record: TraceRecord, state: Any) -> bool:
            attributes = None if at is None else lambda: at(state.w)
            stops = False
            if record.iteration and self._open:
                stops = self._open.pop().call_on_fit_task_end(**self._data, reconstruction_attributes=attributes)
            self._close()
            if self._begun == self._context.max_subtasks:
                self._context.max_subtasks = None  # a path of strengths, or a model for each class
            iteration = self._context.subcontext(task_name="iteration")
            self._begun += 1
            iteration.call_on_fit_task_begin(**self._data, reconstruction_attributes=attributes)
            self._open.append(iteration)
            return bool(stops)

        return step

    def _close(self) -> None:
        """End the iteration that has begun but does not run, since the training has ended."""
        while self._open:
            self._open.pop().call_on_fit_task_end(estimator=self._estimator)


def _callback_module() -> Any:
    with needed_by("set_callbacks", "sklearn"):
        import sklearn
    try:
        import sklearn.callback
    except ModuleNotFoundError as error:
        message = f"set_callbacks needs scikit-learn 1.9 or later, and {sklearn.__version__} is installed; upgrade it: "
        message += "pip install -U scikit-learn"
        raise MissingPackageError(message, name="sklearn") from error
    return sklearn.callback
