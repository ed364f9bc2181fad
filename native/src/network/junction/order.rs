//! The order in which variables are eliminated: the best of some heuristics.
//!
//! Min-fill, each new edge weighted by the size of its table (Kjaerulff 1990), seldom does badly, but in grids its many
//! ties matter. Breadth-first order from a far end (Cuthill & McKee 1969) is then as narrow as can be; it goes from
//! both ends to the middle, so that there are two halves to be worked on at once.

use crate::error::Result;
use crate::network::Network;
use crate::threads::Interrupt;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// No table may have more entries; 32 GiB.
pub const CAP: u64 = 1 << 32;
/// Comparisons after which the ordering is given up: so many, and so many for every variable. About a second.
const WORK: i64 = 100_000_000;
const WORK_PER_VARIABLE: i64 = 10_000;
/// Entries of tables for each variable, with which one is content.
const ENOUGH: u64 = 64;
/// Variables in the order of their elimination. Each leaves behind its separator: the neighbours it has at that time.
#[derive(Clone, Default)]
pub struct Elimination {
    pub variables: Vec<u32>,
    separators: Vec<u32>,
    ends: Vec<usize>,
}

impl Elimination {
    fn push(&mut self, variable: u32, separator: impl IntoIterator<Item = u32>) {
        self.variables.push(variable);
        self.separators.extend(separator);
        self.ends.push(self.separators.len());
    }

    pub fn separator(&self, rank: usize) -> &[u32] {
        &self.separators[rank.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[rank]]
    }

    /// An order for a network; none if tables would exceed `CAP`, or if it takes too long to find out.
    pub fn of(network: &Network, interrupt: &Interrupt) -> Result<Option<Elimination>> {
        let mut stripped = Elimination::default();
        let left = stripped.strip(network);
        let core = Graph::new(network, &left);
        let mut best: Option<(u64, Elimination)> = None;
        let mut work = WORK + WORK_PER_VARIABLE * network.n_variables() as i64;
        for rule in [Rule::Fill, Rule::Across { turned: false }, Rule::Across { turned: true }] {
            let mut search = Search::new(core.clone(), rule, work);
            let found = search.run(stripped.clone(), interrupt)?;
            work = search.work;
            best = match (best, found) {
                (Some(best), Some(found)) => Some(if found.0 < best.0 { found } else { best }),
                (best, found) => best.or(found),
            };
            // Better orders would not be worth the search.
            if best.as_ref().is_some_and(|(entries, _)| *entries <= ENOUGH * network.n_variables() as u64) {
                break;
            }
        }
        Ok(best.map(|(_, elimination)| elimination))
    }

    /// Eliminates variables with at most one neighbour, from all leaves inwards, in linear time; returns which are
    /// left.
    fn strip(&mut self, network: &Network) -> Vec<bool> {
        let n = network.n_variables();
        let mut degrees: Vec<usize> = (0..n).map(|v| network.neighbours(v).len()).collect();
        let mut left = vec![true; n];
        let mut queue: VecDeque<usize> = (0..n).filter(|&v| degrees[v] <= 1).collect();
        while let Some(v) = queue.pop_front() {
            left[v] = false;
            let around = network.neighbours(v).iter().map(|neighbour| neighbour.variable);
            let last = around.into_iter().find(|&u| left[u as usize]);
            self.push(v as u32, last);
            if let Some(u) = last {
                degrees[u as usize] -= 1;
                if degrees[u as usize] == 1 {
                    queue.push_back(u as usize);
                }
            }
        }
        left
    }
}

/// The graph of those variables that have not been eliminated.
#[derive(Clone)]
struct Graph<'a> {
    states: &'a [u32],
    /// Neighbours, ascending.
    adjacent: Vec<Vec<u32>>,
    left: Vec<bool>,
}

