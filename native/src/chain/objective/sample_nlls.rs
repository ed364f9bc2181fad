//! The negative log-likelihood of each sentence, a by-product of evaluating the objective.

use crate::chain::objective::ChainObjective;
use crate::error::Result;
use crate::threads::{Interrupt, locked};
use bytemuck::cast_slice;
use xxhash_rust::xxh3::xxh3_64;

impl ChainObjective {
    /// -log p(y | x; w) of every sentence, without its weight; 0 for a sentence whose weight is 0. Free at the weights of the
    /// last evaluation; otherwise it costs an evaluation.
    pub fn sample_nlls(&self, w: &[f64], interrupt: &Interrupt) -> Result<Vec<f64>> {
        let n = self.corpus.n_sentences();
        if !w.iter().all(|weight| weight.is_finite()) {
            return Ok(vec![f64::INFINITY; n]);
        }
        let asked = Some(xxh3_64(cast_slice(w)));
        loop {
            let scratch = locked(&self.scratch);
            if scratch.evaluated == asked {
                let mut nlls = vec![0.0; n];
                for (block, nlls_of_block) in self.blocks.iter().zip(&scratch.nlls) {
                    block.sentences.iter().zip(nlls_of_block).for_each(|(sentence, &nll)| nlls[sentence.number] = nll);
                }
                return Ok(nlls);
            }
            drop(scratch);
            self.value_and_gradient(w, &mut vec![0.0; w.len()], interrupt)?;
        }
    }
}
