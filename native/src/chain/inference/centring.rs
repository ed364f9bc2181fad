//! Scores taken over others, so that scores too large for `scaled::stays_in_range` can be exponentiated too.
//!
//! A number taken off all transitions that leave label i, and added to the state score of i at every token but the last, leaves
//! the score of every labelling as it is; so does a number taken off all transitions that enter label j and added to the state
//! score of j at every token but the first. `Centring` takes such numbers off, and one off all transitions, so that the scores of
//! transitions lie in [-D, 0] for a small spread D. What is off every transition, and off all state scores of a token, which then
//! are at most 0, is added to log Z. All these numbers are integers: taking them off loses no digits.
//!
//! A state score below -F is raised to -F. Let Z' be Z with raised scores. The labellings that meet a raised score are the part of
//! Z' that Z has not: Z >= Z' (1 - m), where m is the sum over raised scores of the probability that a labelling meets them. Where m
//! is below 1e-13 nothing is wrong. There are two ways to know that.
//!
//! From the start, for a single sentence (`Centred`): compare the raised state j of a token with the token's best state k, of score
//! 0, or more than -1 since scores are taken over an integer. Forward variables over their potentials lie e^D apart at most, since
//! all come from the same labels, and backward variables e^D, since all lead to the same labels. So p(j) <= e^(2 D - F) p(k). In
//! second order D is the spread of transitions plus twice that of triples: two pairs with one label in common meet one transition
//! and two triples on either side. With F = 2 D + 40 no probability is wrong by more than exp(-39). Forward variables are at least
//! e^(-F - D), in second order e^(-2 F - 2 D), and backward variables at most e^(2 D): `MOST_SPREAD` keeps them in the range of a
//! double. Constraints know no such bounds.
//!
//! From the result, for sentences abreast, whatever the spread: factors of transitions and triples are raised to `FLOOR` too,
//! and every factor is at most 1. The rescaled sum of all forward variables is 1 before each token. So a raised factor on the
//! way into node y at token t is met with a probability of at most FLOOR * psi_t(y) * beta_t(y) / Z, and a raised state with
//! its marginal. A forward variable that becomes 0 or loses digits below 1e-307 loses at most 1e-318 * (1 + psi_t(y) r_t), sums
//! over thousands of labels included, and Z loses that much times beta_t(y). `LEAST_BACKWARD` is added to all backward
//! variables at all tokens: that is more than they can lose, and changes no result, because they are multiplied by forward
//! variables of at most 1. So they are never too small, whatever is forbidden, and m is at most the sum over tokens and nodes
//! of
//!
//! FLOOR * psi_t(y) * beta_t(y) / Z + 1e-318 * (1 + psi_t(y) r_t) * beta_t(y) / Z
//!
//! and of the marginals of raised states; in second order a node whose transition is raised counts without the factor FLOOR.
//! Where that is above `BELIEVED`, or a number is infinite, the sentence is done again by itself, in log space in the end.

use crate::chain::inference::triples::Triples;
use crate::numeric::aligned::Aligned;
use pulp::Simd;

/// The largest |score| that is centred; larger scores lose so many digits that their treatment makes no difference.
pub(super) const MOST: f64 = 1e9;
/// The largest spread D for a single sentence.
const MOST_SPREAD: f64 = 210.0;
const MOST_SPREAD_SECOND: f64 = 100.0;
/// The least factor of sentences abreast that is not forbidden.
pub(super) const FLOOR: f64 = 1e-280;
/// The least sum of a token's forward variables in sentences abreast: its inverse is finite.
pub(super) const LEAST_TOTAL: f64 = 1e-290;
/// What is added to |beta| in sentences abreast.
pub(super) const LEAST_BACKWARD: f64 = 1e-300;
/// The largest m that is believed to be nothing.
pub(super) const BELIEVED: f64 = 1e-14;

/// The scores of all transitions, labels x width.
#[derive(Clone, Copy)]
pub(super) struct Square<'a> {
    pub(super) labels: usize,
    pub(super) width: usize,
    pub(super) scores: &'a [f64],
}

/// What is subtracted from the scores of transitions and added to the scores of states.
pub(super) struct Centring {
    /// What is added to the state scores of a token, width long each: of the only token of a sentence, of the last one, of the
    /// first one, of others. Padding is -inf.
    added: [Aligned; 4],
    /// What is subtracted from transitions by the label they leave, and by the label they enter.
    leaving: Vec<f64>,
    entering: Vec<f64>,
    /// What is also subtracted from every transition.
    pub(super) per_transition: f64,
    /// The centred scores are in [-spread, 0].
    pub(super) spread: f64,
}

impl Centring {
    /// Subtracts a number from all transitions.
    pub(super) fn alike(transitions: Square<'_>, per_transition: f64) -> Centring {
        let (labels, zeros) = (transitions.labels, vec![0.0; transitions.labels]);
        let mut none = Aligned::new(transitions.width, f64::NEG_INFINITY);
        none[..labels].fill(0.0);
        Centring {
            added: std::array::from_fn(|_| none.clone()),
            leaving: zeros.clone(),
            entering: zeros,
            per_transition,
            spread: f64::INFINITY,
        }
    }

