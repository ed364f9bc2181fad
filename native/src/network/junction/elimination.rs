//! The sequence in which variables are eliminated: the best that two heuristics find.
//!
//! - Min-fill, each new edge weighted by the size of its table (Kjaerulff 1990), seldom gives a bad sequence, except in grids,
//!   where many ties are broken badly.
//! - A breadth-first walk from a far end (Cuthill & McKee 1969) gives grids tables as small as they can be. The sequence goes
//!   from both ends to the middle, so that two threads can work on the halves.

use crate::error::Result;
use crate::network::Network;
use crate::threads::Interrupt;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Most entries of a table: 32 GiB.
pub const CAP: u64 = 1 << 32;
/// Comparisons after which the search is given up, plus `WORK_PER_VARIABLE` for each variable. They take about a second.
const WORK: i64 = 100_000_000;
/// Comparisons for each variable.
const WORK_PER_VARIABLE: i64 = 10_000;
/// Entries of tables for each variable at which the search ends: a better sequence would not be worth more work.
const ENOUGH: u64 = 64;

/// A sequence of elimination. The rank of a variable counts the variables eliminated before it. The separator of a variable
/// consists of the neighbours that it has when it is eliminated.
#[derive(Clone, Default)]
pub struct Elimination {
    /// Rank -> variable.
    pub variables: Vec<u32>,
    /// Separators of rank 0, then of rank 1, and so on.
    separators: Vec<u32>,
    /// Rank -> end of the separator.
    ends: Vec<usize>,
}

impl Elimination {
    /// Eliminates one more variable.
    fn push(&mut self, variable: u32, separator: impl IntoIterator<Item = u32>) {
        self.variables.push(variable);
        self.separators.extend(separator);
        self.ends.push(self.separators.len());
    }

    /// The separator of the variable of a rank.
    pub fn separator(&self, rank: usize) -> &[u32] {
        &self.separators[rank.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[rank]]
    }

    /// The best sequence found for a network; none if every one has a table of more than `CAP` entries or the search takes too
    /// long.
    pub fn of(network: &Network, interrupt: &Interrupt) -> Result<Option<Elimination>> {
        let mut stripped = Elimination::default();
        let left = stripped.strip(network);
        let core = Graph::new(network, &left);
        let mut best: Option<(u64, Elimination)> = None;
        let mut work = WORK + WORK_PER_VARIABLE * network.n_variables() as i64;
        for heuristic in [Heuristic::Fill, Heuristic::Across { turned: false }, Heuristic::Across { turned: true }] {
            let mut search = Search::new(core.clone(), heuristic, work);
            let candidate = search.run(stripped.clone(), interrupt)?;
            work = search.work;
            best = match (best, candidate) {
                (Some(best), Some(candidate)) => Some(if candidate.0 < best.0 { candidate } else { best }),
                (best, candidate) => best.or(candidate),
            };
            if best.as_ref().is_some_and(|(entries, _)| *entries <= ENOUGH * network.n_variables() as u64) {
                break;
            }
        }
        Ok(best.map(|(_, elimination)| elimination))
    }

    /// Eliminates variables with at most one neighbour, from all leaves inwards, in linear time. Returns, for each variable,
    /// whether it is left.
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

/// The graph of the variables that have not been eliminated.
#[derive(Clone)]
struct Graph<'a> {
    states: &'a [u32],
    /// Variable -> its neighbours, ascending.
    adjacent: Vec<Vec<u32>>,
    /// Variable -> whether it belonged to the graph at first.
    left: Vec<bool>,
}

impl<'a> Graph<'a> {
    /// The graph of the variables that are `left`.
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

    /// The size of the table of an edge between a and b.
    fn weight(&self, a: u32, b: u32) -> u64 {
        u64::from(self.states[a as usize]) * u64::from(self.states[b as usize])
    }

    /// Whether there is an edge between a and b.
    fn are_adjacent(&self, a: u32, b: u32) -> bool {
        self.adjacent[a as usize].binary_search(&b).is_ok()
    }

    /// The size of the table of a variable and its neighbours; none if it exceeds `CAP`.
    fn size(&self, v: u32) -> Option<u64> {
        let around = self.adjacent[v as usize].iter();
        around.chain([&v]).try_fold(1u64, |size, &u| {
            Some(size.saturating_mul(u64::from(self.states[u as usize]))).filter(|&size| size <= CAP)
        })
    }

    /// All pairs of the given variables without an edge between them.
    fn missing<'b>(&'b self, among: &'b [u32]) -> impl Iterator<Item = (u32, u32)> + 'b {
        let pairs = among.iter().enumerate().flat_map(|(at, &a)| among[at + 1..].iter().map(move |&b| (a, b)));
        pairs.filter(|&(a, b)| !self.are_adjacent(a, b))
    }

    /// Variable -> its distance, in a breadth-first walk through its component, from the nearer end of the walk. The walk begins
    /// at the variable that another walk reaches last.
    fn breadth_first(&self, turned: bool) -> Vec<u32> {
        let n = self.left.len();
        let (mut ranks, mut sequence) = (vec![u32::MAX; n], Vec::new());
        for start in (0..n).filter(|&v| self.left[v]) {
            if ranks[start] == u32::MAX {
                let from = sequence.len();
                let mut far = start as u32;
                for _ in 0..2 {
                    sequence.drain(from..).for_each(|v: u32| ranks[v as usize] = u32::MAX);
                    self.walk(far, turned, &mut ranks, &mut sequence);
                    far = sequence[sequence.len() - 1];
                }
                for (rank, &v) in sequence[from..].iter().enumerate() {
                    ranks[v as usize] = rank.min(sequence.len() - from - 1 - rank) as u32;
                }
            }
        }
        ranks
    }

