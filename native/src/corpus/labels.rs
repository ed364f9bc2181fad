//! Labels and sets of labels, numbered as they first appear in a text.

use crate::corpus::FIRST_SET;
use std::cmp::Reverse;
use std::collections::HashMap;

/// The numbers of labels in the sequence of a corpus, the most frequent first and ties by name, and number -> place in it.
pub fn by_frequency(names: &[impl Ord], counts: &[u64]) -> (Vec<usize>, Vec<u32>) {
    let mut sorted: Vec<usize> = (0..names.len()).collect();
    sorted.sort_by_key(|&label| (Reverse(counts[label]), &names[label]));
    let mut rank = vec![0; sorted.len()];
    sorted.iter().zip(0..).for_each(|(&label, place)| rank[label] = place);
    (sorted, rank)
}

/// Sets of labels with new numbers.
pub fn renumbered(mut sets: Vec<Vec<u32>>, rank: &[u32]) -> Vec<Vec<u32>> {
    for set in &mut sets {
        set.iter_mut().for_each(|label| *label = rank[*label as usize]);
        set.sort_unstable();
    }
    sets
}

/// Labels, numbered as they first appear.
#[derive(Default)]
pub(super) struct Labels {
    /// Id -> name.
    pub names: Vec<Vec<u8>>,
    /// Name -> id.
    ids: HashMap<Vec<u8>, u32>,
    /// Id -> on how many tokens it is the only label.
    pub counts: Vec<u64>,
    /// The id of the last request, which is often the next one, too.
    last: u32,
}

impl Labels {
    /// The id of a name, which is inserted if it is new.
    pub fn intern(&mut self, name: &[u8]) -> u32 {
        if self.names.get(self.last as usize).is_some_and(|last| last == name) {
            return self.last;
        }
        self.last = match self.ids.get(name) {
            Some(&id) => id,
            None => {
                let id = self.names.len() as u32;
                self.names.push(name.to_vec());
                self.ids.insert(name.to_vec(), id);
                self.counts.push(0);
                id
            }
        };
        self.last
    }
}

/// Sets of labels, numbered as they first appear.
#[derive(Default)]
pub(super) struct LabelSets {
    /// Number -> labels, ascending, each once.
    pub sets: Vec<Vec<u32>>,
    /// Labels -> number.
    numbers: HashMap<Vec<u32>, u32>,
}

impl LabelSets {
    /// What `Corpus::gold` holds for a token with one of these labels: the label, if there is only one.
    pub fn intern(&mut self, mut labels: Vec<u32>) -> u32 {
        labels.sort_unstable();
        labels.dedup();
        if let [label] = labels[..] {
            return label;
        }
        let next = self.sets.len() as u32;
        let number = *self.numbers.entry(labels).or_insert_with_key(|labels| {
            self.sets.push(labels.clone());
            next
        });
        FIRST_SET + number
    }
}
