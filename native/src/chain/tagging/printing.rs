//! A labelled sentence as text: labels, probabilities, several labellings, in the format that `answer` describes.

#![deny(clippy::wildcard_enum_match_arm, clippy::match_wildcard_for_single_variants)]

use crate::chain::inference::Labelling;
use crate::chain::tagging::answer::{Answer, PeerFormat};
use crate::chain::tagging::confidence::Probabilities;
use crate::chain::tagging::scorer::Scorer;
use crate::text::format::Writing;
use crate::text::layout::Separator;
use crate::text::writable::ENDS;
use serde_json::{Value, json};
use std::io::Write;
use std::ops::Range;

/// What is printed for the labels of a sentence whose labellings are all forbidden.
const NONE: &str = "?";

impl<'m> Scorer<'m> {
    /// Writes the labelled sentence whose tokens are these lines of the text; without lines, only the labels.
    pub(super) fn print_sentence(&mut self, lines: Option<&[Range<usize>]>) {
        if let Answer::As(peer_format) = self.answer {
            return self.print_as(peer_format, lines);
        }
        self.print_labellings(|scorer| {
            for token in 0..scorer.path.len() {
                if let Some(lines) = lines {
                    let line = &scorer.content[lines[token].clone()];
                    let ends_blank = scorer.separator == Separator::Blank;
                    scorer.out.extend_from_slice(if ends_blank { line.trim_ascii_end() } else { line });
                    scorer.out.push(b'\t');
                }
                scorer.print_label(token);
                scorer.out.push(b'\n');
            }
            if scorer.writing != (Writing::Labels { blank_lines: false }) {
                scorer.out.push(b'\n');
            }
        });
    }

    /// Calls `print` with the best labelling in `path`, after a line with its probability if that is wanted; where several are
    /// wanted, with each of them, after a line with its rank and probability, or one that says that none exists.
    fn print_labellings(&mut self, print: impl Fn(&mut Self)) {
        if self.labellings.is_empty() {
            if let Answer::NBest(_) = self.answer {
                self.out.extend_from_slice(b"# none\n");
            } else if let Answer::Confident(Probabilities::Sequence) = self.answer {
                self.write(format_args!("# {}\n", six_digits(self.tagging.log_probability.exp())));
            }
            return print(self);
        }
        for (rank, labelling) in std::mem::take(&mut self.labellings).into_iter().enumerate() {
            self.write(format_args!("# {rank} {}\n", six_digits(labelling.log_probability.exp())));
            self.path = labelling.labels;
            print(self);
        }
    }

    /// Writes the label of a token, and its probability or its marginals where they are wanted.
    pub(super) fn print_label(&mut self, token: usize) {
        self.out.extend_from_slice(self.name(token).as_bytes());
        if matches!(self.answer, Answer::Marginals) {
            self.print_marginals(token, ':');
        }
        if let Answer::Confident(Probabilities::Token | Probabilities::Span(_)) = self.answer {
            self.write(format_args!("\t{:.6}", self.tagging.beside(token)));
        }
    }

    /// Writes the sentence as another program does.
    fn print_as(&mut self, peer_format: PeerFormat, lines: Option<&[Range<usize>]>) {
        let mut labellings = std::mem::take(&mut self.labellings);
        if labellings.is_empty() {
            let labels = std::mem::take(&mut self.path);
            labellings.push(Labelling { labels, log_probability: self.tagging.log_probability });
        }
        for (rank, labelling) in labellings.into_iter().enumerate() {
            self.path = labelling.labels;
            self.print_head(peer_format, rank, labelling.log_probability);
            for token in 0..self.path.len() {
                match (peer_format, lines) {
                    (PeerFormat::Crfsuite { .. }, _) | (_, None) => {}
                    (PeerFormat::Wapiti { .. }, Some(lines)) => {
                        self.out.extend_from_slice(&self.content[lines[token].clone()]);
                        self.out.push(b'\t');
                    }
                    (PeerFormat::Crfpp { .. }, Some(lines)) => {
                        let (line, out) = (&self.content[lines[token].clone()], &mut self.out);
                        self.separator.each(line, |cell| {
                            out.extend_from_slice(cell);
                            out.push(b'\t');
                        });
                    }
                }
                self.print_label_as(peer_format, rank, token);
                self.out.push(b'\n');
            }
            self.out.push(b'\n');
        }
    }

    /// Writes the lines above a sentence.
    fn print_head(&mut self, peer_format: PeerFormat, rank: usize, log_probability: f64) {
        let probability = log_probability.exp();
        match peer_format {
            PeerFormat::Wapiti { scores: true, posterior: true, .. } => {
                let product: f64 = self.tagging.probabilities.iter().product();
                self.write(format_args!("# {rank} {product:.6}\n"));
            }
            PeerFormat::Wapiti { scores: true, .. } => {
                let score: f64 = self.token_scores[rank].iter().sum();
                self.write(format_args!("# {rank} {score:.6}\n"));
            }
            PeerFormat::Crfpp { n_best: Some(_), .. } => self.write(format_args!("# {rank} {probability:.6}\n")),
            PeerFormat::Crfpp { detail: 1.., .. } => self.write(format_args!("# {probability:.6}\n")),
            PeerFormat::Crfsuite { sequence: true, .. } => {
                let score: f64 = self.token_scores[rank].iter().sum();
                let log_z = score - log_probability;
                self.write(format_args!("@score\t{score:.6}\t{log_z:.6}\n@probability\t{probability:.6}\n"));
            }
            PeerFormat::Wapiti { .. } | PeerFormat::Crfpp { .. } | PeerFormat::Crfsuite { .. } => {}
        }
    }

