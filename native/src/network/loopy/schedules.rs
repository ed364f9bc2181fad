//! Schedules: the sequence in which messages are computed.

use crate::error::Result;
use crate::network::loopy::mixing::{Mixing, Part, Products};
use crate::network::loopy::rule::{LoopySettings, MessageRule, Report};
use crate::threads::{Interrupt, Pool, parts, share};
use std::ops::Range;

/// Flooding: each iteration computes all messages from the messages of the iteration before, damped or accelerated.
pub fn flooding<R: MessageRule>(
    rule: &R,
    messages: &mut Vec<f64>,
    mut mixing: Mixing,
    settings: &LoopySettings,
    pool: Pool,
    interrupt: &Interrupt,
) -> Result<Report> {
    let slots = rule.slots();
    let entries: Vec<Range<usize>> =
        slots.blocks.iter().map(|block| slots.entries(slots.out_of(block.clone()))).collect();
    let sizes = || entries.iter().map(ExactSizeIterator::len);
    let mut next = vec![0.0; messages.len()];
    let mut buffers: Vec<(R::Scratch, Part)> = entries.iter().map(|_| Default::default()).collect();
    let mut report = Report::default();
    for iteration in 1..=settings.max_iterations {
        interrupt.check()?;
        mixing.begin(iteration);
        let blocks = slots.blocks.iter().zip(&entries).zip(&mut buffers).zip(parts(&mut next, sizes())).collect();
        let outcomes = share(pool, blocks, |(((block, entries), (scratch, part)), new)| {
            let old = &messages[entries.clone()];
            let change = rule.update(block.clone(), messages, new, scratch);
            if mixing.leaps {
                return (change, part.look(rule, &mixing, old, new));
            }
            if mixing.damps() {
                part.look(rule, &mixing, old, new);
                part.step(rule, &mixing, entries.clone(), old, new);
            }
            (change, Products::default())
        });
        let residual = rule.log_change(outcomes.iter().fold(0.0, |most, (change, _)| change.max(most)));
        report = Report { iterations: iteration, residual, n_messages: iteration * slots.n_messages() };
        let settled = residual <= settings.tolerance;
        if mixing.leaps && !settled {
            mixing.weigh(&Products::total(outcomes.into_iter().map(|(_, products)| products)));
            let blocks = entries.iter().zip(&mut buffers).zip(parts(&mut next, sizes())).collect();
            share(pool, blocks, |((entries, (_, part)), new)| {
                part.step(rule, &mixing, entries.clone(), &messages[entries.clone()], new);
            });
        }
        std::mem::swap(messages, &mut next);
        if settled {
            break;
        }
    }
    Ok(report)
}

/// Residual belief propagation (Elidan, McGraw & Koller 2006): the message that would change most is replaced first.
///
/// Every message has a candidate, computed from the current messages. When a message is replaced by its candidate, the
/// candidates of the messages out of the variable that it enters are recomputed. `targets` names this variable for each slot.
/// An iteration counts as many computed candidates as there are messages: it costs about as much as an iteration of flooding,
/// and the search for the largest change in addition.
pub fn residual<R: MessageRule>(
    rule: &R,
    messages: &mut [f64],
    settings: &LoopySettings,
    targets: &[u32],
    interrupt: &Interrupt,
) -> Result<Report> {
    let slots = rule.slots();
    let n = slots.n_messages();
    let mut candidates = vec![0.0; messages.len()];
    let mut buffers = R::Scratch::default();
    let mut changes = Largest::new(n);
    let mut refresh = |variable: usize, messages: &[f64], candidates: &mut [f64], changes: &mut Largest| {
        let out = slots.out_of(variable..variable + 1);
        rule.update(variable..variable + 1, messages, &mut candidates[slots.entries(out.clone())], &mut buffers);
        for slot in out.clone() {
            let entries = slots.entries(slot..slot + 1);
            changes.set(slot, rule.change(&messages[entries.clone()], &candidates[entries]));
        }
        out.len()
    };
    let (mixing, mut part) = (Mixing::new(settings.damping, false), Part::default());
    let mut n_messages = 0;
    for variable in slots.blocks.iter().cloned().flatten() {
        n_messages += refresh(variable, messages, &mut candidates, &mut changes);
    }
    let limit = settings.max_iterations.saturating_mul(n);
    for update in 0_usize.. {
        if update.is_multiple_of(1024) {
            interrupt.check()?;
        }
        let (slot, change) = changes.largest();
        if rule.log_change(change) <= settings.tolerance || n_messages >= limit {
            break;
        }
        let entries = slots.entries(slot..slot + 1);
        let old = messages[entries.clone()].to_vec();
        messages[entries.clone()].copy_from_slice(&candidates[entries.clone()]);
        if mixing.damps() {
            part.look(rule, &mixing, &old, &candidates[entries.clone()]);
            part.step(rule, &mixing, entries.clone(), &old, &mut messages[entries.clone()]);
        }
        changes.set(slot, rule.change(&messages[entries.clone()], &candidates[entries]));
        n_messages += refresh(targets[slot] as usize, messages, &mut candidates, &mut changes);
    }
    let residual = rule.log_change(changes.largest().1);
    Ok(Report { iterations: n_messages.div_ceil(n.max(1)), residual, n_messages })
}

/// Numbers of at least 0 that change, and the largest of them: a tree in which every node holds the larger of its children.
struct Largest {
    /// The root is at 1, the children of node k are at 2 k and 2 k + 1, and the numbers are in the second half.
    tree: Vec<f64>,
}

impl Largest {
    /// n numbers, all 0.
    fn new(n: usize) -> Self {
        Largest { tree: vec![0.0; 2 * n.next_power_of_two()] }
    }

    /// Changes number `index`.
    fn set(&mut self, index: usize, value: f64) {
        let mut at = self.tree.len() / 2 + index;
        self.tree[at] = value;
        while at > 1 {
            let larger = self.tree[at].max(self.tree[at ^ 1]);
            at /= 2;
            if self.tree[at] == larger {
                break;
            }
            self.tree[at] = larger;
        }
    }

    /// Index and value of the largest number, the first in a tie.
    fn largest(&self) -> (usize, f64) {
        let half = self.tree.len() / 2;
        let mut at = 1;
        while at < half {
            at = if self.tree[2 * at] == self.tree[at] { 2 * at } else { 2 * at + 1 };
        }
        (at - half, self.tree[1])
    }
}

#[cfg(test)]
mod tests {
    use super::Largest;

    #[test]
    fn the_largest_is_that_of_a_search_through_all() {
        for n in [1, 2, 3, 8, 13] {
            let (mut tree, mut values) = (Largest::new(n), vec![0.0; n]);
            for step in 0..200 {
                let (index, value) = (step * 7 % n, f64::from((step * step % 31) as u32));
                tree.set(index, value);
                values[index] = value;
                let most = values.iter().copied().fold(0.0, f64::max);
                assert_eq!(tree.largest(), (values.iter().position(|&v| v == most).unwrap(), most));
            }
        }
    }
}
