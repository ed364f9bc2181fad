//! Labels with the probabilities that they, their spans and the whole labelling are right.

use crate::chain::inference::{ChunkRule, Lattice, Span, SpanProbabilities, Transitions};
use crate::chain::model::{Model, Viterbi};
use crate::corpus::{Corpus, UNKNOWN};
use crate::error::{Error, Result};
use crate::numeric::arch::{arch, simd_task};
use crate::threads::Interrupt;
use serde_json::{Map, Value, json};
use std::str::FromStr;

/// Which labelling is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decode {
    /// The most probable labelling.
    Viterbi,
    /// The most probable label at each token, the first in a tie: this minimises the expected number of wrong labels.
    Marginal,
}

impl FromStr for Decode {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "viterbi" => Ok(Decode::Viterbi),
            "marginal" => Ok(Decode::Marginal),
            _ => Err(Error::Option(format!("decode={name:?}; it must be viterbi or marginal"))),
        }
    }
}

/// Which probabilities are written next to the labels of a text.
#[derive(Clone, Copy)]
pub enum Probabilities<'a> {
    /// Of the label at each token.
    Token,
    /// Of the span that each token is in, or of the label at a token outside spans.
    Span(&'a ChunkRule),
    /// Of the labelling of each sentence.
    Sequence,
}

impl<'a> Probabilities<'a> {
    /// The probabilities with this name; "span" needs a chunk rule.
    pub fn new(name: &str, rule: Option<&'a ChunkRule>) -> Result<Self> {
        match (name, rule) {
            ("token", _) => Ok(Probabilities::Token),
            ("span", Some(rule)) => Ok(Probabilities::Span(rule)),
            ("sequence", _) => Ok(Probabilities::Sequence),
            ("span", None) => Err(Error::Option("span probabilities need labels that form chunks".into())),
            _ => Err(Error::Option(format!("probabilities={name:?}; it must be token, span or sequence"))),
        }
    }

    /// The chunk rule, if spans are wanted.
    pub fn rule(self) -> Option<&'a ChunkRule> {
        if let Probabilities::Span(rule) = self { Some(rule) } else { None }
    }
}

/// The labels of a sentence and how probable they are. Where every labelling is forbidden, the labels are `UNKNOWN`, there are no
/// spans, and all probabilities are 0.
#[derive(Default)]
pub struct Tagging {
    pub labels: Vec<u32>,
    /// The probability of the label at each token.
    pub probabilities: Vec<f64>,
    /// The chunks in the labels, each with its probability; empty without a rule.
    pub spans: Vec<(Span, f64)>,
    /// log p(labels | sentence), in nats.
    pub log_probability: f64,
    /// p(label | sentence), tokens x labels.
    pub marginals: Vec<f64>,
}

impl Model {
    /// The most probable label at each token of every sentence.
    pub fn predict_tokens(&self, corpus: &Corpus, interrupt: &Interrupt) -> Result<Vec<Vec<u32>>> {
        self.each_sentence(corpus, interrupt, |lattice, _| match self.infer(lattice) {
            f64::NEG_INFINITY => vec![UNKNOWN; lattice.tokens],
            _ => self.likeliest_labels(&self.unpadded(lattice)),
        })
    }

    /// Labels and probabilities of every sentence.
    pub fn tag(
        &self,
        corpus: &Corpus,
        decode: Decode,
        rule: Option<&ChunkRule>,
        interrupt: &Interrupt,
    ) -> Result<Vec<Tagging>> {
        self.each_sentence(corpus, interrupt, |lattice, _| self.tag_lattice(lattice, decode, rule))
    }

