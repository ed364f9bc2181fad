//! Expected counts of transitions and of triples.

use crate::chain::inference::transitions::Transitions;
use crate::chain::inference::triples::{TripleCounts, Triples};
use crate::numeric::aligned::Aligned;

/// Expected counts of transitions and of triples, gathered over sentences.
pub struct PairCounts {
    /// labels x width sums of alpha_{t-1}(i) psi_t(j) beta_t(j), to be multiplied by exp(transition score).
    pub outer: Aligned,
    /// labels x width sums of the same from sentences whose scores were centred, to be multiplied by exp(centred score); empty
    /// until there is such a sentence.
    pub centred: Aligned,
    /// labels x width sums that are probabilities already.
    pub direct: Aligned,
    pub triples: TripleCounts,
    /// Length of a row.
    width: usize,
}

impl PairCounts {
    /// Counts of 0, of triples too if the transitions have any.
    pub fn new(transitions: &Transitions) -> Self {
        let triples = transitions.triples.as_ref().map_or_else(TripleCounts::default, TripleCounts::new);
        PairCounts { triples, ..PairCounts::without_triples(transitions) }
    }

    pub fn none() -> Self {
        let (outer, direct) = (Aligned::default(), Aligned::default());
        PairCounts { outer, centred: Aligned::default(), direct, triples: TripleCounts::default(), width: 0 }
    }

    /// Counts of transitions only, whatever the order of the chain: where marginals are wanted, nothing else is.
    pub fn without_triples(transitions: &Transitions) -> Self {
        let size = transitions.labels * transitions.width;
        let (outer, direct) = (Aligned::new(size, 0.0), Aligned::new(size, 0.0));
        let (centred, triples) = (Aligned::default(), TripleCounts::default());
        PairCounts { outer, centred, direct, triples, width: transitions.width }
    }

    /// Makes room for counts of triples that are probabilities already, if triples are counted.
    pub(super) fn begin_direct(&mut self, triples: Option<&Triples>) {
        if let Some(triples) = triples
            && !self.triples.is_empty()
        {
            self.triples.direct(triples);
        }
    }

    /// After `begin_direct`: the counts, as probabilities, of the links that leave a node of the recursions in log space: of
    /// triples that begin with two labels, or in first order of transitions from `label`. None if these are not counted.
    pub(super) fn links_from(&mut self, triples: Option<&Triples>, group: usize, label: usize) -> Option<&mut [f64]> {
        match triples {
            None => Some(&mut self.direct[label * self.width..][..self.width]),
            Some(_) if self.triples.is_empty() => None,
            Some(triples) => Some(&mut self.triples.direct(triples)[triples.at([group, label, 0])..][..self.width]),
        }
    }

    /// Sets the counts to 0.
    pub fn clear(&mut self) {
        self.outer.fill(0.0);
        self.centred.fill(0.0);
        self.direct.fill(0.0);
        self.triples.clear();
    }

    pub fn add(&mut self, other: &PairCounts) {
        for (mine, theirs) in [(&mut self.outer, &other.outer), (&mut self.direct, &other.direct)] {
            mine.iter_mut().zip(&**theirs).for_each(|(a, b)| *a += b);
        }
        if !other.centred.is_empty() {
            self.centred.resize(other.centred.len(), 0.0);
            self.centred.iter_mut().zip(&*other.centred).for_each(|(a, b)| *a += b);
        }
        self.triples.add(&other.triples);
    }

    /// Sets `direct` to factor * the expected counts of all transitions.
    #[inline(always)]
    pub fn multiply_out(&mut self, transitions: &Transitions, factor: f64) {
        self.take_centred(transitions);
        let counts = self.direct.iter_mut().zip(&*self.outer).zip(&*transitions.exp);
        for ((direct, &outer), &exp) in counts {
            // Where exp is infinite, outer is 0.
            let outer = if outer == 0.0 { 0.0 } else { outer * exp };
            *direct = factor * (*direct + outer);
        }
    }

    /// Turns the sums of centred sentences into probabilities.
    fn take_centred(&mut self, transitions: &Transitions) {
        if !self.centred.is_empty()
            && let Some(centred) = transitions.centred()
        {
            let counts = self.direct.iter_mut().zip(&mut *self.centred).zip(&*centred.exp);
            counts.for_each(|((direct, sum), exp)| *direct += std::mem::take(sum) * exp);
        }
    }

    /// The expected count of the transition at from * width + to.
    pub fn expected(&self, transitions: &Transitions, at: usize) -> f64 {
        // Where exp is infinite, no sentence was scaled, and the sum is 0.
        let outer = if self.outer[at] == 0.0 { 0.0 } else { self.outer[at] * transitions.exp[at] };
        let sum = self.centred.get(at).copied().unwrap_or(0.0);
        let centred = if sum == 0.0 { 0.0 } else { sum * transitions.centred().map_or(0.0, |centred| centred.exp[at]) };
        outer + centred + self.direct[at]
    }
}
