//! From text to labels: attributes are hashed, looked up and added to the scores while they are read, and never stored.

use crate::chain::confidence::{Probabilities, Tagging};
use crate::chain::inference::{LabelSets, Lattice};
use crate::chain::model::{Model, ModelWeights, Viterbi};
use crate::corpus::sink::{Gold, Sink};
use crate::error::{Error, Located, Result};
use crate::text::encode::{Format, column_shape};
use crate::text::expand::Expander;
use crate::text::input::{self, Text};
use crate::text::labels::Labels;
use crate::text::{columns, conllu, crfsuite, jsonl, svmlight};
use crate::threads::Interrupt;
use pulp::Arch;
use rayon::prelude::*;
use std::io::Write;
use std::ops::Range;

/// What to write besides the labels.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// The probability of every label at every token.
    pub marginals: bool,
    pub probabilities: Option<Probabilities<'a>>,
}

/// Scores sentences while they are read.
struct Scorer<'m> {
    model: &'m Model,
    weights: ModelWeights<'m>,
    lattice: Lattice,
    /// A buffer for the sentence's mask.
    sets: LabelSets,
    tokens: usize,
    overlap: usize,
    wanted: Wanted<'m>,
    /// The labels of the sentence, and their probabilities where any are wanted.
    tagging: Tagging,
    out: Vec<u8>,
    /// Bytes to write behind a sentence's labels as soon as it ends; None where the caller writes them with the text of each
    /// token.
    closing: Option<&'static [u8]>,
}

impl Sink for Scorer<'_> {
    #[inline(always)]
    fn state(&mut self, key: u64, value: f64, _write: impl FnOnce(&mut Vec<u8>)) {
        let features = self.weights.states.find(key);
        let row = self.tokens * self.model.transitions.width;
        self.weights.add_states(features, value, &mut self.lattice.scores[row..]);
    }

    fn bigram(&mut self, key: u64, _write: impl FnOnce(&mut Vec<u8>)) {
        self.weights.add_edges(self.weights.bigrams.find(key), &mut self.lattice);
        self.overlap += 1;
    }

    fn end_token(&mut self, _label: Option<Gold<'_>>) {
        let row = self.tokens * self.model.transitions.width;
        self.model.add_intercept(&mut self.lattice.scores[row..]);
        self.tokens += 1;
        self.lattice.scores.resize((self.tokens + 1) * self.model.transitions.width, 0.0);
        self.lattice.edge_ends.push(self.lattice.edges.len());
        self.lattice.overlap = self.lattice.overlap.max(self.overlap);
        self.overlap = 0;
    }

    fn end_sentence(&mut self, _weight: f64) {
        self.decode();
        if let Some(closing) = self.closing {
            self.tagging.print_before(self.wanted.probabilities, &mut self.out);
            for token in 0..self.tagging.labels.len() {
                self.print_label(token);
                self.out.push(b'\n');
            }
            self.out.extend_from_slice(closing);
        }
    }
}

impl<'m> Scorer<'m> {
    fn new(model: &'m Model, wanted: Wanted<'m>) -> Self {
        let mut lattice = Lattice::default();
        lattice.prepare(&model.transitions);
        lattice.begin(1, &model.transitions);
        Scorer {
            model,
            weights: model.weights(),
            lattice,
            sets: LabelSets::default(),
            tokens: 0,
            overlap: 0,
            wanted,
            tagging: Tagging::default(),
            out: Vec::new(),
            closing: None,
        }
    }

    /// Labels the sentence read so far and makes ready for the next.
    fn decode(&mut self) {
        let transitions = &self.model.transitions;
        self.lattice.tokens = self.tokens;
        self.lattice.scores.resize(self.tokens * transitions.width, 0.0);
        if self.lattice.edges.is_empty() {
            self.lattice.edge_ends.clear();
        }
        if self.tokens > 0 {
            self.model.mask(&mut self.lattice, &mut self.sets);
        }
        if self.wanted.marginals || self.wanted.probabilities.is_some() {
            self.tagging = self.model.tag_for(&mut self.lattice, self.wanted.probabilities);
        } else {
            let path = &mut self.tagging.labels;
            path.clear();
            if self.tokens > 0 {
                Arch::new().dispatch(Viterbi { lattice: &mut self.lattice, transitions, path });
            }
        }
        self.tokens = 0;
        self.lattice.begin(1, transitions);
    }

