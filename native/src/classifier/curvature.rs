//! The curvature of the loss of a sample that is far on the wrong side.

/// The least curvature, as a share of |residual| * `bound`.
pub const DAMPING: f64 = 0.1;

/// The curvature of the parabola that touches log(1 + exp(m)) at m and is above it everywhere (Jaakkola & Jordan, Statistics and
/// Computing 10, 2000; twice their lambda).
pub fn bound(m: f64) -> f64 {
    if m < 1e-6 { 0.25 } else { 0.5 * (0.5 * m).tanh() / m }
}
