//! Which labels follow each other with a score of their own: the transitions of a chain as lists.
//!
//! A recursion runs over nodes: labels in first order, pairs of neighbouring labels in second, numbered first * labels +
//! second. Most transitions have no feature, and exp(0) = 1 of them: a sum over all nodes x of x e(score) is then the sum
//! of all x, which many sums share, plus those of x (e(score) - 1) over the transitions with a feature, which are few
//! (Lavergne, Cappé & Yvon 2010, "Practical very large scale CRFs").

use crate::chain::inference::counts::PairCounts;
use crate::chain::inference::transitions::Transitions;
use crate::numeric::LANES;
use std::ops::Range;

/// A transition of a lower score takes the lists of few away: 1 + (e(score) - 1) then loses digits, up to five here.
const LEAST: f64 = -11.5;

/// With more links than these sentences go one by one: in first order because the counts of eight would not stay near, in second,
/// where one by one means through all triples, only because they would take too much memory.
const MOST: usize = 768;
const MOST_SECOND: usize = 1 << 17;

/// How nodes are followed by others.
pub struct Links {
    /// Number of labels.
    pub labels: usize,
    /// Length of a row of labels: the labels, padded.
    pub width: usize,
    pub second_order: bool,
    /// Whether eight sentences abreast take less than one by one; if not, there are no lists.
    pub are_few: bool,
    /// What a transition counts that is in no list: 1, or 0 if all are.
    pub rest: f64,
    /// By node, those before it.
    pub into: Lists,
    /// By node, those behind it.
    pub out: Lists,
    /// In second order, exp of the transition score of each node's pair of labels.
    pub factors: Vec<f64>,
    /// The largest sum of a |transition score| and a |triple score|.
    pub max_abs: f64,
}

/// Nodes of a bundle.
pub const BUNDLE: usize = 4;

/// Lists of nodes, one for each node, with a weight to multiply by. Lists of about the same length are bundled, so that their
/// sums do not wait for each other; what is lacking to the longest of a bundle is filled up with weights of 0.
pub struct Lists {
    n: usize,
    pub bundles: Vec<Bundle>,
    others: Vec<[u32; BUNDLE]>,
    weights: Vec<[f64; BUNDLE]>,
    /// Where a list really has a link.
    filled: Vec<[bool; BUNDLE]>,
}

pub struct Bundle {
    /// Whose lists these are; the last node of the last bundle may stand there more than once.
    pub nodes: [u32; BUNDLE],
    /// Its part of the lists.
    range: Range<usize>,
}

/// A node, one that follows it, and the score of that.
type Link = (u32, u32, f64);

impl Lists {
    /// The links of each of n nodes, which are in order of these nodes, with their weights.
    fn new(n: usize, links: &[Link]) -> Lists {
        let mut lists: Vec<&[Link]> = links.chunk_by(|a, b| a.0 == b.0).collect();
        lists.sort_by_key(|list| list.len());
        let (mut bundles, mut others, mut weights, mut filled) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for lists in lists.chunks(BUNDLE) {
            let list = |k: usize| lists[k.min(lists.len() - 1)];
            let start = others.len();
            for at in 0..list(BUNDLE).len() {
                let link = |k: usize| list(k).get(at).map_or((0, 0.0), |link| (link.1, link.2));
                others.push(std::array::from_fn(|k| link(k).0));
                weights.push(std::array::from_fn(|k| link(k).1));
                filled.push(std::array::from_fn(|k| k < lists.len() && at < list(k).len()));
            }
            bundles.push(Bundle { nodes: std::array::from_fn(|k| list(k)[0].0), range: start..others.len() });
        }
        assert!(links.iter().all(|link| (link.0.max(link.1) as usize) < n));
        Lists { n, bundles, others, weights, filled }
    }

    pub fn n_nodes(&self) -> usize {
        self.n
    }

    /// How many places there are for links, those filled up included.
    pub fn n_places(&self) -> usize {
        BUNDLE * self.others.len()
    }

