//! The transitions of a chain as lists of links between nodes.
//!
//! A recursion runs over nodes: labels in first order, pairs of neighbouring labels in second, numbered first * labels + second.
//! In second order with many labels it runs over labels, and beside them over the few pairs that are in triples with features
//! (`Pairs`), unless scores are centred or very low. A link leads from a node to one that can follow it. Most links have no feature, and so the score 0 and the factor exp(0) = 1:
//! the sum over all nodes x of alpha(x) exp(score) is then the sum over all x of alpha(x), which many nodes share, plus the sum
//! over the few links with a feature of alpha(x) (exp(score) - 1) (Lavergne, Cappé & Yvon 2010, "Practical very large scale
//! CRFs").

use crate::chain::inference::centring::{Centring, FLOOR};
use crate::chain::inference::counts::PairCounts;
use crate::chain::inference::scaled;
use crate::chain::inference::transitions::Transitions;
use crate::chain::inference::triples::Triples;
use crate::numeric::LANES;
use crate::numeric::aligned::Aligned;
use std::collections::HashSet;
use std::ops::Range;

/// With a link of a lower score all links are listed: 1 + (exp(score) - 1) would lose more than the five digits that it loses
/// here.
const LEAST: f64 = -11.5;
/// With centred scores all links are listed if one has a lower score; in second order the node that it enters shares no sum.
const LEAST_CENTRED: f64 = -4.6;
/// In first order all links are listed, and centred one by one, if one has a higher score.
const MOST_CENTRED: f64 = 150.0;

/// In second order with at most so many labels the nodes are all pairs of labels: lists of some of them cost more than they save.
const FEW_LABELS: usize = 32;

/// The most links for which sentences go abreast: every thread counts eight sentences in 64 bytes a link, which come from memory
/// at every token if there are more.
const MOST: usize = 1 << 18;

/// The links of a chain, by the node they leave and by the node they enter.
pub struct Links {
    /// Number of labels.
    pub labels: usize,
    /// Length of a row of labels: the labels, padded.
    pub width: usize,
    /// Whether the nodes are pairs of labels.
    pub second_order: bool,
    /// Whether some pairs of labels are forbidden.
    pub constrained: bool,
    /// Whether sentences should go abreast; if not, the lists are empty.
    pub are_few: bool,
    /// The factor of a link that is in no list: 1, or the factor that centring leaves; 0 if all links are listed.
    pub unlisted: f64,
    /// For each node 1, or 0 where all links into it that are allowed are listed, as they are in first order where some links are
    /// forbidden, or are in `apart`.
    pub unlisted_into: Vec<f64>,
    /// Links of factor `unlisted` into nodes whose `unlisted_into` is 0; in second order with centred scores only.
    pub apart: Vec<Apart>,
    /// For each node the links that enter it.
    pub into: BundledLists,
    /// For each node the links that leave it.
    pub out: BundledLists,
    /// exp of the transition score of each node's pair of labels, 0 for nodes that `apart` leads to; empty in first order.
    pub factors: Vec<f64>,
    /// The nodes whose factor is too small to tell from 0; in second order with centred scores only.
    pub(super) raised: Vec<u32>,
    /// The largest |transition score|, in second order plus the largest |triple score|.
    pub max_abs: f64,
    /// The least ratio of a forward variable to its potential where transitions are forbidden; 0 with centred scores.
    pub(super) least: f64,
    /// How scores are centred; None if they are not.
    pub(super) centred: Option<CentredLinks>,
    /// In second order where the nodes are labels: the pairs of labels that differ from others with the same second label.
    pub pairs: Option<Pairs>,
}

/// Sums over sentences for the counts of links and pairs, each x lanes.
#[derive(Default)]
pub(super) struct LinkSums {
    /// By the places of `Links::out`, in units of exp(score).
    pub links: Aligned,
    /// By the places of `Pairs::out`, in units of exp(score).
    pub triples: Aligned,
    /// Of the pairs in `Links::pairs`, or of all nodes that are pairs.
    pub pairs: Aligned,
}

