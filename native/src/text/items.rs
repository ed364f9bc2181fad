//! Attributes given as dictionaries, named as python-crfsuite names them: `{"w": "dog"}` is `w:dog` with value 1, `{"len": 3}`
//! is `len` with value 3, and a nested collection puts its key and a colon before the names inside.

use crate::corpus::hash::key_of;
use crate::corpus::sink::Sink;

/// Forms attribute names under a prefix of keys and hands them to a sink.
#[derive(Default)]
pub struct Items {
    /// The prefix.
    name: Vec<u8>,
}

impl Items {
    /// Adds a key and a colon to the prefix; returns the length of the prefix before, for `leave`.
    pub fn enter(&mut self, key: &str) -> usize {
        let outer = self.name.len();
        self.name.extend_from_slice(key.as_bytes());
        self.name.push(b':');
        outer
    }

    /// Cuts the prefix back to a length that `enter` has returned.
    pub fn leave(&mut self, outer: usize) {
        self.name.truncate(outer);
    }

    /// Passes on the attribute `name`, with value 1.
    pub fn name<S: Sink>(&mut self, name: &str, sink: &mut S) {
        self.emit(&[name], 1.0, sink);
    }

    /// Passes on the attribute `key:text`, with value 1.
    pub fn text<S: Sink>(&mut self, key: &str, text: &str, sink: &mut S) {
        self.emit(&[key, ":", text], 1.0, sink);
    }

    /// Passes on the attribute `key` with a value, which must be finite.
    pub fn number<S: Sink>(&mut self, key: &str, value: f64, sink: &mut S) -> Result<(), String> {
        if !value.is_finite() {
            return Err(format!("attribute '{key}' has the value {value}; values must be finite numbers"));
        }
        if !(S::SKIPS_ZEROS && value == 0.0) {
            self.emit(&[key], value, sink);
        }
        Ok(())
    }

    /// Passes on the attribute whose name is the prefix and the parts.
    #[inline]
    fn emit<S: Sink>(&mut self, parts: &[&str], value: f64, sink: &mut S) {
        if let ([name], true) = (parts, self.name.is_empty()) {
            return sink.state(key_of(name.as_bytes()), value, |out| out.extend_from_slice(name.as_bytes()));
        }
        let outer = self.name.len();
        for part in parts {
            self.name.extend_from_slice(part.as_bytes());
        }
        let name = &self.name;
        sink.state(key_of(name), value, |out| out.extend_from_slice(name));
        self.name.truncate(outer);
    }
}
