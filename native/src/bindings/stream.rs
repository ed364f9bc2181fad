//! Text that is labelled while it arrives, for Python: answers go to stdout.

use crate::bindings::interrupt::interruptible;
use crate::chain::tagging::scorer::Tally;
use crate::chain::tagging::stream::Output;
use crate::error::{Error, Result};
use crate::text::arriving::write_interruptibly;
use crate::threads::Interrupt;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Calls `tag`, which labels a text that arrives, with an output to stdout; `look` is called with the beginning of the text.
pub fn to_stdout(
    py: Python<'_>,
    look: Py<PyAny>,
    tag: impl FnOnce(ToStdout<'_>, &Interrupt) -> Result<Tally> + Send,
) -> PyResult<Tally> {
    let mut raised = None;
    let written = interruptible(py, |interrupt| tag(ToStdout { look, raised: &mut raised, interrupt }, interrupt));
    raised.map_or(written, Err)
}

/// Writes answers to stdout; a Python function looks at the beginning of the text.
pub struct ToStdout<'a> {
    look: Py<PyAny>,
    /// What the function has raised.
    raised: &'a mut Option<PyErr>,
    interrupt: &'a Interrupt,
}

impl Output for ToStdout<'_> {
    fn write(&mut self, answers: &[u8]) -> Result<()> {
        let written = write_interruptibly(&mut std::io::stdout().lock(), Some(1), answers, self.interrupt)?;
        written.map_err(|source| Error::io("<stdout>", source))
    }

    fn look(&mut self, beginning: &[u8]) -> Result<()> {
        *self.raised = Python::attach(|py| self.look.call1(py, (PyBytes::new(py, beginning),)).err());
        if self.raised.is_some() { Err(Error::Interrupted) } else { Ok(()) }
    }
}
