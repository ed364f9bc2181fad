//! Forward-backward over eight sentences abreast, one in each lane.
//!
//! The recursion of a single sentence waits at every token for a product of a vector and a whole matrix. Sentences do not wait
//! for each other. Since a lane holds a sentence and not a label, a sum over labels can leave labels out: the recursions go
//! through the transitions with features alone (`Links`), in first order and in second. Probabilities are rescaled as in
//! `scaled`, by 1 / sum(alpha_{t-1}).
//!
//! With psi_t(y) for the potentials of token t, in second order times exp of the transition score of the node's pair of labels,
//! w(x, y) for the weight of a link, and s for `Links::rest`:
//!
//! alpha_t(y) = psi_t(y) r_t (s sum over x of alpha_{t-1}(x) + sum over links (x, y) of alpha_{t-1}(x) w(x, y))
//! beta_{t-1}(x) = s sum over y of in_t(y) + sum over links (x, y) of w(x, y) in_t(y), where in_t(y) = psi_t(y) r_t beta_t(y)
//!
//! In second order the sum over x runs over the pairs that end with the first label of y, and the sum over y over the pairs
//! that begin with the last label of x. Before the first token alpha is 0 and its sum is taken as 1; after the last token `in`
//! is 0 and its sum is taken as factor / Z. Beyond the end of a sentence its potentials are 0, and so is its alpha: sentences
//! of different lengths run together without a test for the end.
//!
//! The pairs of labels in triples with features (`Pairs`) differ from others with the same second label; see `pairs`.
//!
//! Over 400 lines: the parts of this one recursion share its buffers.

use crate::chain::inference::abreast::pairs::{PairBuffers, Step};
use crate::chain::inference::centring;
use crate::chain::inference::counts::PairCounts;
use crate::chain::inference::lanes::{Lanes, in_registers};
use crate::chain::inference::links::{Apart, BUNDLE, BundleLinks, BundledLists, LinkSums, Links};
use crate::chain::inference::mask::Mask;
use crate::chain::inference::scaled::{LogProduct, stays_in_range};
use crate::numeric::aligned::Aligned;
use crate::numeric::{self, LANES};
use pulp::Simd;

/// The most doubles that alpha may take; longer sentences go one by one.
const MOST: usize = 1 << 23;

/// Up to eight sentences with their scores, after inference their marginals, and the counts of all sentences since `take_counts`.
#[derive(Default)]
pub struct Abreast {
    lengths: [usize; LANES],
    /// Where the rows of each sentence start in `rows`.
    starts: [usize; LANES],
    /// Tokens of the longest sentence.
    tokens: usize,
    /// Labels that tokens may not have; the places are in `rows`.
    mask: Mask,
    /// Sentence after sentence, tokens x width log potentials of the states, and after `backward` the marginals times the factor
    /// given. The last row is zeros: tokens beyond the end of a sentence are read from it. Padding is 0.
    rows: Aligned,
    /// tokens x width x lanes potentials.
    potentials: Aligned,
    /// (steps + 1) x nodes x lanes forward variables.
    alpha: Aligned,
    /// (steps + 1) x lanes sums of alpha; 1 beyond the end of a sentence.
    totals: Aligned,
    /// Nodes x lanes: beta times potentials of the step after the current one.
    behind: Aligned,
    /// Nodes x lanes: beta times potentials of the current step.
    incoming: Aligned,
    /// Groups x lanes: the part of the sum over x, or over y, that the links leave out; all nodes of a group share it.
    bases: Aligned,
    /// `bases` of the next step.
    next: Aligned,
    /// Nodes x lanes: the sum over each node's list of links; 0 for a node without links.
    sums: Aligned,
    /// Width x lanes: marginals of a token.
    marginals: Aligned,
    counts: LinkSums,
    /// `counts` of sentences whose scores were centred.
    centred_counts: LinkSums,
    /// Counts of the eight sentences that are centred now, which may not be right.
    doubtful_counts: LinkSums,
    /// The sentences whose sums of forward variables keep their digits.
    are_usable: [bool; LANES],
    pairs: PairBuffers,
}