    /// Writes the label of a token with its scores or probabilities.
    fn print_label_as(&mut self, peer_format: PeerFormat, rank: usize, token: usize) {
        let label = self.name(token);
        self.out.extend_from_slice(label.as_bytes());
        let probability = |scorer: &Self| {
            let n = scorer.model.labels.len();
            // A label that is `UNKNOWN` has no probability.
            scorer.tagging.marginals[token * n..][..n].get(scorer.path[token] as usize).map_or(0.0, |p| p.min(1.0))
        };
        match peer_format {
            PeerFormat::Wapiti { scores: true, posterior, .. } => {
                let score = if posterior { probability(self) } else { self.token_scores[rank][token] };
                self.write(format_args!("\t{label}/{score:.6}"));
            }
            PeerFormat::Crfpp { detail: detail @ 1.., .. } => {
                self.write(format_args!("/{:.6}", probability(self)));
                if detail > 1 {
                    self.print_marginals(token, '/');
                }
            }
            PeerFormat::Crfsuite { token: single, all, .. } => {
                if single {
                    self.write(format_args!(":{:.6}", probability(self)));
                }
                if all {
                    self.print_marginals(token, ':');
                }
            }
            PeerFormat::Wapiti { .. } | PeerFormat::Crfpp { .. } => {}
        }
    }

    /// Writes every label with its probability at a token, in columns.
    fn print_marginals(&mut self, token: usize, between: char) {
        let labels = &self.model.labels;
        for (label, p) in labels.iter().zip(&self.tagging.marginals[token * labels.len()..]) {
            write!(self.out, "\t{label}{between}{p:.6}").expect("writing to memory");
        }
    }

    /// The name of the label that `path` gives a token.
    fn name(&self, token: usize) -> &'m str {
        self.shown(token).unwrap_or(NONE)
    }

    /// The label written for a token; None if the token has none, or one that is less probable than requested.
    fn shown(&self, token: usize) -> Option<&'m str> {
        match self.least {
            Some(least) if !least.apart && self.below.get(token) == Some(&true) => least.below,
            _ => self.model.labels.get(self.path[token] as usize).map(String::as_str),
        }
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        self.out.write_fmt(text).expect("writing to memory");
    }

    /// Writes the sentence of a JSON line with its labels.
    pub(super) fn print_json(&mut self, line: &[u8]) {
        let Ok(Value::Object(mut sentence)) = serde_json::from_slice(line) else { return };
        let labels = &self.model.labels;
        let named = |path: &[u32]| -> Vec<Option<&str>> {
            path.iter().map(|&label| labels.get(label as usize).map(String::as_str)).collect()
        };
        let labellings = std::mem::take(&mut self.labellings);
        let predicted: Vec<_> = (0..self.path.len()).map(|token| self.shown(token)).collect();
        match self.answer {
            Answer::Best | Answer::As(_) => {}
            Answer::Marginals => {
                let row = |row: &[f64]| labels.iter().cloned().zip(row.iter().copied().map(Value::from)).collect();
                let tokens = self.tagging.marginals.chunks_exact(labels.len()).take(predicted.len());
                let rows: Vec<Value> = tokens.map(|token| Value::Object(row(token))).collect();
                sentence.insert("marginals".into(), rows.into());
            }
            Answer::NBest(_) => {
                let one =
                    |one: &Labelling| json!({"labels": named(&one.labels), "probability": one.log_probability.exp()});
                // The reader leaves out sentences without tokens, which have the empty labelling.
                let empty = Labelling { labels: Vec::new(), log_probability: 0.0 };
                let empty = self.path.is_empty().then_some(&empty);
                sentence.insert("n_best".into(), labellings.iter().chain(empty).map(one).collect());
            }
            Answer::Confident(probabilities) => {
                let withheld = self.least.filter(|least| !least.apart);
                let least = withheld.map_or(0.0, |least| least.probability);
                self.tagging.add_field(probabilities, least, &mut sentence);
            }
        }
        sentence.insert("predicted".into(), predicted.into());
        write_escaped(&Value::Object(sentence).to_string(), &mut self.out);
        self.out.push(b'\n');
    }
}

/// Writes JSON with escapes for the characters that JSON need not escape, but which end lines or are control characters.
fn write_escaped(mut json: &str, out: &mut Vec<u8>) {
    while let Some(at) = json.find(|c: char| c.is_control() || ENDS.contains(&c)) {
        let (before, after) = json.split_at(at);
        let mut after = after.chars();
        let odd = after.next().map_or(0, u32::from);
        write!(out, "{before}\\u{odd:04x}").expect("writing to memory");
        json = after.as_str();
    }
    out.extend_from_slice(json.as_bytes());
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
