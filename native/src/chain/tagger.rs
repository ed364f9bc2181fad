//! From text to labels: attributes are hashed, looked up and added to the scores while they are read, and never stored.

use crate::chain::confidence::{Decode, Probabilities, Tagging};
use crate::chain::inference::Labelling;
use crate::chain::model::{Model, ModelWeights};
use crate::chain::sequence::Sequence;
use crate::corpus::UNKNOWN;
use crate::corpus::sink::{Gold, Sink};
use crate::error::{Error, Located, Result};
use crate::text::encode::{Format, column_shape};
use crate::text::expand::Expander;
use crate::text::input::{self, Text};
use crate::text::labels::Labels;
use crate::text::{columns, conllu, crfsuite, jsonl, svmlight};
use crate::threads::Interrupt;
use rayon::prelude::*;
use serde_json::{Value, json};
use std::io::Write;
use std::num::NonZeroUsize;
use std::ops::Range;

/// What stands for the labels of a sentence that may not have any.
const NONE: &str = "?";

/// What is written for a sentence.
#[derive(Clone, Copy)]
pub enum Answer<'a> {
    /// The best labelling.
    Best,
    /// The best labelling, and the probability of every label of each token.
    Marginals,
    /// So many labellings with their probabilities, best first.
    NBest(NonZeroUsize),
    /// The best labelling, and how probable its parts are, or all of it.
    Confident(Probabilities<'a>),
}

impl<'a> Answer<'a> {
    /// The answer that three options ask for. Error: two of them are given.
    pub fn new(
        marginals: bool,
        n_best: Option<NonZeroUsize>,
        probabilities: Option<Probabilities<'a>>,
    ) -> Result<Answer<'a>> {
        match (marginals, n_best, probabilities) {
            (false, None, None) => Ok(Answer::Best),
            (true, None, None) => Ok(Answer::Marginals),
            (false, Some(n), None) => Ok(Answer::NBest(n)),
            (false, None, Some(probabilities)) => Ok(Answer::Confident(probabilities)),
            (true, Some(_), _) => Err(Error::Option(
                "marginals belong to tokens and n-best probabilities to labellings; leave out --marginals or --n-best"
                    .into(),
            )),
            (_, _, Some(_)) => {
                let other = if marginals { "--marginals" } else { "--n-best" };
                Err(Error::Option(format!(
                    "{other} has probabilities of its own; leave out {other} or --probabilities"
                )))
            }
        }
    }

    /// The option that asked for more than labels.
    fn option(self) -> Option<&'static str> {
        match self {
            Answer::Best => None,
            Answer::Marginals => Some("--marginals"),
            Answer::NBest(_) => Some("--n-best"),
            Answer::Confident(_) => Some("--probabilities"),
        }
    }
}

/// Scores sentences while they are read.
struct Scorer<'m> {
    model: &'m Model,
    weights: ModelWeights<'m>,
    sequence: Sequence,
    path: Vec<u32>,
    answer: Answer<'m>,
    /// The labels with probabilities, where those of single labels, of spans or of the best labelling are wanted.
    tagging: Tagging,
    /// The best labellings, where several are wanted.
    labellings: Vec<Labelling>,
    out: Vec<u8>,
    /// Bytes to write behind a sentence's labels as soon as it ends; None where the caller writes them with the text of each
    /// token.
    closing: Option<&'static [u8]>,
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
        if let Some(closing) = self.closing {
            self.print_labellings(|scorer| {
                for token in 0..scorer.path.len() {
                    scorer.print_label(token);
                    scorer.out.push(b'\n');
                }
                scorer.out.extend_from_slice(closing);
            });
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
            Answer::Best => self.path.extend_from_slice(self.sequence.best_labels(self.model)),
        }
        self.sequence.begin(self.model);
    }

    /// Calls `print` with the best labelling in `path`, behind a line that says its probability if that is wanted; where several are
    /// wanted, with each of them, behind a line that says its rank and its probability, as CRF++ writes them, or that there is none.
    fn print_labellings(&mut self, print: impl Fn(&mut Self)) {
        if self.labellings.is_empty() {
            match self.answer {
                Answer::NBest(_) => self.out.extend_from_slice(b"# none\n"),
                Answer::Confident(Probabilities::Sequence) => {
                    let probability = six_digits(self.tagging.log_probability.exp());
                    writeln!(self.out, "# {probability}").expect("writing to memory");
                }
                _ => {}
            }
            return print(self);
        }
        for (rank, labelling) in std::mem::take(&mut self.labellings).into_iter().enumerate() {
            let probability = six_digits(labelling.log_probability.exp());
            writeln!(self.out, "# {rank} {probability}").expect("writing to memory");
            self.path = labelling.labels;
            print(self);
        }
    }

    /// Writes the label of a token, and its probability or its marginals where they are wanted.
    fn print_label(&mut self, token: usize) {
        let labels = &self.model.labels;
        let label = labels.get(self.path[token] as usize).map_or(NONE, String::as_str);
        self.out.extend_from_slice(label.as_bytes());
        if matches!(self.answer, Answer::Marginals) {
            let row = &self.tagging.marginals[token * labels.len()..][..labels.len()];
            for (label, p) in labels.iter().zip(row) {
                write!(self.out, "\t{label}:{p:.6}").expect("writing to memory");
            }
        }
        if let Answer::Confident(Probabilities::Token | Probabilities::Span(_)) = self.answer {
            write!(self.out, "\t{:.6}", self.tagging.beside(token)).expect("writing to memory");
        }
    }
}

