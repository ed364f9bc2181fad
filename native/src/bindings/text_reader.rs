//! Text from a file that Python has opened, decompressed if need be.

use crate::bindings::interrupt::detached;
use crate::error::Error;
use crate::text::input::Source;
use crate::threads::locked;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::io::Read;
use std::sync::{Arc, Mutex};

/// Reads text; the first bytes of the file say how it is compressed, and that it is text.
#[pyclass(frozen, module = "loglinear._core")]
pub struct TextReader {
    source: Mutex<Source>,
    raised: Raised,
}

/// What a method of the file has raised.
type Raised = Arc<Mutex<Option<PyErr>>>;

#[pymethods]
impl TextReader {
    /// The text of an open file with its name for messages. The file has a method `read1`. Error: it is no text.
    #[new]
    fn new(py: Python<'_>, file: Py<PyAny>, name: &str) -> PyResult<TextReader> {
        let raised = Raised::default();
        let raw = OfPython { file, raised: Arc::clone(&raised), bytes: Vec::new(), at: 0 };
        let source = reading(py, &raised, || Source::new(name, Box::new(raw)))?;
        Ok(TextReader { source: Mutex::new(source), raised })
    }

    /// At most so many bytes of the text, empty at its end. Error: compressed data is damaged or cut short.
    fn read1<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Bound<'py, PyBytes>> {
        let part = reading(py, &self.raised, || locked(&self.source).part(most))?;
        Ok(PyBytes::new(py, &part))
    }
}

/// Does work that reads; what the file has raised meanwhile is raised.
fn reading<T: Send>(py: Python<'_>, raised: &Raised, work: impl FnOnce() -> Result<T, Error> + Send) -> PyResult<T> {
    let outcome = detached(py, || Ok(work()))?;
    match locked(raised).take() {
        Some(error) => Err(error),
        None => Ok(outcome?),
    }
}

/// Reads what `read1` returns.
struct OfPython {
    file: Py<PyAny>,
    raised: Raised,
    bytes: Vec<u8>,
    /// Bytes that have been handed over.
    at: usize,
}

/// Bytes to ask for at a time.
const READ: usize = 256 << 10;

impl Read for OfPython {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.bytes.len() {
            let read = |py: Python<'_>| self.file.call_method1(py, "read1", (READ,))?.extract::<Vec<u8>>(py);
            self.bytes = Python::attach(read).map_err(|error| {
                let message = error.to_string();
                *locked(&self.raised) = Some(error);
                std::io::Error::other(message)
            })?;
            self.at = 0;
        }
        let count = (&self.bytes[self.at..]).read(into)?;
        self.at += count;
        Ok(count)
    }
}
