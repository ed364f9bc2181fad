//! From text to labels: attributes are hashed, looked up and added to the scores while they are read, and never stored.

use crate::chain::model::Model;
use crate::chain::tagging::answer::Answer;
use crate::chain::tagging::confidence::Tagging;
use crate::chain::tagging::scorer::Scorer;
use crate::corpus::sink::Sink;
use crate::error::{Located, Result};
use crate::text::encode::{Format, column_shape};
use crate::text::expand::Expander;
use crate::text::input::{self, Text};
use crate::text::labels::Labels;
use crate::text::{columns, conllu, crfsuite, jsonl, svmlight};
use crate::threads::Interrupt;
use rayon::prelude::*;
use std::ops::Range;

/// Bytes of text that a thread labels at a time.
pub(super) const PIECE: usize = 64 << 10;

/// Labels a text. Column files come back line by line with a column more (and the marginals behind it, as `label:probability`);
/// attribute files give the label alone; JSON lines get a field `predicted` (and one of `marginals`, `n_best`, `probabilities`, `spans`, `probability`); in CoNLL-U files the cells
/// of the labels are filled in, and all other bytes are the same.
pub fn tag(model: &Model, text: &Text, format: Format, answer: Answer<'_>, interrupt: &Interrupt) -> Result<Vec<u8>> {
    let content = text.content();
    let mut tagger = TextTagger::new(model, format, answer)?;
    let mut out = Vec::with_capacity(content.len() * 3 / 2);
    for (_, piece) in tagger.pieces(&text.name, content, interrupt)? {
        out.append(&mut piece.map_err(|mistake| mistake.into_error(&text.name, content, 0))?);
    }
    Ok(out)
}

/// A piece of a text, and what is written for it, or the first mistake in it.
pub(super) type Piece = (Range<usize>, std::result::Result<Vec<u8>, Located>);

/// Labels a text part by part.
pub(super) struct TextTagger<'m> {
    model: &'m Model,
    pub(super) format: Format,
    answer: Answer<'m>,
    /// The columns of the text, known from its first line on.
    shape: Option<columns::Shape>,
}

impl<'m> TextTagger<'m> {
    /// Error: the format does not fit the model or the answer.
    pub(super) fn new(model: &'m Model, format: Format, answer: Answer<'m>) -> Result<Self> {
        format.check_template(model.template.as_deref())?;
        answer.check(format)?;
        Ok(TextTagger { model, format, answer, shape: None })
    }

    /// Labels the pieces of a part of the text, in parallel. The part begins and ends between sentences.
    pub(super) fn pieces(&mut self, name: &str, content: &[u8], interrupt: &Interrupt) -> Result<Vec<Piece>> {
        if let (Format::Columns, Some(template), None) = (self.format, self.model.template.as_deref(), self.shape) {
            self.shape = column_shape(name, content, template, Labels::Ignored)?;
            if self.shape.is_none() {
                return Ok(Vec::new());
            }
        }
        let pieces = input::pieces(content, PIECE, |line| self.format.ends(line));
        let tag = |range: Range<usize>| {
            interrupt.check()?;
            Ok((range.clone(), self.piece(content, range)))
        };
        if pieces.len() == 1 {
            pieces.into_iter().map(tag).collect()
        } else {
            pieces.into_par_iter().map(tag).collect()
        }
    }

    /// Labels a piece.
    pub(super) fn piece(&self, content: &[u8], range: Range<usize>) -> std::result::Result<Vec<u8>, Located> {
        tag_piece(self.model, content, range, self.format, self.shape, self.answer)
    }
}

fn tag_piece(
    model: &Model,
    content: &[u8],
    range: Range<usize>,
    format: Format,
    shape: Option<columns::Shape>,
    answer: Answer<'_>,
) -> std::result::Result<Vec<u8>, Located> {
    let mut scorer = Scorer::new(model, answer);
    let mut expander = model.template.as_deref().map(Expander::new);
    match (format, &mut expander, shape) {
        (Format::Columns, Some(expander), Some(shape)) => columns::read(content, range, shape, |sentence| {
            expander.expand(&sentence.cells, &mut scorer, |_| None);
            scorer.end_sentence(1.0);
            scorer.print_sentence(content, Some(&sentence.lines));
        })?,
        (Format::Conllu(label), Some(expander), _) => {
            let inputs = model.template.as_deref().map_or(0, |template| template.columns);
            let mut copied = range.start;
            conllu::read(content, range.clone(), inputs, label, Labels::Ignored, |sentence| {
                expander.expand(&sentence.cells, &mut scorer, |_| None);
                scorer.end_sentence(1.0);
                for (token, cell) in sentence.labels.iter().enumerate() {
                    scorer.out.extend_from_slice(&content[copied..cell.start]);
                    scorer.print_label(token);
                    copied = cell.end;
                }
            })?;
            scorer.out.extend_from_slice(&content[copied..range.end]);
        }
        (Format::Jsonl, expander, _) => {
            let inputs = model.template.as_deref().map_or(0, |template| template.columns);
            for (start, line) in input::lines(&content[range.clone()]) {
                let start = range.start + start;
                scorer.path.clear();
                scorer.tagging = Tagging::default();
                if line.iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                let line_range = start..start + line.len();
                jsonl::read(content, line_range, Labels::Ignored, expander.as_mut(), inputs, &mut scorer)?;
                scorer.print_json(line);
            }
        }
        (Format::Svmlight, ..) => {
            scorer.closing = Some(b"");
            svmlight::read(content, range, Labels::Ignored, &mut scorer)?;
        }
        _ => {
            scorer.closing = Some(b"\n");
            crfsuite::read(content, range, Labels::Ignored, &mut scorer)?;
        }
    }
    Ok(scorer.out)
}
