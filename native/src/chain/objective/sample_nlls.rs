//! The negative log-likelihood of each sentence, a by-product of evaluating the objective.

use crate::chain::objective::ChainObjective;
use crate::chain::objective::counts::count_soft;
use crate::chain::objective::layout::{Block, Sentence};
use crate::chain::objective::masks::Known;
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
                    if self.corpus.has_soft() {
                        self.subtract_scores(w, block, &mut nlls);
                    }
                }
                return Ok(nlls);
            }
            drop(scratch);
            self.value_and_gradient(w, &mut vec![0.0; w.len()], interrupt)?;
        }
    }

    /// Subtracts from log Z the expected scores of the labels of a block's sentences, less their costs.
    fn subtract_scores(&self, w: &[f64], block: &Block, nlls: &mut [f64]) {
        let data = (&*self.corpus, self.masks.allowed.as_deref());
        for (at, Sentence { number, .. }) in block.sentences.iter().enumerate() {
            let tokens = self.corpus.tokens(*number);
            if self.masks.known(*number) == Known::All && self.weight(*number) != 0.0 && !tokens.is_empty() {
                let nll = &mut nlls[*number];
                *nll += self.costs.of(tokens.clone()).iter().sum::<f64>();
                count_soft(data, &self.features, (block, at), tokens, |feature, count| *nll -= w[feature] * count);
            }
        }
    }
}
