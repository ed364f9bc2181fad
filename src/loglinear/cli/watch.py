"""A thread that can speak while the main thread computes: at Ctrl-C, and when a while has passed."""

from __future__ import annotations

import select
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

__all__ = ["Watch"]

# Ends the thread; no signal has this number.
_END = b"\0"


class Watch:
    """A block in which functions are called on another thread, so that they run while native code works.

    Python calls handlers of signals only between its own instructions; the interpreter's own handler writes the number
    of the signal to a socket at once. Outside the main thread, which alone sees signals, only `on_silence` is called.

    Args:
        on_interrupt: called at each Ctrl-C.
        on_silence: called after each period.
        period: seconds.
    """

    def __init__(self, on_interrupt: Callable[[], object], on_silence: Callable[[], object], period: float) -> None:
        self._on_interrupt, self._on_silence, self._period = on_interrupt, on_silence, period
        self._reading, self._writing = socket.socketpair()
        self._writing.setblocking(False)
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self._before: int | None = None

    def __enter__(self) -> Watch:
        with suppress(ValueError):  # not the main thread
            self._before = signal.set_wakeup_fd(self._writing.fileno(), warn_on_full_buffer=False)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.set_wakeup_fd(self._before)
        self._writing.setblocking(True)
        self._writing.send(_END)
        self._thread.join()
        self._reading.close()
        self._writing.close()

    def _run(self) -> None:
        while True:
            if not select.select([self._reading], [], [], self._period)[0]:
                self._on_silence()
                continue
            numbers = self._reading.recv(4096)
            if _END[0] in numbers:
                return
            if signal.SIGINT in numbers:
                self._on_interrupt()
