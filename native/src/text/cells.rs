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

/// The numbers of cells that the tokens of a data set may have.
#[derive(Clone, Copy, Default, Debug)]
pub struct Width {
    /// Cells of each token of the training data; none if there is no model, or it does not know them.
    pub trained: Option<usize>,
    /// Most cells of a token that was read.
    pub seen: Option<usize>,
}

impl Width {
    /// No tokens were read so far.
    pub fn of_training(trained: Option<usize>) -> Self {
        Width { trained, seen: None }
    }

    /// As `allow`, and fails if a token has another number of cells than the tokens before it.
    #[inline(always)]
    pub fn check(&mut self, token: usize, cells: usize) -> Result<(), String> {
        let has = |cells: usize| if cells == 1 { "1 column".to_owned() } else { format!("{cells} columns") };
        if let Some(seen) = self.seen.filter(|&seen| seen != cells) {
            let (columns, others) = (has(cells), has(seen));
            return Err(format!(
                "token {token} has {columns}, earlier tokens have {others}; give each token the same number"
            ));
        }
        self.allow(token, cells)
    }

    /// Fails if a token, the one with this index in its sentence, has more cells than the tokens of the training data.
    #[inline(always)]
    pub fn allow(&mut self, token: usize, cells: usize) -> Result<(), String> {
        if let Some(trained) = self.trained.filter(|&trained| cells > trained) {
            let plural = if cells == 1 { "" } else { "s" };
            return Err(format!(
                "token {token} has {cells} column{plural}, the training data had {trained}: is this a list of sentences?"
            ));
        }
        self.seen = self.seen.max(Some(cells));
        Ok(())
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
