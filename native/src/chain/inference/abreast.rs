//! Forward-backward over eight sentences abreast, one in each lane.
//!
//! The recursion of a single sentence waits at every token for a product of a vector and a whole matrix. Sentences do not wait
//! for each other, and lanes that hold sentences leave the labels free: only the transitions with features are gone through
//! (`Links`), in first order and in second. Probabilities are rescaled as in `scaled`, by 1 / sum(alpha_{t-1}).
//!
//! With psi_t(y) the potentials of token t, those of the pair of labels included in second order, and s the rest of `Links`:
//!
//! alpha_t(y) = psi_t(y) r_t (s sum over x of alpha_{t-1}(x) + sum over links (x, y) of alpha_{t-1}(x) w(x, y))
//! beta_{t-1}(x) = s sum over y of in_t(y) + sum over links (x, y) of w(x, y) in_t(y), where in_t(y) = psi_t(y) r_t beta_t(y)
//!
//! In second order the first sum goes over the pairs that end, and the second over those that begin with the label shared.
//! Before the first token alpha is 0 and the sum 1; behind the last `in` is 0 and the sum factor / Z. So sentences start and
//! end where they do, whatever the others: beyond the end of a sentence potentials and with them alpha are 0.

use crate::chain::inference::counts::PairCounts;
use crate::chain::inference::links::{BUNDLE, Links, Lists};
use crate::chain::inference::scaled::{LogProduct, stays_in_range};
use crate::numeric::aligned::Aligned;
use crate::numeric::{self, LANES};
use pulp::Simd;

/// Sentences that need more memory, in doubles, go one by one.
const MOST: usize = 1 << 23;

/// Up to eight sentences: their scores, and after inference their marginals; and what has been counted in all so far.
#[derive(Default)]
pub struct Abreast {
    lengths: [usize; LANES],
    /// Where the rows of each sentence start.
    starts: [usize; LANES],
    /// Tokens of the longest sentence.
    tokens: usize,
    /// Sentence behind sentence, tokens x width log potentials of the states, and after `backward` the marginals times the
    /// factor given; then a row of zeros for what lies beyond the end of a sentence. Padding is 0.
    rows: Aligned,
    /// tokens x width x lanes potentials.
    potentials: Aligned,
    /// (steps + 1) x nodes x lanes forward variables.
    alpha: Aligned,
    /// (steps + 1) x lanes sums of alpha; 1 beyond the end of a sentence.
    totals: Aligned,
    /// Nodes x lanes: beta times potentials of the step behind, and of this one.
    behind: Aligned,
    incoming: Aligned,
    /// groups x lanes: sums that nodes share.
    bases: Aligned,
    next: Aligned,
    /// Nodes x lanes: sums over lists; 0 where there is none.
    sums: Aligned,
    /// Width x lanes: marginals of a token.
    marginals: Aligned,
    /// Counts of links by their places in `out`, x lanes, in units of exp(score).
    counts: Aligned,
    /// In second order, nodes x lanes counts.
    nodes: Aligned,
}

/// Eight lanes in as many registers as it takes.
#[derive(Clone, Copy)]
struct Lanes<S, const N: usize>(S);

impl<S: Simd, const N: usize> Lanes<S, N> {
    #[inline(always)]
    fn all(self, x: f64) -> [S::f64s; N] {
        [self.0.splat_f64s(x); N]
    }

    #[inline(always)]
    fn add(self, mut a: [S::f64s; N], b: [S::f64s; N]) -> [S::f64s; N] {
        for n in 0..N {
            a[n] = self.0.add_f64s(a[n], b[n]);
        }
        a
    }

    #[inline(always)]
    fn multiply(self, mut a: [S::f64s; N], b: [S::f64s; N]) -> [S::f64s; N] {
        for n in 0..N {
            a[n] = self.0.mul_f64s(a[n], b[n]);
        }
        a
    }

    #[inline(always)]
    fn divide(self, mut a: [S::f64s; N], b: [S::f64s; N]) -> [S::f64s; N] {
        for n in 0..N {
            a[n] = self.0.div_f64s(a[n], b[n]);
        }
        a
    }

    /// a * b + c
    #[inline(always)]
    fn multiply_add(self, a: [S::f64s; N], b: [S::f64s; N], mut c: [S::f64s; N]) -> [S::f64s; N] {
        for n in 0..N {
            c[n] = self.0.mul_add_e_f64s(a[n], b[n], c[n]);
        }
        c
    }