    /// Writes the label of a token, and its probability and marginals where they are wanted.
    fn print_label(&mut self, token: usize) {
        let labels = &self.model.labels;
        self.out.extend_from_slice(self.model.label(self.tagging.labels[token]).unwrap_or("?").as_bytes());
        self.tagging.print_behind(self.wanted.probabilities, token, &mut self.out);
        if self.wanted.marginals {
            let row = &self.tagging.marginals[token * labels.len()..][..labels.len()];
            for (label, p) in labels.iter().zip(row) {
                write!(self.out, "\t{label}:{p:.6}").expect("writing to memory");
            }
        }
    }
}

/// Bytes of text that a thread labels at a time.
const PIECE: usize = 64 << 10;

/// Labels a text. Column files come back line by line with a column more (and the marginals behind it, as `label:probability`);
/// attribute files give the label alone; JSON lines get a field `predicted` (and `marginals`); in CoNLL-U files the cells of the
/// labels are filled in, and all other bytes are the same.
pub fn tag(model: &Model, text: &Text, format: Format, wanted: Wanted<'_>, interrupt: &Interrupt) -> Result<Vec<u8>> {
    let content = text.content();
    let template = format.check_template(model.template.as_deref())?;
    if matches!(format, Format::Conllu(_)) && (wanted.marginals || wanted.probabilities.is_some()) {
        let (what, flag) = match wanted.marginals {
            true => ("the probability of every label", "--marginals"),
            false => ("probabilities", "--probabilities, or give the words as columns or JSON lines"),
        };
        return Err(Error::Option(format!("CoNLL-U has no column for {what}; leave out {flag}")));
    }
    if content.iter().all(u8::is_ascii_whitespace) {
        return Ok(Vec::new());
    }
    let shape = match (format, template) {
        (Format::Columns, Some(template)) => column_shape(&text.name, content, template, Labels::Ignored)?,
        _ => None,
    };
    let pieces = input::pieces(content, PIECE, |line| format.ends(line));
    let tagged: Vec<Result<Vec<u8>>> = pieces
        .into_par_iter()
        .map(|range| {
            interrupt.check()?;
            tag_piece(model, content, range, format, shape, wanted)
                .map_err(|mistake| mistake.into_error(&text.name, content, 0))
        })
        .collect();
    let mut out = Vec::with_capacity(content.len() * 3 / 2);
    for piece in tagged {
        out.append(&mut piece?);
    }
    Ok(out)
}

fn tag_piece(
    model: &Model,
    content: &[u8],
    range: Range<usize>,
    format: Format,
    shape: Option<columns::Shape>,
    wanted: Wanted<'_>,
) -> std::result::Result<Vec<u8>, Located> {
    let mut scorer = Scorer::new(model, wanted);
    let mut expander = model.template.as_deref().map(Expander::new);
    match (format, &mut expander, shape) {
        (Format::Columns, Some(expander), Some(shape)) => columns::read(content, range, shape, |sentence| {
            expander.expand(&sentence.cells, &mut scorer, |_| None);
            scorer.end_sentence(1.0);
            scorer.tagging.print_before(scorer.wanted.probabilities, &mut scorer.out);
            for (token, line) in sentence.lines.iter().enumerate() {
                scorer.out.extend_from_slice(content[line.clone()].trim_ascii_end());
                scorer.out.push(b'\t');
                scorer.print_label(token);
                scorer.out.push(b'\n');
            }
            scorer.out.push(b'\n');
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
                scorer.tagging = Tagging::default();
                if line.iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                let line_range = start..start + line.len();
                jsonl::read(content, line_range, Labels::Ignored, expander.as_mut(), inputs, &mut scorer)?;
                print_json(&mut scorer, line);
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

fn print_json(scorer: &mut Scorer<'_>, line: &[u8]) {
    let Ok(serde_json::Value::Object(mut sentence)) = serde_json::from_slice(line) else { return };
    let labels = &scorer.model.labels;
    let predicted: Vec<Option<&str>> = scorer.tagging.labels.iter().map(|&label| scorer.model.label(label)).collect();
    if scorer.wanted.marginals {
        let row = |row: &[f64]| labels.iter().cloned().zip(row.iter().copied().map(serde_json::Value::from)).collect();
        let tokens = scorer.tagging.marginals.chunks_exact(labels.len()).take(predicted.len());
        let rows: Vec<serde_json::Value> = tokens.map(|token| serde_json::Value::Object(row(token))).collect();
        sentence.insert("marginals".into(), rows.into());
    }
    scorer.tagging.add_fields(scorer.wanted.probabilities, &mut sentence);
    sentence.insert("predicted".into(), predicted.into());
    serde_json::to_writer(&mut scorer.out, &sentence).expect("writing to memory");
    scorer.out.push(b'\n');
}
