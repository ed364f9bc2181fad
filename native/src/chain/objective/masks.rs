//! The allowed labellings of an objective's sentences: labellings without forbidden transitions that agree with the known
//! labels.

use crate::chain::inference::{Allowed, LabelSets};
use crate::corpus::{Corpus, FIRST_SET, UNKNOWN};
use crate::error::{Error, Result};
use crate::numeric::aligned::Aligned;
use crate::numeric::padded;
use std::collections::HashMap;
use std::sync::Arc;

/// Which of a sentence's labels are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Known {
    /// Each label.
    All,
    /// Something that tells allowed labellings from others.
    Some,
    /// Nothing: every allowed labelling is as good as any other.
    Nothing,
}

/// Tokens of a sentence that may not have every label, each with the number of its row.
pub type Masked = [(u32, u32)];

/// The tokens that may not have every label, sentence by sentence; by default every labelling is allowed, and every label known.
#[derive(Default)]
pub struct Masks {
    pub allowed: Option<Arc<Allowed>>,
    width: usize,
    /// Rows of 1 for labels that are allowed and 0 for others, each once.
    rows: Aligned,
    /// By the transitions only.
    free: MaskedTokens,
    /// The known labels are taken into account as well; empty for sentences whose labels are all known.
    clamped: MaskedTokens,
    knowledge: Vec<Known>,
}

/// The masked tokens of all sentences, one sentence after the other.
#[derive(Default)]
struct MaskedTokens {
    entries: Vec<(u32, u32)>,
    ends: Vec<usize>,
}

impl MaskedTokens {
    fn get(&self, at: usize) -> &Masked {
        let end = |at: usize| self.ends.get(at).copied().unwrap_or(0);
        &self.entries[at.checked_sub(1).map_or(0, end)..end(at)]
    }
}

impl Masks {
    /// The masks of the sentences of a labelled corpus. Error: no labelling of a sentence is allowed.
    pub fn new(corpus: &Corpus, allowed: Option<Arc<Allowed>>) -> Result<Masks> {
        if allowed.is_none() && !corpus.is_partial() {
            return Ok(Masks::default());
        }
        let labels = corpus.labels.len();
        let mut maker = Maker { width: padded(labels), rows: Aligned::default(), numbers: HashMap::new() };
        let (mut free, mut clamped, mut knowledge) = (MaskedTokens::default(), MaskedTokens::default(), Vec::new());
        let mut sets = LabelSets::default();
        for sentence in corpus.sweep() {
            let gold = corpus.gold.get(corpus.tokens(sentence)).unwrap_or(&[]);
            let (mut is_allowed, mut of_sentence) = (true, Known::All);
            if let Some(allowed) = &allowed {
                sets.fill(gold.len(), labels);
                is_allowed = allowed.prune(&mut sets);
                maker.add(&sets, &mut free.entries);
            }
            let is_partial = gold.iter().any(|&label| label >= FIRST_SET && !corpus.is_soft(label));
            if gold.iter().any(|&label| corpus.is_soft(label)) {
                if is_partial {
                    return Err(mixed(sentence));
                }
                if let Some(allowed) = &allowed {
                    sets.fill(gold.len(), labels);
                    gold.iter().enumerate().for_each(|(token, &label)| restrict(&mut sets, token, label, corpus));
                    is_allowed &= allowed.prune(&mut sets);
                }
            } else if is_partial {
                let at = clamped.entries.len();
                sets.fill(gold.len(), labels);
                gold.iter().enumerate().for_each(|(token, &label)| restrict(&mut sets, token, label, corpus));
                is_allowed &= allowed.as_ref().is_none_or(|allowed| allowed.prune(&mut sets));
                maker.add(&sets, &mut clamped.entries);
                let unclamped = &free.entries[free.ends.last().copied().unwrap_or(0)..];
                of_sentence = if clamped.entries[at..] == *unclamped { Known::Nothing } else { Known::Some };
            } else if let Some(allowed) = &allowed {
                is_allowed &= allowed.first_mistake(gold).is_none();
            }
            if !is_allowed {
                return Err(forbidden(corpus, sentence, allowed.as_deref()));
            }
            free.ends.push(free.entries.len());
            clamped.ends.push(clamped.entries.len());
            knowledge.push(of_sentence);
        }
        let Maker { width, rows, .. } = maker;
        Ok(Masks { allowed, width, rows, free, clamped, knowledge })
    }

