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
