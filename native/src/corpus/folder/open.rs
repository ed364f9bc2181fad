//! Opens a corpus on disk: checks sizes, and reads none of the numbers.

use crate::corpus::alphabet::Alphabet;
use crate::corpus::array::Array;
use crate::corpus::folder::layout::{BLOCK, SUMMARY};
use crate::corpus::folder::summary::{Stored, Summary, damaged};
use crate::corpus::notes::Notes;
use crate::corpus::{Compare, Corpus, Folder, Rows, Wanted};
use crate::error::{Error, Result};
use crate::files::opening::open_regular;
use crate::numeric::store::{self, Store};
use crate::threads::Interrupt;
use bytemuck::Pod;
use rayon::prelude::*;
use serde_json::Value;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use xxhash_rust::xxh3::xxh3_64;

/// Whether there is a corpus at a path.
pub fn is_folder(path: &Path) -> bool {
    path.join(SUMMARY).is_file()
}

/// Maps a corpus; returns it with the settings that its writer stored.
///
/// Errors: a file is missing, too short, or not of this version. Numbers are checked when they are first used
/// (`Corpus::check`).
pub fn open(path: &Path) -> Result<(Corpus, Value)> {
    if cfg!(any(target_endian = "big", not(target_pointer_width = "64"))) {
        return Err(Error::Data("encoded corpora need a 64-bit little-endian machine".into()));
    }
    let mut summary = Summary::read(path)?;
    let rows =
        |ends, ids| Ok::<_, Error>(Rows { ends: numbers(path, &summary, ends)?, ids: numbers(path, &summary, ids)? });
    let corpus = Corpus {
        attributes: Arc::new(alphabet(path, &summary)?),
        labels: Arc::new(summary.labels.iter().map(|(name, _)| name.clone()).collect()),
        sentence_ends: numbers(path, &summary, Array::SentenceEnds)?,
        states: rows(Array::StateEnds, Array::StateIds)?,
        values: numbers(path, &summary, Array::Values)?,
        bigrams: rows(Array::BigramEnds, Array::BigramIds)?,
        gold: numbers(path, &summary, Array::Gold)?,
        label_sets: Arc::new(summary.label_sets.clone()),
        label_shares: Arc::new(summary.label_shares.clone()),
        weights: numbers(path, &summary, Array::Weights)?,
        costs: numbers(path, &summary, Array::Costs)?,
        transitions: summary.transitions,
        triples: summary.triples,
        labelled: summary.labelled,
        notes: Notes::default(),
        folder: None,
    };
    let settings = summary.settings.take();
    let (checksum, place) = (summary.checksum(), path.to_owned());
    let compare: Compare = Box::new(move |interrupt, wanted| check_sums(&place, &summary, interrupt, wanted));
    let (checked, named) = (OnceLock::new(), OnceLock::new());
    let folder = Folder { path: path.to_owned(), checksum, compare, checked, named };
    Ok((Corpus { folder: Some(Arc::new(folder)), ..corpus }, settings))
}

/// The names of a corpus, mapped.
pub(super) fn alphabet(path: &Path, summary: &Summary) -> Result<Alphabet> {
    let keys = numbers(path, summary, Array::AttributeKeys)?;
    let (text, ends) = (numbers(path, summary, Array::AttributeNames)?, numbers(path, summary, Array::AttributeEnds)?);
    Ok(Alphabet::of_parts(keys, text, ends))
}

/// An array, mapped; empty if it has no file.
fn numbers<T: Pod>(path: &Path, summary: &Summary, array: Array) -> Result<Store<T>> {
    let Some(stored) = summary.arrays.get(&array).filter(|stored| stored.bytes > 0) else {
        return Ok(Store::default());
    };
    let path = path.join(&stored.file);
    let file = open_regular(&path)?;
    let n_bytes = file.metadata().map_err(|source| Error::io(&path, source))?.len();
    if n_bytes < stored.bytes as u64 {
        return Err(damaged(&path, &format!("the file has {n_bytes} of {} bytes: it was cut short", stored.bytes)));
    }
    let map = store::map(&file).map_err(|source| Error::io(&path, source))?;
    Store::mapped(&map, 0..stored.bytes).ok_or_else(|| damaged(&path, "the file is damaged"))
}

/// Compares the checksums of the blocks that contain some numbers of each array, on the threads of the pool.
fn check_sums(folder: &Path, summary: &Summary, interrupt: &Interrupt, wanted: &Wanted<'_>) -> Result<()> {
    for (&array, Stored { file, bytes, sums }) in &summary.arrays {
        let (numbers, width) = (wanted(array), array.row().1);
        let first = (numbers.start.saturating_mul(width) / BLOCK).min(sums.len());
        let behind = numbers.end.saturating_mul(width).div_ceil(BLOCK).min(sums.len());
        if numbers.is_empty() || first >= behind {
            continue;
        }
        let path = folder.join(file);
        let opened = open_regular(&path)?;
        let map = store::map(&opened).map_err(|source| Error::io(&path, source))?;
        let all = Store::<u8>::mapped(&map, 0..*bytes).ok_or_else(|| damaged(&path, "the file was cut short"))?;
        let blocks = (first..behind).into_par_iter().map(|number| {
            interrupt.check()?;
            let range = number * BLOCK..((number + 1) * BLOCK).min(*bytes);
            let sum = xxh3_64(&all[range.clone()]);
            all.advise(range, store::Soon::Unwanted);
            if sum == sums[number] {
                return Ok(());
            }
            Err(damaged(&path, &format!("the file is damaged from byte {}", number * BLOCK)))
        });
        blocks.collect::<Result<Vec<()>>>()?;
    }
    Ok(())
}