impl LinkSums {
    pub fn all(&mut self) -> [&mut Aligned; 3] {
        [&mut self.links, &mut self.triples, &mut self.pairs]
    }

    /// Whether there is no room for any sum.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty() && self.triples.is_empty() && self.pairs.is_empty()
    }

    /// Makes room for sums of these links.
    pub fn resize(&mut self, links: &Links) {
        self.links.resize(links.out.n_places() * LANES, 0.0);
        let (places, pairs) = links.pairs.as_ref().map_or((0, 0), |pairs| (pairs.out.n_places(), pairs.labels.len()));
        self.triples.resize(places * LANES, 0.0);
        self.pairs.resize(if links.second_order { links.n_nodes() } else { pairs } * LANES, 0.0);
    }
}

/// The pairs of labels that are in triples with features, and these triples as links from pair to pair.
pub struct Pairs {
    /// The labels of each pair.
    pub labels: Vec<[u32; 2]>,
    /// exp of the transition score of each pair.
    pub factors: Vec<f64>,
    /// For each pair the triples that end with it, of weight exp(score) - 1.
    pub into: BundledLists,
    /// For each pair the triples that begin with it.
    pub out: BundledLists,
}

impl Pairs {
    fn new(transitions: &Transitions, scores: &Triples, triples: &[[u16; 3]]) -> Pairs {
        let of = |&[first, middle, last]: &[u16; 3]| [[first, middle], [middle, last]].map(|pair| pair.map(u32::from));
        let mut labels: Vec<_> = triples.iter().flat_map(of).collect();
        labels.sort_unstable();
        labels.dedup();
        let place = |pair: &[u32; 2]| labels.binary_search(pair).map_or(0, |place| place as u32);
        let link = |triple: &[u16; 3]| {
            let [from, to] = of(triple);
            (place(&from), place(&to), scores.score(triple.map(usize::from)).exp_m1())
        };
        let [out, into] = lists_of(labels.len(), triples.iter().map(link).collect());
        let factors = labels.iter().map(|&[from, to]| transitions.exp[from as usize * transitions.width + to as usize]);
        Pairs { factors: factors.collect(), labels, into, out }
    }
}

/// How the scores of a chain are centred.
pub(super) struct CentredLinks {
    pub(super) centring: Centring,
    /// What is subtracted from the scores of triples.
    pub(super) each_triple: f64,
}

/// Nodes `from` that all lead to all nodes `to`.
pub struct Apart {
    pub from: Vec<u32>,
    pub to: Vec<u32>,
    /// The factors of the nodes `to`; in `Links::factors` they are 0.
    pub factors: Vec<f64>,
}

/// The number of lists in a bundle.
pub const BUNDLE: usize = 4;

/// For each node a list of links: the node at the other end, and a weight. Lists of about the same length are bundled, so that
/// their sums do not wait for each other. Shorter lists of a bundle are filled up with links of weight 0.
pub struct BundledLists {
    n: usize,
    pub bundles: Vec<Bundle>,
    others: Vec<[u32; BUNDLE]>,
    weights: Vec<[f64; BUNDLE]>,
    /// Whether a place holds a link, and not one that fills up its list.
    filled: Vec<[bool; BUNDLE]>,
    /// Whether the links of each row lead to the same node, as they do in first order where all links are listed.
    pub are_shared: bool,
}

/// Lists whose sums are made side by side.
pub struct Bundle {
    /// The nodes that the lists belong to; the last node of the last bundle may occur more than once.
    pub nodes: [u32; BUNDLE],
    /// The places of the bundle's rows among all rows.
    range: Range<usize>,
}

/// The links of a bundle's lists, row by row: row i holds the i-th link of each list.
pub struct BundleLinks<'a> {
    /// The nodes that the links lead to.
    pub others: &'a [[u32; BUNDLE]],
    pub weights: &'a [[f64; BUNDLE]],
    /// The places of the rows among the rows of all bundles.
    pub range: Range<usize>,
}