    #[inline(always)]
    fn of(self, x: &[f64]) -> &[[S::f64s; N]] {
        S::as_simd_f64s(x).0.as_chunks().0
    }

    #[inline(always)]
    fn of_mut(self, x: &mut [f64]) -> &mut [[S::f64s; N]] {
        S::as_mut_simd_f64s(x).0.as_chunks_mut().0
    }

    #[inline(always)]
    fn sum(self, x: &[[S::f64s; N]]) -> [S::f64s; N] {
        let mut sums = [self.all(0.0); 4];
        let (fours, rest) = x.as_chunks::<4>();
        for four in fours {
            for k in 0..4 {
                sums[k] = self.add(sums[k], four[k]);
            }
        }
        let [a, b, c, d] = sums;
        let mut sum = self.add(self.add(a, b), self.add(c, d));
        for &x in rest {
            sum = self.add(sum, x);
        }
        sum
    }

    /// 1 in the lanes whose sentences do not have that token, 0 in the others.
    #[inline(always)]
    fn where_ended(self, lengths: &[usize; LANES], token: usize) -> [S::f64s; N] {
        let mut ended = [0.0; LANES];
        for lane in 0..LANES {
            ended[lane] = if token < lengths[lane] { 0.0 } else { 1.0 };
        }
        self.of(&ended)[0]
    }

    /// The scales in the lanes whose sentences end with that token, 0 in the others.
    #[inline(always)]
    fn where_last(self, lengths: &[usize; LANES], token: usize, scales: &[f64; LANES]) -> [S::f64s; N] {
        let mut last = [0.0; LANES];
        for lane in 0..LANES {
            last[lane] = if token + 1 == lengths[lane] { scales[lane] } else { 0.0 };
        }
        self.of(&last)[0]
    }

    /// Sets the sum of each list to that of its nodes' values, each times its weight.
    #[inline(always)]
    fn linked(self, lists: &Lists, values: &[[S::f64s; N]], sums: &mut [[S::f64s; N]]) {
        assert!(values.len() == lists.n_nodes() && sums.len() == lists.n_nodes());
        for bundle in &lists.bundles {
            let (others, weights, _) = lists.of(bundle);
            let mut totals = [self.all(0.0); BUNDLE];
            for (others, weights) in others.iter().zip(weights) {
                for k in 0..BUNDLE {
                    // SAFETY: lists are of nodes below `n_nodes`, and there are so many values.
                    let value = unsafe { *values.get_unchecked(others[k] as usize) };
                    totals[k] = self.multiply_add(self.all(weights[k]), value, totals[k]);
                }
            }
            for k in 0..BUNDLE {
                sums[bundle.nodes[k] as usize] = totals[k];
            }
        }
    }

    /// The same, and adds to the count of each link its node's alpha times the value.
    #[inline(always)]
    fn linked_and_counted(
        self,
        lists: &Lists,
        values: &[[S::f64s; N]],
        sums: &mut [[S::f64s; N]],
        alpha: &[[S::f64s; N]],
        counts: &mut [[S::f64s; N]],
    ) {
        assert!(values.len() == lists.n_nodes() && sums.len() == lists.n_nodes() && alpha.len() == lists.n_nodes());
        let (counts, _) = counts.as_chunks_mut::<BUNDLE>();
        for bundle in &lists.bundles {
            let (others, weights, range) = lists.of(bundle);
            let mut totals = [self.all(0.0); BUNDLE];
            let mut own = totals;
            for k in 0..BUNDLE {
                own[k] = alpha[bundle.nodes[k] as usize];
            }
            for ((others, weights), counts) in others.iter().zip(weights).zip(&mut counts[range]) {
                for k in 0..BUNDLE {
                    // SAFETY: lists are of nodes below `n_nodes`, and there are so many values.
                    let value = unsafe { *values.get_unchecked(others[k] as usize) };
                    totals[k] = self.multiply_add(self.all(weights[k]), value, totals[k]);
                    counts[k] = self.multiply_add(own[k], value, counts[k]);
                }
            }
            for k in 0..BUNDLE {
                sums[bundle.nodes[k] as usize] = totals[k];
            }
        }
    }
}