impl<'a> Graph<'a> {
    fn new(network: &'a Network, left: &[bool]) -> Self {
        let around = |v: usize| {
            let around = network.neighbours(v).iter().map(|neighbour| neighbour.variable);
            let mut around: Vec<u32> = around.filter(|&u| left[u as usize]).collect();
            around.sort_unstable();
            around
        };
        let adjacent = (0..left.len()).map(|v| if left[v] { around(v) } else { Vec::new() }).collect();
        Graph { states: network.states(), adjacent, left: left.to_vec() }
    }

    fn weight(&self, a: u32, b: u32) -> u64 {
        u64::from(self.states[a as usize]) * u64::from(self.states[b as usize])
    }

    fn are_adjacent(&self, a: u32, b: u32) -> bool {
        self.adjacent[a as usize].binary_search(&b).is_ok()
    }

    /// The size of the table of a variable and its neighbours, unless it exceeds `CAP`.
    fn size(&self, v: u32) -> Option<u64> {
        let around = self.adjacent[v as usize].iter();
        around.chain([&v]).try_fold(1u64, |size, &u| {
            Some(size.saturating_mul(u64::from(self.states[u as usize]))).filter(|&size| size <= CAP)
        })
    }

    /// Pairs without an edge.
    fn missing<'b>(&'b self, among: &'b [u32]) -> impl Iterator<Item = (u32, u32)> + 'b {
        let pairs = among.iter().enumerate().flat_map(|(at, &a)| among[at + 1..].iter().map(move |&b| (a, b)));
        pairs.filter(|&(a, b)| !self.are_adjacent(a, b))
    }

    /// Ranks in breadth-first order from both ends to the middle, neighbours of fewer neighbours first, of every
    /// component from the variable reached last from any other.
    fn breadth_first(&self, turned: bool) -> Vec<u32> {
        let n = self.left.len();
        let (mut ranks, mut order) = (vec![u32::MAX; n], Vec::new());
        for start in (0..n).filter(|&v| self.left[v]) {
            if ranks[start] == u32::MAX {
                let from = order.len();
                let mut far = start as u32;
                for _ in 0..2 {
                    order.drain(from..).for_each(|v: u32| ranks[v as usize] = u32::MAX);
                    self.walk(far, turned, &mut ranks, &mut order);
                    far = order[order.len() - 1];
                }
                for (rank, &v) in order[from..].iter().enumerate() {
                    ranks[v as usize] = rank.min(order.len() - from - 1 - rank) as u32;
                }
            }
        }
        ranks
    }

    fn walk(&self, start: u32, turned: bool, ranks: &mut [u32], order: &mut Vec<u32>) {
        let mut at = order.len();
        ranks[start as usize] = at as u32;
        order.push(start);
        while at < order.len() {
            let from = order.len();
            let around = &self.adjacent[order[at] as usize];
            order.extend(around.iter().filter(|&&u| ranks[u as usize] == u32::MAX));
            if turned {
                order[from..].reverse();
            }
            order[from..].sort_by_key(|&u| self.adjacent[u as usize].len());
            (from..order.len()).for_each(|rank| ranks[order[rank] as usize] = rank as u32);
            at += 1;
        }
    }

    fn take_out(&mut self, v: u32) -> Vec<u32> {
        let around = std::mem::take(&mut self.adjacent[v as usize]);
        for &u in &around {
            let others = &mut self.adjacent[u as usize];
            if let Ok(at) = others.binary_search(&v) {
                others.remove(at);
            }
        }
        around
    }

    fn join(&mut self, a: u32, b: u32) {
        for (from, to) in [(a, b), (b, a)] {
            let others = &mut self.adjacent[from as usize];
            if let Err(at) = others.binary_search(&to) {
                others.insert(at, to);
            }
        }
    }
}

/// Which variable is next.
#[derive(Clone, Copy, PartialEq)]
enum Rule {
    /// That with the least weight of edges to be filled in, then of the smallest table.
    Fill,
    /// Breadth-first, of equal neighbours that with the lower number first, or the higher.
    Across { turned: bool },
}

/// Weight of edges to be filled in, or rank in the order across; size of the table; number.
type Key = (u64, u64, u32);

