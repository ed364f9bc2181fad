"""Ctrl-C and signals that end a program, put off until a training has come to the end of a step and is saved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

__all__ = ["Postponed"]

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


class Postponed:
    """A block in which the first Ctrl-C, SIGTERM or SIGHUP waits for `answer`; the next one works as it always does.

    A handler that the program has set is called at once: only the KeyboardInterrupt that it raises waits. Signals that
    are ignored stay ignored. Outside the main thread, which alone sees signals, the block changes nothing.

    Example:
        >>> import signal
        >>> from loglinear.models.training.interrupts import Postponed
        >>> with Postponed() as interrupts:
        ...     signal.raise_signal(signal.SIGINT)
        ...     try:
        ...         interrupts.answer()
        ...     except KeyboardInterrupt:
        ...         print("interrupted")
        interrupted
    """

    def __init__(self) -> None:
        self._before: dict[int, Callable[[int, FrameType | None], Any] | int] = {}
        self._asked: int | None = None

    def __enter__(self) -> Postponed:
        if threading.current_thread() is threading.main_thread():
            numbers = [number for name in _NAMES if (number := getattr(signal, name, None)) is not None]
            handlers = {number: signal.getsignal(number) for number in numbers}
            # None is a handler that was not set from Python, and could not be set again.
            self._before = {
                number: handler for number, handler in handlers.items() if handler not in (signal.SIG_IGN, None)
            }
            for number in self._before:
                signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    @property
    def asked(self) -> bool:
        """Whether an interrupt waits."""
        return self._asked is not None

    def answer(self) -> None:
        """Let an interrupt that waits take place: it ends the process where no handler was set.

        Raises:
            KeyboardInterrupt: an interrupt waits.
        """
        number, self._asked = self._asked, None
        if number is None:
            return
        if self._before[number] == signal.SIG_DFL:
            signal.raise_signal(number)
        raise KeyboardInterrupt

    def _note(self, number: int, frame: FrameType | None) -> None:
        handler = self._before[number]
        if callable(handler):
            try:
                handler(number, frame)
            except KeyboardInterrupt:
                pass
            else:
                return
        self._asked = number
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            if signal.getsignal(number) == self._note:
                signal.signal(number, handler)