impl Abreast {
    /// Starts sentences with all scores 0, in lanes from the first on.
    pub fn begin(&mut self, lengths: impl Iterator<Item = usize>, links: &Links) {
        self.lengths = [0; LANES];
        self.lengths.iter_mut().zip(lengths).for_each(|(mine, length)| *mine = length);
        let mut end = 0;
        for (start, length) in self.starts.iter_mut().zip(self.lengths) {
            *start = end;
            end += length * links.width;
        }
        self.tokens = self.lengths.into_iter().max().unwrap_or(0);
        zero(&mut self.rows, end + links.width);
        self.counts.resize(links.out.n_places() * LANES, 0.0);
    }

    /// The rows of one sentence.
    #[inline(always)]
    pub fn rows(&mut self, lane: usize, links: &Links) -> &mut [f64] {
        &mut self.rows[self.starts[lane]..][..self.lengths[lane] * links.width]
    }

    /// Whether the scores let probabilities stay in range, and the sentences are not too long.
    #[inline(always)]
    pub fn fits<S: Simd>(&self, simd: S, links: &Links) -> bool {
        let most = numeric::max_abs(simd, &self.rows) + links.max_abs;
        stays_in_range(most, links.second_order) && self.tokens * links.n_nodes() * LANES <= MOST
    }

    /// Forward recursion; returns log Z of each sentence.
    #[inline(always)]
    pub fn forward<S: Simd>(&mut self, simd: S, links: &Links) -> [f64; LANES] {
        match (S::F64_LANES, links.second_order) {
            (8, false) => self.forward_in::<S, 1, false>(Lanes(simd), links),
            (8, true) => self.forward_in::<S, 1, true>(Lanes(simd), links),
            (4, false) => self.forward_in::<S, 2, false>(Lanes(simd), links),
            (4, true) => self.forward_in::<S, 2, true>(Lanes(simd), links),
            (2, false) => self.forward_in::<S, 4, false>(Lanes(simd), links),
            (2, true) => self.forward_in::<S, 4, true>(Lanes(simd), links),
            (_, false) => self.forward_in::<S, 8, false>(Lanes(simd), links),
            (_, true) => self.forward_in::<S, 8, true>(Lanes(simd), links),
        }
        let mut products: [LogProduct; LANES] = Default::default();
        for totals in self.totals.as_chunks::<LANES>().0 {
            products.iter_mut().zip(totals).for_each(|(product, &total)| product.multiply(total));
        }
        products.map(|product| product.log())
    }

    /// After `forward`: leaves each sentence's factor * p(y_t = j) in its rows, and counts transitions.
    #[inline(always)]
    pub fn backward<S: Simd>(&mut self, simd: S, links: &Links, factors: [f64; LANES]) {
        match (S::F64_LANES, links.second_order) {
            (8, false) => self.backward_in::<S, 1, false>(Lanes(simd), links, factors),
            (8, true) => self.backward_in::<S, 1, true>(Lanes(simd), links, factors),
            (4, false) => self.backward_in::<S, 2, false>(Lanes(simd), links, factors),
            (4, true) => self.backward_in::<S, 2, true>(Lanes(simd), links, factors),
            (2, false) => self.backward_in::<S, 4, false>(Lanes(simd), links, factors),
            (2, true) => self.backward_in::<S, 4, true>(Lanes(simd), links, factors),
            (_, false) => self.backward_in::<S, 8, false>(Lanes(simd), links, factors),
            (_, true) => self.backward_in::<S, 8, true>(Lanes(simd), links, factors),
        }
    }

    /// Adds what has been counted to the counts, and starts anew.
    pub fn take_counts(&mut self, links: &Links, counts: &mut PairCounts) {
        if !(self.counts.is_empty() && self.nodes.is_empty()) {
            links.add_counts(self.counts.as_chunks().0, self.nodes.as_chunks().0, counts);
        }
        self.counts.clear();
        self.nodes.clear();
    }

    /// Steps of the recursions: tokens, or in second order pairs of tokens.
    fn steps(&self, links: &Links) -> usize {
        self.tokens - usize::from(links.second_order)
    }

    /// Where each sentence's row of a token is.
    #[inline(always)]
    fn places(&self, token: usize, width: usize) -> [usize; LANES] {
        let beyond = self.rows.len() - width;
        let mut places = self.starts;
        for lane in 0..LANES {
            places[lane] += token * width;
            if token >= self.lengths[lane] {
                places[lane] = beyond;
            }
        }
        places
    }