struct Search<'a> {
    graph: Graph<'a>,
    rule: Rule,
    /// Of `Rule::Across`.
    ranks: Vec<u32>,
    /// None if the table would exceed `CAP`, or once a variable is gone.
    keys: Vec<Option<Key>>,
    /// Keys of which those that are no longer in `keys` do not count.
    queue: BinaryHeap<Reverse<Key>>,
    /// What is left of it; less than 0 when the search is given up.
    work: i64,
}

impl<'a> Search<'a> {
    fn new(graph: Graph<'a>, rule: Rule, work: i64) -> Self {
        let keys = vec![None; graph.left.len()];
        let ranks = match rule {
            Rule::Fill => Vec::new(),
            Rule::Across { turned } => graph.breadth_first(turned),
        };
        Search { graph, rule, ranks, keys, queue: BinaryHeap::new(), work }
    }

    /// The entries of all tables, and the whole order, which begins as given; none if it is given up.
    fn run(&mut self, begun: Elimination, interrupt: &Interrupt) -> Result<Option<(u64, Elimination)>> {
        let (mut entries, mut elimination) = (0u64, begun);
        for v in 0..self.keys.len() {
            if self.graph.left[v] {
                self.set_key(v as u32);
            }
        }
        while let Some(variable) = self.pop() {
            interrupt.check()?;
            let Some(size) = self.graph.size(variable) else { return Ok(None) };
            entries = entries.saturating_add(size);
            elimination.push(variable, self.eliminate(variable));
            if self.work < 0 {
                return Ok(None);
            }
        }
        Ok((elimination.variables.len() == self.keys.len()).then_some((entries, elimination)))
    }

    fn set_key(&mut self, v: u32) {
        let around = &self.graph.adjacent[v as usize];
        let key = match self.rule {
            Rule::Across { .. } => Some((u64::from(self.ranks[v as usize]), 0, v)),
            Rule::Fill => self.graph.size(v).map(|size| {
                let missing: u64 = self.graph.missing(around).map(|(a, b)| self.graph.weight(a, b)).sum();
                self.work -= around.len().pow(2) as i64;
                (missing, size, v)
            }),
        };
        self.work -= 1;
        self.replace(v, key);
    }

    fn replace(&mut self, v: u32, key: Option<Key>) {
        if key != self.keys[v as usize] {
            self.keys[v as usize] = key;
            self.queue.extend(key.map(Reverse));
        }
    }

    fn pop(&mut self) -> Option<u32> {
        while let Some(Reverse(key)) = self.queue.pop() {
            if self.keys[key.2 as usize] == Some(key) {
                return Some(key.2);
            }
        }
        None
    }

    /// Takes a variable out and joins its neighbours, which it returns.
    fn eliminate(&mut self, v: u32) -> Vec<u32> {
        self.keys[v as usize] = None;
        let around = self.graph.take_out(v);
        self.work -= around.len().pow(2) as i64;
        let filled: Vec<(u32, u32)> = self.graph.missing(&around).collect();
        for &(a, b) in &filled {
            if self.rule == Rule::Fill {
                self.lighten(a, b, &around);
            }
            self.graph.join(a, b);
        }
        if self.rule == Rule::Fill {
            around.iter().for_each(|&u| self.set_key(u));
        }
        around
    }

    /// Common neighbours of two variables that are to be joined will have so much less to fill in. Those around get new
    /// keys anyway.
    fn lighten(&mut self, a: u32, b: u32, around: &[u32]) {
        let weight = self.graph.weight(a, b);
        let (mut few, mut many) = (a, b);
        if self.graph.adjacent[few as usize].len() > self.graph.adjacent[many as usize].len() {
            (few, many) = (many, few);
        }
        self.work -= self.graph.adjacent[few as usize].len() as i64;
        for at in 0..self.graph.adjacent[few as usize].len() {
            let w = self.graph.adjacent[few as usize][at];
            if let Some((fill, size, _)) = self.keys[w as usize]
                && self.graph.are_adjacent(many, w)
                && around.binary_search(&w).is_err()
            {
                self.replace(w, Some((fill - weight, size, w)));
            }
        }
    }
}
