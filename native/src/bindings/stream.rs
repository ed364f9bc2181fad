//! Text that is labelled while it arrives, for Python: answers go to stdout.

use crate::bindings::interrupt::interruptible;
use crate::chain::model::Model;
use crate::chain::tagging::answer::Answer;
use crate::chain::tagging::stream::{self, Output};
use crate::error::{Error, Result};
use crate::text::arriving::{Input, write_interruptibly};
use crate::text::format::Format;
use crate::threads::{Interrupt, Pool};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Labels a text that arrives, writes to stdout, and calls `look` with the beginning of the text.
#[allow(clippy::too_many_arguments)]
pub fn tag_stream(
    py: Python<'_>,
    model: &Model,
    name: &str,
    input: Input,
    format: Format,
    answer: Answer<'_>,
    pool: Pool,
    look: Py<PyAny>,
) -> PyResult<usize> {
    let mut raised = None;
    let written = interruptible(py, |interrupt| {
        let output = ToStdout { look, raised: &mut raised, interrupt };
        stream::tag_stream(model, name, input, format, answer, pool, output, interrupt)
    });
    raised.map_or(written, Err)
}

/// Writes answers to stdout; a Python function looks at the beginning of the text.
struct ToStdout<'a> {
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
