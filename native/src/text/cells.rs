//! A sentence of raw columns: what templates look at.

/// Cells of one sentence, row-major: a row a token, a column an input (the label is not among them).
#[derive(Default)]
pub struct Cells<'a> {
    pub columns: usize,
    pub cells: Vec<&'a [u8]>,
}

impl<'a> Cells<'a> {
    pub fn clear(&mut self) {
        self.cells.clear();
    }

    pub fn tokens(&self) -> usize {
        self.cells.len().checked_div(self.columns).unwrap_or(0)
    }

    pub fn cell(&self, token: usize, column: usize) -> &'a [u8] {
        self.cells[token * self.columns + column]
    }
}
