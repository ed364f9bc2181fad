//! The objective over the features of a corpus and of an older model: the model's labels are labels of the corpus, its attributes
//! are attributes that need not occur, and all its features are features.

use crate::chain::features::counting::Counts;
use crate::chain::features::seen::{Occurrences, Seen};
use crate::chain::features::{Cost, Features, MOST_BLOCKS, Selection, blocks};
use crate::chain::inference::Allowed;
use crate::chain::objective::masks::Masks;
use crate::chain::objective::part::relabelled;
use crate::chain::objective::scratch::settled;
use crate::chain::objective::{ChainObjective, layout};
use crate::corpus::Corpus;
use crate::error::{Error, Result};
use crate::threads::{self, Interrupt};
use std::sync::Arc;

/// A corpus with the names of another count, and what is seen in both.
pub struct United {
    pub corpus: Corpus,
    seen: Seen,
    selection: Selection,
}

impl United {
    /// Joins a corpus with the counts of a model. Errors: the corpus has no labels; too many labels.
    pub fn new(corpus: Arc<Corpus>, older: &Counts, mut selection: Selection) -> Result<United> {
        if !corpus.labelled {
            return Err(Error::Data("training needs labelled data".into()));
        }
        corpus.check(&Interrupt::default())?;
        if corpus.triples {
            selection.order = 2;
        }
        let mut counts = Counts::new(&corpus, selection.order)?;
        counts.join(older)?;
        let (labels, mut seen) = counts.with_sorted_labels();
        // Numbers of attributes stay: the others come after them.
        let mut corpus = relabelled(corpus, &Arc::new(labels))?;
        corpus.attributes = Arc::new(counts.attributes);
        seen.states = Occurrences::new(&corpus, 1).on_tokens(seen.states.tokens);
        Ok(United { corpus, seen, selection })
    }

    /// The objective. Errors: a sentence's labels are not allowed; too many features.
    pub fn objective(self, allowed: Option<Arc<Allowed>>, n_threads: usize) -> Result<ChainObjective> {
        let United { corpus, seen, selection } = self;
        let pool = threads::pool(n_threads)?;
        let (features, blocks, masks) = pool.install(|| -> Result<_> {
            let n_labels = corpus.labels.len();
            let sentences = blocks(&corpus, Cost::new(n_labels, &seen, selection), MOST_BLOCKS);
            let features = Features::of(n_labels, &seen, selection, sentences)?;
            let masks = Masks::new(&corpus, allowed)?;
            let blocks = layout::blocks(&corpus, &features, |block| settled(&corpus, block))?;
            Ok((features, blocks, masks))
        })?;
        Ok(ChainObjective::of_parts(Arc::new(corpus), features, blocks, masks, selection, 0, pool))
    }
}
