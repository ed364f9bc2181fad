//! The cliques of an elimination as a forest, and how their tables lie in memory.
//!
//! Cliques are numbered in postorder: the descendants of a clique stand right before it, and so do their tables.

use crate::error::{Error, Result};
use crate::network::junction::elimination::{CAP, Elimination};
use crate::network::{self, Network};
use crate::threads::Interrupt;
use std::ops::Range;

/// Stands for "no edge" and "no parent".
pub(super) const NONE: u32 = u32::MAX;
/// All tables of a network together may have `TABLES` times the entries that a single table may have, or `ENTRIES` if that is
/// more.
const TABLES: u64 = 64;
/// 2 GiB of entries.
const ENTRIES: u64 = 1 << 28;
/// A task does at most 1 / `TASKS` of all work, or `TASK_ENTRIES` if that is more: starting a task costs some microseconds.
const TASKS: usize = 64;
/// Work of a task that is always allowed, in entries of tables.
const TASK_ENTRIES: usize = 1 << 14;
/// Work for a clique in addition to its table, in entries of tables.
const CLIQUE_ENTRIES: usize = 16;

/// A variable of a separator, as a dimension of the clique's table and of its message.
#[derive(Clone, Copy)]
pub(super) struct Axis {
    /// The clique that the variable leaves when it is eliminated.
    pub(super) clique: u32,
    pub(super) states: u32,
    /// Distance in the message from a state of the variable to the next.
    pub(super) stride: u32,
    /// The edge between the variable and the clique's own variable, or `NONE`.
    pub(super) edge: u32,
    /// Whether the clique's own variable is the edge's first.
    pub(super) first: bool,
}

/// Consecutive dimensions of the parent's table, taken as one dimension: either all of them are dimensions of the child's
/// message, or none is.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) size: u32,
    /// Distance in the message from one place of the span to the next; 0 if the dimensions are not in the message.
    pub(super) stride: u32,
}

/// The cliques of a network in postorder, a clique for each variable.
///
/// The first dimension of a table is the clique's own variable, the others are the variables of its separator by ascending
/// clique; a message has only the dimensions of the separator. Vectors named `*_at` have one element more than there are
/// cliques: element k is the beginning of the part of clique k, element k + 1 its end.
#[derive(Default)]
pub struct Junction {
    /// Clique -> its own variable.
    pub(super) variables: Vec<u32>,
    /// Clique -> number of states of its variable.
    pub(super) states: Vec<u32>,
    /// Clique -> its parent, or `NONE`.
    pub(super) parents: Vec<u32>,
    /// Clique -> the first of its descendants, or itself.
    pub(super) firsts: Vec<u32>,
    /// Children of clique 0, then of clique 1, and so on, ascending.
    pub(super) children: Vec<u32>,
    /// Separators of all cliques.
    pub(super) axes: Vec<Axis>,
    /// Spans of the table of each clique's parent.
    pub(super) spans: Vec<Span>,
    pub(super) children_at: Vec<usize>,
    pub(super) axes_at: Vec<usize>,
    pub(super) spans_at: Vec<usize>,
    pub(super) tables_at: Vec<usize>,
    pub(super) messages_at: Vec<usize>,
    pub(super) marginals_at: Vec<usize>,
    /// Ranges of cliques that contain all descendants of their cliques; threads work on different ranges.
    pub(super) tasks: Vec<Range<usize>>,
    /// All other cliques, ascending.
    pub(super) top: Vec<usize>,
}

impl Junction {
    /// The cliques of the best elimination found; none if all have tables of more than `CAP` entries or the search takes too
    /// long.
    pub fn new(network: &Network, interrupt: &Interrupt) -> Result<Option<Junction>> {
        Ok(Elimination::of(network, interrupt)?.map(|elimination| Junction::of(network, &elimination)))
    }

