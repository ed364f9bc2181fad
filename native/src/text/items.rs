//! Names of attributes given as dictionaries, as python-crfsuite forms them: `{"w": "dog"}` is `w:dog` with value 1,
//! `{"len": 3}` is `len` with value 3, and a nested collection puts its key and a colon before the names inside.

use crate::corpus::hash::key_of;
use crate::corpus::sink::Sink;

/// Builds attribute names under a prefix of keys and hands them to a sink.
#[derive(Default)]
pub struct Items {
    name: Vec<u8>,
}

impl Items {
    /// Adds a key to the prefix; give what it returns to `leave`.
    pub fn enter(&mut self, key: &str) -> usize {
        let outer = self.name.len();
        self.name.extend_from_slice(key.as_bytes());
        self.name.push(b':');
        outer
    }

    pub fn leave(&mut self, outer: usize) {
        self.name.truncate(outer);
    }

    pub fn name<S: Sink>(&mut self, name: &str, sink: &mut S) {
        self.emit(&[name], 1.0, sink);
    }

    pub fn text<S: Sink>(&mut self, key: &str, text: &str, sink: &mut S) {
        self.emit(&[key, ":", text], 1.0, sink);
    }

    pub fn number<S: Sink>(&mut self, key: &str, value: f64, sink: &mut S) -> Result<(), String> {
        if !value.is_finite() {
            return Err(format!("attribute '{key}' has the value {value}; values have to be finite numbers"));
        }
        self.emit(&[key], value, sink);
        Ok(())
    }

    fn emit<S: Sink>(&mut self, parts: &[&str], value: f64, sink: &mut S) {
        let outer = self.name.len();
        for part in parts {
            self.name.extend_from_slice(part.as_bytes());
        }
        let name = &self.name;
        sink.state(key_of(name), value, |out| out.extend_from_slice(name));
        self.name.truncate(outer);
    }
}
