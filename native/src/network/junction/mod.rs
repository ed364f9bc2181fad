//! Exact inference by elimination (Lauritzen & Spiegelhalter 1988; Koller & Friedman 2009, chapters 9 and 10).
//!
//! A variable v that is eliminated leaves a clique: v and its separator S, the neighbours it has then. The clique's
//! parent is that of the first variable of S to be eliminated, and holds all of S. On the way up, clique by clique,
//!
//! ```text
//! t(v, s) = scores of v and of its edges into S + messages of the children,   m(s) = log sum_v exp t(v, s),
//! ```
//!
//! and t becomes p(v | s) = exp(t(v, s) - m(s)). On the way down p(v, s) = p(v | s) p(s), where p(s) is summed out of
//! the parent's table. Messages are logarithms and conditional probabilities at most 1: no scores overflow, none give 0
//! / 0.
//!
//! Cliques are numbered in postorder: those below a clique stand right before it, and with them their tables.

mod calibrate;
mod order;
mod pairs;
mod sample;
mod tables;
#[cfg(test)]
mod tests;

pub use calibrate::{Conditionals, Marginals};

use crate::error::{Error, Result};
use crate::network::Network;
use crate::threads::Interrupt;
use order::{CAP, Elimination};
use std::ops::Range;

/// For "no edge" and "no parent".
const NONE: u32 = u32::MAX;
/// Tables of one network may take so many times the largest, or so many entries if that is more: 2 GiB.
const TABLES: u64 = 64;
const ENTRIES: u64 = 1 << 28;
/// A task has at most 1 / TASKS of all work, or so many entries if that is more: starting a task costs some
/// microseconds.
const TASKS: usize = 64;
const TASK_ENTRIES: usize = 1 << 14;
/// Entries of a table that take as long as the rest of what is done for a clique.
const CLIQUE_ENTRIES: usize = 16;

/// A network's scores, checked.
#[derive(Clone, Copy)]
pub struct Scores<'a> {
    pub network: &'a Network,
    pub node: &'a [f64],
    pub edge: &'a [f64],
}

impl<'a> Scores<'a> {
    pub fn new(network: &'a Network, node: &'a [f64], edge: &'a [f64]) -> Result<Self> {
        network.check_scores(node, edge)?;
        Ok(Scores { network, node, edge })
    }
}

/// A variable of a separator, as a dimension of the clique's table and of its message.
#[derive(Clone, Copy)]
struct Axis {
    clique: u32,
    states: u32,
    stride: u32,
    /// The edge to the clique's own variable, or `NONE`.
    edge: u32,
    /// Whether the own variable is the edge's first.
    first: bool,
}

/// Neighbouring dimensions of the parent's table that are all in the child's message, or all are not, as one.
#[derive(Clone, Copy)]
struct Group {
    size: u32,
    /// In the message; 0 if not there.
    stride: u32,
}

/// The cliques of a network in postorder. Tables are by rows: the own variable first, then the separator as it is
/// ordered.
pub struct Junction {
    variables: Vec<u32>,
    states: Vec<u32>,
    parents: Vec<u32>,
    /// The first of the cliques below each clique.
    firsts: Vec<u32>,
    children: Vec<u32>,
    axes: Vec<Axis>,
    groups: Vec<Group>,
    /// Where what belongs to each clique begins, and where it ends.
    children_at: Vec<usize>,
    axes_at: Vec<usize>,
    groups_at: Vec<usize>,
    tables_at: Vec<usize>,
    messages_at: Vec<usize>,
    marginals_at: Vec<usize>,
    /// Runs of cliques with all that is below them, and the cliques above.
    tasks: Vec<Range<usize>>,
    top: Vec<usize>,
}

impl Junction {
    /// None if there are tables of more than 2^32 entries, or if it takes too long to find out.
    pub fn new(network: &Network, interrupt: &Interrupt) -> Result<Option<Junction>> {
        Ok(Elimination::of(network, interrupt)?.map(|elimination| Junction::of(network, &elimination)))
    }

    fn of(network: &Network, elimination: &Elimination) -> Junction {
        let n = network.n_variables();
        let places = Places::new(elimination, n);
        let mut junction = Junction::empty(n);
        let mut order = vec![0; n];
        (0..n).for_each(|rank| order[places.cliques[rank] as usize] = rank);
        for (k, &rank) in order.iter().enumerate() {
            let v = elimination.variables[rank];
            junction.variables.push(v);
            junction.states.push(network.states()[v as usize]);
            junction.firsts.push((k + 1 - places.sizes[rank] as usize) as u32);
            junction.add_axes(network, elimination.separator(rank), &places);
        }
        junction.link();
        junction.divide();
        junction
    }