    /// Of the links, in order of their places: (place, node, node in its list).
    pub fn links(&self) -> impl Iterator<Item = (usize, u32, u32)> {
        let rows = self.bundles.iter().flat_map(|bundle| bundle.range.clone().map(move |row| (bundle, row)));
        let places = rows.flat_map(|(bundle, row)| (0..BUNDLE).map(move |k| (bundle, row, k)));
        let filled = places.filter(|&(_, row, k)| self.filled[row][k]);
        filled.map(|(bundle, row, k)| (row * BUNDLE + k, bundle.nodes[k], self.others[row][k]))
    }

    /// Of a bundle, one after the other of its lists' nodes, and their weights; and the range these have of all.
    #[inline(always)]
    pub fn of(&self, bundle: &Bundle) -> (&[[u32; BUNDLE]], &[[f64; BUNDLE]], Range<usize>) {
        (&self.others[bundle.range.clone()], &self.weights[bundle.range.clone()], bundle.range.clone())
    }
}

impl Links {
    /// Of the transitions, or triples if there are any, that have features.
    pub fn new(transitions: &Transitions, pairs: &[(u16, u16)], triples: &[[u16; 3]]) -> Links {
        let labels = transitions.labels;
        let score = |from: usize, to: usize| transitions.scores[from * transitions.width + to];
        let all = || (0..labels).flat_map(|from| (0..labels).map(move |to| (from, to)));
        let mut links = Links {
            labels,
            width: transitions.width,
            second_order: false,
            are_few: false,
            rest: 1.0,
            into: Lists::new(0, &[]),
            out: Lists::new(0, &[]),
            factors: Vec::new(),
            max_abs: transitions.max_abs,
        };
        let Some(scores) = &transitions.triples else {
            let link = |(from, to)| (from as u32, to as u32, score(from, to));
            let few = pairs.iter().map(|&(from, to)| link((from.into(), to.into()))).collect();
            links.set(labels, labels * labels, few, || all().map(link).collect());
            return links;
        };
        links.second_order = true;
        links.max_abs += scores.max_abs();
        links.factors = all().map(|(from, to)| score(from, to).exp()).collect();
        let link = |[first, middle, last]: [usize; 3]| {
            ((first * labels + middle) as u32, (middle * labels + last) as u32, scores.score([first, middle, last]))
        };
        let few = triples.iter().map(|&triple| link(triple.map(usize::from))).collect();
        let triples = || all().flat_map(|(first, middle)| (0..labels).map(move |last| [first, middle, last]));
        links.set(labels * labels, labels.pow(3), few, || triples().map(link).collect());
        links
    }

    /// The lists, of few links where that is cheaper and as exact, else of all.
    fn set(&mut self, nodes: usize, possible: usize, few: Vec<Link>, all: impl FnOnce() -> Vec<Link>) {
        let sparse = 3 * few.len() < 2 * possible && few.iter().all(|link| link.2 >= LEAST);
        let most = if self.second_order { MOST_SECOND } else { MOST };
        self.are_few = if sparse { few.len() } else { possible } <= most;
        if !self.are_few {
            return;
        }
        self.rest = if sparse { 1.0 } else { 0.0 };
        let mut links = if sparse { few } else { all() };
        links.iter_mut().for_each(|link| link.2 = if sparse { link.2.exp_m1() } else { link.2.exp() });
        links.sort_by_key(|link| link.0);
        self.out = Lists::new(nodes, &links);
        links.iter_mut().for_each(|link| (link.0, link.1) = (link.1, link.0));
        links.sort_by_key(|link| link.0);
        self.into = Lists::new(nodes, &links);
    }

    pub fn n_nodes(&self) -> usize {
        self.into.n
    }

    /// Adds expected counts: of links, by their places in `out` and in units of exp(score), and in second order of nodes.
    pub fn add_counts(&self, links: &[[f64; LANES]], nodes: &[[f64; LANES]], counts: &mut PairCounts) {
        let (labels, width) = (self.labels, self.width);
        for (place, from, to) in self.out.links() {
            let (from, to, count) = (from as usize, to as usize, links[place].iter().sum());
            if self.second_order {
                counts.triples.add_outer(labels, width, [from / labels, to / labels, to % labels], count);
            } else {
                counts.outer[from * width + to] += count;
            }
        }
        for (node, lanes) in nodes.iter().enumerate() {
            counts.direct[node / labels * width + node % labels] += lanes.iter().sum::<f64>();
        }
    }
}