/// A link: the node it leaves, the node it enters, and its score.
type Link = (u32, u32, f64);

impl BundledLists {
    /// Bundles the lists of n nodes; the links ascend by the node that the list belongs to.
    fn new(n: usize, links: &[Link]) -> BundledLists {
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
            let nodes = std::array::from_fn(|k| list(k)[0].0);
            bundles.push(Bundle { nodes, range: start..others.len() });
        }
        assert!(links.iter().all(|link| (link.0.max(link.1) as usize) < n));
        let are_shared = others.iter().all(|row: &[u32; BUNDLE]| row.iter().all(|&other| other == row[0]));
        BundledLists { n, bundles, others, weights, filled, are_shared }
    }

    pub fn n_nodes(&self) -> usize {
        self.n
    }

    /// The number of places for links, filled-up places included.
    pub fn n_places(&self) -> usize {
        BUNDLE * self.others.len()
    }

    /// All links by their places: (place, node that the list belongs to, node at the other end).
    pub fn links(&self) -> impl Iterator<Item = (usize, u32, u32)> {
        let rows = self.bundles.iter().flat_map(|bundle| bundle.range.clone().map(move |row| (bundle, row)));
        let places = rows.flat_map(|(bundle, row)| (0..BUNDLE).map(move |k| (bundle, row, k)));
        let filled = places.filter(|&(_, row, k)| self.filled[row][k]);
        filled.map(|(bundle, row, k)| (row * BUNDLE + k, bundle.nodes[k], self.others[row][k]))
    }

    /// The weight at a place.
    fn weight(&self, place: usize) -> f64 {
        self.weights[place / BUNDLE][place % BUNDLE]
    }

    #[inline(always)]
    pub fn links_of(&self, bundle: &Bundle) -> BundleLinks<'_> {
        let range = bundle.range.clone();
        BundleLinks { others: &self.others[range.clone()], weights: &self.weights[range.clone()], range }
    }
}

/// The log of the part of a sum over labels and `Pairs` that may be left: of what is subtracted where labels follow each other,
/// where three do, and once more where the next three do.
fn lowest_over_labels(transitions: &Transitions, scores: &Triples, pairs: &[[u16; 2]], triples: &[[u16; 3]]) -> f64 {
    let transition =
        |pair: &[u16; 2]| transitions.scores[usize::from(pair[0]) * transitions.width + usize::from(pair[1])];
    let in_triples = triples.iter().flat_map(|&[first, middle, last]| [[first, middle], [middle, last]]);
    let of_pairs = pairs.iter().copied().chain(in_triples).map(|pair| transition(&pair));
    let of_triples = triples.iter().map(|triple| scores.score(triple.map(usize::from)));
    let lowest_pair = of_pairs.filter(|score| *score != f64::NEG_INFINITY).fold(0.0, f64::min);
    lowest_pair + 2.0 * of_triples.fold(0.0, f64::min)
}

/// All pairs of labels.
fn all_pairs(labels: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..labels).flat_map(move |from| (0..labels).map(move |to| (from, to)))
}

/// The lists of links by the node that they leave, and by the node that they enter.
fn lists_of(nodes: usize, mut links: Vec<Link>) -> [BundledLists; 2] {
    links.sort_by_key(|link| link.0);
    let out = BundledLists::new(nodes, &links);
    links.iter_mut().for_each(|link| (link.0, link.1) = (link.1, link.0));
    links.sort_by_key(|link| link.0);
    [out, BundledLists::new(nodes, &links)]
}

/// Kinds of links.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    OverLabels,
    Centred,
}

impl Links {
    /// The links of a chain in which `pairs` are the transitions with features, and `triples` the triples.
    pub fn new(transitions: &Transitions, pairs: &[[u16; 2]], triples: &[[u16; 3]]) -> Links {
        if transitions.labels > FEW_LABELS {
            Links::over_labels(transitions, pairs, triples)
        } else {
            Links::with(transitions, pairs, triples, Kind::Plain)
        }
    }

