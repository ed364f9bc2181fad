//! The choice of the next sample and of the step size by the constants L_i of Schmidt et al. (2015), section 3.

use crate::stochastic::sum_tree::SumTree;

/// How samples are drawn, and with which constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// All samples with the same probability, and one constant L_g for all (Algorithm 1).
    Uniform,
    /// Half of the draws in proportion to L_i, which start at 1 and halve from visit to visit (Schmidt, Le Roux & Bach 2013).
    Nus,
    /// `Nus`, but L_i starts at the mean over the samples seen and shrinks by 0.9 after a visit (section 3, last paragraph).
    NusStar,
}

/// The lower bound of the constants, so that 1 / L is finite.
const SMALLEST: f64 = 1e-30;
/// The most searches in a row that lengthen the pause: after k searches that found L at once it is 2^(k - 1) visits.
const LONGEST_STREAK: u8 = 4;

/// Draws samples and keeps their constants.
pub struct Sampler<'a> {
    sampling: Sampling,
    lambda: f64,
    /// L_g, or L_i of every sample.
    lipschitz: &'a mut [f64],
    seen: &'a mut [bool],
    /// m, the number of samples seen.
    pub m: usize,
    /// L_i of all samples; with `NusStar` 0 for samples not seen.
    tree: SumTree,
    /// Sample -> the number of visits to come without a line search, and the number of searches in a row that found L_i at once.
    /// Empty where every visit searches.
    pauses: &'a mut [[u8; 2]],
    /// With `NusStar` the samples not seen.
    unseen: Vec<u32>,
    /// Sample -> its place in `unseen`, with `NusStar`.
    places: Vec<u32>,
}

/// A sample and the probability with which it was drawn.
#[derive(Clone, Copy)]
pub struct Draw {
    pub sample: usize,
    pub probability: f64,
}

impl<'a> Sampler<'a> {
    /// Continues sampling from the state in the memory's arrays.
    pub fn new(
        sampling: Sampling,
        lambda: f64,
        lipschitz: &'a mut [f64],
        seen: &'a mut [bool],
        pauses: &'a mut [[u8; 2]],
    ) -> Self {
        let star = sampling == Sampling::NusStar;
        let unseen: Vec<u32> = (0..seen.len() as u32).filter(|&i| star && !seen[i as usize]).collect();
        let mut places = vec![0; if star { seen.len() } else { 0 }];
        unseen.iter().enumerate().for_each(|(place, &i)| places[i as usize] = place as u32);
        let estimates = lipschitz.iter().zip(&*seen).map(|(&l, &seen)| if star && !seen { 0.0 } else { l });
        let tree = if sampling == Sampling::Uniform { SumTree::new([].into_iter()) } else { SumTree::new(estimates) };
        Sampler {
            sampling,
            lambda,
            m: seen.iter().filter(|&&seen| seen).count(),
            lipschitz,
            seen,
            pauses,
            tree,
            unseen,
            places,
        }
    }

    /// Draws a sample with two numbers from [0, 1).
    #[inline(always)]
    pub fn draw(&self, [first, second]: [f64; 2]) -> Draw {
        let n = self.seen.len();
        let uniform = 1.0 / n as f64;
        if self.sampling == Sampling::Uniform {
            return Draw { sample: place(second, n), probability: uniform };
        }
        let sample = if first < 0.5 {
            place(second, n)
        } else {
            // A sample not seen counts as much as the mean of the samples seen.
            let unseen = self.unseen.len();
            let (at, seen) = (second * n as f64, (n - unseen) as f64);
            // Rounding may take `at` to n.
            if unseen == 0 || at < seen {
                self.tree.find(at / seen)
            } else {
                self.unseen[place((at - seen) / unseen as f64, unseen)] as usize
            }
        };
        let has_estimate = self.sampling == Sampling::Nus || self.seen[sample];
        let seen = (n - self.unseen.len()) as f64 * uniform;
        let share = if has_estimate { self.tree.get(sample) / self.tree.sum() * seen } else { uniform };
        Draw { sample, probability: 0.5 * uniform + 0.5 * share }
    }

    /// Marks a sample as seen; returns its L, and whether a line search should start from this L.
    ///
    /// With `Nus` L is halved here, and not when the last search was over: sampling and step size then use the constants that
    /// searches have found. With halved constants the step would be twice as long, and the method does not converge.
    #[inline(always)]
    pub fn visit(&mut self, i: usize) -> (f64, bool) {
        let halved = self.sampling == Sampling::Nus && self.seen[i];
        let l = self.see(i);
        if let Some([left, _]) = self.pauses.get_mut(i)
            && *left > 0
        {
            *left -= 1;
            return (l, false);
        }
        (if halved { (0.5 * l).max(SMALLEST) } else { l }, true)
    }

    /// Records that a line search for a sample is over; `at_once` says whether the first L tried was accepted.
    #[inline(always)]
    pub fn searched(&mut self, i: usize, at_once: bool) {
        if let Some([left, streak]) = self.pauses.get_mut(i) {
            *streak = if at_once { (*streak + 1).min(LONGEST_STREAK) } else { 0 };
            *left = if at_once { 1 << (*streak - 1) } else { 0 };
        }
    }

    /// Marks a sample as seen; returns its L.
    #[inline(always)]
    fn see(&mut self, i: usize) -> f64 {
        if !self.seen[i] {
            if self.sampling == Sampling::NusStar {
                self.lipschitz[i] = if self.m == 0 { 1.0 } else { self.tree.sum() / self.m as f64 };
                let place = self.places[i] as usize;
                self.unseen.swap_remove(place);
                if let Some(&moved) = self.unseen.get(place) {
                    self.places[moved as usize] = place as u32;
                }
            }
            self.seen[i] = true;
            self.m += 1;
        }
        self.lipschitz[if self.sampling == Sampling::Uniform { 0 } else { i }]
    }

    /// Records L of a visited sample, as the line search found it; returns the step size alpha.
    #[inline(always)]
    pub fn step_size(&mut self, i: usize, l: f64, searched: bool) -> f64 {
        let lambda = self.lambda;
        let n = self.seen.len() as f64;
        if self.sampling == Sampling::Uniform {
            self.lipschitz[0] = (l * (-1.0 / n).exp2()).max(SMALLEST);
            return 1.0 / (l + lambda);
        }
        self.tree.set(i, l);
        let star = self.sampling == Sampling::NusStar;
        // With `Nus` the samples not seen are in the tree, too, with the constant 1, a guess that the mean leaves out.
        let unknown = if star { 0 } else { self.seen.len() - self.m };
        let mean = (self.tree.sum() - unknown as f64) / self.m as f64;
        let alpha = 0.5 * (1.0 / (self.tree.max() + lambda) + 1.0 / (mean + lambda));
        self.lipschitz[i] = if star && searched { (0.9 * l).max(SMALLEST) } else { l };
        self.tree.set(i, self.lipschitz[i]);
        alpha
    }
}

#[inline(always)]
fn place(share: f64, n: usize) -> usize {
    ((share * n as f64) as usize).min(n - 1)
}
