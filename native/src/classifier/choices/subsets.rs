//! Probabilities of sets of k alternatives out of m, by elementary symmetric polynomials.
//!
//! With theta_j = exp(s_j), the sum over all sets T of k alternatives of the product of their theta is the polynomial e_k(theta).
//! It follows from one alternative after the other (Howard, Journal of the Royal Statistical Society B 34, 1972, p. 210; Gail, Lubin &
//! Rubinstein, Biometrika 68, 1981):
//!
//!     e_k(theta_1..j) = e_k(theta_1..j-1) + theta_j e_k-1(theta_1..j-1).
//!
//! An alternative is chosen with the probability theta_j e_k-1(all others) / e_k, where e_k-1 of all others is a sum of products of
//! the polynomials of those before j and those after j. All terms are positive, so that nothing cancels; dividing the polynomial of all
//! by 1 + theta_j t, as is often done, would lose all digits. With more than half of the alternatives chosen, the others are the set.
//!
//! The recursions run over positive numbers in one of three forms (`Positive`): as they are, where the scores are near one another; by
//! their logarithms; or by logarithms together with derivatives along a direction, from which products with the Hessian come.

/// A positive number, or 0, in some form.
trait Positive: Copy {
    const ZERO: Self;
    const ONE: Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn over(self, other: Self) -> Self;
}

/// The number itself.
#[derive(Clone, Copy)]
struct Plain(f64);

impl Positive for Plain {
    const ZERO: Self = Plain(0.0);
    const ONE: Self = Plain(1.0);

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Plain(self.0 + other.0)
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Plain(self.0 * other.0)
    }

    #[inline(always)]
    fn over(self, other: Self) -> Self {
        Plain(self.0 / other.0)
    }
}

/// The logarithm of a number.
#[derive(Clone, Copy)]
struct Log(f64);

impl Positive for Log {
    const ZERO: Self = Log(f64::NEG_INFINITY);
    const ONE: Self = Log(0.0);

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        let (most, least) = (self.0.max(other.0), self.0.min(other.0));
        if least == f64::NEG_INFINITY { Log(most) } else { Log(most + (least - most).exp().ln_1p()) }
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Log(self.0 + other.0)
    }

    #[inline(always)]
    fn over(self, other: Self) -> Self {
        Log(self.0 - other.0)
    }
}

/// The logarithm of a number, and its derivative along a direction.
#[derive(Clone, Copy)]
struct Tangent {
    log: Log,
    slope: f64,
}

impl Positive for Tangent {
    const ZERO: Self = Tangent { log: Log::ZERO, slope: 0.0 };
    const ONE: Self = Tangent { log: Log::ONE, slope: 0.0 };

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        let log = self.log.plus(other.log);
        // A term of 0 has a slope of 0.
        let part = |term: Tangent| if term.slope == 0.0 { 0.0 } else { term.log.over(log).0.exp() * term.slope };
        Tangent { log, slope: part(self) + part(other) }
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Tangent { log: self.log.times(other.log), slope: self.slope + other.slope }
    }

    #[inline(always)]
    fn over(self, other: Self) -> Self {
        Tangent { log: self.log.over(other.log), slope: self.slope - other.slope }
    }
}

/// Most numbers of the table of a group; see `n_cells`.
pub const MOST_CELLS: usize = 1 << 24;
/// Logarithms of products that stay far from the smallest and the largest double.
const SAFE: f64 = 300.0;

/// Numbers in the table of polynomials for k of m alternatives.
pub fn n_cells(m: usize, k: usize) -> usize {
    (m + 1).saturating_mul(k.min(m - k) + 1)
}

/// The polynomials of the alternatives before each one, and those of the alternatives after one.
struct Table<P> {
    before: Vec<P>,
    after: Vec<P>,
}

impl<P> Default for Table<P> {
    fn default() -> Self {
        Table { before: Vec::new(), after: Vec::new() }
    }
}

