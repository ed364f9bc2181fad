//! Walks over tables of many dimensions. Neighbouring entries in memory differ in the last dimension.

use crate::network::junction::cliques::{Axis, NONE, Span};
use crate::numeric;
use pulp::Simd;

/// Calls `visit` for each run of neighbouring entries of the parent's table that differ only in the last span, with the
/// beginning of the run in the table and in the message.
#[inline(always)]
fn each_run(spans: &[Span], mut visit: impl FnMut(usize, usize)) {
    let Some((inner, outer)) = spans.split_last() else { return };
    // A table of at most 2^32 entries has at most 32 dimensions.
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
            let Span { size, stride } = outer[dimension];
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

/// message(s) = sum of the table over all dimensions that are not in s.
#[inline(always)]
pub fn sum_out<S: Simd>(simd: S, spans: &[Span], table: &[f64], message: &mut [f64]) {
    let Some(&Span { size, stride }) = spans.last() else { return };
    let size = size as usize;
    message.fill(0.0);
    if stride == 0 {
        each_run(spans, |from, to| message[to] += numeric::sum(simd, &table[from..from + size]));
    } else {
        each_run(spans, |from, to| {
            message[to..to + size].iter_mut().zip(&table[from..from + size]).for_each(|(m, t)| *m += t);
        });
    }
}

/// Calls `change` for every entry of the table, with the entry of the message at the same states.
#[inline(always)]
pub fn spread(spans: &[Span], table: &mut [f64], message: &[f64], change: impl Fn(&mut f64, f64)) {
    let Some(&Span { size, stride }) = spans.last() else { return };
    let size = size as usize;
    if stride == 0 {
        each_run(spans, |from, to| table[from..from + size].iter_mut().for_each(|t| change(t, message[to])));
    } else {
        each_run(spans, |from, to| {
            table[from..from + size].iter_mut().zip(&message[to..to + size]).for_each(|(t, &m)| change(t, m));
        });
    }
}

/// Fills the row of a table of scores that belongs to one state of the clique's own variable: `score` plus the scores of the
/// edges into the separator. Fills dimension by dimension, the last first.
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

/// Computes from the row of state a of the clique's own variable, which has `states` states, the marginal of a and of a together
/// with each state of each neighbour in the separator. Sums out dimension by dimension, the first first; the row is used up.
///
/// `marginals` holds the states of the own variable, then a table for each edge, with a row for each of these states.
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
