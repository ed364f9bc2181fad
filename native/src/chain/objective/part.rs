//! A part of a data set as an objective over the features of the whole: an objective over the features that can occur in the
//! part, and their numbers among all features.

use crate::chain::features::seen::{LabelLists, Occurrences, Seen};
use crate::chain::features::table::FeatureTable;
use crate::chain::features::{Cost, Features, NOWHERE, Selection, blocks};
use crate::chain::inference::Allowed;
use crate::chain::objective::ChainObjective;
use crate::chain::objective::layout;
use crate::chain::objective::masks::Masks;
use crate::chain::objective::scratch::settled;
use crate::corpus::Corpus;
use crate::corpus::assembly::ranked;
use crate::corpus::labels::renumbered;
use crate::error::{Error, Result};
use crate::threads::{self, Interrupt};
use std::collections::HashMap;
use std::sync::Arc;

/// Blocks of a part: one thread works on it, and a block adds up its own gradient for all features that several blocks share.
const BLOCKS: usize = 1;

/// A part of a data set.
pub struct ChainPart {
    /// The objective over the features of the part.
    pub objective: Arc<ChainObjective>,
    /// Feature of the part -> its number among all features.
    numbers: Vec<u32>,
    /// The number of all features.
    pub n_features: usize,
}

impl ChainPart {
    /// The part with the sentences of a corpus, under constraints and with class weights of the table's labels. Errors: the corpus has labels that are missing in the table; a sentence's
    /// labels are not allowed.
    pub fn new(
        corpus: Arc<Corpus>,
        table: &FeatureTable,
        (allowed, class_weights): (Option<Arc<Allowed>>, Option<Arc<Vec<f64>>>),
        n_threads: usize,
    ) -> Result<ChainPart> {
        let pool = threads::pool(n_threads)?;
        pool.install(|| corpus.check(&Interrupt::default()))?;
        let corpus = relabelled(corpus, &table.labels)?;
        let (features, blocks, masks) = pool.install(|| -> Result<_> {
            let features = features_of(&corpus, table)?;
            let masks = Masks::new(&corpus, allowed)?;
            let blocks = layout::blocks(&corpus, &features, |block| settled(&corpus, block))?;
            Ok((features, blocks, masks))
        })?;
        let numbers = numbers_of(&corpus, &features, table);
        let selection = Selection::seen(table.order);
        let objective = ChainObjective::of_parts(Arc::new(corpus), features, blocks, masks, selection, 0, pool);
        let objective = Arc::new(objective.with_class_weights(class_weights));
        Ok(ChainPart { objective, numbers, n_features: table.features.len() })
    }

    /// Copies the entries of the part's features out of a vector over all features.
    pub fn gather(&self, all: &[f64], part: &mut [f64]) {
        part.iter_mut().zip(&self.numbers).for_each(|(entry, &number)| *entry = all[number as usize]);
    }

    /// Copies a vector over the part's features into a vector over all features; the other entries are unchanged.
    pub fn scatter(&self, part: &[f64], all: &mut [f64]) {
        part.iter().zip(&self.numbers).for_each(|(&entry, &number)| all[number as usize] = entry);
    }

    /// Writes the gradient at `w`, over all features, and returns the value.
    pub fn value_and_gradient(&self, w: &[f64], gradient: &mut [f64], interrupt: &Interrupt) -> Result<f64> {
        let n = self.objective.features.len();
        let (mut own_w, mut own_gradient) = (vec![0.0; n], vec![0.0; n]);
        self.gather(w, &mut own_w);
        let value = self.objective.value_and_gradient(&own_w, &mut own_gradient, interrupt)?;
        gradient.fill(0.0);
        self.scatter(&own_gradient, gradient);
        Ok(value)
    }

