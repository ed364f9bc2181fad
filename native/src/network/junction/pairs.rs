//! p(x_i, x_j) of all pairs of variables, whether there is an edge between them or not.
//!
//! With x_i clamped to a state, only the tables of cliques above that of i change on the way up: from
//! l(s) = p(x_i = a | s), at first the row of i's own table,
//!
//! ```text
//! w(v, s) = p(v | s) l(v, s),   l'(s) = sum_v w(v, s) = p(x_i = a | s),   and so on to the root.
//! ```
//!
//! On the way down p(v, s, x_i = a) = w(v, s) p(s, x_i = a) / l'(s) on this path, and p(v | s) p(s, x_i = a) beside it.
//! It goes as far as the clique of i: pairs with what stands before that are found from their other side.

use crate::error::{Error, Result};
use crate::network::Network;
use crate::network::junction::calibrate::Conditionals;
use crate::network::junction::tables::{spread, sum_out};
use crate::network::junction::{Junction, zeros};
use crate::numeric;
use crate::threads::{Interrupt, share};
use pulp::{Arch, Simd, WithSimd};
use rayon::ThreadPool;
use std::sync::{Mutex, PoisonError};

/// Tables and messages of the cliques from that of i on.
struct Buffers {
    tables: Vec<f64>,
    messages: Vec<f64>,
    /// l of the message at hand.
    l: Vec<f64>,
}

/// One state of one variable, clamped: its row of the matrix.
struct Clamped<'a> {
    conditionals: &'a Conditionals<'a>,
    network: &'a Network,
    clique: usize,
    state: usize,
    buffers: &'a mut Buffers,
    row: &'a mut [f64],
}

impl Clamped<'_> {
    /// Leaves w in the tables and l in the messages of the cliques above that of i; returns the root's number.
    #[inline(always)]
    fn up<S: Simd>(&mut self, _simd: S) -> usize {
        let Conditionals { junction, ref tables, .. } = *self.conditionals;
        let Buffers { tables: joint, messages, .. } = &mut *self.buffers;
        let mut k = self.clique;
        let own = &tables[junction.table(k)];
        let length = junction.message(k).len();
        messages[junction.message(k)].copy_from_slice(&own[self.state * length..(self.state + 1) * length]);
        while !junction.is_root(k) {
            let parent = junction.parents[k] as usize;
            let table = &mut joint[junction.table(parent)];
            table.copy_from_slice(&tables[junction.table(parent)]);
            spread(junction.groups(k), table, &messages[junction.message(k)], |t, m| *t *= m);
            let sums = &mut messages[junction.message(parent)];
            sums.fill(0.0);
            for row in table.chunks_exact(sums.len()) {
                sums.iter_mut().zip(row).for_each(|(sum, w)| *sum += w);
            }
            k = parent;
        }
        k
    }

    /// From the root's l, which is p(x_i = a), to the cliques down to that of i.
    #[inline(always)]
    fn down<S: Simd>(&mut self, simd: S, root: usize) {
        let Conditionals { junction, ref tables, .. } = *self.conditionals;
        let total = self.buffers.messages[junction.message(root)][0];
        let mut on_path = root;
        for k in (self.clique + 1..=root).rev() {
            let Buffers { tables: joint, messages, .. } = &mut *self.buffers;
            let (joint, p) = (&mut joint[junction.table(k)], &messages[junction.message(k)]);
            if k == on_path {
                // The table has been weighted when the parent was visited.
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

impl Buffers {
    /// Sums p(s, x_i = a) of a child out of its parent's table; on the path to i weights the child's table by it.
    #[inline(always)]
    fn pass<S: Simd>(&mut self, simd: S, junction: &Junction, (k, child): (usize, usize), on_path: bool) {
        let message = &mut self.messages[junction.message(child)];
        self.l.clear();
        self.l.extend_from_slice(message);
        sum_out(simd, junction.groups(child), &self.tables[junction.table(k)], message);
        if on_path {
            // Both are 0 where there is nothing to weigh.
            message.iter_mut().zip(&self.l).for_each(|(p, &l)| *p = if l > 0.0 { *p / l } else { 0.0 });
            for row in self.tables[junction.table(child)].chunks_exact_mut(message.len()) {
                row.iter_mut().zip(&*message).for_each(|(w, ratio)| *w *= ratio);
            }
        }
    }
}

impl Junction {
    /// The child of a clique that is above another, or is that one.
    fn child_towards(&self, k: usize, below: usize) -> usize {
        let children = &self.children[self.children_at[k]..self.children_at[k + 1]];
        // Children ascend, and each has what is below it right before it.
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
    /// The matrix of p(x_i = a, x_j = b) for all states of all variables, by rows; a variable with itself has p(x_i) on
    /// the diagonal. `node` are the marginals. O(states * all tables), and tables for each thread.
    pub fn pairs(&self, network: &Network, node: &[f64], pool: &ThreadPool, interrupt: &Interrupt) -> Result<Vec<f64>> {
        let all = node.len();
        let square =
            all.checked_mul(all).ok_or_else(|| Error::Option(format!("{all} states are too many for pairs")))?;
        let mut matrix = zeros(square)?;
        let mut items = Vec::with_capacity(self.junction.n_variables());
        let mut rest = matrix.as_mut_slice();
        for i in 0..self.junction.n_variables() {
            let (rows, behind) = rest.split_at_mut(network.node(i).len() * all);
            items.push((i, rows));
            rest = behind;
        }
        let cliques = self.junction.cliques();
        let spare: Mutex<Vec<Buffers>> = Mutex::default();
        let outcomes = share(pool, items, |(i, rows)| {
            interrupt.check()?;
            let kept = spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut buffers = match kept {
                Some(buffers) => buffers,
                None => Buffers {
                    tables: zeros(self.tables.len())?,
                    messages: zeros(self.junction.all_messages())?,
                    l: Vec::new(),
                },
            };
            for (state, row) in rows.chunks_exact_mut(all).enumerate() {
                interrupt.check()?;
                self.pairs_of(network, node, (cliques[i], state), &mut buffers, row);
            }
            spare.lock().unwrap_or_else(PoisonError::into_inner).push(buffers);
            Ok(())
        });
        outcomes.into_iter().collect::<Result<()>>()?;
        mirror(&mut matrix, network, &cliques);
        Ok(matrix)
    }

    /// One row, for variables whose cliques do not stand before that of i.
    fn pairs_of(
        &self,
        network: &Network,
        node: &[f64],
        (clique, state): (usize, usize),
        buffers: &mut Buffers,
        row: &mut [f64],
    ) {
        let junction = self.junction;
        let own = node[network.node(junction.variables[clique] as usize)][state];
        Arch::new().dispatch(Clamped { conditionals: self, network, clique, state, buffers, row });
        let root = (clique..junction.n_variables()).find(|&k| junction.is_root(k)).unwrap_or(clique);
        // Other components are independent.
        for k in root + 1..junction.n_variables() {
            let states = network.node(junction.variables[k] as usize);
            row[states.clone()].iter_mut().zip(&node[states]).for_each(|(to, p)| *to = own * p);
        }
    }
}

/// Copies to the rows of each variable what the rows of variables that stand before it hold.
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
    /// The clique of each variable.
    fn cliques(&self) -> Vec<usize> {
        let mut cliques = vec![0; self.n_variables()];
        self.variables.iter().enumerate().for_each(|(k, &v)| cliques[v as usize] = k);
        cliques
    }

    fn all_messages(&self) -> usize {
        self.messages_at[self.n_variables()]
    }
}
