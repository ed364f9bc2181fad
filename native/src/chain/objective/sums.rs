//! The value and the gradient of the features that blocks share, added up in the sequence of the blocks.

use crate::chain::inference::PairCounts;
use crate::numeric;
use crate::numeric::aligned::Aligned;
use crate::numeric::arch::{arch, simd_task};
use std::collections::BTreeMap;

/// A block's value and its gradient of the features that blocks share.
pub(super) struct Sums {
    pub(super) value: f64,
    /// Of the labels of all tokens; 0 unless requested.
    pub(super) variance: f64,
    /// Sentences whose recursions ran in log space.
    pub(super) log_space: usize,
    pub(super) rows: Aligned,
    pub(super) shared: Vec<f64>,
    pub(super) pairs: PairCounts,
}

impl Sums {
    /// Sets everything to 0.
    pub(super) fn clear(&mut self) {
        (self.value, self.variance, self.log_space) = (0.0, 0.0, 0);
        self.rows.fill(0.0);
        self.shared.fill(0.0);
        self.pairs.clear();
    }
}

simd_task!(AddSums<'a>(total: &'a mut Sums, sums: &'a Sums) -> (), |simd| {
    total.value += sums.value;
    total.variance += sums.variance;
    total.log_space += sums.log_space;
    numeric::add(simd, &mut total.rows, &sums.rows);
    numeric::add(simd, &mut total.shared, &sums.shared);
    total.pairs.add(&sums.pairs);
});

/// Adds up the sums of blocks in the sequence of the blocks, in whatever sequence they arrive.
#[derive(Default)]
pub(super) struct Reduction {
    next: usize,
    waiting: BTreeMap<usize, Sums>,
    pub(super) total: Option<Sums>,
}

impl Reduction {
    /// Adds a block's sums; returns buffers that are free again.
    pub(super) fn add(&mut self, index: usize, sums: Sums) -> Vec<Sums> {
        self.waiting.insert(index, sums);
        let mut freed = Vec::new();
        while let Some(sums) = self.waiting.remove(&self.next) {
            self.next += 1;
            match &mut self.total {
                None => self.total = Some(sums),
                Some(total) => {
                    arch().dispatch(AddSums(total, &sums));
                    freed.push(sums);
                }
            }
        }
        freed
    }
}
