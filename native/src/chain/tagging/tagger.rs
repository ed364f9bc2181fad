//! From text to labels: attributes are hashed, looked up and added to the scores while they are read, and never stored.

use crate::chain::model::Model;
use crate::chain::tagging::answer::Request;
use crate::chain::tagging::scorer::{Scorer, Written};
use crate::error::{Located, Result};
use crate::text::encode::map_pieces;
use crate::text::format::{Format, Reading};
use crate::text::input::Text;
use crate::text::labels::Labels;
use crate::text::layout::Layout;
use crate::text::writable::Place;
use crate::threads::Interrupt;
use std::ops::Range;

/// Bytes of text that a thread labels at a time.
pub(super) const PIECE: usize = 64 << 10;

/// Bytes of text for a token, about.
const BYTES_PER_TOKEN: usize = 16;

/// Labels a text. Column files are repeated line by line with one more column (and the marginals after it, as `label:probability`);
/// attribute files give only the label; JSON lines get a field `predicted` (and one of `marginals`, `n_best`, `probabilities`, `spans`, `probability`); in CoNLL-U files the cells
/// of the labels are filled in, and all other bytes are the same.
pub fn tag(
    model: &Model,
    text: &Text,
    format: Format,
    layout: Layout,
    request: Request<'_>,
    interrupt: &Interrupt,
) -> Result<Written> {
    let content = text.content();
    let mut tagger = TextTagger::new(model, format, layout, request)?;
    let mut written = Written { answers: Vec::with_capacity(content.len() * 3 / 2), ..Written::default() };
    for (_, piece) in tagger.pieces(&text.name, content, interrupt)? {
        written.append(piece.map_err(|mistake| mistake.into_error(&text.name, content, 0))?);
    }
    Ok(written)
}

/// A piece of a text, and what is written for it, or the first mistake in it.
pub(super) type Piece = (Range<usize>, std::result::Result<Written, Located>);

/// Labels a text part by part.
pub(super) struct TextTagger<'m> {
    model: &'m Model,
    pub(super) reading: Reading<'m>,
    request: Request<'m>,
}

impl<'m> TextTagger<'m> {
    /// Error: the format does not fit the model or the answer.
    pub(super) fn new(model: &'m Model, format: Format, layout: Layout, request: Request<'m>) -> Result<Self> {
        request.check(format.writing())?;
        let reading = Reading::new(format, model.template.as_deref(), Labels::Ignored)?.with(layout);
        Ok(TextTagger { model, reading, request })
    }

    /// Labels the pieces of a part of the text, in parallel. The part begins and ends between sentences.
    pub(super) fn pieces(&mut self, name: &str, content: &[u8], interrupt: &Interrupt) -> Result<Vec<Piece>> {
        if !self.reading.begin(name, content)? {
            return Ok(Vec::new());
        }
        self.model.expect(content.len() / BYTES_PER_TOKEN);
        self.check_labels()?;
        map_pieces(content, PIECE, &self.reading, interrupt, |range| self.piece(content, range, interrupt))
    }

    /// Fails if the text cannot hold a label.
    fn check_labels(&self) -> Result<()> {
        let (labels, Some(place)) = (&self.model.labels, self.reading.place()) else { return Ok(()) };
        let tabs_do = labels.iter().all(|label| Place::Line.problem(label).is_none());
        let tabs = if tabs_do { "add --separator tab, or " } else { "" };
        place.check("the model's label", labels, &format!("{tabs}give JSON lines (--format jsonl)"))
    }

    /// Labels a piece. What an interrupted piece has written means nothing.
    pub(super) fn piece(
        &self,
        content: &[u8],
        range: Range<usize>,
        interrupt: &Interrupt,
    ) -> std::result::Result<Written, Located> {
        let mut scorer = Scorer::new(self.model, self.request, &self.reading, &content[..range.end]);
        scorer.copied = range.start;
        scorer.heed(interrupt);
        self.reading.read(content, range, &mut scorer)?;
        Ok(scorer.written())
    }
}
