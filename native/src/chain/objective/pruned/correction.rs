//! What makes an objective over likely labels agree with the whole one, and the guard for what it leaves out.

/// How fast the guard grows: about the number of features of a cell that move together.
const STEEPNESS: f64 = 4.0;

/// A linear function and the guard, see `chain::objective::pruned`.
pub struct Correction {
    slope: Vec<f64>,
    constant: f64,
    /// Approximate expected counts of the pruned labels, times the factor of the guard.
    removed: Vec<f64>,
    /// Where the objectives agree.
    w: Vec<f64>,
}

impl Correction {
    /// Makes an objective with this own value and gradient at `w` agree with the whole objective there.
    pub fn new(
        (w, value, gradient): (&[f64], f64, &[f64]),
        (own_value, own_gradient): (f64, &[f64]),
        removed: &[f64],
        guard: f64,
    ) -> Correction {
        let slope: Vec<f64> = gradient.iter().zip(own_gradient).map(|(whole, own)| whole - own).collect();
        let constant = value - own_value - product(&slope, w);
        let removed = removed.iter().map(|removed| removed * guard).collect();
        Correction { slope, constant, removed, w: w.to_vec() }
    }

    /// Adds the gradient at `w` to `gradient` and returns the value.
    pub fn add(&self, w: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.iter_mut().zip(&self.slope).for_each(|(gradient, slope)| *gradient += slope);
        self.constant + product(&self.slope, w) + self.guard(w, gradient)
    }

    /// The same of the guard: for each feature removed (cosh(STEEPNESS d) - 1) / STEEPNESS^2, d being how far its weight has moved.
    fn guard(&self, w: &[f64], gradient: &mut [f64]) -> f64 {
        let mut total = 0.0;
        for (((gradient, w), at), removed) in gradient.iter_mut().zip(w).zip(&self.w).zip(&self.removed) {
            let moved = STEEPNESS * (w - at);
            if moved != 0.0 {
                let (up, down) = (moved.exp(), (-moved).exp());
                *gradient += removed * (up - down) / (2.0 * STEEPNESS);
                total += removed * ((up + down) / 2.0 - 1.0);
            }
        }
        total / (STEEPNESS * STEEPNESS)
    }
}

fn product(slope: &[f64], w: &[f64]) -> f64 {
    slope.iter().zip(w).map(|(slope, w)| slope * w).sum()
}
