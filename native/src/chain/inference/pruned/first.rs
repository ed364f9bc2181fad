//! The recursion over slots, in first order.

use crate::chain::inference::lanes::Lanes;
use crate::chain::inference::pruned::links::{LinkCounts, LinkFactors, count, look_up, places, wide};
use crate::chain::inference::pruned::{Pieces, PrunedLattice};
use crate::numeric::LANES;
use pulp::Simd;

impl PrunedLattice {
    #[inline(always)]
    pub(super) fn first_order<S: Simd, const N: usize>(
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
                    let by_lane = look_up(&factors.pairs, places(size, wide(&labels[start + i]), to));
                    let factor = simd.of(&by_lane)[0];
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
                let (from, alpha_from) = (wide(&labels[start + i]), alpha[start + i]);
                let mut sum = simd.all(0.0);
                for j in 0..now {
                    sum = simd.multiply_add(links[link + j * before + i], incoming[j], sum);
                    let product = simd.multiply(alpha_from, incoming[j]);
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
}
