//! Native errors as Python exceptions.

use crate::error::{Error, shortened};
use pyo3::PyErr;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use std::io::ErrorKind;

pyo3::import_exception!(loglinear.errors, DataError);
pyo3::import_exception!(loglinear.errors, TemplateError);
pyo3::import_exception!(loglinear.errors, ModelFileError);
pyo3::import_exception!(loglinear.errors, OptionError);
pyo3::import_exception!(loglinear.errors, InternalError);

/// Characters of a message; what it quotes may be a line of any length.
const LONGEST: usize = 4000;

/// A message that a screen can show.
fn short(message: &str) -> String {
    shortened(message, LONGEST).into_owned()
}

impl From<Error> for PyErr {
    fn from(error: Error) -> PyErr {
        match error {
            Error::Data(message) => DataError::new_err(short(&message)),
            Error::Template(message) => TemplateError::new_err(short(&message)),
            Error::ModelFile(message) => ModelFileError::new_err(short(&message)),
            Error::Option(message) => OptionError::new_err(short(&message)),
            Error::Io { path, source } => match source.raw_os_error().or(number_of(source.kind())) {
                // With number, text and file name Python picks the subclass, such as FileNotFoundError.
                Some(number) => {
                    let text = source.to_string();
                    let text = text.split(" (os error").next().unwrap_or_default().to_owned();
                    PyOSError::new_err((number, text, path))
                }
                None => PyOSError::new_err(format!("{path}: {source}")),
            },
            Error::Interrupted => PyKeyboardInterrupt::new_err("interrupted"),
        }
    }
}

/// The errno of an error whose kind alone is known, with Linux's numbers.
fn number_of(kind: ErrorKind) -> Option<i32> {
    Some(match kind {
        ErrorKind::NotFound => 2,
        ErrorKind::PermissionDenied => 13,
        ErrorKind::NotADirectory => 20,
        ErrorKind::IsADirectory => 21,
        ErrorKind::StorageFull => 28,
        ErrorKind::ReadOnlyFilesystem => 30,
        _ => return None,
    })
}
