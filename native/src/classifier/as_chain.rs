//! The problem of a classifier as a problem over chains of one token each, for methods that go sample by sample.

use crate::chain::features::{Features, Selection};
use crate::chain::objective::ChainObjective;
use crate::chain::objective::layout::Block;
use crate::chain::objective::masks::Masks;
use crate::classifier::objective::Classifier;
use crate::corpus::Corpus;
use crate::error::Result;
use std::sync::Arc;

/// The objective with each sample as a sentence of one token. Feature i of the chain is feature i of the classifier.
pub fn as_chain(classifier: &Classifier) -> Result<ChainObjective> {
    let (n, columns) = (classifier.n_samples(), classifier.n_columns());
    let features = Features::of_columns(columns, classifier.n_classes, n)?;
    let intercept = classifier.intercept.map(|value| (columns as u32 - 1, value));
    let block = Block::of_rows(classifier.design.rows(), intercept, &features);
    let labels = (0..classifier.n_classes).map(|class| class.to_string()).collect();
    let corpus = Corpus::of_samples(labels, classifier.targets.clone(), classifier.weights.clone());
    let selection = Selection::seen(1);
    let unpenalised = if classifier.intercept.is_some() { classifier.n_outputs() } else { 0 };
    let pool = classifier.pool;
    let (corpus, masks) = (Arc::new(corpus), Masks::default());
    Ok(ChainObjective::of_parts(corpus, features, vec![block], masks, selection, unpenalised, pool))
}
