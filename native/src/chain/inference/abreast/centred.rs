//! Sentences abreast with centred scores: centring, and a bound on what is lost. See `centring`.

use crate::chain::inference::abreast::Abreast;
use crate::chain::inference::centring::FLOOR;
use crate::chain::inference::lanes::Lanes;
use crate::chain::inference::links::Links;
use crate::numeric::{self, LANES};
use pulp::Simd;

impl<S: Simd, const N: usize> Lanes<S, N> {
    /// |x|
    #[inline(always)]
    fn absolute(self, x: [S::f64s; N]) -> [S::f64s; N] {
        self.max(x, self.subtract(self.all(0.0), x))
    }
}

impl Abreast {
    /// Centres the scores of each sentence; returns what each log Z is short of then.
    #[inline(always)]
    pub(super) fn centre<S: Simd>(&mut self, simd: S, links: &Links) -> [f64; LANES] {
        let mut off = [0.0; LANES];
        if let Some(centred) = &links.centred {
            self.mask.replace(links.labels, &mut self.rows, f64::NEG_INFINITY);
            let least = FLOOR.ln();
            for lane in 0..LANES {
                let tokens = self.lengths[lane];
                let rows = &mut self.rows[self.starts[lane]..][..tokens * links.width];
                off[lane] = centred.centring.states(simd, rows, least);
                off[lane] += centred.each_triple * tokens.saturating_sub(2) as f64;
            }
        }
        off
    }

    /// After `step_back`: adds what may be lost at the step to `lost`, where scores are centred. Infinity and NaN stay in it.
    /// `ends` is the argument of `step_back`; `behind` is the sum over nodes of |psi_t(y) r_t beta_t(y)| of the next step, and
    /// becomes the sum of this step.
    #[inline(always)]
    pub(super) fn note_lost<S: Simd, const N: usize, const SECOND: bool>(
        &self,
        simd: Lanes<S, N>,
        links: &Links,
        step: usize,
        ends: [S::f64s; N],
        behind: &mut [S::f64s; N],
        lost: &mut [S::f64s; N],
    ) {
        if links.centred.is_none() {
            return;
        }
        // No factor is above 1: beta_t(x) is at most the sum over y of the next step, or the scale at the end of a sentence.
        let most = simd.add(*behind, simd.absolute(ends));
        let beta = simd.multiply(most, simd.all(links.n_nodes() as f64));
        // `step_back` has replaced this step's `incoming` by the next step's.
        let onward = simd.of(&self.behind);
        let mut sums = [simd.all(0.0); 4];
        for rows in onward.chunks(sums.len()) {
            for (sum, &row) in sums.iter_mut().zip(rows) {
                *sum = simd.add(*sum, simd.absolute(row));
            }
        }
        *behind = simd.add(simd.add(sums[0], sums[1]), simd.add(sums[2], sums[3]));
        let mut raised = simd.all(0.0);
        for &node in &links.raised {
            raised = simd.add(raised, simd.absolute(onward[node as usize]));
        }
        // 1e-318, in two factors: beta may be large.
        let digits = simd.multiply(simd.multiply(simd.add(beta, *behind), simd.all(1e-300)), simd.all(1e-18));
        let into = simd.multiply(simd.of(&self.totals)[step - 1], simd.multiply_add(simd.all(FLOOR), *behind, raised));
        *lost = simd.add(*lost, simd.add(into, digits));
        self.note_lost_states(simd, links, step - usize::from(!SECOND), lost);
    }

    /// Adds the marginals of the raised states of a token to `lost`.
    #[inline(always)]
    pub(super) fn note_lost_states<S: Simd, const N: usize>(
        &self,
        simd: Lanes<S, N>,
        links: &Links,
        token: usize,
        lost: &mut [S::f64s; N],
    ) {
        let potentials = &simd.of(&self.potentials)[token * links.width..][..links.labels];
        for (&potential, &marginal) in potentials.iter().zip(simd.of(&self.marginals)) {
            let mut met = simd.absolute(marginal);
            for n in 0..N {
                let is_raised = simd.0.less_than_or_equal_f64s(potential[n], simd.0.splat_f64s(2.0 * FLOOR));
                met[n] = simd.0.select_f64s(is_raised, met[n], simd.0.splat_f64s(0.0));
            }
            *lost = simd.add(*lost, met);
        }
    }

    /// Puts the counts of sentences that may not be right in the place of the counts, or back.
    pub(super) fn swap_counts(&mut self) {
        std::mem::swap(&mut self.counts, &mut self.doubtful_counts);
    }

    /// Adds the counts of sentences that are right to the others.
    #[inline(always)]
    pub(super) fn keep_counts<S: Simd>(&mut self, simd: S, are_right: [bool; LANES]) {
        for (sums, doubtful) in self.centred_counts.all().into_iter().zip(self.doubtful_counts.all()) {
            for lane in (0..LANES).filter(|&lane| !are_right[lane]) {
                doubtful.iter_mut().skip(lane).step_by(LANES).for_each(|count| *count = 0.0);
            }
            sums.resize(doubtful.len(), 0.0);
            numeric::add(simd, sums, doubtful);
        }
    }
}
