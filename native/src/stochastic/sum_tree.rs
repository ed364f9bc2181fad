//! Numbers that are changed one by one, with their sum and maximum always known, from which one is drawn in proportion to its
//! size.

/// A complete binary tree. Every inner node is computed from its children, never by differences, so nothing drifts.
pub struct SumTree {
    /// Sum and maximum of each node; node 1 is the root, the leaves begin at half of the length.
    nodes: Vec<[f64; 2]>,
}

impl SumTree {
    /// A tree of numbers of at least 0.
    pub fn new(values: impl ExactSizeIterator<Item = f64>) -> SumTree {
        let leaves = values.len().next_power_of_two();
        let mut nodes = vec![[0.0; 2]; 2 * leaves];
        nodes[leaves..].iter_mut().zip(values).for_each(|(node, value)| *node = [value; 2]);
        let mut tree = SumTree { nodes };
        (1..leaves).rev().for_each(|node| tree.join(node));
        tree
    }

    #[inline(always)]
    fn join(&mut self, node: usize) {
        let ([left, left_max], [right, right_max]) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
        self.nodes[node] = [left + right, left_max.max(right_max)];
    }

    fn first_leaf(&self) -> usize {
        self.nodes.len() / 2
    }

    pub fn sum(&self) -> f64 {
        self.nodes[1][0]
    }

    /// The largest number.
    pub fn max(&self) -> f64 {
        self.nodes[1][1]
    }

    /// The number in a place.
    pub fn get(&self, at: usize) -> f64 {
        self.nodes[self.first_leaf() + at][0]
    }

    /// O(log n).
    #[inline(always)]
    pub fn set(&mut self, at: usize, value: f64) {
        let mut node = self.first_leaf() + at;
        self.nodes[node] = [value; 2];
        while node > 1 {
            node /= 2;
            self.join(node);
        }
    }

    /// The first place up to which the numbers sum to more than `share` times the sum of all; a number of 0 is never found,
    /// unless all are 0. O(log n).
    #[inline(always)]
    pub fn find(&self, share: f64) -> usize {
        let mut remainder = share * self.sum();
        let mut node = 1;
        while node < self.first_leaf() {
            let [left, _] = self.nodes[2 * node];
            let [right, _] = self.nodes[2 * node + 1];
            // By rounding, `remainder` may exceed the sum of the right side.
            if remainder < left || right == 0.0 {
                node *= 2;
            } else {
                remainder -= left;
                node = 2 * node + 1;
            }
        }
        node - self.first_leaf()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn finds_by_cumulative_sums_and_stays_exact_under_updates(
            start in prop::collection::vec(0.0f64..10.0, 1..70),
            updates in prop::collection::vec((any::<prop::sample::Index>(), 0.0f64..1e6), 0..200),
            share in 0.0f64..1.0,
        ) {
            let mut values = start.clone();
            let mut tree = SumTree::new(start.into_iter());
            for (at, value) in updates {
                let at = at.index(values.len());
                values[at] = value;
                tree.set(at, value);
            }
            let rebuilt = SumTree::new(values.iter().copied());
            prop_assert_eq!(&tree.nodes, &rebuilt.nodes);
            prop_assert_eq!(tree.max(), values.iter().copied().fold(0.0, f64::max));
            let index = tree.find(share);
            let before: f64 = values[..index].iter().sum();
            let slack = 1e-12 * tree.sum();
            prop_assert!(before <= share * tree.sum() + slack);
            prop_assert!(share * tree.sum() <= before + values[index] + slack);
        }
    }

    #[test]
    fn draws_in_proportion() {
        let values: Vec<f64> = (0..37).map(|i| f64::from(i % 5)).collect();
        let tree = SumTree::new(values.iter().copied());
        let draws = 200_000;
        let mut counts = vec![0u32; values.len()];
        (0..draws).for_each(|k| counts[tree.find((f64::from(k) + 0.5) / f64::from(draws))] += 1);
        for (count, value) in counts.iter().zip(&values) {
            // The draws are evenly spread: a count is off by one at most.
            assert!((f64::from(*count) - value / tree.sum() * f64::from(draws)).abs() <= 1.0);
        }
    }
}