    fn of(network: &Network, elimination: &Elimination) -> Junction {
        let n = network.n_variables();
        let places = Places::new(elimination, n);
        let [axes_at, spans_at, tables_at, messages_at, marginals_at] = std::array::from_fn(|_| vec![0]);
        let mut junction = Junction { axes_at, spans_at, tables_at, messages_at, marginals_at, ..Junction::default() };
        let mut ranks = vec![0; n];
        (0..n).for_each(|rank| ranks[places.cliques[rank] as usize] = rank);
        for (k, &rank) in ranks.iter().enumerate() {
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

    /// Adds the separator of the clique whose own variable is the last of `variables`.
    fn add_axes(&mut self, network: &Network, separator: &[u32], places: &Places) {
        let v = self.variables[self.variables.len() - 1];
        let n_states = network.states()[v as usize] as usize;
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
        let (mut size, mut marginals) = (1, n_states);
        for axis in axes.iter_mut().rev() {
            axis.stride = size as u32;
            size *= axis.states as usize;
            marginals += if axis.edge == NONE { 0 } else { n_states * axis.states as usize };
        }
        self.parents.push(axes.first().map_or(NONE, |axis| axis.clique));
        self.axes_at.push(self.axes.len());
        self.tables_at.push(self.tables_at[self.tables_at.len() - 1] + n_states * size);
        self.messages_at.push(self.messages_at[self.messages_at.len() - 1] + size);
        self.marginals_at.push(self.marginals_at[self.marginals_at.len() - 1] + marginals);
    }

    /// Finds the children of all cliques, and the spans of their parents' tables.
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
                let from = self.spans.len();
                for (clique, size) in dimensions {
                    let at = mine.binary_search_by_key(&clique, |axis| axis.clique).ok();
                    let stride = at.map_or(0, |at| mine[at].stride);
                    match self.spans[from..].last_mut().filter(|last| (last.stride == 0) == (stride == 0)) {
                        Some(last) => *last = Span { size: last.size * size, stride },
                        None => self.spans.push(Span { size, stride }),
                    }
                }
            }
            self.spans_at.push(self.spans.len());
        }
    }

    /// Divides the cliques into `tasks` and `top`, independently of the number of threads.
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

    /// Number of variables, and of cliques.
    pub fn n_variables(&self) -> usize {
        self.variables.len()
    }

    /// Number of entries of all tables.
    pub fn entries(&self) -> usize {
        self.tables_at[self.n_variables()]
    }

    /// Number of entries of the largest table.
    pub fn largest(&self) -> usize {
        self.tables_at.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(1)
    }

    /// The range of a clique's table.
    pub(super) fn table(&self, k: usize) -> Range<usize> {
        self.tables_at[k]..self.tables_at[k + 1]
    }

    /// The range of a clique's message.
    pub(super) fn message(&self, k: usize) -> Range<usize> {
        self.messages_at[k]..self.messages_at[k + 1]
    }

    /// The separator of a clique.
    pub(super) fn axes(&self, k: usize) -> &[Axis] {
        &self.axes[self.axes_at[k]..self.axes_at[k + 1]]
    }

    /// The spans of the table of a clique's parent.
    pub(super) fn spans(&self, k: usize) -> &[Span] {
        &self.spans[self.spans_at[k]..self.spans_at[k + 1]]
    }

    /// The children of a clique, ascending.
    pub(super) fn children(&self, k: usize) -> impl Iterator<Item = usize> + '_ {
        self.children[self.children_at[k]..self.children_at[k + 1]].iter().map(|&child| child as usize)
    }

    /// Whether a clique has no parent.
    pub(super) fn is_root(&self, k: usize) -> bool {
        self.parents[k] == NONE
    }
}

/// The given cliques. Fails if they do not exist, a table has more than `limit` entries, or all tables together have too many.
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
            "exact inference in this network needs {all} table entries in total, more than {TABLES} times the limit \
             of {limit}; {REMEDY}, or raise the limit"
        )));
    }
    Ok(junction)
}

/// n zeros, or an error if memory does not suffice.
pub fn zeros(n: usize) -> Result<Vec<f64>> {
    network::zeros(Some(n), || format!("not enough memory for {n} numbers; use the method loopy_bp"))
}

/// The postorder of the cliques of an elimination. The rank of a variable counts the variables eliminated before it.
struct Places {
    /// Variable -> rank.
    ranks: Vec<u32>,
    /// Rank -> number of the clique in postorder.
    cliques: Vec<u32>,
    /// Rank -> number of descendants of the clique, itself included.
    sizes: Vec<u32>,
}

impl Places {
    /// The postorder of the cliques of an elimination of n variables.
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
        // From the last rank to the first, each clique takes the last free place among its parent's descendants.
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
