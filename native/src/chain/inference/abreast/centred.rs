//! Sentences abreast with centred scores: centring, and how much raised factors have to say. See `centring`.

use crate::chain::inference::abreast::Abreast;
use crate::chain::inference::lanes::Lanes;
use crate::chain::inference::links::Links;
use crate::numeric::LANES;
use pulp::Simd;

impl<S: Simd, const N: usize> Lanes<S, N> {
    /// The larger of `most` and |x|.
    #[inline(always)]
    fn larger(self, most: [S::f64s; N], x: [S::f64s; N]) -> [S::f64s; N] {
        self.max(most, self.max(x, self.subtract(self.all(0.0), x)))
    }

    /// x where a potential is at most a bound, else 0.
    #[inline(always)]
    fn where_at_most(self, potential: [S::f64s; N], bound: f64, mut x: [S::f64s; N]) -> [S::f64s; N] {
        let (bound, zero) = (self.0.splat_f64s(bound), self.0.splat_f64s(0.0));
        for n in 0..N {
            x[n] = self.0.select_f64s(self.0.less_than_or_equal_f64s(potential[n], bound), x[n], zero);
        }
        x
    }
}

impl Abreast {
    /// Centres the scores of each sentence; returns what each log Z is short of then.
    #[inline(always)]
    pub(super) fn centre<S: Simd>(&mut self, simd: S, links: &Links) -> [f64; LANES] {
        let mut off = [0.0; LANES];
        if let Some(centred) = &links.centred {
            self.mask.replace(links.labels, &mut self.rows, f64::NEG_INFINITY);
            let least = centred.floors.factor.ln();
            for lane in 0..LANES {
                let tokens = self.lengths[lane];
                let rows = &mut self.rows[self.starts[lane]..][..tokens * links.width];
                off[lane] = centred.centring.states(simd, rows, least);
                off[lane] += centred.each_triple * tokens.saturating_sub(2) as f64;
            }
        }
        off
    }

    /// After `step_back`, where scores are centred: raises `largest` to the marginals of raised states of the step's token, and to
    /// bounds on the probabilities of raised links into the step's nodes.
    #[inline(always)]
    pub(super) fn note_raised<S: Simd, const N: usize, const SECOND: bool>(
        &self,
        simd: Lanes<S, N>,
        links: &Links,
        step: usize,
        largest: &mut [S::f64s; N],
    ) {
        let Some(centred) = &links.centred else { return };
        self.note_raised_states(simd, links, step - usize::from(!SECOND), largest);
        if step == 1 && !SECOND {
            return;
        }
        let (floor, mut most, mut most_raised) = (centred.floors.factor, simd.all(0.0), simd.all(0.0));
        for (node, &onward) in simd.of(&self.behind).iter().enumerate() {
            if SECOND && links.factors[node] <= 2.0 * floor {
                most_raised = simd.larger(most_raised, onward);
            } else {
                most = simd.larger(most, onward);
            }
        }
        // UP * floor * psi(y) * beta(y), or UP * psi(y) * beta(y) where psi(y) contains a raised factor.
        let raised = simd.multiply_add(simd.all(floor), most, most_raised);
        *largest = simd.max(*largest, simd.multiply(raised, simd.of(&self.totals)[step - 1]));
    }

    /// Raises `largest` to the marginals of raised states of a token.
    #[inline(always)]
    pub(super) fn note_raised_states<S: Simd, const N: usize>(
        &self,
        simd: Lanes<S, N>,
        links: &Links,
        token: usize,
        largest: &mut [S::f64s; N],
    ) {
        let Some(centred) = &links.centred else { return };
        let potentials = &simd.of(&self.potentials)[token * links.width..][..links.labels];
        for (&potential, &marginal) in potentials.iter().zip(simd.of(&self.marginals)) {
            let marginal = simd.where_at_most(potential, 2.0 * centred.floors.factor, marginal);
            *largest = simd.larger(*largest, marginal);
        }
    }
}
