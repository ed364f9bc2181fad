//! Blocks of corpora on disk. Their entries are on disk too, in temporary files without a name, and every evaluation reads them
//! from there.

use crate::chain::objective::layout::{Block, SentenceEntries};
use crate::corpus::Corpus;
use crate::error::{Error, Result};
use crate::numeric::store::{Soon, Store, map};
use bytemuck::{Pod, cast_slice};
use memmap2::Mmap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;

/// The block with its entries in a file next to the corpus, if the corpus is on disk; otherwise the block unchanged.
///
/// If the folder of the corpus is not writable, the file is in the system's folder for temporary files.
pub fn settled(corpus: &Corpus, mut block: Block) -> Result<Block> {
    let Some(folder) = &corpus.folder else { return Ok(block) };
    let fail = |source| Error::io(&folder.path, source);
    let mut file = tempfile::tempfile_in(&folder.path).or_else(|_| tempfile::tempfile()).map_err(fail)?;
    let mut out = BufWriter::with_capacity(1 << 20, &mut file);
    for entries in block.entries_mut() {
        let written = write(&mut out, &entries.values)
            .and_then(|()| write(&mut out, &entries.ids))
            .and_then(|()| write(&mut out, &entries.places));
        written.map_err(fail)?;
    }
    out.flush().map_err(fail)?;
    drop(out);
    mapped(&file, &mut block).map_err(fail)?;
    block.advise(Soon::Unwanted);
    Ok(block)
}

/// Writes numbers, and zeros up to a multiple of eight bytes.
fn write<T: Pod>(out: &mut impl Write, numbers: &[T]) -> std::io::Result<()> {
    let bytes: &[u8] = cast_slice(numbers);
    out.write_all(bytes)?;
    out.write_all(&[0; 8][..bytes.len().next_multiple_of(8) - bytes.len()])
}

/// Replaces the entries in memory by the entries in the file.
fn mapped(file: &File, block: &mut Block) -> std::io::Result<()> {
    if file.metadata()?.len() == 0 {
        return Ok(());
    }
    let (map, mut at) = (map(file)?, 0);
    for SentenceEntries { ids, places, values, .. } in block.entries_mut() {
        *values = next(&map, &mut at, values.len());
        *ids = next(&map, &mut at, ids.len());
        *places = next(&map, &mut at, places.len());
    }
    Ok(())
}

/// The next numbers in the file, from byte `at` on.
fn next<T: Pod>(map: &Arc<Mmap>, at: &mut usize, count: usize) -> Store<T> {
    let start = *at;
    let end = start + count * size_of::<T>();
    *at = end.next_multiple_of(8);
    if count == 0 { Store::default() } else { Store::mapped(map, start..end).expect("the file was written for this") }
}
