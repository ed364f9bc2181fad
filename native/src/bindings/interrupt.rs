//! Long native work: without the GIL, stopped by Ctrl-C, and with panics turned into exceptions.

use crate::error::{Result, internal};
use crate::memory::OutOfMemory;
use crate::threads::Interrupt;
use pyo3::exceptions::{PyMemoryError, PyRuntimeError};
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often to look for a signal.
const PERIOD: Duration = Duration::from_millis(50);

/// Runs `work` on this thread, without the GIL unless `work` acquires it.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> PyResult<T> + Send) -> PyResult<T> {
    returned(py.detach(|| catch_unwind(AssertUnwindSafe(work))))
}

/// Runs `work` on this thread if it is fast, and lets Python handle signals afterwards; otherwise as `interruptible` does.
pub fn interruptible_unless<T: Send>(
    quick: bool,
    py: Python<'_>,
    work: impl FnOnce(&Interrupt) -> Result<T> + Send,
) -> PyResult<T> {
    if quick { detached(py, || Ok(work(&Interrupt::default())?)) } else { interruptible(py, work) }
}

/// The value that work returned, or its error or panic as an exception.
fn returned<T, E: Into<PyErr>>(outcome: std::thread::Result<std::result::Result<T, E>>) -> PyResult<T> {
    match outcome {
        Ok(result) => result.map_err(Into::into),
        Err(panic) => Err(match panic.downcast_ref::<OutOfMemory>() {
            Some(exhausted) => PyMemoryError::new_err(exhausted.to_string()),
            None => PyRuntimeError::new_err(internal(&*panic)),
        }),
    }
}

/// Runs `work` on a separate thread while this one checks for signals.
pub fn interruptible<T: Send>(py: Python<'_>, work: impl FnOnce(&Interrupt) -> Result<T> + Send) -> PyResult<T> {
    let interrupt = Interrupt::default();
    let (outcome, signal) = py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, receiver) = channel();
            let interrupt = &interrupt;
            let run = move || sender.send(catch_unwind(AssertUnwindSafe(|| work(interrupt))));
            if let Err(error) = std::thread::Builder::new().spawn_scoped(scope, run) {
                return (None, Some(PyMemoryError::new_err(format!("cannot start a thread: {error}"))));
            }
            let mut signal = None;
            loop {
                match receiver.recv_timeout(PERIOD) {
                    Ok(outcome) => return (Some(outcome), signal),
                    Err(RecvTimeoutError::Disconnected) => return (None, signal),
                    Err(RecvTimeoutError::Timeout) if signal.is_none() => {
                        if let Err(error) = Python::attach(|py| py.check_signals()) {
                            interrupt.set();
                            signal = Some(error);
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
        })
    });
    match (signal, outcome) {
        (Some(error), _) => Err(error),
        (None, Some(outcome)) => returned(outcome),
        (None, None) => Err(PyRuntimeError::new_err("internal error, please report it: a worker thread vanished")),
    }
}
