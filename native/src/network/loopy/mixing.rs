//! How the next messages are made of the present ones and of those that the update gives: damping, and Anderson's acceleration.
//!
//! Let f = log G(m) - log m, where G is the update, and let dX and dF be the last differences of log m and of f. The next
//! messages are
//!
//! ```text
//! log m + b f - sum over k of gamma_k (dX_k + b dF_k),    gamma minimises |f - sum over k of gamma_k dF_k|, b = 1 - damping
//! ```
//!
//! (Anderson 1965; Walker & Ni, SIAM Journal on Numerical Analysis 49 (2011), algorithm AA). Without differences this is damping.
//! Differences are forgotten where |f| has grown to more than twice its least value.

use crate::network::loopy::rule::MessageRule;
use crate::numeric::chunks::{dispatched, lanes};
use std::ops::Range;

/// Iterations without acceleration: where messages settle soon, it would cost more than it saves.
const PLAIN: usize = 8;
/// Differences that a step combines.
const DEPTH: usize = 3;
/// Places of differences: a new one is made while all others are in use.
const PLACES: usize = DEPTH + 1;
/// Growth of |f| at which differences are forgotten.
const GROWTH: f64 = 2.0;
/// What is added to each square of a dF, as a share of the sum of them: it keeps differences that resemble each other apart.
const RIDGE: f64 = 1e-10;

/// Inner products over the messages of a block, or over all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Products {
    /// f . f
    squared: f64,
    /// Place -> dF . f
    on_f: [f64; PLACES],
    /// Place -> dF . newest dF
    on_newest: [f64; PLACES],
}

impl Products {
    /// The sum over blocks, the first block first.
    pub fn total(of_blocks: impl Iterator<Item = Products>) -> Products {
        of_blocks.fold(Products::default(), |mut total, block| {
            total.squared += block.squared;
            for k in 0..PLACES {
                total.on_f[k] += block.on_f[k];
                total.on_newest[k] += block.on_newest[k];
            }
            total
        })
    }
}

/// Which differences there are, and how a step combines them.
#[derive(Clone, Debug)]
pub struct Mixing {
    /// b
    share: f64,
    /// Whether iterations after the first ones are accelerated.
    accelerated: bool,
    /// Whether this iteration is: its step depends on the messages of all blocks.
    pub leaps: bool,
    /// The places of the differences, the oldest first.
    live: Vec<usize>,
    /// gamma of each of them.
    gamma: Vec<f64>,
    /// The place of the difference that the last step has begun; its dF comes with the next update.
    begun: Option<usize>,
    /// Places -> dF . dF
    gram: [[f64; PLACES]; PLACES],
    /// The least |f|^2 since differences were forgotten.
    least: f64,
}

impl Mixing {
    /// Damping, and acceleration if wanted.
    pub fn new(damping: f64, accelerated: bool) -> Self {
        Mixing {
            share: 1.0 - damping,
            accelerated,
            leaps: false,
            live: Vec::new(),
            gamma: Vec::new(),
            begun: None,
            gram: [[0.0; PLACES]; PLACES],
            least: f64::INFINITY,
        }
    }

    /// Begins an iteration; the first is 1.
    pub fn begin(&mut self, iteration: usize) {
        self.leaps = self.accelerated && iteration > PLAIN;
    }

    /// Whether the next messages of an iteration without acceleration differ from what the update gives.
    pub fn damps(&self) -> bool {
        self.share < 1.0
    }

    /// Records the inner products after an update and chooses the combination of the next step.
    pub fn weigh(&mut self, products: &Products) {
        if let Some(newest) = self.begun {
            self.live.push(newest);
            for &place in &self.live {
                (self.gram[place][newest], self.gram[newest][place]) =
                    (products.on_newest[place], products.on_newest[place]);
            }
            if self.live.len() > DEPTH {
                self.live.remove(0);
            }
        }
        if products.squared > GROWTH * GROWTH * self.least {
            self.live.clear();
            self.least = f64::INFINITY;
        }
        self.least = self.least.min(products.squared);
        self.gamma = self.solution(&products.on_f);
        self.begun = (0..PLACES).find(|place| !self.live.contains(place));
    }

