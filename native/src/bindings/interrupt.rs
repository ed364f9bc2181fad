//! Long native work: without the GIL, stopped by Ctrl-C, and with panics turned into exceptions.

use crate::bindings::errors::InternalError;
use crate::error::{Result, message_of};
use crate::memory::OutOfMemory;
use crate::threads::Interrupt;
use pyo3::PyTypeInfo;
use pyo3::exceptions::PyMemoryError;
use pyo3::panic::PanicException;
use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often to look for a signal.
pub const PERIOD: Duration = Duration::from_millis(50);

/// Runs `work` on this thread, without the GIL unless `work` acquires it.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> PyResult<T> + Send) -> PyResult<T> {
    let (mut work, mut outcome) = (Some(work), None);
    detached_once(py, &mut || outcome = work.take().map(|work| work()))?;
    outcome.unwrap_or_else(|| Err(vanished()))
}

/// `detached` of work that keeps its own result. Like `watched` it is not generic, so it is compiled once.
fn detached_once(py: Python<'_>, work: &mut (dyn FnMut() + Send)) -> PyResult<()> {
    py.detach(|| catch_unwind(AssertUnwindSafe(work))).map_err(exception)
}

/// Runs `work` on this thread if it is fast, and lets Python handle signals afterwards; otherwise as `interruptible` does.
pub fn interruptible_unless<T: Send>(
    quick: bool,
    py: Python<'_>,
    work: impl FnOnce(&Interrupt) -> Result<T> + Send,
) -> PyResult<T> {
    if quick { detached(py, || Ok(work(&Interrupt::default())?)) } else { interruptible(py, work) }
}

/// Runs `work` on a separate thread while this one checks for signals.
pub fn interruptible<T: Send>(py: Python<'_>, work: impl FnOnce(&Interrupt) -> Result<T> + Send) -> PyResult<T> {
    let (mut work, mut outcome) = (Some(work), None);
    watched(py, &mut |interrupt| outcome = work.take().map(|work| work(interrupt)))?;
    outcome.map_or_else(|| Err(vanished()), |result| Ok(result?))
}

/// `interruptible` of work that keeps its own result.
fn watched(py: Python<'_>, work: &mut (dyn FnMut(&Interrupt) + Send)) -> PyResult<()> {
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
        (None, Some(outcome)) => outcome.map_err(exception),
        (None, None) => Err(vanished()),
    }
}

/// The exception for a panic of native code.
fn exception(panic: Box<dyn Any + Send>) -> PyErr {
    match panic.downcast_ref::<OutOfMemory>() {
        Some(exhausted) => PyMemoryError::new_err(exhausted.to_string()),
        None => InternalError::new_err(message_of(&*panic).to_owned()),
    }
}

/// The exception for work that ended without a result.
fn vanished() -> PyErr {
    InternalError::new_err("a worker thread vanished")
}

/// Makes the exception that PyO3 raises for a panic in any method, which is no `Exception`, a kind of `InternalError`. What this
/// file guards raises `InternalError` itself.
pub fn make_panics_exceptions(py: Python<'_>) -> PyResult<()> {
    PanicException::type_object(py).setattr("__bases__", (InternalError::type_object(py),))
}

/// Panics on this thread, or where `interruptible` guards it; for the tests of what becomes of panics.
#[pyfunction]
pub fn panic(py: Python<'_>, message: String, guarded: bool) -> PyResult<()> {
    if !guarded {
        std::panic::panic_any(message);
    }
    interruptible(py, |_| std::panic::panic_any(message))
}
