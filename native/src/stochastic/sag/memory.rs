//! The stored gradients of all sentences.

use crate::chain::objective::ChainObjective;
use crate::numeric;
use crate::stochastic::inference::Inference;
use crate::stochastic::sag::averaging::{Sizes, swap};

/// The lengths of `Gradients`: tokens x labels for the states; sentences x transitions with a feature for the transitions, whose
/// sum over a sentence is enough; one for each edge of a bigram feature.
pub fn sizes(objective: &ChainObjective) -> Sizes {
    let (corpus, features) = (&objective.corpus, &objective.features);
    Sizes {
        states: corpus.n_tokens() * features.n_labels,
        transitions: corpus.n_sentences() * features.transitions.len(),
        edges: (0..corpus.n_sentences()).map(|sentence| edges(objective, sentence)).sum(),
    }
}

/// The number of edges of the bigram features of a sentence.
fn edges(objective: &ChainObjective, sentence: usize) -> usize {
    if objective.features.n_bigrams() == 0 {
        return 0;
    }
    let attributes = objective.corpus.tokens(sentence).flat_map(|token| objective.corpus.bigrams_of(token));
    attributes.map(|&attribute| objective.features.bigram_ranges[attribute as usize].len()).sum()
}

/// g_i of every sample: marginals less the gold labelling, times the sample's weight.
pub struct Gradients<'a> {
    pub states: &'a mut [f32],
    pub transitions: &'a mut [f32],
    pub edges: &'a mut [f32],
    /// Sentence -> the first of its edges; empty without bigram features.
    first_edges: Vec<usize>,
}

impl<'a> Gradients<'a> {
    /// Takes slices with the lengths that `sizes` gives.
    pub fn new(objective: &ChainObjective, [states, transitions, edges]: [&'a mut [f32]; 3]) -> Self {
        let mut first_edges = Vec::new();
        if objective.features.n_bigrams() > 0 {
            let mut next = 0;
            for sentence in 0..objective.corpus.n_sentences() {
                first_edges.push(next);
                next += self::edges(objective, sentence);
            }
        }
        Gradients { states, transitions, edges, first_edges }
    }

    /// Prefetches the stored gradient of a sample.
    #[inline(always)]
    pub fn fetch(&self, sample: usize, objective: &ChainObjective) {
        let (tokens, labels) = (objective.corpus.tokens(sample), objective.features.n_labels);
        numeric::prefetch_range(self.states, tokens.start * labels..tokens.end * labels);
        let n = objective.features.transitions.len();
        numeric::prefetch_range(self.transitions, sample * n..(sample + 1) * n);
    }

    /// Stores the sample's new gradient. `inference` holds the gradient of log p, which is -g_i; it is replaced by the change of
    /// g_i.
    #[inline(always)]
    pub fn exchange(&mut self, sample: usize, inference: &mut Inference<'_>) {
        let (corpus, features) = (&inference.objective.corpus, &inference.objective.features);
        let (labels, width) = (features.n_labels, inference.lattice.width());
        let tokens = corpus.tokens(sample);
        let stored = self.states[tokens.start * labels..tokens.end * labels].chunks_exact_mut(labels);
        for (stored, current) in stored.zip(inference.lattice.marginals.chunks_exact_mut(width)) {
            stored.iter_mut().zip(current).for_each(|(stored, current)| swap(stored, current));
        }
        if tokens.len() > 1 {
            let n = features.transitions.len();
            let stored = &mut self.transitions[sample * n..][..n];
            let direct = &mut inference.expected.direct;
            for (stored, &[from, to]) in stored.iter_mut().zip(&features.transitions) {
                swap(stored, &mut direct[usize::from(from) * width + usize::from(to)]);
            }
        }
        if let Some(&first) = self.first_edges.get(sample) {
            let edges = &mut inference.lattice.edges;
            let stored = &mut self.edges[first..first + edges.len()];
            stored.iter_mut().zip(edges).for_each(|(stored, edge)| swap(stored, &mut edge.marginal));
        }
    }
}