    /// Exponentiates the rows, into lanes; 0 beyond the end of a sentence.
    #[inline(always)]
    fn fill_potentials<S: Simd>(&mut self, simd: S, links: &Links) {
        let beyond = self.rows.len() - links.width;
        numeric::exp_in_place(simd, &mut self.rows[..beyond]);
        self.potentials.resize(self.tokens * links.width * LANES, 0.0);
        let (eights, _) = self.rows.as_chunks::<LANES>();
        for token in 0..self.tokens {
            let places = self.places(token, links.width);
            let (lanes, _) = self.potentials[token * links.width * LANES..].as_chunks_mut::<LANES>();
            for (at, lanes) in lanes[..links.width].chunks_exact_mut(LANES).enumerate() {
                let mut rows = [&eights[at]; LANES];
                for lane in 0..LANES {
                    rows[lane] = &eights[places[lane] / LANES + at];
                }
                lanes.copy_from_slice(&numeric::transpose(simd, rows));
            }
        }
    }

    /// What is before the first step: no alpha, and the sums that the first potentials are multiplied by.
    #[inline(always)]
    fn begin_forward<S: Simd, const N: usize, const SECOND: bool>(&mut self, simd: Lanes<S, N>, links: &Links) {
        let (rows, groups) = (self.steps(links) + 1, if SECOND { links.labels } else { 1 });
        let nodes = links.n_nodes() * LANES;
        self.alpha.resize(rows * nodes, 0.0);
        self.alpha[..nodes].fill(0.0);
        self.totals.resize(rows * LANES, 1.0);
        self.bases.resize(groups * LANES, 1.0);
        self.next.resize(groups * LANES, 0.0);
        zero(&mut self.sums, nodes);
        let (bases, totals) = (simd.of_mut(&mut self.bases), simd.of_mut(&mut self.totals));
        if SECOND {
            bases.copy_from_slice(&simd.of(&self.potentials)[..groups]);
            totals[0] = simd.add(simd.sum(bases), simd.where_ended(&self.lengths, 0));
        } else {
            bases[0] = simd.all(1.0);
            totals[0] = simd.all(1.0);
        }
    }

    #[inline(always)]
    fn forward_in<S: Simd, const N: usize, const SECOND: bool>(&mut self, simd: Lanes<S, N>, links: &Links) {
        self.fill_potentials(simd.0, links);
        self.begin_forward::<S, N, SECOND>(simd, links);
        let (labels, nodes, steps) = (links.labels, links.n_nodes(), self.steps(links));
        let groups = if SECOND { labels } else { 1 };
        let potentials = simd.of(&self.potentials);
        let (alpha, totals) = (simd.of_mut(&mut self.alpha), simd.of_mut(&mut self.totals));
        let (bases, next) = (simd.of_mut(&mut self.bases), simd.of_mut(&mut self.next));
        let sums = simd.of_mut(&mut self.sums);
        let rest = simd.all(links.rest);
        for step in 1..=steps {
            let token = step - usize::from(!SECOND);
            let rescale = simd.divide(simd.all(1.0), totals[step - 1]);
            let (before, row) = alpha[(step - 1) * nodes..(step + 1) * nodes].split_at_mut(nodes);
            let states = &potentials[token * links.width..][..labels];
            next.fill(simd.all(0.0));
            simd.linked(&links.into, before, sums);
            for group in 0..groups {
                let base = simd.multiply(bases[group], rescale);
                for label in 0..labels {
                    let node = group * labels + label;
                    let mut value = simd.multiply(simd.multiply_add(sums[node], rescale, base), states[label]);
                    if SECOND {
                        value = simd.multiply(value, simd.all(links.factors[node]));
                        next[label] = simd.add(next[label], value);
                    }
                    row[node] = value;
                }
            }
            if !SECOND {
                next[0] = simd.sum(row);
            }
            totals[step] = simd.add(simd.sum(next), simd.where_ended(&self.lengths, token));
            for group in 0..groups {
                bases[group] = simd.multiply(rest, next[group]);
            }
        }
    }