    fn empty(n: usize) -> Junction {
        let starts = || {
            let mut starts = Vec::with_capacity(n + 1);
            starts.push(0);
            starts
        };
        Junction {
            variables: Vec::with_capacity(n),
            states: Vec::with_capacity(n),
            parents: Vec::with_capacity(n),
            firsts: Vec::with_capacity(n),
            children: Vec::new(),
            axes: Vec::new(),
            groups: Vec::new(),
            children_at: Vec::new(),
            axes_at: starts(),
            groups_at: starts(),
            tables_at: starts(),
            messages_at: starts(),
            marginals_at: starts(),
            tasks: Vec::new(),
            top: Vec::new(),
        }
    }

    /// The dimensions of the next clique, whose variable is the last of `variables`.
    fn add_axes(&mut self, network: &Network, separator: &[u32], places: &Places) {
        let v = self.variables[self.variables.len() - 1];
        let own = network.states()[v as usize] as usize;
        let from = self.axes.len();
        self.axes.extend(separator.iter().map(|&u| {
            let clique = places.cliques[places.ranks[u as usize] as usize];
            Axis { clique, states: network.states()[u as usize], stride: 0, edge: NONE, first: false }
        }));
        let axes = &mut self.axes[from..];
        axes.sort_unstable_by_key(|axis| axis.clique);
        for neighbour in network.neighbours(v as usize) {
            let clique = places.cliques[places.ranks[neighbour.variable as usize] as usize];
            if let Ok(at) = axes.binary_search_by_key(&clique, |axis| axis.clique) {
                (axes[at].edge, axes[at].first) = (neighbour.edge, !neighbour.first);
            }
        }
        let (mut size, mut marginals) = (1, own);
        for axis in axes.iter_mut().rev() {
            axis.stride = size as u32;
            size *= axis.states as usize;
            marginals += if axis.edge == NONE { 0 } else { own * axis.states as usize };
        }
        self.parents.push(axes.first().map_or(NONE, |axis| axis.clique));
        self.axes_at.push(self.axes.len());
        self.tables_at.push(self.tables_at[self.tables_at.len() - 1] + own * size);
        self.messages_at.push(self.messages_at[self.messages_at.len() - 1] + size);
        self.marginals_at.push(self.marginals_at[self.marginals_at.len() - 1] + marginals);
    }

    /// Finds the children of all cliques, and how their messages lie in their parents' tables.
    fn link(&mut self) {
        let n = self.variables.len();
        let mut counts = vec![0; n + 1];
        self.parents.iter().filter(|&&p| p != NONE).for_each(|&p| counts[p as usize + 1] += 1);
        (0..n).for_each(|k| counts[k + 1] += counts[k]);
        self.children = vec![0; counts[n]];
        self.children_at = counts.clone();
        for k in 0..n {
            if self.parents[k] != NONE {
                let parent = self.parents[k] as usize;
                self.children[counts[parent]] = k as u32;
                counts[parent] += 1;
                let mine = &self.axes[self.axes_at[k]..self.axes_at[k + 1]];
                let theirs = &self.axes[self.axes_at[parent]..self.axes_at[parent + 1]];
                let dimensions = std::iter::once((parent as u32, self.states[parent]));
                let dimensions = dimensions.chain(theirs.iter().map(|axis| (axis.clique, axis.states)));
                let from = self.groups.len();
                for (clique, size) in dimensions {
                    let at = mine.binary_search_by_key(&clique, |axis| axis.clique).ok();
                    let stride = at.map_or(0, |at| mine[at].stride);
                    match self.groups[from..].last_mut().filter(|last| (last.stride == 0) == (stride == 0)) {
                        Some(last) => *last = Group { size: last.size * size, stride },
                        None => self.groups.push(Group { size, stride }),
                    }
                }
            }
            self.groups_at.push(self.groups.len());
        }
    }

