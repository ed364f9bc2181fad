//! The cells of a sentence with what its tokens are in the lexicons of a template.

use crate::corpus::hash::Piece;
use crate::text::cells::Cells;
use crate::text::template::Template;
use crate::text::view::Lower;

/// The cells of a sentence, and what its tokens are in lexicons.
#[derive(Clone, Copy)]
pub(super) struct LookedUp<'c> {
    pub(super) cells: &'c Cells<'c>,
    /// Look-ups x tokens.
    values: &'c [&'c [u8]],
}

impl<'c> LookedUp<'c> {
    /// Number of tokens.
    pub(super) fn tokens(&self) -> usize {
        self.cells.tokens()
    }

    /// What a token is in the lexicon of a look-up.
    #[inline]
    pub(super) fn value(&self, token: usize, look_up: usize) -> &'c [u8] {
        self.values[look_up * self.tokens() + token]
    }

    /// What a token is in the lexicon of each look-up.
    pub(super) fn values(&self, token: usize) -> impl Iterator<Item = &'c [u8]> {
        let tokens = self.tokens().max(1);
        self.values.iter().skip(token).step_by(tokens).copied()
    }
}

/// Looks up sentences; keeps its buffers from one sentence to the next.
#[derive(Default)]
pub(super) struct LookUps<'t> {
    words: Vec<Piece>,
    values: Vec<&'t [u8]>,
}

impl<'t> LookUps<'t> {
    /// Looks up the tokens of a sentence. A column may use the look-ups before its own. Error: the token of which the cell of a
    /// column would be longer than `most`.
    #[inline]
    pub(super) fn of<'c>(
        &'c mut self,
        template: &'t Template,
        cells: &'c Cells<'c>,
        most: usize,
    ) -> Result<LookedUp<'c>, usize> {
        self.values.clear();
        for look_up in &template.look_ups {
            let lower = if look_up.lexicon.folded { Lower::All } else { Lower::No };
            let looked_up = LookedUp { cells, values: &self.values };
            self.words.clear();
            for token in 0..cells.tokens() {
                let cell = template.cell_within(most, &looked_up, token, look_up.column).ok_or(token)?;
                self.words.push(Piece::of(&lower.of(&cell)));
            }
            look_up.lexicon.tag(&self.words, &mut self.values);
        }
        Ok(LookedUp { cells, values: &self.values })
    }
}