    #[inline(always)]
    fn backward_in<S: Simd, const N: usize, const SECOND: bool>(
        &mut self,
        simd: Lanes<S, N>,
        links: &Links,
        factors: [f64; LANES],
    ) {
        let (nodes, lengths) = (links.n_nodes() * LANES, self.lengths);
        // With a sum of factor / Z behind the last token the marginals come out multiplied by the factor.
        let scales: [f64; LANES] = std::array::from_fn(|lane| match lengths[lane] {
            0 => 0.0,
            length => factors[lane] / self.totals[(length - usize::from(SECOND)) * LANES + lane],
        });
        for buffer in [&mut self.behind, &mut self.incoming, &mut self.sums] {
            zero(buffer, nodes);
        }
        zero(&mut self.marginals, links.width * LANES);
        self.bases.fill(0.0);
        if SECOND {
            self.nodes.resize(nodes, 0.0);
        }
        for step in (1..=self.steps(links)).rev() {
            let token = step - usize::from(!SECOND);
            let ends = simd.where_last(&lengths, token, &scales);
            self.step_back::<S, N, SECOND>(simd, links, step, ends);
            self.put_marginals(simd.0, token, links.width);
        }
        if SECOND {
            let ends = simd.where_last(&lengths, 0, &scales);
            let factors = simd.of(&self.bases).iter().zip(simd.of(&self.potentials));
            for (marginal, (&base, &potential)) in simd.of_mut(&mut self.marginals).iter_mut().zip(factors) {
                *marginal = simd.multiply(potential, simd.add(base, ends));
            }
            self.put_marginals(simd.0, 0, links.width);
        }
    }

    /// From the step behind to this one: marginals, counts, and beta times potentials. `ends` is the sum behind the sentences
    /// that end here.
    #[inline(always)]
    fn step_back<S: Simd, const N: usize, const SECOND: bool>(
        &mut self,
        simd: Lanes<S, N>,
        links: &Links,
        step: usize,
        ends: [S::f64s; N],
    ) {
        let (labels, nodes, token) = (links.labels, links.n_nodes(), step - usize::from(!SECOND));
        let potentials = &simd.of(&self.potentials)[token * links.width..][..labels];
        let alpha = &simd.of(&self.alpha)[step * nodes..][..nodes];
        let rescale = simd.divide(simd.all(1.0), simd.of(&self.totals)[step - 1]);
        let (bases, next) = (simd.of_mut(&mut self.bases), simd.of_mut(&mut self.next));
        for base in &mut *bases {
            *base = simd.multiply_add(simd.all(links.rest), *base, ends);
        }
        let (incoming, behind) = (simd.of_mut(&mut self.incoming), simd.of(&self.behind));
        let (sums, counts) = (simd.of_mut(&mut self.sums), simd.of_mut(&mut self.nodes));
        simd.linked_and_counted(&links.out, behind, sums, alpha, simd.of_mut(&mut self.counts));
        let marginals = simd.of_mut(&mut self.marginals);
        if SECOND {
            marginals.fill(simd.all(0.0));
        }
        for (group, next) in next.iter_mut().enumerate() {
            let mut total = simd.all(0.0);
            for label in 0..labels {
                let node = group * labels + label;
                let beta = simd.add(sums[node], bases[if SECOND { label } else { 0 }]);
                let marginal = simd.multiply(alpha[node], beta);
                let mut onward = simd.multiply(simd.multiply(potentials[label], rescale), beta);
                if SECOND {
                    onward = simd.multiply(onward, simd.all(links.factors[node]));
                    marginals[label] = simd.add(marginals[label], marginal);
                    counts[node] = simd.add(counts[node], marginal);
                } else {
                    marginals[label] = marginal;
                }
                incoming[node] = onward;
                total = simd.add(total, onward);
            }
            *next = total;
        }
        std::mem::swap(&mut self.bases, &mut self.next);
        std::mem::swap(&mut self.behind, &mut self.incoming);
    }

    /// From lanes into the rows of a token.
    #[inline(always)]
    fn put_marginals<S: Simd>(&mut self, simd: S, token: usize, width: usize) {
        let places = self.places(token, width);
        let (eights, _) = self.rows.as_chunks_mut::<LANES>();
        for (at, lanes) in self.marginals.as_chunks::<LANES>().0.as_chunks::<LANES>().0.iter().enumerate() {
            let rows = numeric::transpose(simd, lanes.each_ref());
            for lane in 0..LANES {
                eights[places[lane] / LANES + at] = rows[lane];
            }
        }
    }
}

/// So many zeros.
#[inline(always)]
fn zero(buffer: &mut Aligned, len: usize) {
    buffer.resize(len, 0.0);
    buffer.fill(0.0);
}

#[cfg(test)]
mod tests;
