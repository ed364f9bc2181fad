//! Forward-backward over pieces of sentences whose tokens keep a few labels each, eight pieces abreast, one in each lane.
//!
//! A token's labels stand in slots: slot 0 holds its first label, and so on. The pieces of a group differ in their labels, so the
//! factor exp(score) of a link is looked up lane by lane. Recursions and scaling are as in `abreast`, with every link listed:
//!
//! alpha_t(j) = psi_t(j) r_t sum over i of alpha_{t-1}(i) w(i, j)
//! beta_{t-1}(i) = sum over j of w(i, j) in_t(j), where in_t(j) = psi_t(j) r_t beta_t(j)
//!
//! In second order the recursion runs over pairs of slots (i, j) of neighbouring tokens; w(h, i, j) is exp of the score of a triple,
//! and psi_t(i, j) contains exp of the score of the transition.
//!
//! The potentials of a token are taken over their largest, so that scores of any size fit.

use crate::chain::inference::lanes::Lanes;
use crate::chain::inference::scaled::LogProduct;
use crate::chain::inference::transitions::Transitions;
use crate::numeric::aligned::Aligned;
use crate::numeric::{self, LANES};
use pulp::Simd;

/// The least argument that `numeric::exp_in_place` is called with.
const LEAST_FOR_EXP: f64 = -700.0;
/// The most labels of a chain for which each lane counts its links in a table of its own: links of equal labels in several lanes
/// then do not wait for each other.
const MOST_FOR_LANES: usize = 100;

/// Factors of links, by labels. The number behind the last label stands for no label; every factor of a link with it is 1.
pub struct LinkFactors {
    /// Labels and the number for none.
    size: usize,
    /// from * size + to -> exp of the transition's score.
    pairs: Vec<f64>,
    /// (first * size + middle) * size + last -> exp of the triple's score; empty in first order.
    triples: Vec<f64>,
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
            for (first, middle) in (0..labels).flat_map(|first| (0..labels).map(move |middle| (first, middle))) {
                let row = &triples.exp[triples.at([first, middle, 0])..][..labels];
                factors.triples[(first * size + middle) * size..][..labels].copy_from_slice(row);
            }
        }
        factors
    }

    /// The number that stands for no label.
    pub fn no_label(&self) -> u16 {
        (self.size - 1) as u16
    }
}

/// Sums over pieces from which the expected counts of transitions and triples are computed.
pub struct LinkCounts {
    size: usize,
    /// Lanes of the table of pairs: `LANES`, or 1 for all lanes together.
    lanes: usize,
    /// Pairs x lanes; in first order in units of exp(score).
    pairs: Vec<f64>,
    /// Triples, in units of exp(score).
    triples: Vec<f64>,
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

/// Up to eight pieces: their lengths in slots, and their labels.
#[derive(Clone, Copy)]
pub struct Pieces<'a> {
    /// Token -> its number of slots, the largest of all pieces.
    pub slots: &'a [u16],
    /// Slot of all tokens -> the label in it, piece by piece; `no_label` beyond the end of a piece.
    pub labels: &'a [[u16; LANES]],
    /// Slot of all tokens -> what its score begins at, piece by piece; -inf where the token has fewer labels in this piece.
    pub offsets: &'a [[f64; LANES]],
    /// The factors of the pieces; 0 where there is no piece. Eight, or eight a token of single pieces.
    pub weights: &'a [[f64; LANES]],
    /// Whether every token is a piece by itself.
    pub is_single: bool,
}

impl Pieces<'_> {
    /// The factors of the pieces of each slot.
    pub fn weights_of_slots(&self) -> impl Iterator<Item = [f64; LANES]> {
        let tokens = self.slots.iter().enumerate();
        tokens.flat_map(|(token, &slots)| {
            std::iter::repeat_n(self.weights[if self.is_single { token } else { 0 }], usize::from(slots))
        })
    }
}

/// The scores of a group of pieces and the buffers to work in.
#[derive(Default)]
pub struct PrunedLattice {
    /// Slots x lanes log potentials of the states; after `forward_backward` the marginals times the weights.
    pub scores: Aligned,
    /// Nodes x lanes forward variables; a node is a slot, or in second order a pair of slots.
    alpha: Aligned,
    /// Links x lanes: the factors of links.
    factors: Aligned,
    /// Nodes x lanes, in second order only: the potentials of nodes, times the rescaling.
    potentials: Aligned,
    /// Tokens x lanes sums of alpha.
    totals: Aligned,
    /// Nodes x lanes: beta times potentials of a token, and beta of the one before.
    incoming: Aligned,
    beta: Aligned,
    before: Aligned,
}