impl<P: Positive> Table<P> {
    /// Replaces each theta by the probability that it is in a set of k; returns e_k.
    fn fill(&mut self, k: usize, thetas: &mut [P]) -> P {
        let (m, width) = (thetas.len(), k + 1);
        let Table { before, after } = self;
        before.clear();
        before.resize((m + 1) * width, P::ZERO);
        before[0] = P::ONE;
        for (j, &theta) in thetas.iter().enumerate() {
            let (row, next) = before[j * width..].split_at_mut(width);
            next[0] = P::ONE;
            for degree in 1..=k.min(j + 1) {
                next[degree] = row[degree].plus(theta.times(row[degree - 1]));
            }
        }
        let all = before[m * width + k];
        after.clear();
        after.resize(width, P::ZERO);
        after[0] = P::ONE;
        for j in (0..m).rev() {
            let (theta, n_after) = (thetas[j], m - 1 - j);
            let row = &before[j * width..][..width];
            let degrees = (k - 1).saturating_sub(n_after)..=(k - 1).min(j);
            let others = degrees.fold(P::ZERO, |sum, degree| sum.plus(row[degree].times(after[k - 1 - degree])));
            thetas[j] = theta.times(others).over(all);
            for degree in (1..=k.min(n_after + 1)).rev() {
                after[degree] = after[degree].plus(theta.times(after[degree - 1]));
            }
        }
        all
    }
}

/// Room for the recursions of one group after the other.
#[derive(Default)]
pub struct Subsets {
    plain: (Vec<Plain>, Table<Plain>),
    logs: (Vec<Log>, Table<Log>),
    tangents: (Vec<Tangent>, Table<Tangent>),
}

impl Subsets {
    /// Writes the probability of each alternative to be among the k that are chosen, where the first k were; returns the negative
    /// log-likelihood.
    #[inline]
    pub fn evaluate(&mut self, scores: &[f64], k: usize, shares: &mut [f64]) -> f64 {
        if k == 1 { softmax(scores, shares) } else { self.several(scores, k, shares) }
    }

    fn several(&mut self, scores: &[f64], k: usize, shares: &mut [f64]) -> f64 {
        let m = scores.len();
        // Of few others, the set is theirs, and their numbers are 1 / theta.
        let (size, sign, set) = if 2 * k > m { (m - k, -1.0, k..m) } else { (k, 1.0, 0..k) };
        let of_set = sign * scores[set].iter().sum::<f64>();
        let (least, most) = scores.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), &score| {
            (least.min(sign * score), most.max(sign * score))
        });
        let n = size as f64;
        let log_total = if n * (most - least) < SAFE && n * (m as f64).ln() < SAFE {
            let (thetas, table) = &mut self.plain;
            thetas.clear();
            thetas.extend(scores.iter().map(|score| Plain((sign * score - most).exp())));
            let Plain(total) = table.fill(size, thetas);
            shares.iter_mut().zip(thetas).for_each(|(share, theta)| *share = theta.0);
            n * most + total.ln()
        } else {
            let (thetas, table) = &mut self.logs;
            thetas.clear();
            thetas.extend(scores.iter().map(|score| Log(sign * score)));
            let Log(total) = table.fill(size, thetas);
            shares.iter_mut().zip(thetas).for_each(|(share, theta)| *share = theta.0.exp());
            total
        };
        if sign < 0.0 {
            shares.iter_mut().for_each(|share| *share = 1.0 - *share);
        }
        log_total - of_set
    }

    /// Writes the derivatives of the probabilities that `evaluate` writes along a direction of the scores, for k > 1.
    pub fn slopes(&mut self, scores: &[f64], k: usize, direction: impl Iterator<Item = f64>, slopes: &mut [f64]) {
        let m = scores.len();
        let (size, sign) = if 2 * k > m { (m - k, -1.0) } else { (k, 1.0) };
        let (thetas, table) = &mut self.tangents;
        thetas.clear();
        let theta = |(score, slope): (&f64, f64)| Tangent { log: Log(sign * score), slope: sign * slope };
        thetas.extend(scores.iter().zip(direction).map(theta));
        table.fill(size, thetas);
        slopes.iter_mut().zip(thetas).for_each(|(slope, theta)| *slope = sign * theta.log.0.exp() * theta.slope);
    }
}

/// Writes the softmax of scores, of which the first was chosen; returns the negative log-likelihood. If the first score is the largest,
/// its digits are those of a number near 0.
fn softmax(scores: &[f64], shares: &mut [f64]) -> f64 {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    shares.iter_mut().zip(scores).for_each(|(share, score)| *share = (score - most).exp());
    let others: f64 = shares[1..].iter().sum();
    let total = shares[0] + others;
    shares.iter_mut().for_each(|share| *share /= total);
    if most == scores[0] { others.ln_1p() } else { most - scores[0] + total.ln() }
}
