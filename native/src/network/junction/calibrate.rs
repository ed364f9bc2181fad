//! The passes up and down the cliques, which compute all marginals, and the most probable assignment.

use crate::error::Result;
use crate::network::junction::cliques::{Axis, Junction, NONE, zeros};
use crate::network::junction::tables::{collapse_row, fill_row, spread, sum_out};
use crate::network::{Marginals, Network, NetworkScores};
use crate::numeric;
use crate::numeric::arch::arch;
use crate::threads::{Interrupt, Pool, share};
use pulp::{Simd, WithSimd};
use std::ops::Range;

/// The least exponent: exp(-700) is negligible compared with 1, and `exp_in_place` supports nothing smaller.
const LOWEST: f64 = -700.0;

/// The result of the pass up.
pub struct Conditionals<'a> {
    pub(super) junction: &'a Junction,
    /// p(v | s) of all cliques.
    pub(super) tables: Vec<f64>,
    /// m(s) of all cliques.
    messages: Vec<f64>,
    pub log_z: f64,
}

/// Consecutive cliques from `start` on, with their tables, messages and marginals.
struct Segment<'a> {
    junction: &'a Junction,
    start: usize,
    tables: &'a mut [f64],
    messages: &'a mut [f64],
    marginals: &'a mut [f64],
}

/// A range of a whole buffer as a range of its part that begins at `base`.
#[inline(always)]
fn behind(range: Range<usize>, base: usize) -> Range<usize> {
    range.start - base..range.end - base
}

impl Segment<'_> {
    /// Computes t(v, s) of a clique: its scores plus the messages of its children.
    #[inline(always)]
    fn assemble(&mut self, k: usize, scores: NetworkScores<'_>) {
        let Segment { junction, start, .. } = *self;
        let (axes, states) = (junction.axes(k), junction.states[k] as usize);
        let table = &mut self.tables[behind(junction.table(k), junction.tables_at[start])];
        let node = &scores.node[scores.network.node(junction.variables[k] as usize)];
        let row_length = table.len() / states;
        for (a, row) in table.chunks_exact_mut(row_length).enumerate() {
            fill_row(row, node[a], axes, |axis, b| {
                let at = if axis.first { a * axis.states as usize + b } else { b * states + a };
                scores.edge[scores.network.table(axis.edge as usize).start + at]
            });
        }
        for child in junction.children(k) {
            let message = &self.messages[behind(junction.message(child), junction.messages_at[start])];
            spread(junction.spans(child), table, message, |t, m| *t += m);
        }
    }

    /// Computes m(s) = max_v t(v, s); returns the table and the message.
    #[inline(always)]
    fn maximise(&mut self, k: usize) -> (&mut [f64], &mut [f64]) {
        let Segment { junction, start, .. } = *self;
        let table = &mut self.tables[behind(junction.table(k), junction.tables_at[start])];
        let most = &mut self.messages[behind(junction.message(k), junction.messages_at[start])];
        most.fill(f64::NEG_INFINITY);
        for row in table.chunks_exact(most.len()) {
            most.iter_mut().zip(row).for_each(|(most, &t)| *most = if t > *most { t } else { *most });
        }
        (table, most)
    }

    /// Turns t(v, s) into p(v | s) and computes m(s) = log sum_v exp t(v, s).
    #[inline(always)]
    fn normalise<S: Simd>(&mut self, simd: S, k: usize, buffer: &mut Vec<f64>) {
        let (table, most) = self.maximise(k);
        let length = most.len();
        buffer.resize(buffer.len().max(3 * length), 0.0);
        let (sums, buffer) = buffer.split_at_mut(length);
        let (excess, logs) = buffer.split_at_mut(length);
        sums.fill(0.0);
        for row in table.chunks_exact_mut(length) {
            row.iter_mut().zip(&*most).for_each(|(t, most)| *t = (*t - most).max(LOWEST));
            numeric::exp_in_place(simd, row);
            sums.iter_mut().zip(&*row).for_each(|(sum, t)| *sum += t);
        }
        if table.len() == 2 * length {
            // One of two terms is 1, so that their sum is from 1 to 2: a vectorised logarithm covers this range.
            excess.iter_mut().zip(&*sums).for_each(|(excess, sum)| *excess = sum - 1.0);
            numeric::ln_one_plus(simd, excess, logs);
            most.iter_mut().zip(&*logs).for_each(|(most, log)| *most += log);
        } else {
            most.iter_mut().zip(&*sums).for_each(|(most, sum)| *most += sum.ln());
        }
        sums.iter_mut().for_each(|sum| *sum = 1.0 / *sum);
        for row in table.chunks_exact_mut(length) {
            row.iter_mut().zip(&*sums).for_each(|(t, factor)| *t *= factor);
        }
    }

    /// Computes, from p(v | s) in the table and p(s) in the message of a clique, the messages p(s) of its children and its
    /// marginals. The table is used up.
    #[inline(always)]
    fn descend<S: Simd>(&mut self, simd: S, k: usize) {
        let Segment { junction, start, .. } = *self;
        let base = junction.messages_at[start];
        let table = &mut self.tables[behind(junction.table(k), junction.tables_at[start])];
        let message = &mut self.messages[behind(junction.message(k), base)];
        if junction.is_root(k) {
            message.fill(1.0);
        }
        for row in table.chunks_exact_mut(message.len()) {
            row.iter_mut().zip(&*message).for_each(|(t, p)| *t *= p);
        }
        for child in junction.children(k) {
            sum_out(simd, junction.spans(child), table, &mut self.messages[behind(junction.message(child), base)]);
        }
        let marginals = behind(junction.marginals_at[k]..junction.marginals_at[k + 1], junction.marginals_at[start]);
        let (marginals, states) = (&mut self.marginals[marginals], junction.states[k] as usize);
        let row_length = table.len() / states;
        for (a, row) in table.chunks_exact_mut(row_length).enumerate() {
            collapse_row(simd, row, junction.axes(k), (a, states), marginals);
        }
    }
}

