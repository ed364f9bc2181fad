//! Encoded corpora on disk: a folder with a file for each array of a `Corpus`, which is mapped into memory when it is opened.
//!
//! ```text
//! NAME/
//!   corpus.json        version, sizes, labels, checksums of all blocks of all arrays; the last line is the checksum of the rest
//!   state_ids.u32      numbers of the state attributes, token after token
//!   state_ends.u64     token -> where its attributes end in state_ids
//!   gold.u32           token -> label, or set of labels (see `Corpus::gold`)
//!   ...                the other arrays; `ARRAYS` names them
//! ```
//!
//! Arrays are little-endian. Values and weights that are all 1, and bigrams that do not occur, have no file. A corpus is written
//! array by array in bounded memory, into a folder that gets its name when all is complete. More sentences are appended to the
//! arrays in place: bytes behind the lengths that corpus.json states do not count, and corpus.json is replaced last. The numbers of
//! labels may change then; the labels of all tokens go to a new file in this case, gold-2.u32.

mod array;
mod check;
mod open;
mod summary;
mod writer;

pub use open::{is_folder, open};
pub use writer::{Writer, save};

use crate::corpus::Corpus;
use crate::error::{Error, Result};
use crate::threads::Interrupt;
use std::path::PathBuf;
use std::sync::OnceLock;
use summary::Summary;

/// The name of the file that describes the others.
const SUMMARY: &str = "corpus.json";
/// The version that this program reads and writes.
const VERSION: u64 = 1;
/// Bytes of an array that have a checksum of their own.
const BLOCK: usize = 16 << 20;

/// An array of a corpus.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Array {
    SentenceEnds,
    StateEnds,
    StateIds,
    Values,
    BigramEnds,
    BigramIds,
    Gold,
    Weights,
    AttributeKeys,
    AttributeEnds,
    AttributeNames,
}

/// The arrays with the names of their files, and the bytes of a number.
const ARRAYS: [(Array, &str, usize); 11] = [
    (Array::SentenceEnds, "sentence_ends.u64", 8),
    (Array::StateEnds, "state_ends.u64", 8),
    (Array::StateIds, "state_ids.u32", 4),
    (Array::Values, "values.f64", 8),
    (Array::BigramEnds, "bigram_ends.u64", 8),
    (Array::BigramIds, "bigram_ids.u32", 4),
    (Array::Gold, "gold.u32", 4),
    (Array::Weights, "weights.f64", 8),
    (Array::AttributeKeys, "attribute_keys.u64", 8),
    (Array::AttributeEnds, "attribute_ends.u64", 8),
    (Array::AttributeNames, "attribute_names.u8", 1),
];

impl Array {
    /// The name of the array's file, and the bytes of a number.
    fn row(self) -> (&'static str, usize) {
        let (_, name, width) = ARRAYS[self as usize];
        (name, width)
    }
}

/// The folder of an open corpus.
pub struct Folder {
    pub path: PathBuf,
    summary: Box<Summary>,
    /// What was found when the arrays were checked; unset before.
    checked: OnceLock<std::result::Result<(), String>>,
}

impl Folder {
    /// A checksum of all arrays and names.
    pub fn checksum(&self) -> String {
        self.summary.checksum()
    }

    /// Fails if the arrays are damaged; see `Corpus::check`.
    pub(super) fn check(&self, corpus: &Corpus, interrupt: &Interrupt) -> Result<()> {
        if let Some(found) = self.checked.get() {
            return found.clone().map_err(Error::Data);
        }
        let found = open::check_sums(&self.path, &self.summary, interrupt).and_then(|()| check::check(corpus));
        match found {
            Ok(()) => _ = self.checked.set(Ok(())),
            Err(Error::Data(ref message)) => _ = self.checked.set(Err(message.clone())),
            // An interruption, or a failure of the system, says nothing of the corpus.
            Err(_) => (),
        }
        found
    }
}

#[cfg(test)]
mod tests;
