//! The scores of sentences, added up while they are read, and their labels.

use crate::chain::inference::Labelling;
use crate::chain::model::{Model, ModelWeights};
use crate::chain::tagging::answer::{Answer, Least, PeerFormat, Request};
use crate::chain::tagging::confidence::{Decode, Probabilities, Tagging};
use crate::chain::tagging::sequence::Sequence;
use crate::corpus::UNKNOWN;
use crate::corpus::sink::{Gold, Sink};
use crate::text::format::{Reading, Writing};
use crate::text::layout::Separator;
use crate::threads::Interrupt;
use std::ops::Range;

/// What is written for a text.
#[derive(Default)]
pub struct Written {
    pub answers: Vec<u8>,
    /// The sentences that are written apart.
    pub rest: Vec<u8>,
    pub tally: Tally,
}

/// How many sentences and tokens were labelled, and how many of them have a label that is less probable than requested.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Tally {
    pub sentences: usize,
    pub sentences_below: usize,
    pub tokens: usize,
    pub tokens_below: usize,
}

impl Written {
    /// Adds what is written for the text that follows.
    pub(super) fn append(&mut self, mut next: Written) {
        self.answers.append(&mut next.answers);
        self.rest.append(&mut next.rest);
        self.tally.add(next.tally);
    }
}

impl Tally {
    /// Adds the numbers of the text that follows.
    pub(super) fn add(&mut self, next: Tally) {
        self.sentences += next.sentences;
        self.sentences_below += next.sentences_below;
        self.tokens += next.tokens;
        self.tokens_below += next.tokens_below;
    }
}

/// Scores sentences while they are read.
pub(super) struct Scorer<'m> {
    pub(super) model: &'m Model,
    weights: ModelWeights<'m>,
    sequence: Sequence,
    pub(super) path: Vec<u32>,
    pub(super) answer: Answer<'m>,
    pub(super) least: Option<Least<'m>>,
    /// Whether each label is less probable than requested.
    pub(super) below: Vec<bool>,
    /// The labels with the probabilities of single labels, of spans or of the best labelling, where these are wanted.
    pub(super) tagging: Tagging,
    /// The best labellings, where several are wanted.
    pub(super) labellings: Vec<Labelling>,
    /// Labelling -> token -> its score, where they are wanted.
    pub(super) token_scores: Vec<Vec<f64>>,
    pub(super) out: Vec<u8>,
    rest: Vec<u8>,
    tally: Tally,
    /// Where the comments before the next sentence begin in `out`.
    commented: Option<usize>,
    /// How the labels are written.
    pub(super) writing: Writing,
    /// What separates the cells of a line.
    pub(super) separator: Separator,
    /// The text, as far as it is read.
    pub(super) content: &'m [u8],
    /// Where the text begins that has not been copied, if it is written as it is.
    pub(super) copied: usize,
}

impl Sink for Scorer<'_> {
    #[inline(always)]
    fn state(&mut self, key: u64, value: f64, _write: impl FnOnce(&mut Vec<u8>)) {
        self.sequence.add_state(key, value);
    }

    fn bigram(&mut self, key: u64, _write: impl FnOnce(&mut Vec<u8>)) {
        self.sequence.add_bigram(&self.weights, key);
    }

    fn end_token(&mut self, _label: Option<Gold<'_>>) {
        self.sequence.end_token();
    }

    fn end_sentence(&mut self, _weight: f64) {
        self.decode();
    }

    fn pass_over(&mut self, place: Range<usize>) {
        if self.writing == Writing::Lines {
            self.commented.get_or_insert(self.out.len());
            self.out.extend_from_slice(&self.content[place]);
            self.out.push(b'\n');
        }
    }

    fn locate(&mut self, places: &[Range<usize>]) {
        // Comments stay with the sentence after them.
        let start = self.commented.take().unwrap_or(self.out.len());
        match self.writing {
            Writing::Lines => self.print_sentence(Some(places)),
            Writing::Labels { .. } => self.print_sentence(None),
            Writing::Fields => {
                places.iter().for_each(|line| self.print_json(&self.content[line.clone()]));
                // A sentence without tokens, which is not decoded, may come next.
                self.path.clear();
                self.tagging = Tagging::default();
            }
            Writing::Cells => {
                for (token, cell) in places.iter().enumerate() {
                    self.out.extend_from_slice(&self.content[self.copied..cell.start]);
                    self.print_label(token);
                    self.copied = cell.end;
                }
            }
        }
        if self.least.is_some_and(|least| least.apart) && self.below.contains(&true) {
            self.rest.extend(self.out.drain(start..));
        }
        self.below.clear();
    }
}

