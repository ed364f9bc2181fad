//! What blocks of a corpus share, and how it is added up in the order of the blocks, whoever is ready first.

use crate::chain::inference::PairCounts;
use crate::numeric;
use crate::numeric::aligned::Aligned;
use pulp::{Arch, Simd, WithSimd};
use std::collections::BTreeMap;

/// What blocks share: to be added up.
pub(super) struct Sums {
    pub(super) value: f64,
    pub(super) rows: Aligned,
    pub(super) shared: Vec<f64>,
    pub(super) pairs: PairCounts,
}

impl Sums {
    pub(super) fn clear(&mut self) {
        self.value = 0.0;
        self.rows.fill(0.0);
        self.shared.fill(0.0);
        self.pairs.clear();
    }
}

struct AddSums<'a>(&'a mut Sums, &'a Sums);

impl WithSimd for AddSums<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let AddSums(total, sums) = self;
        total.value += sums.value;
        numeric::add(simd, &mut total.rows, &sums.rows);
        numeric::add(simd, &mut total.shared, &sums.shared);
        total.pairs.add(&sums.pairs);
    }
}

/// Adds up the sums of blocks in the order of the blocks, whatever the order in which they arrive.
#[derive(Default)]
pub(super) struct Reduction {
    next: usize,
    waiting: BTreeMap<usize, Sums>,
    pub(super) total: Option<Sums>,
}

impl Reduction {
    /// Takes a block's sums; returns buffers that are free again.
    pub(super) fn add(&mut self, index: usize, sums: Sums) -> Vec<Sums> {
        self.waiting.insert(index, sums);
        let mut freed = Vec::new();
        while let Some(sums) = self.waiting.remove(&self.next) {
            self.next += 1;
            match &mut self.total {
                None => self.total = Some(sums),
                Some(total) => {
                    Arch::new().dispatch(AddSums(total, &sums));
                    freed.push(sums);
                }
            }
        }
        freed
    }
}
