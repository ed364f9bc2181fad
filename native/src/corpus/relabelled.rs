//! A corpus with other labels.

use crate::corpus::{Corpus, FIRST_SET, UNKNOWN, labels};
use crate::error::{Error, Result};
use std::sync::Arc;

impl Corpus {
    /// The corpus, in memory, with other labels: `gold` is as `Corpus::gold`, in numbers of `names`, which begin with the labels of
    /// this corpus. Names and sets of labels that no token has are left out, and the others are in the usual order. Error: a number
    /// has no name, or there is not one for each token.
    pub fn relabelled(&self, names: &[String], mut gold: Vec<u32>) -> Result<Corpus> {
        let mut changed =
            if self.is_mapped() { self.select(&(0..self.n_sentences()).collect::<Vec<_>>())? } else { self.clone() };
        if gold.len() != changed.n_tokens() || !names.starts_with(&changed.labels) {
            return Err(Error::Data("the new labels do not fit the corpus".into()));
        }
        let mut counts = vec![0u64; names.len()];
        let mut used_sets = vec![false; changed.label_sets.len()];
        for &label in gold.iter().filter(|&&label| label != UNKNOWN) {
            let is_known = match label {
                FIRST_SET.. => used_sets.get_mut((label - FIRST_SET) as usize).map(|used| *used = true),
                _ => counts.get_mut(label as usize).map(|count| *count += 1),
            };
            is_known.ok_or_else(|| Error::Data(format!("label {label} has no name")))?;
        }
        let used_sets: Vec<usize> = (0..used_sets.len()).filter(|&set| used_sets[set]).collect();
        let mut seen: Vec<bool> = counts.iter().map(|&count| count > 0).collect();
        used_sets.iter().flat_map(|&set| &changed.label_sets[set]).for_each(|&label| seen[label as usize] = true);
        let (sorted, mut rank) = labels::by_frequency(names, &counts);
        let sorted: Vec<usize> = sorted.into_iter().filter(|&label| seen[label]).collect();
        sorted.iter().zip(0..).for_each(|(&label, place)| rank[label] = place);
        let mut set_rank = vec![UNKNOWN; changed.label_sets.len()];
        used_sets.iter().zip(FIRST_SET..).for_each(|(&set, number)| set_rank[set] = number);
        gold.iter_mut().for_each(|label| match *label {
            UNKNOWN => (),
            FIRST_SET.. => *label = set_rank[(*label - FIRST_SET) as usize],
            _ => *label = rank[*label as usize],
        });
        changed.labels = Arc::new(sorted.iter().map(|&label| names[label].clone()).collect());
        let sets = used_sets.iter().map(|&set| changed.label_sets[set].clone()).collect();
        let shares = used_sets.iter().filter_map(|&set| changed.label_shares.get(set).cloned()).collect();
        let (sets, shares) = labels::renumbered(sets, shares, &rank);
        (changed.label_sets, changed.label_shares) = (Arc::new(sets), Arc::new(shares));
        changed.gold = gold.into();
        Ok(changed)
    }
}