    /// The links between labels, in second order beside `Pairs`.
    pub(super) fn over_labels(transitions: &Transitions, pairs: &[[u16; 2]], triples: &[[u16; 3]]) -> Links {
        Links::with(transitions, pairs, triples, Kind::OverLabels)
    }

    /// The links with centred scores.
    pub fn centred(transitions: &Transitions, pairs: &[[u16; 2]], triples: &[[u16; 3]]) -> Links {
        Links::with(transitions, pairs, triples, Kind::Centred)
    }

    fn with(transitions: &Transitions, pairs: &[[u16; 2]], triples: &[[u16; 3]], kind: Kind) -> Links {
        let labels = transitions.labels;
        let mut links = Links {
            labels,
            width: transitions.width,
            second_order: false,
            constrained: transitions.is_constrained(),
            are_few: false,
            unlisted: 1.0,
            unlisted_into: vec![1.0; labels],
            apart: Vec::new(),
            into: BundledLists::new(0, &[]),
            out: BundledLists::new(0, &[]),
            factors: Vec::new(),
            raised: Vec::new(),
            max_abs: transitions.max_abs,
            least: scaled::LEAST,
            centred: None,
            pairs: None,
        };
        if kind == Kind::Centred {
            links.least = 0.0;
            links.centred = Some(CentredLinks { centring: Centring::new(transitions.square()), each_triple: 0.0 });
        }
        let Some(scores) = &transitions.triples else {
            links.set_labels(transitions, pairs);
            return links;
        };
        links.max_abs += scores.max_abs();
        if triples.len() > MOST {
            // With so many, or with all triples listed, there are not few links. Making lists of them takes long.
            return links;
        }
        if kind != Kind::OverLabels || lowest_over_labels(transitions, scores, pairs, triples) < LEAST {
            links.set_pairs(transitions, scores, triples);
        } else {
            links.set_labels(transitions, pairs);
            links.pairs = Some(Pairs::new(transitions, scores, triples));
        }
        links
    }

    /// Makes lists of links between labels.
    fn set_labels(&mut self, transitions: &Transitions, pairs: &[[u16; 2]]) {
        let labels = self.labels;
        let link =
            |(from, to): (usize, usize)| (from as u32, to as u32, transitions.scores[from * transitions.width + to]);
        let featured = pairs.iter().map(|&[from, to]| (usize::from(from), usize::from(to)));
        let Some(allowed) = &transitions.allowed else {
            self.set(labels, transitions, featured.map(link).collect(), || all_pairs(labels).map(link).collect());
            return;
        };
        let mut is_free = vec![true; labels];
        allowed.forbidden_transitions().for_each(|(_, to)| is_free[to] = false);
        let listable = || all_pairs(labels).filter(|&(from, to)| allowed.allows(from, to));
        let listed = featured.filter(|&(_, to)| is_free[to]).chain(listable().filter(|&(_, to)| !is_free[to]));
        let alone = self.unlisted_into.iter_mut().zip(&is_free).filter(|(_, free)| !**free);
        alone.for_each(|(factor, _)| *factor = 0.0);
        self.set(labels, transitions, listed.map(link).collect(), || listable().map(link).collect());
    }