    /// Which of a sentence's labels are known.
    pub fn known(&self, sentence: usize) -> Known {
        self.knowledge.get(sentence).copied().unwrap_or(Known::All)
    }

    /// The number of sentences with tokens but without any known label: they contribute nothing.
    pub fn n_unknown(&self) -> usize {
        self.knowledge.iter().filter(|&&of_sentence| of_sentence == Known::Nothing).count()
    }

    /// Whether a sentence has partial labels: the objective is then not convex.
    pub fn is_partial(&self) -> bool {
        self.knowledge.contains(&Known::Some)
    }

    /// The mask of a sentence by the transitions that are allowed.
    pub fn free(&self, sentence: usize) -> &Masked {
        self.free.get(sentence)
    }

    /// The mask of a sentence with partial labels.
    pub fn clamped(&self, sentence: usize) -> &Masked {
        self.clamped.get(sentence)
    }

    /// The tokens of a mask with their rows.
    #[inline(always)]
    pub fn rows<'a>(&'a self, masked: &'a Masked) -> impl Iterator<Item = (usize, &'a [f64])> {
        masked.iter().map(|&(token, row)| (token as usize, &self.rows[row as usize * self.width..][..self.width]))
    }
}

/// Keeps the labels that a token of a corpus may have.
fn restrict(sets: &mut LabelSets, token: usize, label: u32, corpus: &Corpus) {
    match label {
        UNKNOWN => (),
        FIRST_SET.. => sets.set(token, corpus.label_sets[(label - FIRST_SET) as usize].iter().copied()),
        _ => sets.set(token, [label]),
    }
}

struct Maker {
    width: usize,
    rows: Aligned,
    /// Allowed labels -> number of their row.
    numbers: HashMap<Vec<usize>, u32>,
}

impl Maker {
    /// Appends the tokens that may not have every label.
    fn add(&mut self, sets: &LabelSets, entries: &mut Vec<(u32, u32)>) {
        for token in (0..sets.rows()).filter(|&token| !sets.is_full(token)) {
            let labels: Vec<usize> = sets.labels(token).collect();
            let next = self.numbers.len() as u32;
            let row = *self.numbers.entry(labels).or_insert(next);
            if row == next {
                let start = self.rows.len();
                self.rows.resize(start + self.width, 0.0);
                sets.write_ones(token, &mut self.rows[start..]);
            }
            entries.push((token as u32, row));
        }
    }
}

/// The error of a sentence with partial and soft labels.
fn mixed(sentence: usize) -> Error {
    let remedy = "a sentence with a dict of probabilities has no unknown labels (None) and no sets; leave out the sentence, \
                  or give dicts to all these tokens, as loglinear.data.soft_labels.filled does";
    Error::Data(format!("sentence {sentence} has both partial labels and distributions over labels: {remedy}"))
}

/// The error of a sentence none of whose labellings is allowed.
fn forbidden(corpus: &Corpus, sentence: usize, allowed: Option<&Allowed>) -> Error {
    let gold = &corpus.gold[corpus.tokens(sentence)];
    let name = |label: u32| corpus.labels[label as usize].as_str();
    let remedy = "fix the labels or change the constraints";
    if gold.iter().any(|&label| label >= FIRST_SET) {
        let message = format!(
            "sentence {sentence}: the constraints forbid every label sequence that its partial labels allow; {remedy}"
        );
        return Error::Data(message);
    }
    let token = allowed.and_then(|allowed| allowed.first_mistake(gold)).unwrap_or(0);
    let what = match (token.checked_sub(1).map(|before| name(gold[before])), gold.get(token).map(|&label| name(label)))
    {
        (Some(before), Some(label)) => format!("token {token}: the constraints forbid {label} after {before}"),
        (None, Some(label)) => format!("token {token}: the constraints forbid {label} at the start of a sentence"),
        (before, None) => format!("the constraints forbid {} at the end of a sentence", before.unwrap_or("a label")),
    };
    Error::Data(format!("sentence {sentence}, {what}; {remedy}"))
}
