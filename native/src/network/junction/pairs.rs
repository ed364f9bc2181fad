//! p(x_i, x_j) of all pairs of variables, with or without an edge between them.
//!
//! With x_i clamped to state a, the pass up changes the tables on the path from the clique of i to its root alone. It starts
//! from l(s) = p(x_i = a | s), the row of state a in the table of i's clique. Each clique on the path computes from the l of
//! its child
//!
//! ```text
//! w(v, s) = p(v | s) l(v, s),   l'(s) = sum_v w(v, s) = p(x_i = a | s).
//! ```
//!
//! On the pass down, p(v, s, x_i = a) = w(v, s) p(s, x_i = a) / l'(s) on the path, and p(v | s) p(s, x_i = a) elsewhere. The
//! pass down ends at the clique of i. For a variable j whose clique comes before it, p(x_i, x_j) is copied from row j.

use crate::error::{Error, Result};
use crate::network::Network;
use crate::network::junction::calibrate::Conditionals;
use crate::network::junction::cliques::{Junction, zeros};
use crate::network::junction::tables::{spread, sum_out};
use crate::numeric;
use crate::numeric::arch::arch;
use crate::threads::{Interrupt, Pool, locked, parts, share};
use pulp::{Simd, WithSimd};
use std::sync::Mutex;

/// Buffers that a thread keeps from one row to the next.
struct Scratch {
    /// w, then p(v, s, x_i = a), of each clique.
    tables: Vec<f64>,
    /// l, then p(s, x_i = a), of each clique.
    messages: Vec<f64>,
    /// A copy of l of the clique that `pass` works on.
    l: Vec<f64>,
}

/// The computation of one row of the matrix: variable i is clamped to a state.
struct Clamped<'a> {
    conditionals: &'a Conditionals<'a>,
    network: &'a Network,
    /// The clique of i.
    clique: usize,
    /// a
    state: usize,
    buffers: &'a mut Scratch,
    row: &'a mut [f64],
}

impl Clamped<'_> {
    /// The pass up: leaves w in the tables and l in the messages of the path; returns the root.
    #[inline(always)]
    fn up<S: Simd>(&mut self, _simd: S) -> usize {
        let Conditionals { junction, ref tables, .. } = *self.conditionals;
        let Scratch { tables: joint, messages, .. } = &mut *self.buffers;
        let mut k = self.clique;
        let clique_table = &tables[junction.table(k)];
        let length = junction.message(k).len();
        messages[junction.message(k)].copy_from_slice(&clique_table[self.state * length..(self.state + 1) * length]);
        while !junction.is_root(k) {
            let parent = junction.parents[k] as usize;
            let table = &mut joint[junction.table(parent)];
            table.copy_from_slice(&tables[junction.table(parent)]);
            spread(junction.spans(k), table, &messages[junction.message(k)], |t, m| *t *= m);
            let sums = &mut messages[junction.message(parent)];
            sums.fill(0.0);
            for row in table.chunks_exact(sums.len()) {
                sums.iter_mut().zip(row).for_each(|(sum, w)| *sum += w);
            }
            k = parent;
        }
        k
    }

    /// The pass down from the root, whose l is p(x_i = a), to the clique of i. Writes the row.
    #[inline(always)]
    fn down<S: Simd>(&mut self, simd: S, root: usize) {
        let Conditionals { junction, ref tables, .. } = *self.conditionals;
        let total = self.buffers.messages[junction.message(root)][0];
        let mut on_path = root;
        for k in (self.clique + 1..=root).rev() {
            let Scratch { tables: joint, messages, .. } = &mut *self.buffers;
            let (joint, p) = (&mut joint[junction.table(k)], &messages[junction.message(k)]);
            if k == on_path {
                // `pass` has already turned w into p(v, s, x_i = a) when it visited the parent.
                on_path = junction.child_towards(k, self.clique);
            } else {
                for (row, from) in joint.chunks_exact_mut(p.len()).zip(tables[junction.table(k)].chunks_exact(p.len()))
                {
                    row.iter_mut().zip(from).zip(p).for_each(|((t, from), p)| *t = from * p);
                }
            }
            let states = &mut self.row[self.network.node(junction.variables[k] as usize)];
            states.iter_mut().zip(joint.chunks_exact(p.len())).for_each(|(p, row)| *p = numeric::sum(simd, row));
            for child in junction.children(k).filter(|&child| child > self.clique) {
                self.buffers.pass(simd, junction, (k, child), child == on_path);
            }
        }
        let states = &mut self.row[self.network.node(junction.variables[self.clique] as usize)];
        states.fill(0.0);
        states[self.state] = total;
    }
}