/// What a pass computes.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// Upwards, children first: tables p(v | s), messages log sum_v exp t(v, s).
    Sum,
    /// Upwards, children first: tables t(v, s), messages max_v t(v, s).
    Max,
    /// Downwards, parents first: marginals.
    Down,
}

/// The pass through some cliques.
struct Sweep<'a, 'p, I> {
    segment: &'a mut Segment<'p>,
    cliques: I,
    scores: NetworkScores<'a>,
    way: Way,
    interrupt: &'a Interrupt,
}

impl<I: Iterator<Item = usize>> WithSimd for Sweep<'_, '_, I> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Sweep { segment, cliques, scores, way, interrupt } = self;
        let mut buffer = Vec::new();
        for k in cliques {
            if interrupt.is_set() {
                return;
            }
            if way != Way::Down {
                segment.assemble(k, scores);
            }
            match way {
                Way::Sum => segment.normalise(simd, k, &mut buffer),
                Way::Max => drop(segment.maximise(k)),
                Way::Down => segment.descend(simd, k),
            }
        }
    }
}

impl Junction {
    /// The tasks as segments of the given tables, messages and marginals; the marginals may be empty.
    fn segments<'a>(&'a self, buffers: [&'a mut [f64]; 3]) -> Vec<Segment<'a>> {
        let [mut tables, mut messages, mut marginals] = buffers;
        let has_marginals = !marginals.is_empty();
        let mut done = 0;
        let mut segments = Vec::with_capacity(self.tasks.len());
        for task in &self.tasks {
            let cut = |at: &[usize], remaining: &mut &'a mut [f64]| {
                let (_, behind) = std::mem::take(remaining).split_at_mut(at[task.start] - at[done]);
                let (mine, behind) = behind.split_at_mut(at[task.end] - at[task.start]);
                *remaining = behind;
                mine
            };
            let (tables, messages) = (cut(&self.tables_at, &mut tables), cut(&self.messages_at, &mut messages));
            let marginals = if has_marginals { cut(&self.marginals_at, &mut marginals) } else { &mut [] };
            segments.push(Segment { junction: self, start: task.start, tables, messages, marginals });
            done = task.end;
        }
        segments
    }

    /// All cliques as one segment.
    fn whole<'a>(&'a self, [tables, messages, marginals]: [&'a mut [f64]; 3]) -> Segment<'a> {
        Segment { junction: self, start: 0, tables, messages, marginals }
    }

    /// Calls `work` for all tasks, on the pool if there is one.
    fn each_task<'a>(
        &self,
        pool: Option<Pool>,
        segments: Vec<Segment<'a>>,
        work: impl Fn(Segment<'a>, Range<usize>) + Sync,
    ) {
        let tasks: Vec<_> = segments.into_iter().zip(self.tasks.iter().cloned()).collect();
        match pool {
            Some(pool) => drop(share(pool, tasks, |(segment, cliques)| work(segment, cliques))),
            None => tasks.into_iter().for_each(|(segment, cliques)| work(segment, cliques)),
        }
    }

    /// The pass up through all cliques: first the tasks, then `top`.
    fn up(
        &self,
        scores: NetworkScores<'_>,
        way: Way,
        pool: Option<Pool>,
        interrupt: &Interrupt,
    ) -> Result<Conditionals<'_>> {
        let mut tables = zeros(self.entries())?;
        let mut messages = zeros(self.messages_at[self.n_variables()])?;
        self.each_task(pool, self.segments([&mut tables, &mut messages, &mut []]), |mut segment, cliques| {
            arch().dispatch(Sweep { segment: &mut segment, cliques, scores, way, interrupt });
        });
        let mut segment = self.whole([&mut tables, &mut messages, &mut []]);
        arch().dispatch(Sweep { segment: &mut segment, cliques: self.top.iter().copied(), scores, way, interrupt });
        interrupt.check()?;
        let roots = (0..self.n_variables()).filter(|&k| self.is_root(k));
        let log_z = roots.map(|k| messages[self.messages_at[k]]).sum();
        Ok(Conditionals { junction: self, tables, messages, log_z })
    }

