//! The output for a labelled sentence: labels, probabilities, several labellings; in the format of this program, or of another
//! program's tagger.
//!
//! - Wapiti's `label`: each line as it was read, a TAB and the label. With scores (`-s`), a line `# rank score` before the
//!   sentence and `TAB label/score` after each label. Scores are sums of weights, or with `-p` products of posterior
//!   probabilities; each token then gets its most probable label.
//! - CRF++'s `crf_test`: the cells of each line between TABs, and the label. With detail 1, a line `# probability` before the
//!   sentence and `/probability` after each label; with detail 2, also the probability of every label. With several labellings
//!   each has a line `# rank probability`.
//! - CRFsuite's `tag`: the label alone; a line each for score and probability before the sequence (`-p`), `:probability` after
//!   each label (`-i`), the probability of every label (`-l`).
//!
//! In these formats numbers have six decimals, as C's `%f` writes them.

use crate::chain::tagging::confidence::Probabilities;
use crate::error::{Error, Result};
use crate::text::format::Writing;
use std::num::NonZeroUsize;

/// What is written for a sentence.
#[derive(Clone, Copy)]
pub enum Answer<'a> {
    /// The best labelling.
    Best,
    /// The best labelling, and the probability of every label of each token.
    Marginals,
    /// The N best labellings with their probabilities, best first.
    NBest(NonZeroUsize),
    /// The best labelling, with the probabilities of its parts or of the whole.
    Confident(Probabilities<'a>),
    /// What another program writes.
    As(PeerFormat),
}

/// The format of another program's tagger, with what it writes in addition to the labels.
#[derive(Clone, Copy)]
pub enum PeerFormat {
    Wapiti {
        /// Whether scores are written, and whether they are posterior probabilities.
        scores: bool,
        posterior: bool,
        n_best: Option<NonZeroUsize>,
    },
    Crfpp {
        /// 0 for labels, 1 for their probabilities, 2 for the probabilities of all labels.
        detail: u8,
        n_best: Option<NonZeroUsize>,
    },
    Crfsuite {
        /// Whether the score and the probability of the sequence are written, the probability of each label, and of all labels.
        sequence: bool,
        token: bool,
        all: bool,
    },
}

/// What is written for the sentences of a text: an answer, and whether some of its labels are withheld.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub answer: Answer<'a>,
    pub least: Option<Least<'a>>,
}

/// The least probability of a label that is written.
#[derive(Clone, Copy)]
pub struct Least<'a> {
    pub probability: f64,
    /// Of what it is the probability: of a token's label, of the span that contains the token, or of the whole sentence.
    pub of: Probabilities<'a>,
    /// The label written in place of one below it; None for the mark of a token without a label.
    pub below: Option<&'a str>,
    /// Whether sentences with a label below it are written apart, with their labels.
    pub apart: bool,
}

impl<'a> From<Answer<'a>> for Request<'a> {
    fn from(answer: Answer<'a>) -> Self {
        Request { answer, least: None }
    }
}

impl Request<'_> {
    /// Error: this format does not support the answer, or the least probability.
    pub fn check(self, writing: Writing) -> Result<()> {
        self.answer.check(writing)?;
        let option = match (self.least, self.answer, writing) {
            (None, ..) => return Ok(()),
            (_, Answer::NBest(_), _) => "--n-best",
            (_, Answer::As(_), _) => "--layout",
            (Some(Least { apart: true, .. }), _, Writing::Cells | Writing::Labels { .. }) => {
                let message = "--rest writes the sentences of columns or JSON lines; leave it out for other formats";
                return Err(Error::Option(message.into()));
            }
            _ => return Ok(()),
        };
        Err(Error::Option(format!("--min-probability and {option} cannot be combined; leave out {option}")))
    }
}

/// Options that say what is written.
#[derive(Clone, Copy, Default)]
pub struct Wanted<'a> {
    pub marginals: bool,
    pub n_best: Option<NonZeroUsize>,
    pub probabilities: Option<Probabilities<'a>>,
    /// Name of another program, and how much detail it shows.
    pub layout: Option<&'a str>,
    pub detail: Option<u8>,
}