    /// Makes lists of links between pairs of labels, which are triples.
    fn set_pairs(&mut self, transitions: &Transitions, scores: &Triples, triples: &[[u16; 3]]) {
        self.second_order = true;
        let labels = self.labels;
        let score = |(from, to): (usize, usize)| transitions.scores[from * transitions.width + to];
        let centring = self.centred.as_ref().map(|centred| &centred.centring);
        let factor = |(from, to)| match centring {
            None => score((from, to)).exp(),
            Some(_) if score((from, to)) == f64::NEG_INFINITY => 0.0,
            Some(centring) => centring.score(transitions.square(), from, to).exp().max(FLOOR),
        };
        let is_raised = |&pair: &(usize, usize)| centring.is_some() && factor(pair) <= 2.0 * FLOOR;
        let raised = all_pairs(labels).filter(is_raised).map(|(from, to)| (from * labels + to) as u32).collect();
        let factors = all_pairs(labels).map(factor).collect();
        (self.raised, self.factors) = (raised, factors);
        let link = |[first, middle, last]: [usize; 3]| {
            ((first * labels + middle) as u32, (middle * labels + last) as u32, scores.score([first, middle, last]))
        };
        let few = triples.iter().map(|&triple| link(triple.map(usize::from))).collect();
        let all = || all_pairs(labels).flat_map(|(first, middle)| (0..labels).map(move |last| [first, middle, last]));
        self.set(labels * labels, transitions, few, || all().map(link).collect());
    }

    /// Makes the lists: of the `few` links with features where that is cheaper and as exact, else of `all` links.
    fn set(&mut self, nodes: usize, transitions: &Transitions, few: Vec<Link>, all: impl Fn() -> Vec<Link>) {
        let possible = nodes * self.labels;
        let mut few = few;
        self.unlisted_into.resize(nodes, 1.0);
        let mut is_narrow = true;
        if self.centred.is_some() && self.second_order {
            self.list_apart(&mut few);
        } else if self.centred.is_some() {
            is_narrow = few.iter().all(|link| (LEAST_CENTRED..=MOST_CENTRED).contains(&link.2));
        }
        // The links into a node that shares no sum keep all their digits.
        let is_alone = |link: &Link| self.unlisted_into[link.1 as usize] == 0.0;
        let sparse =
            is_narrow && 3 * few.len() < 2 * possible && few.iter().all(|link| link.2 >= LEAST || is_alone(link));
        self.are_few = if sparse { few.len() } else { possible } <= MOST;
        if !self.are_few {
            return;
        }
        let mut links = if sparse { few } else { all() };
        self.unlisted = if sparse { 1.0 } else { 0.0 };
        let shift = self.centre_links(transitions, &mut links, sparse);
        if self.centred.is_some() && sparse {
            self.unlisted = (-shift).exp().max(FLOOR);
        }
        let is_alone = |link: &Link| self.unlisted_into[link.1 as usize] == 0.0;
        let weight = |link: &Link| match (&self.centred, sparse && !is_alone(link)) {
            (None, true) => link.2.exp_m1(),
            (None, false) => link.2.exp(),
            (Some(_), true) => link.2.exp().max(FLOOR) - self.unlisted,
            (Some(_), false) => link.2.exp().max(FLOOR),
        };
        links.iter_mut().for_each(|link| link.2 = weight(link));
        if !sparse {
            self.unlisted_into.fill(0.0);
            self.apart.clear();
        }
        for Apart { to, factors, .. } in &mut self.apart {
            factors.extend(to.iter().map(|&node| std::mem::take(&mut self.factors[node as usize])));
        }
        [self.out, self.into] = lists_of(nodes, links);
    }

    /// Takes the nodes that links of low scores enter out of the sums that nodes share, so that no digits are lost there. A node
    /// that has a link to one of them, with features, gets links to all of them that it leads to; the others are in `apart`.
    fn list_apart(&mut self, few: &mut Vec<Link>) {
        let labels = self.labels;
        let mut is_low = vec![false; self.unlisted_into.len()];
        few.iter().filter(|link| link.2 < LEAST_CENTRED).for_each(|link| is_low[link.1 as usize] = true);
        let mut is_linked = vec![false; is_low.len()];
        few.iter().filter(|link| is_low[link.1 as usize]).for_each(|link| is_linked[link.0 as usize] = true);
        let listed: HashSet<_> = few.iter().map(|link| (link.0, link.1)).collect();
        for middle in 0..labels {
            let enter = (0..labels).map(|first| (first * labels + middle) as u32);
            let (linked, from) = enter.partition::<Vec<_>, _>(|&node| is_linked[node as usize]);
            let leave = (0..labels).map(|last| (middle * labels + last) as u32);
            let to: Vec<_> = leave.filter(|&node| is_low[node as usize]).collect();
            let links = linked.iter().flat_map(|&from| to.iter().map(move |&to| (from, to, 0.0)));
            few.extend(links.filter(|link| !listed.contains(&(link.0, link.1))));
            to.iter().for_each(|&node| self.unlisted_into[node as usize] = 0.0);
            if !to.is_empty() {
                self.apart.push(Apart { from, to, factors: Vec::new() });
            }
        }
    }