    /// The probabilities of every variable given its separator, and log Z. Without a pool, works on this thread only. Costs
    /// O(entries of all tables).
    pub fn conditionals(
        &self,
        scores: NetworkScores<'_>,
        pool: Option<Pool>,
        interrupt: &Interrupt,
    ) -> Result<Conditionals<'_>> {
        self.up(scores, Way::Sum, pool, interrupt)
    }

    /// An assignment of the highest probability. Of equally probable states of a variable, chosen from the roots down, the
    /// lowest.
    pub fn most_probable(
        &self,
        scores: NetworkScores<'_>,
        pool: Option<Pool>,
        interrupt: &Interrupt,
    ) -> Result<Vec<u32>> {
        let up = self.up(scores, Way::Max, pool, interrupt)?;
        let mut assignment = vec![0; self.n_variables()];
        up.choose(&mut assignment, |column| {
            let best = column.enumerate().reduce(|best, next| if next.1 > best.1 { next } else { best });
            best.map_or(0, |(state, _)| state)
        });
        Ok(assignment)
    }
}

impl Conditionals<'_> {
    /// Chooses a state of every variable, from the roots down: `pick` gets the entries of the table at the states chosen for
    /// the separator.
    pub(super) fn choose(&self, assignment: &mut [u32], mut pick: impl FnMut(&mut dyn Iterator<Item = f64>) -> usize) {
        let junction = self.junction;
        for k in (0..junction.n_variables()).rev() {
            let state = |axis: &Axis| assignment[junction.variables[axis.clique as usize] as usize] as usize;
            let at: usize = junction.axes(k).iter().map(|axis| axis.stride as usize * state(axis)).sum();
            let column = self.tables[junction.table(k)][at..].iter().step_by(junction.message(k).len());
            assignment[junction.variables[k] as usize] = pick(&mut column.copied()) as u32;
        }
    }

    /// The marginals of all variables and edges. Costs O(entries of all tables).
    pub fn marginals(
        mut self,
        scores: NetworkScores<'_>,
        pool: Option<Pool>,
        interrupt: &Interrupt,
    ) -> Result<Marginals> {
        let (junction, way) = (self.junction, Way::Down);
        let mut marginals = zeros(junction.marginals_at[junction.n_variables()])?;
        let mut segment = junction.whole([&mut self.tables, &mut self.messages, &mut marginals]);
        let cliques = junction.top.iter().rev().copied();
        arch().dispatch(Sweep { segment: &mut segment, cliques, scores, way, interrupt });
        let segments = junction.segments([&mut self.tables, &mut self.messages, &mut marginals]);
        junction.each_task(pool, segments, |mut segment, cliques| {
            arch().dispatch(Sweep { segment: &mut segment, cliques: cliques.rev(), scores, way, interrupt });
        });
        interrupt.check()?;
        Ok(junction.scatter(&marginals, self.log_z, scores.network))
    }
}

impl Junction {
    /// Copies marginals from the layout of the cliques to the layout of the scores.
    fn scatter(&self, marginals: &[f64], log_z: f64, network: &Network) -> Marginals {
        let (mut nodes, mut edges) = (vec![0.0; network.n_node_scores()], vec![0.0; network.n_edge_scores()]);
        for k in 0..self.n_variables() {
            let states = self.states[k] as usize;
            let (mine, mut rest) = marginals[self.marginals_at[k]..self.marginals_at[k + 1]].split_at(states);
            nodes[network.node(self.variables[k] as usize)].copy_from_slice(mine);
            for axis in self.axes(k).iter().filter(|axis| axis.edge != NONE) {
                let (from, behind) = rest.split_at(states * axis.states as usize);
                rest = behind;
                let to = &mut edges[network.table(axis.edge as usize)];
                if axis.first {
                    to.copy_from_slice(from);
                } else {
                    (0..to.len()).for_each(|at| to[at] = from[at % states * axis.states as usize + at / states]);
                }
            }
        }
        Marginals { log_z, nodes, edges }
    }
}
