//! Chain objectives whose state features are added up over clusters (Mathur & Chakrabarti 2010, Eq. 15):
//! f_k(x, y) = sum of f_j(x, y) over the features j of cluster k. The paper leaves this for CRFs to future work.
//!
//! A cluster may hold features of several labels, so a token has an entry for each cluster and label of its features, with the
//! sum of the features' values. Transitions, triples and bigram features are not clustered.

use crate::chain::features::{Features, Selection};
use crate::chain::objective::ChainObjective;
use crate::chain::objective::layout::{Block, SentenceEntries};
use crate::chain::objective::scratch::settled;
use crate::error::Result;
use rayon::prelude::*;
use std::sync::Arc;

impl ChainObjective {
    /// The objective over `n_clusters` weights, in which feature j has the weight of cluster map[j]. The features before the
    /// state features must map to themselves; None if they do not.
    pub fn aggregate(&self, map: &[usize], n_clusters: usize) -> Result<Option<ChainObjective>> {
        let first = self.features.first_state();
        let (before, states) = map.split_at(first);
        let alone = before.iter().enumerate().all(|(feature, &cluster)| feature == cluster);
        if !alone || states.iter().any(|cluster| !(first..n_clusters).contains(cluster)) {
            return Ok(None);
        }
        let clusters: Vec<u32> = states.iter().map(|&cluster| (cluster - first) as u32).collect();
        let n = n_clusters - first;
        let features = Features {
            n_labels: self.features.n_labels,
            transitions: self.features.transitions.clone(),
            triples: self.features.triples.clone(),
            bigram_ranges: self.features.bigram_ranges.clone(),
            bigram_pairs: self.features.bigram_pairs.clone(),
            state_attributes: (0..n as u32).map(|cluster| (cluster, cluster + 1)).collect(),
            // The label belongs to an entry's place, not to a cluster.
            state_labels: vec![0; n],
            n_dense: 0,
            n_shared: n,
            blocks: self.features.blocks.iter().map(|(sentences, _)| (sentences.clone(), n..n)).collect(),
        };
        let merged = |block| settled(&self.corpus, self.merged(block, &clusters));
        let blocks = self.install(|| self.blocks.par_iter().map(merged).collect::<Result<Vec<Block>>>())?;
        let selection = Selection::seen(self.order());
        let mut empirical = vec![0.0; n_clusters];
        map.iter().zip(&self.empirical).for_each(|(&cluster, count)| empirical[cluster] += count);
        Ok(Some(self.with_features(features, blocks, selection, self.n_unpenalised, empirical)))
    }

    fn merged(&self, block: &Block, clusters: &[u32]) -> Block {
        let n = block.sentences.len();
        let mut shared = SentenceEntries::default();
        let mut all: Vec<(u32, u32, f64)> = Vec::new();
        for sentence in 0..n {
            all.clear();
            for entries in &block.rows {
                for at in entries.range(sentence) {
                    let (row, place, value) = (entries.ids[at] as usize, entries.places[at], entries.value(at));
                    let range = self.features.state_range(row..row + 1);
                    let labels = &self.features.state_labels[range.clone()];
                    all.extend(
                        range.zip(labels).map(|(feature, &label)| (place + u32::from(label), clusters[feature], value)),
                    );
                }
            }
            for (entries, base) in [(&block.shared, 0), (&block.own, block.own_range.start)] {
                let cluster = |at: usize| clusters[base + entries.ids[at] as usize];
                all.extend(entries.range(sentence).map(|at| (entries.places[at], cluster(at), entries.value(at))));
            }
            // A stable sort: sums depend only on the data.
            all.sort_by_key(|&(place, cluster, _)| (place, cluster));
            for same in all.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
                shared.push(same[0].1, same[0].0, Some(same.iter().map(|entry| entry.2).sum()));
            }
            shared.end_sentence();
        }
        let end = clusters.iter().max().map_or(0, |&most| most as usize + 1);
        Block {
            sentences: Arc::clone(&block.sentences),
            rows: std::array::from_fn(|_| SentenceEntries::none(n)),
            shared,
            own: SentenceEntries::none(n),
            own_range: end..end,
            bigrams: block.bigrams.clone(),
        }
    }
}