impl<'a> Wanted<'a> {
    /// The answer that the options request. Error: two of them exclude each other.
    pub fn answer(self) -> Result<Answer<'a>> {
        if let Some(name) = self.layout {
            return self.peer_format(name).map(Answer::As);
        }
        if self.detail.is_some() {
            return Err(Error::Option("-v needs --layout crf++, wapiti or crfsuite".into()));
        }
        match (self.marginals, self.n_best, self.probabilities) {
            (false, None, None) => Ok(Answer::Best),
            (true, None, None) => Ok(Answer::Marginals),
            (false, Some(n), None) => Ok(Answer::NBest(n)),
            (false, None, Some(probabilities)) => Ok(Answer::Confident(probabilities)),
            (true, Some(_), _) => Err(Error::Option(
                "--marginals and --n-best cannot be combined; leave out --marginals or --n-best".into(),
            )),
            (_, _, Some(_)) => {
                let other = if self.marginals { "--marginals" } else { "--n-best" };
                Err(Error::Option(format!(
                    "{other} prints its own probabilities; leave out {other} or --probabilities"
                )))
            }
        }
    }

    /// The other program's format of this name.
    fn peer_format(self, name: &str) -> Result<PeerFormat> {
        let (detail, n_best) = (self.detail.unwrap_or(0), self.n_best);
        let refused = match (name, self.probabilities) {
            ("crfsuite", _) if n_best.is_some() => "CRFsuite's tagger has no n-best list; leave out --n-best",
            ("crfsuite", Some(Probabilities::Span(_))) => {
                "CRFsuite's tagger does not have spans; leave out --probabilities"
            }
            ("wapiti" | "crf++", Some(_)) => "this layout prints probabilities with -v; leave out --probabilities",
            ("wapiti" | "crf++", _) if self.marginals => {
                "this layout prints probabilities with -v; leave out --marginals"
            }
            ("wapiti", _) if detail == 2 && n_best.is_some() => {
                "with -v 2 each token gets its most probable label; leave out --n-best, or use -v 1"
            }
            _ if detail > 2 => "-v must be 0, 1 or 2",
            _ => "",
        };
        if !refused.is_empty() {
            return Err(Error::Option(format!("--layout {name}: {refused}")));
        }
        match name {
            "wapiti" => Ok(PeerFormat::Wapiti { scores: detail > 0, posterior: detail == 2, n_best }),
            "crf++" => Ok(PeerFormat::Crfpp { detail, n_best }),
            "crfsuite" => Ok(PeerFormat::Crfsuite {
                sequence: detail > 0 || matches!(self.probabilities, Some(Probabilities::Sequence)),
                token: detail > 0 || matches!(self.probabilities, Some(Probabilities::Token)),
                all: detail > 1 || self.marginals,
            }),
            _ => Err(Error::Option(format!("layout '{name}' is unknown; choose wapiti, crf++ or crfsuite"))),
        }
    }
}

impl Answer<'_> {
    /// Error: this format does not support the answer.
    pub fn check(self, writing: Writing) -> Result<()> {
        let option = match (self, writing) {
            (Answer::Best, _) | (Answer::As(_), Writing::Lines) => return Ok(()),
            (Answer::As(PeerFormat::Crfsuite { .. }), Writing::Labels { blank_lines: true }) => return Ok(()),
            (Answer::As(peer_format), Writing::Cells | Writing::Fields | Writing::Labels { .. }) => {
                let message = match peer_format {
                    PeerFormat::Crfsuite { .. } => {
                        "--layout crfsuite works only with columns and attribute files; leave it out"
                    }
                    PeerFormat::Wapiti { .. } | PeerFormat::Crfpp { .. } => {
                        "--layout works only with columns; leave it out for other formats"
                    }
                };
                return Err(Error::Option(message.into()));
            }
            (_, Writing::Lines | Writing::Fields | Writing::Labels { .. }) => return Ok(()),
            (Answer::Marginals, Writing::Cells) => "--marginals",
            (Answer::NBest(_), Writing::Cells) => "--n-best",
            (Answer::Confident(_), Writing::Cells) => "--probabilities",
        };
        Err(Error::Option(format!("CoNLL-U has no column for probabilities; leave out {option}")))
    }
}

impl PeerFormat {
    /// Number of labellings; None for only the best.
    pub fn n_best(self) -> Option<NonZeroUsize> {
        match self {
            PeerFormat::Wapiti { n_best, .. } | PeerFormat::Crfpp { n_best, .. } => n_best,
            PeerFormat::Crfsuite { .. } => None,
        }
    }

    /// Whether each token gets its most probable label.
    pub fn posterior(self) -> bool {
        matches!(self, PeerFormat::Wapiti { posterior: true, .. })
    }

    /// Whether marginals are needed.
    pub fn marginals(self) -> bool {
        match self {
            PeerFormat::Wapiti { posterior, .. } => posterior,
            PeerFormat::Crfpp { detail, .. } => detail > 0,
            PeerFormat::Crfsuite { sequence, token, all } => sequence || token || all,
        }
    }

    /// Whether the scores of labellings are needed.
    pub fn scores(self) -> bool {
        match self {
            PeerFormat::Wapiti { scores, posterior, .. } => scores && !posterior,
            PeerFormat::Crfpp { .. } => false,
            PeerFormat::Crfsuite { sequence, .. } => sequence,
        }
    }
}