    /// gamma, by Cholesky's factors of the Gram matrix. Differences whose matrix has none are forgotten.
    fn solution(&mut self, on_f: &[f64; PLACES]) -> Vec<f64> {
        let n = self.live.len();
        let ridge = RIDGE * self.live.iter().map(|&k| self.gram[k][k]).sum::<f64>();
        let mut factor = [[0.0; DEPTH]; DEPTH];
        let mut gamma = vec![0.0; n];
        for i in 0..n {
            for j in 0..=i {
                let computed: f64 = (0..j).map(|k| factor[i][k] * factor[j][k]).sum();
                let remaining = self.gram[self.live[i]][self.live[j]] - computed;
                factor[i][j] = if i == j { (remaining + ridge).sqrt() } else { remaining / factor[j][j] };
            }
            let computed: f64 = (0..i).map(|k| factor[i][k] * gamma[k]).sum();
            gamma[i] = (on_f[self.live[i]] - computed) / factor[i][i];
        }
        for i in (0..n).rev() {
            let computed: f64 = (i + 1..n).map(|k| factor[k][i] * gamma[k]).sum();
            gamma[i] = (gamma[i] - computed) / factor[i][i];
        }
        if gamma.iter().any(|gamma| !gamma.is_finite()) {
            self.live.clear();
            return Vec::new();
        }
        gamma
    }
}

/// The vectors of a block of messages.
#[derive(Default)]
pub struct Part {
    f: Vec<f64>,
    /// f of the iteration before, or the step.
    other: Vec<f64>,
    /// Place -> dX
    moves: [Vec<f64>; PLACES],
    /// Place -> dF
    changes: [Vec<f64>; PLACES],
}

impl Part {
    /// Records the messages that the update made from the old ones.
    pub fn look<R: MessageRule>(&mut self, rule: &R, mixing: &Mixing, old: &[f64], new: &[f64]) -> Products {
        std::mem::swap(&mut self.f, &mut self.other);
        self.f.resize(old.len(), 0.0);
        rule.log_steps(old, new, &mut self.f);
        let mut products = Products::default();
        if !mixing.leaps {
            return products;
        }
        let (f, other, changes) = (&self.f[..], &self.other[..], &mut self.changes);
        let n = f.len();
        dispatched(
            #[inline(always)]
            || {
                [products.squared] = lanes(n, |k| [f[k] * f[k]]);
                let Some(newest) = mixing.begun else { return };
                let mut newest_change = std::mem::take(&mut changes[newest]);
                newest_change.clear();
                newest_change.extend(f.iter().zip(other).map(|(now, before)| now - before));
                let difference = &newest_change[..n];
                for &place in &mixing.live {
                    let change = &changes[place][..n];
                    [products.on_f[place], products.on_newest[place]] =
                        lanes(n, |k| [change[k] * f[k], change[k] * difference[k]]);
                }
                [products.on_f[newest], products.on_newest[newest]] =
                    lanes(n, |k| [difference[k] * f[k], difference[k] * difference[k]]);
                changes[newest] = newest_change;
            },
        );
        products
    }

    /// Writes the next messages of the block with these entries.
    pub fn step<R: MessageRule>(
        &mut self,
        rule: &R,
        mixing: &Mixing,
        entries: Range<usize>,
        old: &[f64],
        out: &mut [f64],
    ) {
        let Part { f, other: step, moves, changes } = self;
        let share = mixing.share;
        step.resize(f.len(), 0.0);
        dispatched(
            #[inline(always)]
            || {
                step.iter_mut().zip(&*f).for_each(|(step, f)| *step = share * f);
                for (&place, gamma) in mixing.live.iter().zip(&mixing.gamma) {
                    let differences = moves[place].iter().zip(&changes[place]);
                    step.iter_mut().zip(differences).for_each(|(step, (x, f))| *step -= gamma * (x + share * f));
                }
            },
        );
        rule.stepped(entries, old, step, out);
        if let (true, Some(place)) = (mixing.leaps, mixing.begun) {
            moves[place].clone_from(step);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Mixing, PLACES, Products};

    /// Products where all dF are (1, 0) and f is (`f`, 0).
    fn along_one_line(f: f64) -> Products {
        Products { squared: f * f, on_f: [f; PLACES], on_newest: [1.0; PLACES] }
    }

    #[test]
    fn differences_that_resemble_each_other_share_the_step() {
        let mut mixing = Mixing::new(0.1, true);
        for f in [3.0, 2.0, 2.0] {
            mixing.weigh(&along_one_line(f));
        }
        assert_eq!(mixing.live.len(), 2);
        mixing.gamma.iter().for_each(|gamma| assert!((gamma - 1.0).abs() < 1e-6, "{:?}", mixing.gamma));
    }

    #[test]
    fn the_oldest_difference_goes_and_all_go_where_f_has_grown() {
        let mut mixing = Mixing::new(0.1, true);
        let lengths = [3.0, 2.0, 3.9, 3.0, 2.0, 1.0, 1.9, 2.1, 2.0].map(|f| {
            mixing.weigh(&along_one_line(f));
            mixing.live.len()
        });
        assert_eq!(lengths, [0, 1, 2, 3, 3, 3, 3, 0, 1]);
    }
}
