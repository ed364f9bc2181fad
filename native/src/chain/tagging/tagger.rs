//! From text to labels: attributes are hashed, looked up and added to the scores while they are read, and never stored.

use crate::chain::model::Model;
use crate::chain::tagging::answer::Request;
use crate::chain::tagging::scorer::{Scorer, Written};
use crate::error::{Error, Located, Result};
use crate::text::encode::map_pieces;
use crate::text::format::{Format, Reading, Writing};
use crate::text::input::Text;
use crate::text::labels::Labels;
use crate::text::layout::{Layout, Separator};
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
        check_cells(&self.model.labels, self.reading.format.writing(), self.reading.separator())?;
        map_pieces(content, PIECE, &self.reading, interrupt, |range| self.piece(content, range))
    }

    /// Labels a piece.
    pub(super) fn piece(&self, content: &[u8], range: Range<usize>) -> std::result::Result<Written, Located> {
        let mut scorer = Scorer::new(self.model, self.request, &self.reading, &content[..range.end]);
        scorer.copied = range.start;
        self.reading.read(content, range, &mut scorer)?;
        Ok(scorer.written())
    }
}

/// Fails if a label cannot be written in this way, so that it would be read again as it is.
pub fn check_cells(labels: &[String], writing: Writing, separator: Separator) -> Result<()> {
    // Control characters besides tabs and ends of lines would command the terminal that shows the text.
    let separates = |character: char| match writing {
        Writing::Lines => character.is_control() || (character == ' ' && separator == Separator::Blank),
        Writing::Cells | Writing::Labels { .. } => character.is_control(),
        Writing::Fields => false,
    };
    let wrong = |label: &&String| label.chars().any(separates) || (label.is_empty() && writing != Writing::Fields);
    let Some(label) = labels.iter().find(wrong) else { return Ok(()) };
    let (problem, remedy) = if !label.contains(char::is_control) && writing == Writing::Lines && !label.is_empty() {
        ("contains a space, which separates columns here", "add --separator tab, or give JSON lines (--format jsonl)")
    } else if label.is_empty() {
        ("is empty, so it cannot be written on a line of text", "give JSON lines (--format jsonl)")
    } else if !label.contains(['\t', '\n', '\r']) {
        ("contains a control character, so it cannot be written on a line of text", "give JSON lines (--format jsonl)")
    } else {
        (
            "contains a tab or the end of a line, so it cannot be written on a line of text",
            "give JSON lines (--format jsonl)",
        )
    };
    Err(Error::Data(format!("the model's label {label:?} {problem}; {remedy}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_that_would_be_read_as_several_cells_is_refused() {
        let lines = Writing::Labels { blank_lines: true };
        let fits = |label: &str, writing, separator| check_cells(&[label.to_owned()], writing, separator).is_ok();
        assert!(fits("B-PER", Writing::Lines, Separator::Blank));
        assert!(!fits("A B", Writing::Lines, Separator::Blank));
        assert!(fits("A B", Writing::Lines, Separator::Tab));
        for writing in [Writing::Lines, Writing::Cells, lines] {
            for label in ["A\tB", "A\nB", "A\rB", "A\u{1b}[31m", "A\u{9b}B", ""] {
                assert!(!fits(label, writing, Separator::Tab), "{label:?}");
                assert!(fits(label, Writing::Fields, Separator::Blank), "{label:?}");
            }
        }
    }
}
