//! The raw columns of a sentence, from which templates form attributes.

/// The cells of a sentence without the labels: a row for each token, row by row.
#[derive(Default)]
pub struct Cells<'a> {
    /// Cells of a token.
    pub columns: usize,
    pub cells: Vec<&'a [u8]>,
}

impl<'a> Cells<'a> {
    /// Removes all cells.
    pub fn clear(&mut self) {
        self.cells.clear();
    }

    /// Number of tokens.
    pub fn tokens(&self) -> usize {
        self.cells.len().checked_div(self.columns).unwrap_or(0)
    }

    /// A cell of a token.
    pub fn cell(&self, token: usize, column: usize) -> &'a [u8] {
        self.cells[token * self.columns + column]
    }
}

/// Texts one after the other.
#[derive(Default)]
pub struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Texts {
    /// Adds a text.
    #[inline]
    pub fn push(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
        self.ends.push(self.bytes.len());
    }

    /// Removes all texts.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Number of texts.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// A text.
    pub fn get(&self, index: usize) -> &[u8] {
        &self.bytes[if index == 0 { 0 } else { self.ends[index - 1] }..self.ends[index]]
    }
}