    /// Labels and probabilities of a sentence whose scores are in a lattice; inference overwrites them.
    pub fn tag_lattice(&self, lattice: &mut Lattice, decode: Decode, rule: Option<&ChunkRule>) -> Tagging {
        if lattice.tokens == 0 {
            return Tagging::default();
        }
        let scores = lattice.scores.to_vec();
        let best = (decode == Decode::Viterbi).then(|| self.best_labels(lattice));
        lattice.scores.copy_from_slice(&scores);
        let inferred = rule.map(|rule| arch().dispatch(InferSpans(lattice, &self.transitions, rule)));
        let log_z = inferred.as_ref().map_or_else(|| self.infer(lattice), |inferred| inferred.log_z);
        let marginals = self.unpadded(lattice);
        if log_z == f64::NEG_INFINITY {
            return Tagging::forbidden(lattice.tokens, marginals);
        }
        let labels = best.unwrap_or_else(|| self.likeliest_labels(&marginals));
        let rows = marginals.chunks_exact(self.labels.len()).zip(&labels);
        let probabilities = rows.map(|(row, &label)| row[label as usize].min(1.0)).collect();
        let spans = match (rule, inferred) {
            (Some(rule), Some(inferred)) => {
                rule.spans(&labels).into_iter().map(|span| (span, inferred.of(lattice, span))).collect()
            }
            _ => Vec::new(),
        };
        lattice.scores.copy_from_slice(&scores);
        let log_probability = (lattice.score(&self.transitions, labels.iter().copied()) - log_z).min(0.0);
        Tagging { labels, probabilities, spans, log_probability, marginals }
    }

    /// The most probable labelling.
    fn best_labels(&self, lattice: &mut Lattice) -> Vec<u32> {
        let mut path = Vec::new();
        arch().dispatch(Viterbi(lattice, &self.transitions, &mut path));
        path
    }

    /// The label of the largest marginal at each token, the first in a tie.
    fn likeliest_labels(&self, marginals: &[f64]) -> Vec<u32> {
        let first =
            |row: &[f64]| (0..row.len()).fold(0, |best, label| if row[label] > row[best] { label } else { best });
        marginals.chunks_exact(self.labels.len()).map(|row| first(row) as u32).collect()
    }
}

simd_task!(
    /// `Lattice::infer_spans`, to be dispatched to the machine's instruction set.
    InferSpans<'a, 'l>(lattice: &'l mut Lattice, transitions: &'a Transitions, rule: &'a ChunkRule) -> SpanProbabilities<'a>,
    |simd| lattice.infer_spans(simd, transitions, rule)
);

impl Tagging {
    /// For a sentence whose labellings are all forbidden: the labels are unknown, as in `Lattice::viterbi`.
    fn forbidden(tokens: usize, marginals: Vec<f64>) -> Tagging {
        let (labels, probabilities) = (vec![UNKNOWN; tokens], vec![0.0; tokens]);
        Tagging { labels, probabilities, spans: Vec::new(), log_probability: f64::NEG_INFINITY, marginals }
    }

    /// The probability written next to a token's label: of the span that contains the token, otherwise of the label.
    pub fn beside(&self, token: usize) -> f64 {
        let at = self.spans.partition_point(|(span, _)| span.end <= token);
        let around = self.spans.get(at).filter(|(span, _)| span.start <= token);
        around.map_or(self.probabilities[token], |&(_, p)| p)
    }

    /// Adds the probabilities to a sentence in JSON; spans with less than this probability are left out.
    pub fn add_field(&self, probabilities: Probabilities<'_>, least: f64, sentence: &mut Map<String, Value>) {
        let (name, value) = match probabilities {
            Probabilities::Token => ("probabilities", self.probabilities.clone().into()),
            Probabilities::Sequence => ("probability", self.log_probability.exp().into()),
            Probabilities::Span(rule) => {
                let one = |&(span, p): &(Span, f64)| {
                    let kind = &rule.types[span.kind as usize];
                    json!({"type": kind, "start": span.start, "end": span.end, "probability": p})
                };
                ("spans", self.spans.iter().filter(|&&(_, p)| p >= least).map(one).collect())
            }
        };
        sentence.insert(name.into(), value);
    }
}