impl<'m> Scorer<'m> {
    /// A scorer without buffers.
    pub(super) fn new(model: &'m Model, request: Request<'m>, reading: &Reading<'m>, content: &'m [u8]) -> Self {
        Scorer {
            model,
            weights: model.weights(),
            sequence: Sequence::new(model),
            path: Vec::new(),
            answer: request.answer,
            least: request.least,
            below: Vec::new(),
            tagging: Tagging::default(),
            labellings: Vec::new(),
            token_scores: Vec::new(),
            out: Vec::new(),
            rest: Vec::new(),
            tally: Tally::default(),
            commented: None,
            writing: reading.format.writing(),
            separator: reading.separator(),
            content,
            copied: 0,
        }
    }

    /// Ends inference, also within a sentence, once the interrupt is set.
    pub(super) fn heed(&mut self, interrupt: &Interrupt) {
        self.sequence.lattice.heed(interrupt);
    }

    /// What has been written for the text.
    pub(super) fn written(mut self) -> Written {
        if self.writing == Writing::Cells {
            self.out.extend_from_slice(&self.content[self.copied..]);
        }
        Written { answers: self.out, rest: self.rest, tally: self.tally }
    }

    /// Labels the sentence read so far and makes ready for the next.
    fn decode(&mut self) {
        self.sequence.end(self.model, &self.weights);
        self.path.clear();
        match self.answer {
            Answer::NBest(n) => {
                self.labellings = self.model.best_labellings(&mut self.sequence.lattice, n);
                match self.labellings.first() {
                    Some(first) => self.path.clone_from(&first.labels),
                    None => self.path.resize(self.sequence.tokens(), UNKNOWN),
                }
            }
            Answer::Best if self.least.is_none() => self.path.extend_from_slice(self.sequence.best_labels(self.model)),
            Answer::Best | Answer::Marginals | Answer::Confident(_) => {
                let shown =
                    if let Answer::Confident(probabilities) = self.answer { probabilities.rule() } else { None };
                let rule = shown.or_else(|| self.least.and_then(|least| least.of.rule()));
                self.tagging = self.model.tag_lattice(&mut self.sequence.lattice, Decode::Viterbi, rule);
                self.path.clone_from(&self.tagging.labels);
            }
            Answer::As(peer_format) => self.decode_as(peer_format),
        }
        self.judge();
        self.sequence.begin(self.model);
    }

    /// Finds the labels that are less probable than requested.
    fn judge(&mut self) {
        let Some(least) = self.least else { return };
        let probability = |token: usize| match least.of {
            Probabilities::Sequence => self.tagging.log_probability.exp(),
            Probabilities::Token | Probabilities::Span(_) => self.tagging.beside(token),
        };
        self.below.clear();
        self.below.extend((0..self.path.len()).map(|token| probability(token) < least.probability));
        self.tally.sentences += 1;
        self.tally.sentences_below += usize::from(self.below.contains(&true));
        self.tally.tokens += self.below.len();
        self.tally.tokens_below += self.below.iter().filter(|&&below| below).count();
    }

    /// Finds what another program writes of the sentence.
    fn decode_as(&mut self, peer_format: PeerFormat) {
        let model = self.model;
        let scores = self.sequence.lattice.scores.to_vec();
        if peer_format.marginals() {
            let decode = if peer_format.posterior() { Decode::Marginal } else { Decode::Viterbi };
            self.tagging = model.tag_lattice(&mut self.sequence.lattice, decode, None);
            self.path.clone_from(&self.tagging.labels);
        } else if peer_format.n_best().is_none() {
            self.path.extend_from_slice(self.sequence.best_labels(model));
        }
        let lattice = &mut self.sequence.lattice;
        lattice.scores.copy_from_slice(&scores);
        if let Some(n) = peer_format.n_best() {
            self.labellings = model.best_labellings(lattice, n);
            if self.labellings.is_empty() {
                let labels = vec![UNKNOWN; lattice.tokens];
                self.labellings.push(Labelling { labels, log_probability: f64::NEG_INFINITY });
            }
            lattice.scores.copy_from_slice(&scores);
        }
        self.token_scores.clear();
        if peer_format.scores() {
            let paths = self.labellings.iter().map(|labelling| &labelling.labels);
            let best = self.labellings.is_empty().then_some(&self.path);
            self.token_scores.extend(paths.chain(best).map(|path| lattice.token_scores(&model.transitions, path)));
        }
    }
}
