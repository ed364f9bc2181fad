//! The recursion over pairs of slots of neighbouring tokens, in second order.

use crate::chain::inference::lanes::Lanes;
use crate::chain::inference::pruned::links::{LinkCounts, LinkFactors, count, look_up, places, wide};
use crate::chain::inference::pruned::{Pieces, PrunedLattice};
use crate::numeric::LANES;
use pulp::Simd;

impl PrunedLattice {
    #[inline(always)]
    pub(super) fn second_order<S: Simd, const N: usize>(
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
                let by_lane = look_up(&factors.pairs, places(size, wide(&i_labels[i]), &j_labels[j]));
                let potential = simd.multiply(simd.multiply(states[now + j], rescale), simd.of(&by_lane)[0]);
                let mut sum = simd.all(0.0);
                for (h, h_labels) in h_labels.iter().enumerate() {
                    let pair = places(size, wide(h_labels), &i_labels[i]);
                    let by_lane = look_up(&factors.triples, places(size, pair, &j_labels[j]));
                    links[link] = simd.of(&by_lane)[0];
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
