//! The likely labels of each token: those with a marginal above a bound where the objective was evaluated.

use crate::numeric::LANES;

/// The likely labels of the tokens of each block of an objective.
pub struct LikelyLabels {
    pub blocks: Vec<BlockLabels>,
    /// The bound.
    pub least: f64,
}

/// The likely labels of a block's tokens, sentence by sentence in the block's sequence.
#[derive(Default)]
pub struct BlockLabels {
    /// Sentence of the block -> its first token among the tokens below, or `usize::MAX` for a sentence that was left out.
    firsts: Vec<usize>,
    /// Token -> the end of its labels.
    ends: Vec<u32>,
    labels: Vec<u16>,
    marginals: Vec<f32>,
}

impl BlockLabels {
    /// Prepares for the sentences of a block.
    pub fn begin(&mut self, sentences: usize) {
        self.firsts.clear();
        self.firsts.resize(sentences, usize::MAX);
        self.ends.clear();
        self.labels.clear();
        self.marginals.clear();
    }

    /// Appends the labels of a sentence with marginals, tokens x width times its weight, above `least`.
    #[inline(always)]
    pub fn add(&mut self, sentence: usize, marginals: &[f64], width: usize, weight: f64, least: f64) {
        self.firsts[sentence] = self.ends.len();
        let (bound, factor) = (least * weight, 1.0 / weight);
        for row in marginals.chunks_exact(width) {
            for (first, eight) in row.as_chunks::<LANES>().0.iter().enumerate() {
                let mut above = 0u32;
                for lane in 0..LANES {
                    above |= u32::from(eight[lane] > bound) << lane;
                }
                while above != 0 {
                    let lane = above.trailing_zeros() as usize;
                    above &= above - 1;
                    self.labels.push((first * LANES + lane) as u16);
                    self.marginals.push((eight[lane] * factor) as f32);
                }
            }
            self.ends.push(self.labels.len() as u32);
        }
    }

    /// Whether a sentence was evaluated.
    pub fn has(&self, sentence: usize) -> bool {
        self.firsts[sentence] != usize::MAX
    }

    /// The labels of a token of a sentence, ascending, and their marginals.
    #[inline(always)]
    pub fn of(&self, sentence: usize, token: usize) -> (&[u16], &[f32]) {
        let at = self.firsts[sentence] + token;
        let start = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        let range = start..self.ends[at] as usize;
        (&self.labels[range.clone()], &self.marginals[range])
    }
}