    /// Appends the component of `start` to `sequence`, breadth first, and writes the places of its variables to `ranks`. Of the
    /// neighbours of a variable, those with fewer neighbours come first; ties go to the lower number, or the higher if `turned`.
    fn walk(&self, start: u32, turned: bool, ranks: &mut [u32], sequence: &mut Vec<u32>) {
        let mut at = sequence.len();
        ranks[start as usize] = at as u32;
        sequence.push(start);
        while at < sequence.len() {
            let from = sequence.len();
            let around = &self.adjacent[sequence[at] as usize];
            sequence.extend(around.iter().filter(|&&u| ranks[u as usize] == u32::MAX));
            if turned {
                sequence[from..].reverse();
            }
            sequence[from..].sort_by_key(|&u| self.adjacent[u as usize].len());
            (from..sequence.len()).for_each(|rank| ranks[sequence[rank] as usize] = rank as u32);
            at += 1;
        }
    }

    /// Removes a variable and its edges; returns its neighbours.
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

    /// Adds an edge between a and b unless one exists.
    fn join(&mut self, a: u32, b: u32) {
        for (from, to) in [(a, b), (b, a)] {
            let others = &mut self.adjacent[from as usize];
            if let Err(at) = others.binary_search(&to) {
                others.insert(at, to);
            }
        }
    }
}

/// The rule that chooses the next variable.
#[derive(Clone, Copy, PartialEq)]
enum Heuristic {
    /// The variable whose elimination adds edges of the least total weight, then the one with the smallest table.
    Fill,
    /// The variable nearest to an end of the breadth-first walk (`Graph::breadth_first`).
    Across { turned: bool },
}

/// The variable with the least key is next: the weight of the edges that its elimination adds, or its distance from an end of
/// the walk; the size of its table; its number.
type Key = (u64, u64, u32);

/// The search for a sequence by one heuristic.
struct Search<'a> {
    graph: Graph<'a>,
    heuristic: Heuristic,
    /// For `Heuristic::Across`: variable -> distance from an end of the walk.
    ranks: Vec<u32>,
    /// Variable -> key; none if the table would exceed `CAP`, or after the elimination.
    keys: Vec<Option<Key>>,
    /// Keys, among them outdated ones, which differ from `keys`.
    queue: BinaryHeap<Reverse<Key>>,
    /// Comparisons left; below 0 the search is given up.
    work: i64,
}

impl<'a> Search<'a> {
    /// A search with no variable eliminated and no key computed.
    fn new(graph: Graph<'a>, heuristic: Heuristic, work: i64) -> Self {
        let keys = vec![None; graph.left.len()];
        let ranks = match heuristic {
            Heuristic::Fill => Vec::new(),
            Heuristic::Across { turned } => graph.breadth_first(turned),
        };
        Search { graph, heuristic, ranks, keys, queue: BinaryHeap::new(), work }
    }

    /// Completes the sequence `begun`; returns it with the number of entries of all tables. None if the search is given up.
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

    /// Computes the key of a variable.
    fn set_key(&mut self, v: u32) {
        let around = &self.graph.adjacent[v as usize];
        let key = match self.heuristic {
            Heuristic::Across { .. } => Some((u64::from(self.ranks[v as usize]), 0, v)),
            Heuristic::Fill => self.graph.size(v).map(|size| {
                let missing: u64 = self.graph.missing(around).map(|(a, b)| self.graph.weight(a, b)).sum();
                self.work -= around.len().pow(2) as i64;
                (missing, size, v)
            }),
        };
        self.work -= 1;
        self.replace(v, key);
    }

    /// Replaces the key of a variable.
    fn replace(&mut self, v: u32, key: Option<Key>) {
        if key != self.keys[v as usize] {
            self.keys[v as usize] = key;
            self.queue.extend(key.map(Reverse));
        }
    }

    /// The variable with the least key.
    fn pop(&mut self) -> Option<u32> {
        while let Some(Reverse(key)) = self.queue.pop() {
            if self.keys[key.2 as usize] == Some(key) {
                return Some(key.2);
            }
        }
        None
    }

    /// Eliminates a variable: removes it and joins its neighbours, which are returned.
    fn eliminate(&mut self, v: u32) -> Vec<u32> {
        self.keys[v as usize] = None;
        let around = self.graph.take_out(v);
        self.work -= around.len().pow(2) as i64;
        let filled: Vec<(u32, u32)> = self.graph.missing(&around).collect();
        for &(a, b) in &filled {
            if self.heuristic == Heuristic::Fill {
                self.lighten(a, b, &around);
            }
            self.graph.join(a, b);
        }
        if self.heuristic == Heuristic::Fill {
            around.iter().for_each(|&u| self.set_key(u));
        }
        around
    }

    /// Reduces the keys of all common neighbours of a and b, which are about to be joined, by the weight of the new edge. The
    /// variables of `around` are left out: `eliminate` recomputes their keys.
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
