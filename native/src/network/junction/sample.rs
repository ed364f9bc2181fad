//! Exact samples: each variable is drawn given its separator, from the roots down.

use crate::error::Result;
use crate::network::junction::calibrate::Conditionals;
use crate::network::zeros;
use crate::numeric::random::Random;
use crate::threads::{Interrupt, Pool, share};

/// Samples between two looks at the interrupt flag.
const BLOCK: usize = 16;

impl Conditionals<'_> {
    /// n assignments, one after the other. Each assignment has its own stream of random numbers and costs O(n_variables).
    pub fn samples(&self, n: usize, seed: u64, pool: Pool, interrupt: &Interrupt) -> Result<Vec<i32>> {
        let width = self.junction.n_variables();
        let mut samples = zeros(n.checked_mul(width), || format!("not enough memory for {n} samples; draw fewer"))?;
        let blocks = samples.chunks_mut((BLOCK * width).max(1)).enumerate().collect();
        share(pool, blocks, |(block, rows): (usize, &mut [i32])| {
            let mut assignment = vec![0; width];
            for (row, out) in rows.chunks_exact_mut(width).enumerate() {
                if interrupt.is_set() {
                    return;
                }
                let mut stream = Random::new(seed, (block * BLOCK + row) as u64);
                self.choose(&mut assignment, |column| draw(column, stream.uniform()));
                out.iter_mut().zip(&assignment).for_each(|(to, &state)| *to = state as i32);
            }
        });
        interrupt.check()?;
        Ok(samples)
    }
}

/// The first state whose cumulated probability exceeds u; the last state if rounding leaves none.
fn draw(probabilities: &mut dyn Iterator<Item = f64>, u: f64) -> usize {
    let (mut sum, mut state) = (0.0, 0);
    for (at, p) in probabilities.enumerate() {
        (sum, state) = (sum + p, at);
        if u < sum {
            break;
        }
    }
    state
}