/// The operations of these recursions.
impl<S: Simd, const N: usize> Lanes<S, N> {
    /// The lesser of `least` and what a forward variable is above its least value, `ratio` times its potential.
    #[inline(always)]
    fn least(self, mut least: [S::f64s; N], alpha: [S::f64s; N], potential: [S::f64s; N], ratio: f64) -> [S::f64s; N] {
        let above = self.multiply_add(self.all(-ratio), potential, alpha);
        for n in 0..N {
            least[n] = self.0.min_f64s(least[n], above[n]);
        }
        least
    }

    /// Whether no lane is negative.
    #[inline(always)]
    fn is_positive(self, lanes: [S::f64s; N]) -> bool {
        let lanes: &[f64] = pulp::bytemuck::cast_slice(&lanes);
        lanes.iter().all(|&lane| lane >= 0.0)
    }

    /// 1 in the lanes whose sentences end before the token, 0 in the others.
    #[inline(always)]
    fn where_ended(self, lengths: &[usize; LANES], token: usize) -> [S::f64s; N] {
        let mut ended = [0.0; LANES];
        for lane in 0..LANES {
            ended[lane] = if token < lengths[lane] { 0.0 } else { 1.0 };
        }
        self.of(&ended)[0]
    }

    /// The scale of each lane whose sentence ends with the token, another number in the others.
    #[inline(always)]
    fn where_last(
        self,
        lengths: &[usize; LANES],
        token: usize,
        scales: &[f64; LANES],
        others: &[f64; LANES],
    ) -> [S::f64s; N] {
        let mut last = *others;
        for lane in 0..LANES {
            if token + 1 == lengths[lane] {
                last[lane] = scales[lane];
            }
        }
        self.of(&last)[0]
    }

    /// Sets the sum of each node's list: over its links, weight * the value of the link's other node.
    #[inline(always)]
    fn sum_lists<const SHARED: bool>(self, lists: &BundledLists, values: &[[S::f64s; N]], sums: &mut [[S::f64s; N]]) {
        assert!(values.len() == lists.n_nodes() && sums.len() == lists.n_nodes());
        for bundle in &lists.bundles {
            let BundleLinks { others, weights, .. } = lists.links_of(bundle);
            let rows = others.iter().zip(weights).map(|row| (row, ()));
            let totals = self.bundle_sums::<SHARED, _>(rows, values, |_, _, _| ());
            for k in 0..BUNDLE {
                sums[bundle.nodes[k] as usize] = totals[k];
            }
        }
    }

    /// Adds the links in `apart` to the sums of nodes: of the links into nodes, or out of them.
    #[inline(always)]
    fn add_apart<const OUT: bool>(self, links: &Links, values: &[[S::f64s; N]], sums: &mut [[S::f64s; N]]) {
        for apart in &links.apart {
            let (near, far) = if OUT { (&apart.from, &apart.to) } else { (&apart.to, &apart.from) };
            let mut total = self.all(0.0);
            for &node in far {
                total = self.add(total, values[node as usize]);
            }
            total = self.multiply(self.all(links.unlisted), total);
            for &node in near {
                sums[node as usize] = self.add(sums[node as usize], total);
            }
        }
    }

    /// `sum_lists`, and adds alpha(node) * value(other node) to the count of each link.
    #[inline(always)]
    fn sum_lists_and_count<const SHARED: bool>(
        self,
        lists: &BundledLists,
        values: &[[S::f64s; N]],
        sums: &mut [[S::f64s; N]],
        alpha: &[[S::f64s; N]],
        counts: &mut [[S::f64s; N]],
    ) {
        assert!(values.len() == lists.n_nodes() && sums.len() == lists.n_nodes() && alpha.len() == lists.n_nodes());
        let (counts, _) = counts.as_chunks_mut::<BUNDLE>();
        for bundle in &lists.bundles {
            let BundleLinks { others, weights, range } = lists.links_of(bundle);
            let mut alphas = [self.all(0.0); BUNDLE];
            for k in 0..BUNDLE {
                alphas[k] = alpha[bundle.nodes[k] as usize];
            }
            let rows = others.iter().zip(weights).zip(&mut counts[range]);
            let count = |counts: &mut &mut [[S::f64s; N]; BUNDLE], k: usize, value: [S::f64s; N]| {
                counts[k] = self.multiply_add(alphas[k], value, counts[k]);
            };
            let totals = self.bundle_sums::<SHARED, _>(rows, values, count);
            for k in 0..BUNDLE {
                sums[bundle.nodes[k] as usize] = totals[k];
            }
        }
    }

