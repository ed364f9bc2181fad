//! Factors of links between labels, looked up for eight pieces at once, and counts of links.

use crate::chain::inference::transitions::Transitions;
use crate::numeric::LANES;

/// The most labels of a chain for which each lane counts its links in its own table: links of equal labels in several lanes
/// then do not wait for each other.
const MOST_FOR_LANES: usize = 100;

/// Factors of links, by labels. The number after the last label means no label; every factor of a link with it is 1.
pub struct LinkFactors {
    /// Labels and the number for none.
    pub(super) size: usize,
    /// from * size + to -> exp of the transition's score.
    pub(super) pairs: Vec<f64>,
    /// (first * size + middle) * size + last -> exp of the triple's score; empty in first order.
    pub(super) triples: Vec<f64>,
}

impl LinkFactors {
    /// The factors of a chain's transitions.
    pub fn new(transitions: &Transitions) -> LinkFactors {
        let (labels, width, size) = (transitions.labels, transitions.width, transitions.labels + 1);
        let mut factors = LinkFactors { size, pairs: vec![1.0; size * size], triples: Vec::new() };
        for from in 0..labels {
            factors.pairs[from * size..][..labels].copy_from_slice(&transitions.exp[from * width..][..labels]);
        }
        if let Some(triples) = &transitions.triples {
            factors.triples = vec![1.0; size * size * size];
            for ([first, middle, last], score) in triples.listed() {
                factors.triples[(first * size + middle) * size + last] = score.exp();
            }
        }
        factors
    }

    /// Whether the chain is one of second order.
    pub fn has_triples(&self) -> bool {
        !self.triples.is_empty()
    }

    /// The number that means no label.
    pub fn no_label(&self) -> u16 {
        (self.size - 1) as u16
    }
}

/// Sums over pieces from which the expected counts of transitions and triples are computed.
pub struct LinkCounts {
    pub(super) size: usize,
    /// Lanes of the table of pairs: `LANES`, or 1 for all lanes together.
    pub(super) lanes: usize,
    /// Pairs x lanes; in first order in units of exp(score).
    pub(super) pairs: Vec<f64>,
    /// Triples, in units of exp(score).
    pub(super) triples: Vec<f64>,
}

impl LinkCounts {
    /// Counts of 0.
    pub fn new(factors: &LinkFactors) -> LinkCounts {
        let lanes = if factors.size <= MOST_FOR_LANES { LANES } else { 1 };
        let (pairs, triples) = (vec![0.0; factors.pairs.len() * lanes], vec![0.0; factors.triples.len()]);
        LinkCounts { size: factors.size, lanes, pairs, triples }
    }

    /// Sets the counts to 0.
    pub fn clear(&mut self) {
        self.pairs.fill(0.0);
        self.triples.fill(0.0);
    }

    /// The expected count of a transition.
    pub fn transition(&self, factors: &LinkFactors, from: usize, to: usize) -> f64 {
        let at = from * self.size + to;
        let count: f64 = self.pairs[at * self.lanes..][..self.lanes].iter().sum();
        if self.triples.is_empty() { count * factors.pairs[at] } else { count }
    }

    /// The expected count of a triple.
    pub fn triple(&self, factors: &LinkFactors, [first, middle, last]: [usize; 3]) -> f64 {
        let at = (first * self.size + middle) * self.size + last;
        self.triples[at] * factors.triples[at]
    }
}

/// The places of eight links in a table.
#[inline(always)]
pub(super) fn places(size: usize, from: [u32; LANES], to: &[u16; LANES]) -> [u32; LANES] {
    let mut places = from;
    for lane in 0..LANES {
        places[lane] = from[lane] * size as u32 + u32::from(to[lane]);
    }
    places
}

#[inline(always)]
pub(super) fn wide(labels: &[u16; LANES]) -> [u32; LANES] {
    let mut wide = [0; LANES];
    for lane in 0..LANES {
        wide[lane] = u32::from(labels[lane]);
    }
    wide
}

#[inline(always)]
pub(super) fn look_up(table: &[f64], places: [u32; LANES]) -> [f64; LANES] {
    let mut entries = [0.0; LANES];
    for lane in 0..LANES {
        entries[lane] = table[places[lane] as usize];
    }
    entries
}

/// Adds eight counts to the places of eight links in a table that has `lanes` entries for each.
#[inline(always)]
pub(super) fn count(table: &mut [f64], lanes: usize, places: [u32; LANES], counts: &[f64; LANES]) {
    if lanes == LANES {
        let (table, _) = table.as_chunks_mut::<LANES>();
        for lane in 0..LANES {
            table[places[lane] as usize][lane] += counts[lane];
        }
    } else {
        for lane in 0..LANES {
            table[places[lane] as usize] += counts[lane];
        }
    }
}
