//! Labels and sets of labels, numbered as they first appear in a text.

use crate::corpus::FIRST_SET;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// The numbers of labels in the sequence of a corpus, the most frequent first and ties by name, and number -> place in it.
pub fn by_frequency(names: &[impl Ord], counts: &[u64]) -> (Vec<usize>, Vec<u32>) {
    let mut sorted: Vec<usize> = (0..names.len()).collect();
    sorted.sort_by_key(|&label| (Reverse(counts[label]), &names[label]));
    let mut rank = vec![0; sorted.len()];
    sorted.iter().zip(0..).for_each(|(&label, place)| rank[label] = place);
    (sorted, rank)
}

/// Sets of labels with new numbers, and the probabilities of their labels, empty where a set has none.
pub fn renumbered(mut sets: Vec<Vec<u32>>, mut shares: Vec<Vec<f64>>, rank: &[u32]) -> (Vec<Vec<u32>>, Vec<Vec<f64>>) {
    for (number, set) in sets.iter_mut().enumerate() {
        set.iter_mut().for_each(|label| *label = rank[*label as usize]);
        match shares.get_mut(number).filter(|shares| !shares.is_empty()) {
            Some(shares) => {
                let mut pairs: Vec<(u32, f64)> = set.iter().copied().zip(shares.iter().copied()).collect();
                pairs.sort_unstable_by_key(|&(label, _)| label);
                (*set, *shares) = pairs.into_iter().unzip();
            }
            None => set.sort_unstable(),
        }
    }
    (sets, shares)
}

/// Whether sets of labels, and the probabilities of their labels, are as `LabelSets` makes them: different sets of at least two
/// labels in ascending order.
pub(super) fn sets_are_sound(sets: &[Vec<u32>], shares: &[Vec<f64>], n_labels: usize) -> bool {
    let shares_of = |number: usize| shares.get(number).map_or(&[][..], Vec::as_slice);
    let bits = |shares: &[f64]| shares.iter().map(|share| share.to_bits()).collect::<Vec<u64>>();
    let is_sound = |(number, set): (usize, &Vec<u32>)| {
        let shares = shares_of(number);
        set.len() >= 2
            && set.is_sorted_by(|a, b| a < b)
            && set.iter().all(|&label| (label as usize) < n_labels)
            && (shares.is_empty() || shares.len() == set.len())
            && shares.iter().all(|share| *share > 0.0 && *share <= 1.0)
    };
    let all = sets.iter().enumerate().map(|(number, set)| (set, bits(shares_of(number))));
    shares.len() <= sets.len() && sets.iter().enumerate().all(is_sound) && first_repeated(all).is_none()
}

/// The first value that occurs a second time.
pub fn first_repeated<T: Eq + Hash + Clone>(values: impl IntoIterator<Item = T>) -> Option<T> {
    let mut seen = HashSet::new();
    values.into_iter().find(|value| !seen.insert(value.clone()))
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
    /// Number -> the probabilities of the labels, empty for labels of which one is right; empty if no set has any.
    pub shares: Vec<Vec<f64>>,
    /// Labels, and the bits of their probabilities -> number.
    numbers: HashMap<(Vec<u32>, Vec<u64>), u32>,
}

impl LabelSets {
    /// What `Corpus::gold` holds for a token with one of these labels: the label, if there is only one.
    pub fn intern(&mut self, mut labels: Vec<u32>) -> u32 {
        labels.sort_unstable();
        labels.dedup();
        self.insert(labels, Vec::new())
    }

    /// What `Corpus::gold` holds for a token with a distribution over labels, each of which occurs once: the label, if there is
    /// only one with a probability above 0.
    pub fn intern_shares(&mut self, mut shares: Vec<(u32, f64)>) -> u32 {
        shares.retain(|&(_, share)| share > 0.0);
        shares.sort_unstable_by_key(|&(label, _)| label);
        let (labels, shares) = shares.into_iter().unzip();
        self.insert(labels, shares)
    }

    fn insert(&mut self, labels: Vec<u32>, shares: Vec<f64>) -> u32 {
        if let [label] = labels[..] {
            return label;
        }
        let next = self.sets.len() as u32;
        let bits = shares.iter().map(|share| share.to_bits()).collect();
        let number = *self.numbers.entry((labels, bits)).or_insert_with_key(|(labels, _)| {
            self.sets.push(labels.clone());
            if !shares.is_empty() || !self.shares.is_empty() {
                self.shares.resize(next as usize, Vec::new());
                self.shares.push(shares);
            }
            next
        });
        FIRST_SET + number
    }

    /// The sets with the probabilities of their labels.
    pub fn of(sets: &[Vec<u32>], shares: &[Vec<f64>]) -> Vec<(Vec<u32>, Vec<f64>)> {
        let shares_of = |number: usize| shares.get(number).cloned().unwrap_or_default();
        sets.iter().enumerate().map(|(number, set)| (set.clone(), shares_of(number))).collect()
    }

    /// `intern` or `intern_shares` of a set whose labels get other numbers.
    pub fn adopt(&mut self, (set, shares): &(Vec<u32>, Vec<f64>), map: impl Fn(u32) -> u32) -> u32 {
        let labels = set.iter().map(|&label| map(label));
        match shares.is_empty() {
            true => self.intern(labels.collect()),
            false => self.intern_shares(labels.zip(shares.iter().copied()).collect()),
        }
    }
}
