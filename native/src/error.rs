//! The error type of the native half. Every message names the mistake, its place and the remedy.

use std::any::Any;
use std::borrow::Cow;
use std::path::Path;

/// Every failure of the native half; `bindings::errors` turns each kind into its Python exception.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Bad content of a data file or of data handed over by Python.
    #[error("{0}")]
    Data(String),
    /// A mistake in a feature template.
    #[error("{0}")]
    Template(String),
    /// A model file that is damaged, foreign or of another version.
    #[error("{0}")]
    ModelFile(String),
    /// An option outside its range, or options that exclude one another.
    #[error("{0}")]
    Option(String),
    /// A failure of the operating system to read or write a file.
    #[error("{path}: {source}")]
    Io { path: String, source: std::io::Error },
    /// The interrupt flag was found set (`threads::Interrupt`).
    #[error("interrupted")]
    Interrupted,
}

/// The result of native functions that can fail.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A failure of the operating system at the file `path`.
    pub fn io(path: impl AsRef<Path>, source: std::io::Error) -> Self {
        Error::Io { path: path.as_ref().display().to_string(), source }
    }
}

/// Fails if a weight is not finite or is negative; `thing` is what has the weights, such as "sample".
pub fn check_weights(weights: &[f64], thing: &str) -> Result<()> {
    let wrong = weights.iter().position(|weight| !(0.0..f64::INFINITY).contains(weight));
    wrong.map_or(Ok(()), |at| {
        Err(Error::Data(format!("weight {} of {thing} {at} must be finite and at least 0", weights[at])))
    })
}

/// A text of about `most` characters: what exceeds them is left out in the middle.
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most || text.chars().count() <= most {
        return Cow::Borrowed(text);
    }
    let half = most / 2 - 1;
    let first = text.char_indices().nth(half).map_or(0, |(at, _)| at);
    let last = text.char_indices().nth_back(half).map_or(text.len(), |(at, _)| at);
    Cow::Owned(format!("{} … {}", &text[..first], &text[last..]))
}

/// The message of a panic that was caught.
pub fn message_of(panic: &(dyn Any + Send)) -> &str {
    let message = panic.downcast_ref::<String>().map(String::as_str);
    message.or(panic.downcast_ref::<&str>().copied()).unwrap_or("unknown")
}

/// A mistake at a byte offset of a text. Its line number is counted only when the mistake is reported.
#[derive(Debug)]
pub struct Located {
    /// Bytes of the text before the mistake.
    pub offset: usize,
    pub message: String,
}

impl Located {
    /// A mistake `offset` bytes into the text.
    pub fn new(offset: usize, message: impl Into<String>) -> Self {
        Located { offset, message: message.into() }
    }

    /// The error with file and line, for a text that is preceded by `lines_before` lines of the file `name`.
    pub fn into_error(self, name: &str, text: &[u8], lines_before: usize) -> Error {
        let before = &text[..self.offset.min(text.len())];
        let line = 1 + lines_before + before.iter().filter(|&&byte| byte == b'\n').count();
        Error::Data(format!("{name}, line {line}: {}", self.message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_lose_their_middle() {
        assert_eq!(shortened("äöü", 3), "äöü");
        assert_eq!(shortened("123456789", 8), "123 … 6789");
        assert_eq!(shortened(&"ä".repeat(1000), 10), "ääää … äääää");
    }
}
