//! Lexicons (gazetteers): lists of entries of one or more words, which templates look words up in.

mod attached;
mod base64;
mod source;
mod table;

pub use attached::{Attached, detached, line_of};
pub(super) use attached::{check_name, shortened, whole};
pub use source::Source;
pub use table::{Lexicon, MOST_WORDS};
