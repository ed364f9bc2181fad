//! The n best labellings of a sentence, exactly.
//!
//! The table of best scores says, for every partial labelling at the end of a sentence, how well it can be completed. A search from
//! the last token to the first that is led by it never goes astray: the tree-trellis search of Soong & Huang (1991), which is the
//! backward A* search of Nagata (1994).
//!
//! The remaining labellings are divided as in Lawler (1972). A labelling found so far is the best of a set. A deviation from it
//! at token t has another label there and the same labels after t; it stands for the set of all labellings that end this way.
//! The way back through the table from the deviation gives the best of them. The deviations of a labelling lie before the token
//! where the labelling itself deviates, so the sets have nothing in common, and each labelling comes once.
//!
//! With c_t(y) for the best score of the labellings that have label y at token t and the given labels after t, a deviation from
//! label y to y' loses c_t(y) - c_t(y'): the score of a labelling is the best score less the losses on the way to it.
//!
//! Departure from Soong & Huang, and from Nagata: nodes of the tree are labellings, not single words, so that at most n of them are
//! ever opened.
//!
//! The search costs O(n T L) besides the table and O(n T) of memory.

use crate::chain::inference::lattice::Lattice;
use crate::chain::inference::transitions::Transitions;
use pulp::Simd;
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::num::NonZeroUsize;

/// A labelling of a sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Labelling {
    pub labels: Vec<u32>,
    /// log p(labels | sentence), in nats.
    pub log_probability: f64,
}

/// The labellings that differ from a labelling found before at a token, and agree with it after that token.
#[derive(Clone, Copy)]
struct Deviation {
    /// The best score of all, less the score of the best of these labellings.
    loss: f64,
    /// Number of the labelling that was found.
    from: usize,
    token: usize,
    label: u32,
}

/// What has been found, and which sets of labellings are left.
struct Search {
    n: usize,
    /// Labellings found so far, with their losses, best first.
    labellings: Vec<(Vec<u32>, f64)>,
    /// Sets to search, best first, at most as many as labellings still to be found.
    open: VecDeque<Deviation>,
}

impl Lattice {
    /// At most n labellings whose probability is not 0, best first; in a tie, the labelling with the label that comes
    /// first at the last token where they differ is first. The first is the labelling of `viterbi`. Needs log potentials, and overwrites them.
    #[inline(always)]
    pub fn n_best<S: Simd>(&mut self, simd: S, transitions: &Transitions, n: NonZeroUsize) -> Vec<Labelling> {
        if self.tokens == 0 {
            return vec![Labelling { labels: Vec::new(), log_probability: 0.0 }];
        }
        self.best_scores(simd, transitions);
        let (best, labellings) = self.search(transitions, n.get());
        if labellings.is_empty() {
            return Vec::new();
        }
        let most = best - self.forward(simd, transitions);
        // Rounding must not make a probability larger than 1.
        let log_probability = |loss: f64| (most - loss).min(0.0);
        let labelling = |(labels, loss)| Labelling { labels, log_probability: log_probability(loss) };
        labellings.into_iter().map(labelling).collect()
    }

    /// The best score, and at most n labellings with what they lose against it.
    fn search(&self, transitions: &Transitions, n: usize) -> (f64, Vec<(Vec<u32>, f64)>) {
        let mut search = Search { n, labellings: Vec::new(), open: VecDeque::new() };
        let mut path = vec![0; self.tokens];
        let best = self.trace_back(transitions, self.tokens, &mut path, |token, label, scores, path| {
            search.open_deviations(0.0, token, label, scores, path);
        });
        if best == f64::NEG_INFINITY {
            return (best, Vec::new());
        }
        search.labellings.push((path, 0.0));
        while let Some(Deviation { loss, from, token, label }) = search.open.pop_front() {
            if self.is_interrupted() {
                break;
            }
            let mut path = search.labellings[from].0.clone();
            path[token] = label;
            self.trace_back(transitions, token, &mut path, |token, label, scores, path| {
                search.open_deviations(loss, token, label, scores, path);
            });
            search.labellings.push((path, loss));
        }
        (best, search.labellings)
    }
}

impl Search {
    /// Opens the deviations at a token from a labelling, `path`, that is the next to be found, as far as they are among the best.
    #[inline(always)]
    fn open_deviations(&mut self, loss: f64, token: usize, label: usize, scores: &[f64], path: &[u32]) {
        let (from, room) = (self.labellings.len(), self.n - self.labellings.len() - 1);
        let mut most = self.most(room);
        for (other, score) in scores.iter().enumerate() {
            let loss = loss + (scores[label] - score);
            if loss <= most && other != label {
                self.open(Deviation { loss, from, token, label: other as u32 }, room, path);
                most = self.most(room);
            }
        }
    }

    /// The largest loss of a deviation among the best.
    #[inline(always)]
    fn most(&self, room: usize) -> f64 {
        match self.open.back() {
            _ if room == 0 => f64::NEG_INFINITY,
            Some(last) if self.open.len() >= room => last.loss,
            _ => f64::MAX,
        }
    }

    /// Opens a deviation, unless there are enough that are better.
    fn open(&mut self, deviation: Deviation, room: usize, path: &[u32]) {
        let at = self.open.partition_point(|other| self.compare(other, &deviation, path).is_lt());
        if at < room {
            self.open.truncate(room - 1);
            self.open.insert(at, deviation);
        }
    }

    /// Compares the best labellings of two sets, which differ at the later one of their two tokens, or after it.
    fn compare(&self, a: &Deviation, b: &Deviation, path: &[u32]) -> Ordering {
        let label_at = |deviation: &Deviation, token: usize| match self.labellings.get(deviation.from) {
            _ if token == deviation.token => deviation.label,
            Some((labels, _)) => labels[token],
            None => path[token],
        };
        let differ_from = a.token.max(b.token);
        let end = if a.from == b.from { differ_from + 1 } else { path.len() };
        let by_labels = || (differ_from..end).rev().map(|token| label_at(a, token).cmp(&label_at(b, token)));
        a.loss.total_cmp(&b.loss).then_with(|| by_labels().find(|order| order.is_ne()).unwrap_or(Ordering::Equal))
    }
}

#[cfg(test)]
mod tests;