    /// Subtracts numbers from the transitions that leave a label, and from the transitions that enter one, for a small spread: the middles of
    /// rows and of columns in turn.
    pub(super) fn new(transitions: Square<'_>) -> Centring {
        const TURNS: usize = 8;
        let labels = transitions.labels;
        let mut centring = Centring::alike(transitions, 0.0);
        let middle = |scores: &mut dyn Iterator<Item = f64>| match extremes(scores) {
            (least, most) if least <= most => ((least + most) / 2.0).round(),
            _ => 0.0,
        };
        for _ in 0..TURNS {
            for from in 0..labels {
                centring.leaving[from] += middle(&mut (0..labels).map(|to| centring.score(transitions, from, to)));
            }
            for to in 0..labels {
                centring.entering[to] += middle(&mut (0..labels).map(|from| centring.score(transitions, from, to)));
            }
        }
        let all = (0..labels).flat_map(|from| (0..labels).map(move |to| (from, to)));
        let (least, most) = extremes(&mut all.map(|(from, to)| centring.score(transitions, from, to)));
        (centring.per_transition, centring.spread) =
            if least <= most { (most.ceil(), most.ceil() - least) } else { (0.0, 0.0) };
        for (at, added) in centring.added.iter_mut().enumerate() {
            for label in 0..labels {
                added[label] += if at & 1 == 1 { centring.entering[label] } else { 0.0 };
                added[label] += if at & 2 == 2 { centring.leaving[label] } else { 0.0 };
            }
        }
        centring
    }

    /// The centred score of a transition; -inf if it is forbidden.
    pub(super) fn score(&self, transitions: Square<'_>, from: usize, to: usize) -> f64 {
        transitions.scores[from * transitions.width + to] - self.leaving[from] - self.entering[to] - self.per_transition
    }

    /// Centres the state scores of a sentence, tokens x width, -inf for what is forbidden, and raises them to `least`. Returns
    /// what log Z is short of then, triples apart.
    #[inline(always)]
    pub(super) fn states<S: Simd>(&self, simd: S, rows: &mut [f64], least: f64) -> f64 {
        let width = self.added[0].len();
        let tokens = rows.len() / width;
        let mut total = self.per_transition * tokens.saturating_sub(1) as f64;
        for (token, row) in rows.chunks_exact_mut(width).enumerate() {
            let which = usize::from(token > 0) + 2 * usize::from(token + 1 < tokens);
            let ((row, _), (added, _)) = (S::as_mut_simd_f64s(row), S::as_simd_f64s(&self.added[which]));
            let mut most = simd.splat_f64s(f64::NEG_INFINITY);
            for (score, &added) in row.iter_mut().zip(added) {
                *score = simd.add_f64s(*score, added);
                most = simd.max_f64s(most, *score);
            }
            let most = simd.reduce_max_f64s(most).ceil();
            let most = if most == f64::NEG_INFINITY { 0.0 } else { most };
            total += most;
            let (most, least) = (simd.splat_f64s(most), simd.splat_f64s(least));
            for score in row {
                *score = simd.max_f64s(simd.sub_f64s(*score, most), least);
            }
        }
        total
    }
}

/// The least and the largest of the scores that are not -inf.
fn extremes(scores: &mut dyn Iterator<Item = f64>) -> (f64, f64) {
    let allowed = scores.filter(|&score| score != f64::NEG_INFINITY);
    allowed.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), score| (least.min(score), most.max(score)))
}

/// Centred transitions for sentences by themselves.
pub(super) struct Centred {
    pub(super) centring: Centring,
    /// `Transitions::exp` of the centred scores.
    pub(super) exp: Aligned,
    pub(super) exp_transposed: Aligned,
}

impl Centred {
    /// The centred transitions; None if some are forbidden or their spread is too large.
    pub(super) fn new(transitions: Square<'_>) -> Option<Centred> {
        let (labels, width) = (transitions.labels, transitions.width);
        let rows = transitions.scores.chunks_exact(width);
        if !rows.flat_map(|row| &row[..labels]).all(|score| score.is_finite()) {
            return None;
        }
        let centring = Centring::new(transitions);
        if centring.spread > MOST_SPREAD {
            return None;
        }
        let (mut exp, mut exp_transposed) = (Aligned::new(labels * width, 0.0), Aligned::new(labels * width, 0.0));
        for (from, to) in (0..labels).flat_map(|from| (0..labels).map(move |to| (from, to))) {
            let factor = centring.score(transitions, from, to).exp();
            (exp[from * width + to], exp_transposed[to * width + from]) = (factor, factor);
        }
        Some(Centred { centring, exp, exp_transposed })
    }

    /// -F for a chain with these triples; None if the spread is too large.
    pub(super) fn least_state(&self, triples: Option<&Triples>) -> Option<f64> {
        let spread = self.centring.spread + triples.map_or(0.0, |triples| 4.0 * triples.max_abs());
        let most = if triples.is_some() { MOST_SPREAD_SECOND } else { MOST_SPREAD };
        (spread <= most).then_some(-2.0 * spread - 40.0)
    }
}