    /// Centres the scores of links; returns what is subtracted from links that are in no list.
    fn centre_links(&mut self, transitions: &Transitions, links: &mut [Link], sparse: bool) -> f64 {
        let Some(centred) = &mut self.centred else { return 0.0 };
        if !self.second_order && !sparse {
            let score = |link: &Link| centred.centring.score(transitions.square(), link.0 as usize, link.1 as usize);
            links.iter_mut().for_each(|link| link.2 = score(link));
            return 0.0;
        }
        let lowest = if sparse { 0.0 } else { f64::NEG_INFINITY };
        let shift = links.iter().fold(lowest, |most, link| most.max(link.2)).ceil();
        links.iter_mut().for_each(|link| link.2 -= shift);
        if self.second_order {
            centred.each_triple = shift;
        } else {
            centred.centring = Centring::alike(transitions.square(), shift);
        }
        shift
    }

    pub fn n_nodes(&self) -> usize {
        self.into.n
    }

    /// Whether more is added to the sums over lists, also of nodes that have none.
    pub fn adds_to_lists(&self) -> bool {
        self.pairs.is_some() || !self.apart.is_empty()
    }

    /// Adds expected counts to `counts`: of links, by their places in `out` and in units of their factors, and of pairs of labels.
    pub(super) fn add_counts(&self, sums: &LinkSums, counts: &mut PairCounts) {
        let (labels, width) = (self.labels, self.width);
        let has_own_sum = |from: u32, to: u32| {
            self.pairs.as_ref().is_some_and(|pairs| pairs.labels.binary_search(&[from, to]).is_ok())
        };
        let links = sums.links.as_chunks::<LANES>().0;
        for (place, from, to) in self.out.links().filter(|&(_, from, to)| !has_own_sum(from, to)) {
            let (from, to, count) = (from as usize, to as usize, links[place].iter().sum::<f64>());
            // Factors of centred scores differ from the factors in `Transitions`.
            let factor = self.centred.as_ref().map(|_| self.out.weight(place) + self.unlisted_factor(to));
            let triple = [from / labels, to / labels, to % labels];
            match (factor, self.second_order) {
                (None, false) => counts.outer[from * width + to] += count,
                (None, true) => counts.triples.add_listed(triple, count, 0.0),
                (Some(factor), false) => counts.direct[from * width + to] += count * factor,
                (Some(factor), true) => counts.triples.add_listed(triple, 0.0, count * factor),
            }
        }
        let of_pair = |at: usize| match &self.pairs {
            Some(pairs) => pairs.labels[at].map(|label| label as usize),
            None => [at / labels, at % labels],
        };
        for (at, lanes) in sums.pairs.as_chunks::<LANES>().0.iter().enumerate() {
            let [from, to] = of_pair(at);
            counts.direct[from * width + to] += lanes.iter().sum::<f64>();
        }
        let Some(pairs) = &self.pairs else { return };
        let triples = sums.triples.as_chunks::<LANES>().0;
        for (place, from, to) in pairs.out.links() {
            let ([first, middle], [_, last]) = (of_pair(from as usize), of_pair(to as usize));
            counts.triples.add_listed([first, middle, last], triples[place].iter().sum(), 0.0);
        }
    }

    /// The factor of the links into a node that are in no list.
    fn unlisted_factor(&self, node: usize) -> f64 {
        self.unlisted * self.unlisted_into[node]
    }
}