impl Scratch {
    /// Sums p(s, x_i = a) of the child of clique k out of the table of k. If the child is on the path, turns its table from w
    /// into p(v, s, x_i = a).
    #[inline(always)]
    fn pass<S: Simd>(&mut self, simd: S, junction: &Junction, (k, child): (usize, usize), on_path: bool) {
        let message = &mut self.messages[junction.message(child)];
        self.l.clear();
        self.l.extend_from_slice(message);
        sum_out(simd, junction.spans(child), &self.tables[junction.table(k)], message);
        if on_path {
            // Where l is 0, p and the child's table are 0.
            message.iter_mut().zip(&self.l).for_each(|(p, &l)| *p = if l > 0.0 { *p / l } else { 0.0 });
            for row in self.tables[junction.table(child)].chunks_exact_mut(message.len()) {
                row.iter_mut().zip(&*message).for_each(|(w, ratio)| *w *= ratio);
            }
        }
    }
}

impl Junction {
    /// The child of clique k that is clique `below` or its ancestor.
    fn child_towards(&self, k: usize, below: usize) -> usize {
        let children = &self.children[self.children_at[k]..self.children_at[k + 1]];
        // Children ascend, and the descendants of each stand right before it.
        let at = children.partition_point(|&child| (child as usize) < below);
        children.get(at).map_or(below, |&child| child as usize)
    }
}

impl WithSimd for Clamped<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let root = self.up(simd);
        self.down(simd, root);
    }
}

impl Conditionals<'_> {
    /// The matrix of p(x_i = a, x_j = b) for all states of all variables, row by row. The block of a variable with itself is
    /// diagonal, with p(x_i = a) in it. `node` holds the marginals, laid out as the node scores.
    ///
    /// Costs O(states of all variables * entries of all tables), and memory for all tables for each thread.
    pub fn pairs(&self, network: &Network, node: &[f64], pool: Pool, interrupt: &Interrupt) -> Result<Vec<f64>> {
        let all = node.len();
        let square = all
            .checked_mul(all)
            .ok_or_else(|| Error::Option(format!("{all} states are too many for a table of pairs")))?;
        let mut matrix = zeros(square)?;
        let sizes = (0..self.junction.n_variables()).map(|i| network.node(i).len() * all);
        let items = parts(&mut matrix, sizes).into_iter().enumerate().collect();
        let cliques = self.junction.cliques();
        let spare: Mutex<Vec<Scratch>> = Mutex::default();
        let outcomes = share(pool, items, |(i, rows): (usize, &mut [f64])| {
            interrupt.check()?;
            let reused = locked(&spare).pop();
            let mut buffers = match reused {
                Some(buffers) => buffers,
                None => {
                    let (tables, messages) = (zeros(self.tables.len())?, zeros(self.junction.all_messages())?);
                    Scratch { tables, messages, l: Vec::new() }
                }
            };
            for (state, row) in rows.chunks_exact_mut(all).enumerate() {
                interrupt.check()?;
                self.pairs_of(network, node, (cliques[i], state), &mut buffers, row);
            }
            locked(&spare).push(buffers);
            Ok(())
        });
        outcomes.into_iter().collect::<Result<()>>()?;
        mirror(&mut matrix, network, &cliques);
        Ok(matrix)
    }

    /// Writes one row of the matrix: the entries of variables whose cliques do not come before `clique`.
    fn pairs_of(
        &self,
        network: &Network,
        node: &[f64],
        (clique, state): (usize, usize),
        buffers: &mut Scratch,
        row: &mut [f64],
    ) {
        let junction = self.junction;
        let p_state = node[network.node(junction.variables[clique] as usize)][state];
        arch().dispatch(Clamped { conditionals: self, network, clique, state, buffers, row });
        let root = (clique..junction.n_variables()).find(|&k| junction.is_root(k)).unwrap_or(clique);
        // Variables of other components of the network are independent of i.
        for k in root + 1..junction.n_variables() {
            let states = network.node(junction.variables[k] as usize);
            row[states.clone()].iter_mut().zip(&node[states]).for_each(|(to, p)| *to = p_state * p);
        }
    }
}

/// Copies p(x_j, x_i) to the rows of i for all j whose cliques come before the clique of i.
fn mirror(matrix: &mut [f64], network: &Network, cliques: &[usize]) {
    let all = network.n_node_scores();
    for i in 0..cliques.len() {
        for j in (0..cliques.len()).filter(|&j| cliques[j] < cliques[i]) {
            for a in network.node(i) {
                network.node(j).for_each(|b| matrix[a * all + b] = matrix[b * all + a]);
            }
        }
    }
}

impl Junction {
    /// Variable -> its clique.
    fn cliques(&self) -> Vec<usize> {
        let mut cliques = vec![0; self.n_variables()];
        self.variables.iter().enumerate().for_each(|(k, &v)| cliques[v as usize] = k);
        cliques
    }

    /// Number of entries of all messages.
    fn all_messages(&self) -> usize {
        self.messages_at[self.n_variables()]
    }
}
