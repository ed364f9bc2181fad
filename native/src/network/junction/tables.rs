//! Walks over tables of many dimensions: the last of them is the fastest.

use crate::network::junction::{Axis, Group, NONE};
use crate::numeric;
use pulp::Simd;

/// Calls with each run of entries of the parent's table that is one group: where it begins, there and in the message.
#[inline(always)]
fn each_run(groups: &[Group], mut visit: impl FnMut(usize, usize)) {
    let Some((inner, outer)) = groups.split_last() else { return };
    // A table of at most 2^32 entries has no more dimensions.
    let mut at = [0; 32];
    let (mut table, mut message) = (0, 0);
    loop {
        visit(table, message);
        table += inner.size as usize;
        let mut dimension = outer.len();
        loop {
            if dimension == 0 {
                return;
            }
            dimension -= 1;
            let Group { size, stride } = outer[dimension];
            at[dimension] += 1;
            message += stride as usize;
            if at[dimension] < size {
                break;
            }
            at[dimension] = 0;
            message -= stride as usize * size as usize;
        }
    }
}

/// message(s) = sum of the table over all that is not in s
#[inline(always)]
pub fn sum_out<S: Simd>(simd: S, groups: &[Group], table: &[f64], message: &mut [f64]) {
    let Some(&Group { size, stride }) = groups.last() else { return };
    let size = size as usize;
    message.fill(0.0);
    if stride == 0 {
        each_run(groups, |from, to| message[to] += numeric::sum(simd, &table[from..from + size]));
    } else {
        each_run(groups, |from, to| {
            message[to..to + size].iter_mut().zip(&table[from..from + size]).for_each(|(m, t)| *m += t);
        });
    }
}

/// Changes every entry of the table by its entry of the message.
#[inline(always)]
pub fn spread(groups: &[Group], table: &mut [f64], message: &[f64], change: impl Fn(&mut f64, f64)) {
    let Some(&Group { size, stride }) = groups.last() else { return };
    let size = size as usize;
    if stride == 0 {
        each_run(groups, |from, to| table[from..from + size].iter_mut().for_each(|t| change(t, message[to])));
    } else {
        each_run(groups, |from, to| {
            table[from..from + size].iter_mut().zip(&message[to..to + size]).for_each(|(t, &m)| change(t, m));
        });
    }
}

/// One row of a table of scores, for one state of the clique's variable: dimension by dimension, the last first.
#[inline(always)]
pub fn fill_row(row: &mut [f64], score: f64, axes: &[Axis], edge_score: impl Fn(&Axis, usize) -> f64) {
    row[0] = score;
    let mut filled = 1;
    for axis in axes.iter().rev() {
        let states = axis.states as usize;
        for b in (0..states).rev() {
            let add = if axis.edge == NONE { 0.0 } else { edge_score(axis, b) };
            let (done, rest) = row.split_at_mut(filled * b);
            match b {
                0 => rest[..filled].iter_mut().for_each(|to| *to += add),
                _ => rest[..filled].iter_mut().zip(&done[..filled]).for_each(|(to, from)| *to = from + add),
            }
        }
        filled *= states;
    }
}

/// Marginals of one state of the clique's variable, of the states that there are, alone and with its neighbours: sums
/// out dimension by dimension, the first first. Marginals lie as the node's, then every edge's with its states as
/// columns.
#[inline(always)]
pub fn collapse_row<S: Simd>(
    simd: S,
    row: &mut [f64],
    axes: &[Axis],
    (a, states): (usize, usize),
    marginals: &mut [f64],
) {
    let (mut length, mut at) = (row.len(), states);
    for axis in axes {
        let columns = axis.states as usize;
        length /= columns;
        if axis.edge != NONE {
            let out = &mut marginals[at + a * columns..at + (a + 1) * columns];
            out.iter_mut().zip(row.chunks_exact(length)).for_each(|(p, part)| *p = numeric::sum(simd, part));
            at += states * columns;
        }
        let (first, rest) = row.split_at_mut(length);
        for part in rest[..(columns - 1) * length].chunks_exact(length) {
            first.iter_mut().zip(part).for_each(|(sum, p)| *sum += p);
        }
    }
    marginals[a] = row[0];
}
