//! AdaGrad with a proximal step for the L2 penalty (Duchi, Hazan & Singer 2011), one sample an update.
//!
//! Symbols: g_j the sample's gradient of weight j, G_j the sum of g_j^2 so far, alpha_j = eta / (delta + sqrt(G_j)); an update is
//! w_j <- (w_j - alpha_j g_j) / (1 + alpha_j lambda). A weight that the sample does not use is only divided. Its alpha_j stays
//! the same until a sample uses it, and then all divisions it has missed are made at once.

use crate::error::Result;
use crate::stochastic::steps::Rule;
use crate::stochastic::view::{Evaluator, Layout, View, Visited};
use crate::stochastic::visits::{Visitor, visit};
use crate::threads::Interrupt;
use pulp::Simd;

/// Options of a pass.
pub struct Settings<'a> {
    /// lambda: the L2 penalty over the number of samples.
    pub l2: f64,
    /// eta.
    pub rate: f64,
    pub delta: f64,
    /// Number of the sample of each update.
    pub visits: &'a [usize],
}

/// Makes one pass: updates w and the sums of squares in place.
pub fn pass<V: View>(
    view: &V,
    w: &mut [f64],
    squares: &mut [f64],
    settings: &Settings<'_>,
    interrupt: &Interrupt,
) -> Result<()> {
    let (mut zeros, mut steps) = (vec![0.0; view.n_features()], vec![0.0; view.n_features()]);
    let mut pass = Pass {
        inference: view.evaluator(interrupt),
        weights: view.weights(w, &mut steps, 0.0, |w, step| (w, step)),
        // Alpha is 0 in places without a feature.
        gradient: view.weights(&mut zeros, squares, f64::INFINITY, |g, squares| (g, squares)),
        settings,
        step: 0.0,
        rates: Vec::new(),
        changes: Vec::new(),
        powers: Vec::new(),
    };
    visit(&mut pass, view, settings.visits, interrupt)?;
    pass.finish();
    let Pass { weights, gradient, .. } = pass;
    weights.store(|w, step| (w, step));
    gradient.store(|g, squares| (g, squares));
    Ok(())
}

struct Pass<'a, E: Evaluator> {
    inference: E,
    /// w, and for each weight the number of updates it has seen.
    weights: E::Weights,
    /// g, which is 0 between two updates, and G.
    gradient: E::Weights,
    settings: &'a Settings<'a>,
    /// Updates so far.
    step: f64,
    /// alpha of the weights that the sample uses, in the sequence of `Evaluator::touched`.
    rates: Vec<f64>,
    /// alpha g of these weights.
    changes: Vec<f64>,
    /// Powers of 1 / (1 + alpha lambda).
    powers: Vec<f64>,
}

impl<E: Evaluator> Visitor for Pass<'_, E> {
    type Evaluator = E;

    #[inline(always)]
    fn weights(&self) -> &E::Weights {
        &self.weights
    }

    #[inline(always)]
    fn visit<S: Simd>(&mut self, simd: S, _: usize, sample: E::Sample) {
        self.inference.begin(sample);
        if !sample.is_empty() {
            self.catch_up(sample);
            self.inference.evaluate(simd, &self.weights, 1.0, sample);
            self.inference.gradient(simd, sample);
            // `inference` has the gradient of log p: -g.
            self.inference.step(simd, &mut self.gradient, sample, -1.0, Sum);
            self.descend(sample);
        }
        self.step += 1.0;
    }
}

impl<E: Evaluator> Pass<'_, E> {
    /// Makes the divisions that the sample's weights have missed.
    #[inline(always)]
    fn catch_up(&mut self, sample: E::Sample) {
        let Pass { inference, weights, gradient, settings, step, rates, powers, .. } = self;
        rates.clear();
        inference.touched(gradient, sample, |_, squares| rates.extend(squares.iter().map(|&s| settings.alpha(s))));
        let mut at = 0;
        inference.touched(weights, sample, |w, seen| {
            divide(w, &rates[at..at + w.len()], settings.l2, (*step - seen[0]) as u64, powers);
            at += w.len();
        });
    }

    #[inline(always)]
    fn descend(&mut self, sample: E::Sample) {
        let Pass { inference, weights, gradient, settings, step, rates, changes, .. } = self;
        rates.clear();
        changes.clear();
        inference.touched(gradient, sample, |gradient, squares| {
            for (g, squares) in gradient.iter_mut().zip(squares) {
                *squares += *g * *g;
                let alpha = settings.alpha(*squares);
                rates.push(alpha);
                changes.push(alpha * *g);
                *g = 0.0;
            }
        });
        let mut at = 0;
        inference.touched(weights, sample, |w, seen| {
            for (w, (alpha, change)) in w.iter_mut().zip(rates[at..].iter().zip(&changes[at..])) {
                *w = (*w - change) / (1.0 + alpha * settings.l2);
            }
            seen.fill(*step + 1.0);
            at += w.len();
        });
        // The intercept has no penalty: its division is undone.
        if let (Some((w, _)), Some((_, squares))) = (weights.intercept(), gradient.intercept()) {
            w.iter_mut().zip(squares).for_each(|(w, squares)| *w *= 1.0 + settings.alpha(*squares) * settings.l2);
        }
    }

    /// Brings all weights up to date.
    fn finish(&mut self) {
        let Pass { weights, gradient, settings, step, rates, powers, .. } = self;
        rates.clear();
        gradient.everywhere(|_, squares| rates.push(settings.alpha(*squares)));
        let mut at = 0;
        weights.everywhere(|w, seen| {
            divide(std::slice::from_mut(w), &rates[at..=at], settings.l2, (*step - *seen) as u64, powers);
            at += 1;
        });
    }
}

impl Settings<'_> {
    #[inline(always)]
    fn alpha(&self, squares: f64) -> f64 {
        self.rate / (self.delta + squares.sqrt())
    }
}

/// w <- w / (1 + alpha l2)^k, by squaring.
#[inline(always)]
fn divide(w: &mut [f64], alpha: &[f64], l2: f64, mut k: u64, powers: &mut Vec<f64>) {
    powers.clear();
    powers.extend(alpha.iter().map(|alpha| 1.0 / (1.0 + alpha * l2)));
    while k > 0 {
        if k & 1 == 1 {
            w.iter_mut().zip(&*powers).for_each(|(w, power)| *w *= power);
        }
        powers.iter_mut().for_each(|power| *power *= *power);
        k >>= 1;
    }
}

/// g <- g + change.
#[derive(Clone, Copy)]
struct Sum;

impl Rule for Sum {
    #[inline(always)]
    fn step<S: Simd>(self, simd: S, g: &mut S::f64s, _: &mut S::f64s, change: S::f64s, _: bool) {
        *g = simd.add_f64s(*g, change);
    }
}