/// The places of eight links in a table.
#[inline(always)]
fn places(size: usize, from: [u32; LANES], to: &[u16; LANES]) -> [u32; LANES] {
    let mut places = from;
    for lane in 0..LANES {
        places[lane] = from[lane] * size as u32 + u32::from(to[lane]);
    }
    places
}

#[inline(always)]
fn wide(labels: &[u16; LANES]) -> [u32; LANES] {
    let mut wide = [0; LANES];
    for lane in 0..LANES {
        wide[lane] = u32::from(labels[lane]);
    }
    wide
}

#[inline(always)]
fn look_up(table: &[f64], places: [u32; LANES]) -> [f64; LANES] {
    let mut found = [0.0; LANES];
    for lane in 0..LANES {
        found[lane] = table[places[lane] as usize];
    }
    found
}

/// Adds eight counts to the places of eight links in a table that has `lanes` entries for each.
#[inline(always)]
fn count(table: &mut [f64], lanes: usize, places: [u32; LANES], counts: &[f64; LANES]) {
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

impl PrunedLattice {
    /// Starts a group.
    #[inline(always)]
    pub fn begin(&mut self, pieces: Pieces<'_>) {
        let offsets = pieces.offsets.as_flattened();
        self.scores.resize(offsets.len(), 0.0);
        self.scores.copy_from_slice(offsets);
    }

    /// Leaves the marginals times the weights in `scores`, adds to the counts, and returns the sum of weight * log Z. It is not
    /// finite if a number left the range of a double.
    #[inline(always)]
    pub fn forward_backward<S: Simd>(
        &mut self,
        simd: S,
        pieces: Pieces<'_>,
        factors: &LinkFactors,
        counts: &mut LinkCounts,
    ) -> f64 {
        if pieces.is_single {
            return self.independent(simd, pieces);
        }
        match (S::F64_LANES, factors.triples.is_empty()) {
            (8, true) => self.first_order::<S, 1>(Lanes(simd), pieces, factors, counts),
            (8, false) => self.second_order::<S, 1>(Lanes(simd), pieces, factors, counts),
            (4, true) => self.first_order::<S, 2>(Lanes(simd), pieces, factors, counts),
            (4, false) => self.second_order::<S, 2>(Lanes(simd), pieces, factors, counts),
            (2, true) => self.first_order::<S, 4>(Lanes(simd), pieces, factors, counts),
            (2, false) => self.second_order::<S, 4>(Lanes(simd), pieces, factors, counts),
            (_, true) => self.first_order::<S, 8>(Lanes(simd), pieces, factors, counts),
            (_, false) => self.second_order::<S, 8>(Lanes(simd), pieces, factors, counts),
        }
    }

    /// Exponentiates the scores in place, over the largest of each token; returns the sums over tokens of weight * the largest.
    #[inline(always)]
    fn exponentiate<S: Simd, const N: usize>(
        &mut self,
        simd: Lanes<S, N>,
        pieces: Pieces<'_>,
        weights: &[[S::f64s; N]],
    ) -> [S::f64s; N] {
        let mut shifts = simd.all(0.0);
        let mut rest = simd.of_mut(&mut self.scores);
        let last = weights.len() - 1;
        for (at, &slots) in pieces.slots.iter().enumerate() {
            let (token, following) = rest.split_at_mut(usize::from(slots));
            rest = following;
            let mut most = token[0];
            for score in &token[1..] {
                most = simd.max(most, *score);
            }
            shifts = simd.multiply_add(weights[at.min(last)], most, shifts);
            for score in token {
                *score = simd.max(simd.subtract(*score, most), simd.all(LEAST_FOR_EXP));
            }
        }
        numeric::exp_in_place(simd.0, &mut self.scores);
        shifts
    }

    /// The sum of weight * log Z, from the totals of all tokens and weight * the sums of what scores were taken over.
    #[inline(always)]
    fn log_z<S: Simd, const N: usize>(&self, simd: Lanes<S, N>, weights: [f64; LANES], shifts: [S::f64s; N]) -> f64 {
        let shifts: &[f64] = pulp::bytemuck::cast_slice(&shifts);
        let mut products: [LogProduct; LANES] = Default::default();
        for totals in self.totals.as_chunks::<LANES>().0 {
            products.iter_mut().zip(totals).for_each(|(product, &total)| product.multiply(total));
        }
        let logs = LogProduct::logs(simd.0, &products);
        let mut sum = 0.0;
        for lane in 0..LANES {
            if weights[lane] != 0.0 {
                sum += weights[lane] * logs[lane] + shifts[lane];
            }
        }
        sum
    }

    /// weight / (sum of the last token's alpha): marginals then come out multiplied by the weight.
    #[inline(always)]
    fn scales(&self, weights: [f64; LANES]) -> [f64; LANES] {
        let mut scales = weights;
        let (totals, _) = self.totals.as_chunks::<LANES>();
        for (scale, total) in scales.iter_mut().zip(totals[totals.len() - 1]) {
            *scale /= total;
        }
        scales
    }

    /// `forward_backward` of single pieces.
    #[inline(always)]
    fn independent<S: Simd>(&mut self, simd: S, pieces: Pieces<'_>) -> f64 {
        match S::F64_LANES {
            8 => self.independent_in::<S, 1>(Lanes(simd), pieces),
            4 => self.independent_in::<S, 2>(Lanes(simd), pieces),
            2 => self.independent_in::<S, 4>(Lanes(simd), pieces),
            _ => self.independent_in::<S, 8>(Lanes(simd), pieces),
        }
    }

    #[inline(always)]
    fn independent_in<S: Simd, const N: usize>(&mut self, simd: Lanes<S, N>, pieces: Pieces<'_>) -> f64 {
        self.totals.resize(pieces.slots.len() * LANES, 1.0);
        let weights = simd.of(pieces.weights.as_flattened());
        let mut value = self.exponentiate(simd, pieces, weights);
        let totals = simd.of_mut(&mut self.totals);
        let mut rest = simd.of_mut(&mut self.scores);
        for ((&slots, total), &weight) in pieces.slots.iter().zip(&mut *totals).zip(weights) {
            let (token, following) = rest.split_at_mut(usize::from(slots));
            rest = following;
            *total = simd.sum(token);
            let scale = simd.divide(weight, *total);
            for potential in token {
                *potential = simd.multiply(*potential, scale);
            }
        }
        numeric::ln_in_place(simd.0, &mut self.totals);
        for (&log, &weight) in simd.of(&self.totals).iter().zip(weights) {
            value = simd.multiply_add(weight, log, value);
        }
        simd.array(&value).iter().sum()
    }

    #[inline(always)]
    fn first_order<S: Simd, const N: usize>(
        &mut self,
        simd: Lanes<S, N>,
        pieces: Pieces<'_>,
        factors: &LinkFactors,
        counts: &mut LinkCounts,
    ) -> f64 {
        let shifts = self.exponentiate(simd, pieces, simd.of(&pieces.weights[0]));
        let (slots, labels, size) = (pieces.slots, pieces.labels, factors.size);
        let n_links: usize = slots.windows(2).map(|pair| usize::from(pair[0]) * usize::from(pair[1])).sum();
        self.alpha.resize(self.scores.len(), 0.0);
        self.factors.resize(n_links * LANES, 0.0);
        self.totals.resize(slots.len() * LANES, 1.0);
        let most = usize::from(slots.iter().copied().max().unwrap_or(1)) * LANES;
        self.incoming.resize(most, 0.0);
        self.beta.resize(most, 0.0);
        let potentials = simd.of_mut(&mut self.scores);
        let (alpha, links) = (simd.of_mut(&mut self.alpha), simd.of_mut(&mut self.factors));
        let totals = simd.of_mut(&mut self.totals);
        let first = usize::from(slots[0]);
        alpha[..first].copy_from_slice(&potentials[..first]);
        totals[0] = simd.sum(&alpha[..first]);
        let (mut start, mut link) = (0, 0);
        for (token, pair) in slots.windows(2).enumerate() {
            let (before, now) = (usize::from(pair[0]), usize::from(pair[1]));
            let (middle, end) = (start + before, start + before + now);
            let rescale = simd.divide(simd.all(1.0), totals[token]);
            let (previous, current) = alpha[start..end].split_at_mut(before);
            let mut total = simd.all(0.0);
            for (j, alpha) in current.iter_mut().enumerate() {
                let to = &labels[middle + j];
                let mut sum = simd.all(0.0);
                for (i, previous) in previous.iter().enumerate() {
                    let found = look_up(&factors.pairs, places(size, wide(&labels[start + i]), to));
                    let factor = simd.of(&found)[0];
                    links[link] = factor;
                    link += 1;
                    sum = simd.multiply_add(factor, *previous, sum);
                }
                *alpha = simd.multiply(simd.multiply(sum, rescale), potentials[middle + j]);
                total = simd.add(total, *alpha);
            }
            totals[token + 1] = total;
            start = middle;
        }
        let log_z = self.log_z(simd, pieces.weights[0], shifts);
        let scales = self.scales(pieces.weights[0]);
        let scale = simd.of(&scales)[0];
        let potentials = simd.of_mut(&mut self.scores);
        let (alpha, links, totals) = (simd.of(&self.alpha), simd.of(&self.factors), simd.of(&self.totals));
        let (incoming, beta) = (simd.of_mut(&mut self.incoming), simd.of_mut(&mut self.beta));
        beta.fill(scale);
        let mut end = alpha.len();
        for token in (0..slots.len()).rev() {
            let now = usize::from(slots[token]);
            let middle = end - now;
            let rescale = if token == 0 { simd.all(1.0) } else { simd.divide(simd.all(1.0), totals[token - 1]) };
            for j in 0..now {
                incoming[j] = simd.multiply(simd.multiply(potentials[middle + j], rescale), beta[j]);
                potentials[middle + j] = simd.multiply(alpha[middle + j], beta[j]);
            }
            if token == 0 {
                break;
            }
            let before = usize::from(slots[token - 1]);
            let start = middle - before;
            link -= before * now;
            for i in 0..before {
                let (from, own) = (wide(&labels[start + i]), alpha[start + i]);
                let mut sum = simd.all(0.0);
                for j in 0..now {
                    sum = simd.multiply_add(links[link + j * before + i], incoming[j], sum);
                    let product = simd.multiply(own, incoming[j]);
                    count(
                        &mut counts.pairs,
                        counts.lanes,
                        places(size, from, &labels[middle + j]),
                        simd.array(&product),
                    );
                }
                beta[i] = sum;
            }
            end = middle;
        }
        log_z
    }

    #[inline(always)]
    fn second_order<S: Simd, const N: usize>(
        &mut self,
        simd: Lanes<S, N>,
        pieces: Pieces<'_>,
        factors: &LinkFactors,
        counts: &mut LinkCounts,
    ) -> f64 {
        let shifts = self.exponentiate(simd, pieces, simd.of(&pieces.weights[0]));
        let (slots, labels, size) = (pieces.slots, pieces.labels, factors.size);
        let width = |token: usize| usize::from(slots[token]);
        let width_before = |token: usize| if token == 0 { 1 } else { width(token - 1) };
        let nodes = |token: usize| width_before(token) * width(token);
        let n_nodes: usize = (0..slots.len()).map(nodes).sum();
        let n_links: usize = (1..slots.len()).map(|token| width_before(token - 1) * nodes(token)).sum();
        let most = (0..slots.len()).map(nodes).max().unwrap_or(1) * LANES;
        let none = [[factors.no_label(); LANES]];
        let labels_of = |token: Option<usize>, starts: usize| match token {
            Some(token) => &labels[starts..starts + width(token)],
            None => &none[..],
        };
        self.alpha.resize(n_nodes * LANES, 0.0);
        self.potentials.resize(n_nodes * LANES, 0.0);
        self.factors.resize(n_links * LANES, 0.0);
        self.totals.resize(slots.len() * LANES, 1.0);
        for buffer in [&mut self.incoming, &mut self.beta, &mut self.before] {
            buffer.resize(most, 0.0);
        }
        let states = simd.of_mut(&mut self.scores);
        let (alpha, links) = (simd.of_mut(&mut self.alpha), simd.of_mut(&mut self.factors));
        let (potentials, totals) = (simd.of_mut(&mut self.potentials), simd.of_mut(&mut self.totals));
        let first = width(0);
        alpha[..first].copy_from_slice(&states[..first]);
        totals[0] = simd.sum(&alpha[..first]);
        // Where the slots of the last token but one, of the last one and of this one start, and the nodes of the last one.
        let (mut older, mut old, mut now, mut node, mut link) = (0, 0, first, 0, 0);
        for token in 1..slots.len() {
            let (h_labels, i_labels) = (labels_of(token.checked_sub(2), older), labels_of(Some(token - 1), old));
            let j_labels = labels_of(Some(token), now);
            let (n_i, n_j) = (i_labels.len(), j_labels.len());
            let rescale = simd.divide(simd.all(1.0), totals[token - 1]);
            let (previous, current) = alpha[node..].split_at_mut(nodes(token - 1));
            let following = node + nodes(token - 1);
            let mut total = simd.all(0.0);
            for (i, j) in (0..n_i).flat_map(|i| (0..n_j).map(move |j| (i, j))) {
                let found = look_up(&factors.pairs, places(size, wide(&i_labels[i]), &j_labels[j]));
                let potential = simd.multiply(simd.multiply(states[now + j], rescale), simd.of(&found)[0]);
                let mut sum = simd.all(0.0);
                for (h, h_labels) in h_labels.iter().enumerate() {
                    let pair = places(size, wide(h_labels), &i_labels[i]);
                    let found = look_up(&factors.triples, places(size, pair, &j_labels[j]));
                    links[link] = simd.of(&found)[0];
                    sum = simd.multiply_add(links[link], previous[h * n_i + i], sum);
                    link += 1;
                }
                potentials[following + i * n_j + j] = potential;
                current[i * n_j + j] = simd.multiply(sum, potential);
                total = simd.add(total, current[i * n_j + j]);
            }
            totals[token] = total;
            (older, old, now, node) = (old, now, now + n_j, following);
        }
        let log_z = self.log_z(simd, pieces.weights[0], shifts);
        let scales = self.scales(pieces.weights[0]);
        let states = simd.of_mut(&mut self.scores);
        let (alpha, links, potentials) = (simd.of(&self.alpha), simd.of(&self.factors), simd.of(&self.potentials));
        let (incoming, mut beta) = (simd.of_mut(&mut self.incoming), simd.of_mut(&mut self.beta));
        let mut before = simd.of_mut(&mut self.before);
        beta.fill(simd.of(&scales)[0]);
        let (mut end, mut node) = (labels.len(), n_nodes);
        for token in (0..slots.len()).rev() {
            let (n_i, n_j) = (width_before(token), width(token));
            now = end - n_j;
            node -= n_i * n_j;
            states[now..end].fill(simd.all(0.0));
            if token == 0 {
                for j in 0..n_j {
                    states[now + j] = simd.multiply(alpha[node + j], beta[j]);
                }
                break;
            }
            old = now - n_i;
            let n_h = width_before(token - 1);
            let h_labels = labels_of(token.checked_sub(2), old.saturating_sub(n_h));
            let (i_labels, j_labels) = (&labels[old..now], &labels[now..end]);
            let earlier = node - n_h * n_i;
            before[..n_h * n_i].fill(simd.all(0.0));
            link -= n_h * n_i * n_j;
            let mut at = link;
            for (i, j) in (0..n_i).flat_map(|i| (0..n_j).map(move |j| (i, j))) {
                let place = i * n_j + j;
                let marginal = simd.multiply(alpha[node + place], beta[place]);
                states[now + j] = simd.add(states[now + j], marginal);
                let pair = places(size, wide(&i_labels[i]), &j_labels[j]);
                count(&mut counts.pairs, counts.lanes, pair, simd.array(&marginal));
                incoming[place] = simd.multiply(potentials[node + place], beta[place]);
                for (h, h_labels) in h_labels.iter().enumerate() {
                    before[h * n_i + i] = simd.multiply_add(links[at], incoming[place], before[h * n_i + i]);
                    at += 1;
                    let product = simd.multiply(alpha[earlier + h * n_i + i], incoming[place]);
                    let triple = places(size, places(size, wide(h_labels), &i_labels[i]), &j_labels[j]);
                    count(&mut counts.triples, 1, triple, simd.array(&product));
                }
            }
            std::mem::swap(&mut beta, &mut before);
            end = now;
        }
        log_z
    }
}