    /// The part over the features with these numbers, which ascend; the weights of all others are 0.
    pub fn restrict(&self, features: &[usize]) -> Result<ChainPart> {
        let mut place_of = vec![NOWHERE; self.n_features];
        features.iter().zip(0..).for_each(|(&feature, place)| place_of[feature] = place);
        let places = self.numbers.iter().map(|&number| place_of[number as usize]).enumerate();
        let (positions, numbers): (Vec<usize>, Vec<u32>) = places.filter(|&(_, place)| place != NOWHERE).unzip();
        Ok(ChainPart { objective: Arc::new(self.objective.restrict(&positions)?), numbers, n_features: features.len() })
    }
}

/// The corpus with other labels. Error: it has a label that is not among them.
pub(super) fn relabelled(corpus: Arc<Corpus>, labels: &Arc<Vec<String>>) -> Result<Corpus> {
    let numbers: HashMap<&str, u32> = labels.iter().zip(0..).map(|(label, number)| (label.as_str(), number)).collect();
    let mut map = Vec::with_capacity(corpus.labels.len());
    for label in corpus.labels.iter() {
        let number = numbers.get(label.as_str()).copied();
        map.push(
            number.ok_or_else(|| {
                Error::Data(format!("label '{label}' is new: the data changed after they were counted"))
            })?,
        );
    }
    let mut corpus = Arc::unwrap_or_clone(corpus);
    corpus.gold.to_mut().iter_mut().for_each(|label| *label = ranked(*label, &map));
    let (sets, shares) = renumbered(corpus.label_sets.to_vec(), corpus.label_shares.to_vec(), &map);
    (corpus.label_sets, corpus.label_shares) = (Arc::new(sets), Arc::new(shares));
    corpus.labels = Arc::clone(labels);
    Ok(corpus)
}

/// The features of the table that can occur in a corpus, in blocks of the corpus.
fn features_of(corpus: &Corpus, table: &FeatureTable) -> Result<Features> {
    let ids: Vec<Option<u32>> =
        (0..corpus.attributes.len() as u32).map(|id| table.attributes.get(corpus.attributes.key(id))).collect();
    let (whole, sentences) = (&table.features, blocks(corpus, Cost::default(), BLOCKS));
    let selection = Selection::seen(table.order);
    let (mut labels, mut bigrams, mut bigram_tokens) = (LabelLists::default(), LabelLists::default(), Vec::new());
    for id in &ids {
        let place = id.map(|id| table.places[id as usize]).filter(|place| place.index != NOWHERE);
        let range = place.map_or(0..0, |place| place.start as usize..place.end as usize);
        labels.push(whole.state_labels[range].iter().copied());
        if !corpus.bigrams.ids.is_empty() {
            let range = id.and_then(|id| whole.bigram_ranges.get(id as usize)).cloned().unwrap_or_default();
            bigrams.push(whole.bigram_pairs[range.start as usize..range.end as usize].iter().copied());
            bigram_tokens.push(1);
        }
    }
    let seen = Seen {
        has_transitions: corpus.transitions,
        has_triples: corpus.triples,
        transitions: whole.transitions.clone(),
        triples: whole.triples.clone(),
        states: Occurrences::new(corpus, selection.min_count),
        labels,
        bigram_tokens,
        bigrams,
    };
    Features::of(whole.n_labels, &seen, selection, sentences)
}

/// The places of a corpus's features in the table.
fn numbers_of(corpus: &Corpus, features: &Features, table: &FeatureTable) -> Vec<u32> {
    let whole = &table.features;
    let (first_bigram, first_state) = (whole.first_bigram() as u32, whole.first_state() as u32);
    let id = |attribute: u32| table.attributes.get(corpus.attributes.key(attribute)).expect("it has features");
    let mut numbers: Vec<u32> = (0..first_bigram).collect();
    for (attribute, range) in features.bigram_ranges.iter().enumerate().filter(|(_, range)| !range.is_empty()) {
        let first = first_bigram + whole.bigram_ranges[id(attribute as u32) as usize].start;
        numbers.extend(first..first + range.len() as u32);
    }
    for (index, &(attribute, _)) in features.state_attributes.iter().enumerate() {
        let first = first_state + table.places[id(attribute) as usize].start;
        numbers.extend(first..first + features.labels(index).len() as u32);
    }
    numbers
}
