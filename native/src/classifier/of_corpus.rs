//! The tokens of a corpus as the samples of a classifier.

use crate::classifier::matrix::Design;
use crate::corpus::Corpus;
use crate::error::Result;

impl Design {
    /// A matrix with a row for each token of a corpus and a column for each attribute that at least `min_count` tokens have, and
    /// the ids of the attributes, column by column.
    ///
    /// If a token has an attribute several times, its values are added up.
    pub fn of_corpus(corpus: &Corpus, min_count: u32) -> Result<(Design, Vec<u32>)> {
        let (mut ends, mut ids, mut values) = (Vec::with_capacity(corpus.n_tokens()), Vec::new(), Vec::new());
        let mut counts = vec![0u32; corpus.attributes.len()];
        let mut row: Vec<(u32, f64)> = Vec::new();
        for token in 0..corpus.n_tokens() {
            row.clear();
            row.extend(corpus.states.range(token).map(|at| (corpus.states.ids[at], corpus.value(at))));
            // The sort is stable: values are added up in the sequence of the corpus.
            row.sort_by_key(|entry| entry.0);
            for same in row.chunk_by(|a, b| a.0 == b.0) {
                counts[same[0].0 as usize] += 1;
                ids.push(same[0].0);
                values.push(same.iter().map(|entry| entry.1).sum::<f64>());
            }
            ends.push(ids.len());
        }
        let frequent: Vec<u32> =
            (0..counts.len() as u32).filter(|&id| min_count <= 1 || counts[id as usize] >= min_count).collect();
        if frequent.len() < counts.len() {
            (ends, ids, values) = selected(&frequent, counts.len(), &ends, &ids, &values);
        }
        Ok((Design::new(ends, &ids, &values, frequent.len())?, frequent))
    }
}

/// Selects columns, in ascending order, of a matrix in compressed sparse rows: row ends, column ids, values.
fn selected(
    columns: &[u32],
    n_columns: usize,
    ends: &[usize],
    ids: &[u32],
    values: &[f64],
) -> (Vec<usize>, Vec<u32>, Vec<f64>) {
    let mut places = vec![u32::MAX; n_columns];
    columns.iter().zip(0..).for_each(|(&id, place)| places[id as usize] = place);
    let (mut new_ends, mut new_ids, mut new_values) = (Vec::with_capacity(ends.len()), Vec::new(), Vec::new());
    let mut start = 0;
    for &end in ends {
        for (&id, &value) in ids[start..end].iter().zip(&values[start..end]) {
            let place = places[id as usize];
            if place != u32::MAX {
                new_ids.push(place);
                new_values.push(value);
            }
        }
        new_ends.push(new_ids.len());
        start = end;
    }
    (new_ends, new_ids, new_values)
}