    /// The sums of a bundle's lists: over the rows of links, weight * the value of the link's other node. `on_link` gets every
    /// value, the entry paired with its row, and its place in the bundle. With `SHARED`, which `BundledLists::are_shared`
    /// allows, a row's links are read once.
    #[inline(always)]
    fn bundle_sums<'a, const SHARED: bool, T>(
        self,
        rows: impl Iterator<Item = ((&'a [u32; BUNDLE], &'a [f64; BUNDLE]), T)>,
        values: &[[S::f64s; N]],
        on_link: impl Fn(&mut T, usize, [S::f64s; N]),
    ) -> [[S::f64s; N]; BUNDLE] {
        let mut totals = [self.all(0.0); BUNDLE];
        for ((others, weights), mut beside) in rows {
            for k in 0..BUNDLE {
                // SAFETY: the lists' nodes are below `n_nodes`, and the callers check that there are as many values.
                let value = unsafe { *values.get_unchecked(others[if SHARED { 0 } else { k }] as usize) };
                totals[k] = self.multiply_add(self.all(weights[k]), value, totals[k]);
                on_link(&mut beside, k, value);
            }
        }
        totals
    }
}

impl Abreast {
    /// Starts sentences of these lengths, eight at most, with all scores 0.
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
        self.mask.clear();
        self.counts.resize(links);
    }

    /// The scores of one sentence, tokens x width; after `backward` its marginals.
    #[inline(always)]
    pub fn rows(&mut self, lane: usize, links: &Links) -> &mut [f64] {
        &mut self.rows[self.starts[lane]..][..self.lengths[lane] * links.width]
    }

    /// Forbids labels of a token of a sentence: labels with 0 in `row`, which has 1 for the others.
    #[inline(always)]
    pub fn forbid(&mut self, lane: usize, token: usize, row: &[f64]) {
        self.mask.push(self.starts[lane] + token * row.len(), row);
    }

    /// Whether scaled probabilities stay within the range of a double, and alpha within `MOST`.
    #[inline(always)]
    pub fn fits<S: Simd>(&mut self, simd: S, links: &Links) -> bool {
        self.mask.multiply(simd, &mut self.rows);
        let most = numeric::max_abs(simd, &self.rows) + links.max_abs;
        let in_range = match links.centred {
            None => stays_in_range(most, links.second_order || links.pairs.is_some()),
            Some(_) => most <= centring::MOST,
        };
        let variables = links.n_nodes() + links.pairs.as_ref().map_or(0, |pairs| pairs.labels.len());
        links.are_few && in_range && self.tokens * variables * LANES <= MOST
    }

    /// Forward recursion; returns log Z of each sentence, or None if a number leaves the range of a double.
    #[inline(always)]
    pub fn forward<S: Simd>(&mut self, simd: S, links: &Links) -> Option<[f64; LANES]> {
        let off = self.centre(simd, links);
        let in_range = if links.second_order {
            in_registers!(S, N => self.forward_in::<S, N, true>(Lanes(simd), links))
        } else {
            in_registers!(S, N => self.forward_in::<S, N, false>(Lanes(simd), links))
        };
        if !in_range {
            return None;
        }
        self.are_usable = [true; LANES];
        if links.centred.is_some() {
            for (lane, &total) in self.totals.iter().enumerate() {
                self.are_usable[lane % LANES] &= total >= centring::LEAST_TOTAL && total.is_finite();
            }
        }
        let mut products: [LogProduct; LANES] = Default::default();
        for totals in self.totals.as_chunks::<LANES>().0 {
            products.iter_mut().zip(totals).for_each(|(product, &total)| product.multiply(total));
        }
        let mut log_z = LogProduct::logs(simd, &products);
        log_z.iter_mut().zip(off).for_each(|(log_z, off)| *log_z += off);
        Some(log_z)
    }

    /// After `forward`: leaves factor * p(y_t = j) of each sentence in its rows, and counts transitions and triples. Returns which
    /// sentences' scores could be centred. The others are not counted; their log Z and their rows mean nothing.
    #[inline(always)]
    pub fn backward<S: Simd>(&mut self, simd: S, links: &Links, factors: [f64; LANES]) -> [bool; LANES] {
        if links.centred.is_none() {
            self.backward_once(simd, links, factors);
            return [true; LANES];
        }
        self.swap_counts();
        self.counts.all().into_iter().for_each(|sums| sums.clear());
        self.counts.resize(links);
        let lost = self.backward_once(simd, links, factors);
        self.swap_counts();
        let are_right: [bool; LANES] =
            std::array::from_fn(|lane| self.are_usable[lane] && lost[lane] <= centring::BELIEVED * factors[lane].abs());
        self.keep_counts(simd, are_right);
        are_right
    }

    /// The backward recursion; if scores are centred, returns |factor| times a bound on the loss of each sentence.
    #[inline(always)]
    fn backward_once<S: Simd>(&mut self, simd: S, links: &Links, factors: [f64; LANES]) -> [f64; LANES] {
        if links.second_order {
            in_registers!(S, N => self.backward_in::<S, N, true>(Lanes(simd), links, factors))
        } else {
            in_registers!(S, N => self.backward_in::<S, N, false>(Lanes(simd), links, factors))
        }
    }

    /// Adds the counts of all sentences since the last call to `counts`; `centred` are the links of sentences with centred scores.
    pub fn take_counts(&mut self, links: &Links, centred: Option<&Links>, counts: &mut PairCounts) {
        if !self.counts.is_empty() {
            links.add_counts(&self.counts, counts);
        }
        if let Some(centred) = centred.filter(|_| !self.centred_counts.is_empty()) {
            centred.add_counts(&self.centred_counts, counts);
        }
        for sums in self.counts.all().into_iter().chain(self.centred_counts.all()) {
            sums.clear();
        }
    }

    /// The number of steps of the recursions: tokens, or in second order pairs of neighbouring tokens.
    fn steps(&self, links: &Links) -> usize {
        self.tokens - usize::from(links.second_order)
    }

    /// Where the row of a token starts, for each sentence; the row of zeros beyond its end.
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

    /// Writes exp(rows) to `potentials`, a sentence a lane; 0 beyond the end of a sentence.
    #[inline(always)]
    fn fill_potentials<S: Simd>(&mut self, simd: S, links: &Links) {
        let beyond = self.rows.len() - links.width;
        numeric::exp_in_place(simd, &mut self.rows[..beyond]);
        self.mask.multiply(simd, &mut self.rows);
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

    /// Sets alpha before the first step to 0, and `bases` to the sums that the first step multiplies its potentials by.
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
        self.pairs.begin(links, rows);
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
    fn forward_in<S: Simd, const N: usize, const SECOND: bool>(&mut self, simd: Lanes<S, N>, links: &Links) -> bool {
        self.fill_potentials(simd.0, links);
        self.begin_forward::<S, N, SECOND>(simd, links);
        let (labels, nodes, steps) = (links.labels, links.n_nodes(), self.steps(links));
        let groups = if SECOND { labels } else { 1 };
        let potentials = simd.of(&self.potentials);
        let (alpha, totals) = (simd.of_mut(&mut self.alpha), simd.of_mut(&mut self.totals));
        let (bases, next) = (simd.of_mut(&mut self.bases), simd.of_mut(&mut self.next));
        let sums = simd.of_mut(&mut self.sums);
        let unlisted = simd.all(links.unlisted);
        let some_alone = !SECOND && (links.centred.is_some() || links.constrained);
        let mut least = simd.all(1.0);
        for step in 1..=steps {
            let token = step - usize::from(!SECOND);
            let rescale = simd.divide(simd.all(1.0), totals[step - 1]);
            let (before, row) = alpha[(step - 1) * nodes..(step + 1) * nodes].split_at_mut(nodes);
            let states = &potentials[token * links.width..][..labels];
            next.fill(simd.all(0.0));
            if links.adds_to_lists() {
                sums.fill(simd.all(0.0));
            }
            if !SECOND && links.into.are_shared {
                simd.sum_lists::<true>(&links.into, before, sums);
            } else {
                simd.sum_lists::<false>(&links.into, before, sums);
            }
            if SECOND {
                simd.add_apart::<false>(links, before, sums);
            } else if let Some(pairs) = &links.pairs {
                self.pairs.step_forward(simd, pairs, Step { number: step, states, rescale }, before, sums);
            }
            for group in 0..groups {
                let base = simd.multiply(bases[group], rescale);
                for label in 0..labels {
                    let node = group * labels + label;
                    // A label that can follow each other label never vanishes. Each can follow the edge of the sentence.
                    let is_alone = some_alone && links.unlisted_into[node] == 0.0;
                    let can_vanish = links.constrained && (SECOND || is_alone);
                    let base = if is_alone && step > 1 { simd.all(0.0) } else { base };
                    let mut value = simd.multiply(simd.multiply_add(sums[node], rescale, base), states[label]);
                    let mut potential = states[label];
                    if SECOND {
                        let factor = simd.all(links.factors[node]);
                        value = simd.multiply(value, factor);
                        next[label] = simd.add(next[label], value);
                        if can_vanish {
                            potential = simd.multiply(potential, factor);
                            potential = simd.multiply(potential, potentials[(token - 1) * links.width + group]);
                        }
                    }
                    if can_vanish {
                        least = simd.least(least, value, potential, links.least);
                    }
                    row[node] = value;
                }
            }
            for Apart { to, factors, .. } in links.apart.iter().filter(|_| SECOND) {
                for (&node, &factor) in to.iter().zip(factors) {
                    let (node, label) = (node as usize, node as usize % labels);
                    let base = if step > 1 { simd.all(0.0) } else { simd.multiply(bases[node / labels], rescale) };
                    let value = simd.multiply(simd.multiply_add(sums[node], rescale, base), states[label]);
                    row[node] = simd.multiply(value, simd.all(factor));
                    next[label] = simd.add(next[label], row[node]);
                }
            }
            if !SECOND {
                next[0] = simd.sum(row);
            }
            totals[step] = simd.add(simd.sum(next), simd.where_ended(&self.lengths, token));
            for group in 0..groups {
                bases[group] = simd.multiply(unlisted, next[group]);
            }
        }
        simd.is_positive(least)
    }

    #[inline(always)]
    fn backward_in<S: Simd, const N: usize, const SECOND: bool>(
        &mut self,
        simd: Lanes<S, N>,
        links: &Links,
        factors: [f64; LANES],
    ) -> [f64; LANES] {
        let (nodes, lengths) = (links.n_nodes() * LANES, self.lengths);
        // The sum after the last token is factor / Z: marginals then come out multiplied by the factor.
        let scales: [f64; LANES] = std::array::from_fn(|lane| match lengths[lane] {
            0 => 0.0,
            length => factors[lane] / self.totals[(length - usize::from(SECOND)) * LANES + lane],
        });
        for buffer in [&mut self.behind, &mut self.incoming, &mut self.sums] {
            zero(buffer, nodes);
        }
        self.pairs.begin_backward();
        zero(&mut self.marginals, links.width * LANES);
        self.bases.fill(0.0);
        let others = match links.centred {
            None => [0.0; LANES],
            Some(_) => factors.map(|factor| centring::LEAST_BACKWARD.copysign(factor)),
        };
        let (mut behind, mut lost) = (simd.all(0.0), simd.all(0.0));
        for step in (1..=self.steps(links)).rev() {
            let token = step - usize::from(!SECOND);
            let ends = simd.where_last(&lengths, token, &scales, &others);
            self.step_back::<S, N, SECOND>(simd, links, step, ends);
            self.note_lost::<S, N, SECOND>(simd, links, step, ends, &mut behind, &mut lost);
            self.put_marginals(simd.0, token, links.width);
        }
        if SECOND {
            let ends = simd.where_last(&lengths, 0, &scales, &others);
            let factors = simd.of(&self.bases).iter().zip(simd.of(&self.potentials));
            for (marginal, (&base, &potential)) in simd.of_mut(&mut self.marginals).iter_mut().zip(factors) {
                *marginal = simd.multiply(potential, simd.add(base, ends));
            }
            if links.centred.is_some() {
                self.note_lost_states(simd, links, 0, &mut lost);
            }
            self.put_marginals(simd.0, 0, links.width);
        }
        *simd.array(&lost)
    }

    /// Goes from the next step back to this one: computes marginals, counts, and beta times potentials. `ends` is factor / Z in the
    /// lanes whose sentences end here.
    #[inline(always)]
    fn step_back<S: Simd, const N: usize, const SECOND: bool>(
        &mut self,
        simd: Lanes<S, N>,
        links: &Links,
        step: usize,
        ends: [S::f64s; N],
    ) {
        if links.adds_to_lists() {
            self.sums.fill(0.0);
        }
        let (labels, nodes, token) = (links.labels, links.n_nodes(), step - usize::from(!SECOND));
        let potentials = &simd.of(&self.potentials)[token * links.width..][..labels];
        let alpha = &simd.of(&self.alpha)[step * nodes..][..nodes];
        let rescale = simd.divide(simd.all(1.0), simd.of(&self.totals)[step - 1]);
        let (bases, next) = (simd.of_mut(&mut self.bases), simd.of_mut(&mut self.next));
        for base in &mut *bases {
            *base = simd.multiply_add(simd.all(links.unlisted), *base, ends);
        }
        let (incoming, behind) = (simd.of_mut(&mut self.incoming), simd.of(&self.behind));
        let (sums, counts) = (simd.of_mut(&mut self.sums), simd.of_mut(&mut self.counts.pairs));
        let links_counts = simd.of_mut(&mut self.counts.links);
        if !SECOND && links.out.are_shared {
            simd.sum_lists_and_count::<true>(&links.out, behind, sums, alpha, links_counts);
        } else {
            simd.sum_lists_and_count::<false>(&links.out, behind, sums, alpha, links_counts);
        }
        if SECOND {
            simd.add_apart::<true>(links, behind, sums);
        } else if let Some(pairs) = &links.pairs {
            self.pairs.begin_step_back(simd, pairs, step, &mut self.counts.triples, sums);
        }
        let with_pairs = !SECOND && links.pairs.is_some();
        let marginals = simd.of_mut(&mut self.marginals);
        if SECOND {
            marginals.fill(simd.all(0.0));
        }
        for (group, next) in next.iter_mut().enumerate() {
            let mut total = simd.all(0.0);
            for label in 0..labels {
                let node = group * labels + label;
                let beta = simd.add(sums[node], bases[if SECOND { label } else { 0 }]);
                if with_pairs {
                    sums[node] = beta;
                }
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
                total = if SECOND {
                    simd.add(total, onward)
                } else {
                    simd.multiply_add(simd.all(links.unlisted_into[node]), onward, total)
                };
            }
            *next = total;
        }
        if let Some(pairs) = links.pairs.as_ref().filter(|_| !SECOND) {
            let this = Step { number: step, states: potentials, rescale };
            self.pairs.end_step_back(simd, pairs, this, sums, marginals, counts);
        }
        for Apart { to, factors, .. } in links.apart.iter().filter(|_| SECOND) {
            for (&node, &factor) in to.iter().zip(factors) {
                let (node, group, label) = (node as usize, node as usize / labels, node as usize % labels);
                let beta = simd.add(sums[node], bases[label]);
                let onward = simd.multiply(simd.multiply(potentials[label], rescale), beta);
                incoming[node] = simd.multiply(onward, simd.all(factor));
                // The first step's sums are the sums of the first token's states.
                if step == 1 {
                    next[group] = simd.add(next[group], incoming[node]);
                }
            }
        }
        std::mem::swap(&mut self.bases, &mut self.next);
        std::mem::swap(&mut self.behind, &mut self.incoming);
    }

    /// Copies `marginals` from lanes into the rows of a token.
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

#[inline(always)]
fn zero(buffer: &mut Aligned, len: usize) {
    buffer.resize(len, 0.0);
    buffer.fill(0.0);
}

mod centred;
mod pairs;
