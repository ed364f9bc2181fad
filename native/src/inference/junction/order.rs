//! The order in which variables are eliminated: min-fill, each new edge weighted by the size of its table (Kjaerulff 1990).

use crate::error::Result;
use crate::network::Network;
use crate::threads::Interrupt;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// No table may have more entries; 32 GiB.
pub const CAP: u64 = 1 << 32;
/// Comparisons after which the ordering is given up: so many, and so many for every variable. About a second.
const WORK: u64 = 100_000_000;
const WORK_PER_VARIABLE: u64 = 10_000;

/// Variables in the order of their elimination. Each leaves behind its separator: the neighbours it has at that time.
#[derive(Default)]
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

    /// The order for a network; none if tables would exceed `CAP`, or if it takes too long to find out.
    pub fn of(network: &Network, interrupt: &Interrupt) -> Result<Option<Elimination>> {
        let mut elimination = Elimination::default();
        let left = elimination.strip(network);
        let mut core = Core::new(network, &left);
        let work = WORK + WORK_PER_VARIABLE * network.n_variables() as u64;
        while let Some(variable) = core.pop() {
            interrupt.check()?;
            elimination.push(variable, core.eliminate(variable));
            if core.work > work {
                return Ok(None);
            }
        }
        Ok(Some(elimination).filter(|found| found.variables.len() == network.n_variables()))
    }

    /// Eliminates variables with at most one neighbour, from all leaves inwards, in linear time; returns which are left.
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

/// What makes a variable the next: the weight of the edges to be filled in, the size of its table, its number.
type Key = (u64, u64, u32);

/// The graph of those variables that have not been eliminated.
struct Core<'a> {
    states: &'a [u32],
    /// Neighbours, ascending.
    adjacent: Vec<Vec<u32>>,
    /// None if the table would exceed `CAP`, or once a variable is gone.
    keys: Vec<Option<Key>>,
    /// Keys of which those that are no longer in `keys` do not count.
    queue: BinaryHeap<Reverse<Key>>,
    work: u64,
}

impl<'a> Core<'a> {
    fn new(network: &'a Network, left: &[bool]) -> Self {
        let around = |v: usize| {
            let around = network.neighbours(v).iter().map(|neighbour| neighbour.variable);
            let mut around: Vec<u32> = around.filter(|&u| left[u as usize]).collect();
            around.sort_unstable();
            around
        };
        let adjacent = (0..left.len()).map(|v| if left[v] { around(v) } else { Vec::new() }).collect();
        let keys = vec![None; left.len()];
        let mut core = Core { states: network.states(), adjacent, keys, queue: BinaryHeap::new(), work: 0 };
        (0..left.len()).filter(|&v| left[v]).for_each(|v| core.set_key(v as u32));
        core
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

    fn set_key(&mut self, v: u32) {
        let key = self.size(v).map(|size| {
            let missing: u64 = self.missing(&self.adjacent[v as usize]).map(|(a, b)| self.weight(a, b)).sum();
            (missing, size, v)
        });
        self.work += 1 + if key.is_some() { self.adjacent[v as usize].len().pow(2) as u64 } else { 0 };
        self.replace(v, key);
    }

    fn replace(&mut self, v: u32, key: Option<Key>) {
        if key != self.keys[v as usize] {
            self.keys[v as usize] = key;
            self.queue.extend(key.map(Reverse));
        }
    }

    /// Pairs without an edge.
    fn missing<'b>(&'b self, among: &'b [u32]) -> impl Iterator<Item = (u32, u32)> + 'b {
        let pairs = among.iter().enumerate().flat_map(|(at, &a)| among[at + 1..].iter().map(move |&b| (a, b)));
        pairs.filter(|&(a, b)| !self.are_adjacent(a, b))
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
        let around = std::mem::take(&mut self.adjacent[v as usize]);
        for &u in &around {
            let others = &mut self.adjacent[u as usize];
            if let Ok(at) = others.binary_search(&v) {
                others.remove(at);
            }
        }
        let filled: Vec<(u32, u32)> = self.missing(&around).collect();
        for &(a, b) in &filled {
            self.fill(a, b, &around);
        }
        around.iter().for_each(|&u| self.set_key(u));
        around
    }

    /// Joins two variables: common neighbours outside of those around them have so much less to fill in.
    fn fill(&mut self, a: u32, b: u32, around: &[u32]) {
        let weight = self.weight(a, b);
        let (mut few, mut many) = (a, b);
        if self.adjacent[few as usize].len() > self.adjacent[many as usize].len() {
            (few, many) = (many, few);
        }
        self.work += self.adjacent[few as usize].len() as u64;
        for at in 0..self.adjacent[few as usize].len() {
            let w = self.adjacent[few as usize][at];
            if let Some((fill, size, _)) = self.keys[w as usize]
                && self.are_adjacent(many, w)
                && around.binary_search(&w).is_err()
            {
                self.replace(w, Some((fill - weight, size, w)));
            }
        }
        for (from, to) in [(a, b), (b, a)] {
            let others = &mut self.adjacent[from as usize];
            if let Err(at) = others.binary_search(&to) {
                others.insert(at, to);
            }
        }
    }
}
