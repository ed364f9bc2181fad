//! From text to labels: attributes are hashed, looked up and added to the scores while they are read, and never stored.

use crate::chain::confidence::{Decode, Tagging};
use crate::chain::inference::Labelling;
use crate::chain::model::{Model, ModelWeights};
use crate::chain::printing::{Answer, Layout};
use crate::chain::sequence::Sequence;
use crate::corpus::UNKNOWN;
use crate::corpus::sink::{Gold, Sink};
use crate::error::{Located, Result};
use crate::text::encode::{Format, column_shape};
use crate::text::expand::Expander;
use crate::text::input::{self, Text};
use crate::text::labels::Labels;
use crate::text::{columns, conllu, crfsuite, jsonl, svmlight};
use crate::threads::Interrupt;
use rayon::prelude::*;
use std::ops::Range;

/// Scores sentences while they are read.
pub(super) struct Scorer<'m> {
    pub(super) model: &'m Model,
    weights: ModelWeights<'m>,
    sequence: Sequence,
    pub(super) path: Vec<u32>,
    pub(super) answer: Answer<'m>,
    /// The labels with probabilities, where those of single labels, of spans or of the best labelling are wanted.
    pub(super) tagging: Tagging,
    /// The best labellings, where several are wanted.
    pub(super) labellings: Vec<Labelling>,
    /// Labelling -> token -> its score, where they are wanted.
    pub(super) token_scores: Vec<Vec<f64>>,
    pub(super) out: Vec<u8>,
    /// Bytes to write behind a sentence's labels as soon as it ends; None where the caller writes them with the text of each
    /// token.
    pub(super) closing: Option<&'static [u8]>,
}

impl Sink for Scorer<'_> {
    #[inline(always)]
    fn state(&mut self, key: u64, value: f64, _write: impl FnOnce(&mut Vec<u8>)) {
        self.sequence.add_state(self.model, &self.weights, key, value);
    }

    fn bigram(&mut self, key: u64, _write: impl FnOnce(&mut Vec<u8>)) {
        self.sequence.add_bigram(&self.weights, key);
    }

    fn end_token(&mut self, _label: Option<Gold<'_>>) {
        self.sequence.end_token(self.model);
    }

    fn end_sentence(&mut self, _weight: f64) {
        self.decode();
        if self.closing.is_some() {
            self.print_sentence(&[], None);
        }
    }
}

impl<'m> Scorer<'m> {
    fn new(model: &'m Model, answer: Answer<'m>) -> Self {
        Scorer {
            model,
            weights: model.weights(),
            sequence: Sequence::new(model),
            path: Vec::new(),
            answer,
            tagging: Tagging::default(),
            labellings: Vec::new(),
            token_scores: Vec::new(),
            out: Vec::new(),
            closing: None,
        }
    }

    /// Labels the sentence read so far and makes ready for the next.
    fn decode(&mut self) {
        self.sequence.end(self.model);
        self.path.clear();
        match self.answer {
            Answer::NBest(n) => {
                self.labellings = self.model.best_labellings(&mut self.sequence.lattice, n);
                match self.labellings.first() {
                    Some(first) => self.path.clone_from(&first.labels),
                    None => self.path.resize(self.sequence.tokens(), UNKNOWN),
                }
            }
            Answer::Marginals | Answer::Confident(_) => {
                let rule = if let Answer::Confident(probabilities) = self.answer { probabilities.rule() } else { None };
                self.tagging = self.model.tag_lattice(&mut self.sequence.lattice, Decode::Viterbi, rule);
                self.path.clone_from(&self.tagging.labels);
            }
            Answer::As(layout) => self.decode_as(layout),
            Answer::Best => self.path.extend_from_slice(self.sequence.best_labels(self.model)),
        }
        self.sequence.begin(self.model);
    }

    /// Finds what another program writes of the sentence.
    fn decode_as(&mut self, layout: Layout) {
        let model = self.model;
        let scores = self.sequence.lattice.scores.to_vec();
        if layout.marginals() {
            let decode = if layout.posterior() { Decode::Marginal } else { Decode::Viterbi };
            self.tagging = model.tag_lattice(&mut self.sequence.lattice, decode, None);
            self.path.clone_from(&self.tagging.labels);
        } else if layout.n_best().is_none() {
            self.path.extend_from_slice(self.sequence.best_labels(model));
        }
        let lattice = &mut self.sequence.lattice;
        lattice.scores.copy_from_slice(&scores);
        if let Some(n) = layout.n_best() {
            self.labellings = model.best_labellings(lattice, n);
            if self.labellings.is_empty() {
                let labels = vec![UNKNOWN; lattice.tokens];
                self.labellings.push(Labelling { labels, log_probability: f64::NEG_INFINITY });
            }
            lattice.scores.copy_from_slice(&scores);
        }
        self.token_scores.clear();
        if layout.scores() {
            let paths = self.labellings.iter().map(|labelling| &labelling.labels);
            let best = self.labellings.is_empty().then_some(&self.path);
            self.token_scores.extend(paths.chain(best).map(|path| lattice.token_scores(&model.transitions, path)));
        }
    }
}

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