/// A probability with six significant digits, as `%g` of C writes it.
fn six_digits(probability: f64) -> String {
    let scientific = format!("{probability:.5e}");
    let (digits, exponent) = scientific.split_once('e').expect("a number with an exponent");
    let exponent: i32 = exponent.parse().expect("an exponent");
    if exponent < -4 {
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        return format!("{digits}e{exponent:03}");
    }
    let decimals = format!("{probability:.*}", (5 - exponent) as usize);
    decimals.trim_end_matches('0').trim_end_matches('.').into()
}

/// Bytes of text that a thread labels at a time.
const PIECE: usize = 64 << 10;

/// Labels a text. Column files come back line by line with a column more (and the marginals behind it, as `label:probability`);
/// attribute files give the label alone; JSON lines get a field `predicted` (and one of `marginals`, `n_best`, `probabilities`, `spans`, `probability`); in CoNLL-U files the cells
/// of the labels are filled in, and all other bytes are the same.
pub fn tag(model: &Model, text: &Text, format: Format, answer: Answer<'_>, interrupt: &Interrupt) -> Result<Vec<u8>> {
    let content = text.content();
    let template = format.check_template(model.template.as_deref())?;
    if let (Some(option), Format::Conllu(_)) = (answer.option(), format) {
        return Err(Error::Option(format!("CoNLL-U has no column for probabilities; leave out {option}")));
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
            tag_piece(model, content, range, format, shape, answer)
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
    answer: Answer<'_>,
) -> std::result::Result<Vec<u8>, Located> {
    let mut scorer = Scorer::new(model, answer);
    let mut expander = model.template.as_deref().map(Expander::new);
    match (format, &mut expander, shape) {
        (Format::Columns, Some(expander), Some(shape)) => columns::read(content, range, shape, |sentence| {
            expander.expand(&sentence.cells, &mut scorer, |_| None);
            scorer.end_sentence(1.0);
            scorer.print_labellings(|scorer| {
                for (token, line) in sentence.lines.iter().enumerate() {
                    scorer.out.extend_from_slice(content[line.clone()].trim_ascii_end());
                    scorer.out.push(b'\t');
                    scorer.print_label(token);
                    scorer.out.push(b'\n');
                }
                scorer.out.push(b'\n');
            });
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
    let Ok(Value::Object(mut sentence)) = serde_json::from_slice(line) else { return };
    let labels = &scorer.model.labels;
    let named = |path: &[u32]| -> Vec<Option<&str>> {
        path.iter().map(|&label| labels.get(label as usize).map(String::as_str)).collect()
    };
    let labellings = std::mem::take(&mut scorer.labellings);
    let predicted = named(&scorer.path);
    match scorer.answer {
        Answer::Best => {}
        Answer::Marginals => {
            let row = |row: &[f64]| labels.iter().cloned().zip(row.iter().copied().map(Value::from)).collect();
            let tokens = scorer.tagging.marginals.chunks_exact(labels.len()).take(predicted.len());
            let rows: Vec<Value> = tokens.map(|token| Value::Object(row(token))).collect();
            sentence.insert("marginals".into(), rows.into());
        }
        Answer::NBest(_) => {
            let one = |one: &Labelling| json!({"labels": named(&one.labels), "probability": one.log_probability.exp()});
            // The reader leaves out sentences without tokens, which have the empty labelling.
            let empty = Labelling { labels: Vec::new(), log_probability: 0.0 };
            let empty = scorer.path.is_empty().then_some(&empty);
            sentence.insert("n_best".into(), labellings.iter().chain(empty).map(one).collect());
        }
        Answer::Confident(probabilities) => scorer.tagging.add_field(probabilities, &mut sentence),
    }
    sentence.insert("predicted".into(), predicted.into());
    serde_json::to_writer(&mut scorer.out, &sentence).expect("writing to memory");
    scorer.out.push(b'\n');
}
