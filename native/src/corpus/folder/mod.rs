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
//! Arrays are little-endian. Values and weights that are all 1, and bigrams that do not occur, have no file. A corpus is
//! written array by array in bounded memory, into a folder that gets its name when it is complete. More sentences are appended
//! to the arrays in place: bytes beyond the lengths in corpus.json are ignored, and corpus.json is replaced last. The numbers
//! of labels may change then; the labels of all tokens go to a new file in this case, gold-2.u32.

mod growing;
mod layout;
mod open;
mod summary;
mod writer;

pub use open::{is_folder, open};
pub use writer::{Writer, save};

#[cfg(test)]
mod tests;