    /// Divides the cliques into tasks, alike for any number of threads, and those above them.
    fn divide(&mut self) {
        let cost = |range: &Range<usize>| {
            self.tables_at[range.end] - self.tables_at[range.start] + CLIQUE_ENTRIES * range.len()
        };
        let n = self.variables.len();
        let most = TASK_ENTRIES.max(cost(&(0..n)) / TASKS);
        let mut end = n;
        while end > 0 {
            let run = self.firsts[end - 1] as usize..end;
            if cost(&run) > most {
                self.top.push(end - 1);
                end -= 1;
                continue;
            }
            end = run.start;
            match self.tasks.last_mut().filter(|last| last.start == run.end && cost(&(run.start..last.end)) <= most) {
                Some(last) => last.start = run.start,
                None => self.tasks.push(run),
            }
        }
        self.tasks.reverse();
        self.top.reverse();
    }

    pub fn n_variables(&self) -> usize {
        self.variables.len()
    }

    /// Entries of all tables.
    pub fn entries(&self) -> usize {
        self.tables_at[self.n_variables()]
    }

    /// Entries of the largest table.
    pub fn largest(&self) -> usize {
        self.tables_at.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(1)
    }

    fn table(&self, k: usize) -> Range<usize> {
        self.tables_at[k]..self.tables_at[k + 1]
    }

    fn message(&self, k: usize) -> Range<usize> {
        self.messages_at[k]..self.messages_at[k + 1]
    }

    fn axes(&self, k: usize) -> &[Axis] {
        &self.axes[self.axes_at[k]..self.axes_at[k + 1]]
    }

    fn groups(&self, k: usize) -> &[Group] {
        &self.groups[self.groups_at[k]..self.groups_at[k + 1]]
    }

    fn children(&self, k: usize) -> impl Iterator<Item = usize> + '_ {
        self.children[self.children_at[k]..self.children_at[k + 1]].iter().map(|&child| child as usize)
    }

    fn is_root(&self, k: usize) -> bool {
        self.parents[k] == NONE
    }
}

/// The junction forest, unless there is none or its tables are too large.
pub fn within(junction: Option<&Junction>, limit: usize) -> Result<&Junction> {
    const REMEDY: &str = "use the method loopy_bp, or fewer edges";
    let Some(junction) = junction else {
        let most = CAP.ilog2();
        let message =
            format!("exact inference in this network would need tables of more than 2^{most} entries; {REMEDY}");
        return Err(Error::Option(message));
    };
    let (largest, all) = (junction.largest(), junction.entries());
    if largest > limit {
        let size = (largest as f64).log2();
        return Err(Error::Option(format!(
            "exact inference in this network needs a table of {largest} = 2^{size:.1} entries, more than the limit of \
             {limit}; {REMEDY}, or raise the limit"
        )));
    }
    if all as u64 > ENTRIES.max((limit as u64).saturating_mul(TABLES)) {
        return Err(Error::Option(format!(
            "exact inference in this network needs tables of {all} entries in all, more than {TABLES} times the limit \
             of {limit}; {REMEDY}, or raise the limit"
        )));
    }
    Ok(junction)
}

/// So many zeros, or an error if there is no memory for them.
pub(super) fn zeros(n: usize) -> Result<Vec<f64>> {
    let mut zeros = Vec::new();
    let outcome = zeros.try_reserve_exact(n);
    outcome.map_err(|_| Error::Option(format!("there is no memory for {n} numbers; use the method loopy_bp")))?;
    zeros.resize(n, 0.0);
    Ok(zeros)
}

/// Where the cliques of eliminated variables are in postorder.
struct Places {
    /// The rank of each variable in the order of elimination.
    ranks: Vec<u32>,
    /// By rank: the number of the clique, and how many cliques are below it, itself included.
    cliques: Vec<u32>,
    sizes: Vec<u32>,
}

impl Places {
    fn new(elimination: &Elimination, n: usize) -> Places {
        let mut ranks = vec![0; n];
        elimination.variables.iter().enumerate().for_each(|(rank, &v)| ranks[v as usize] = rank as u32);
        let parent = |rank| elimination.separator(rank).iter().map(|&u| ranks[u as usize] as usize).min();
        let mut sizes = vec![1; n];
        for rank in 0..n {
            if let Some(parent) = parent(rank) {
                sizes[parent] += sizes[rank];
            }
        }
        // From the last clique to the first: each stands at the end of the places still free below its parent.
        let (mut cliques, mut free) = (vec![0; n], vec![0; n]);
        let mut free_roots = n as u32;
        for rank in (0..n).rev() {
            let end = parent(rank).map_or(&mut free_roots, |parent| &mut free[parent]);
            cliques[rank] = *end - 1;
            *end -= sizes[rank];
            free[rank] = cliques[rank];
        }
        Places { ranks, cliques, sizes }
    }
}
