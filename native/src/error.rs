//! The one error type of the native half. Every message says what is wrong, where, and what to do.

use std::path::Path;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Bad content of a data file or of data handed over by Python.
    #[error("{0}")]
    Data(String),
    #[error("{0}")]
    Template(String),
    #[error("{0}")]
    ModelFile(String),
    #[error("{0}")]
    Option(String),
    #[error("{path}: {source}")]
    Io { path: String, source: std::io::Error },
    #[error("interrupted")]
    Interrupted,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn io(path: impl AsRef<Path>, source: std::io::Error) -> Self {
        Error::Io { path: path.as_ref().display().to_string(), source }
    }
}

/// A mistake at a byte offset of a text; the line number is counted only once it is reported.
#[derive(Debug)]
pub struct Located {
    pub offset: usize,
    pub message: String,
}

impl Located {
    pub fn new(offset: usize, message: impl Into<String>) -> Self {
        Located { offset, message: message.into() }
    }

    /// The error, for a text that starts behind so many lines of the file.
    pub fn into_error(self, name: &str, text: &[u8], lines_before: usize) -> Error {
        let before = &text[..self.offset.min(text.len())];
        let line = 1 + lines_before + before.iter().filter(|&&byte| byte == b'\n').count();
        Error::Data(format!("{name}, line {line}: {}", self.message))
    }
}
