//! From text to attribute occurrences: files, columns, templates, attribute names and their hashes.

pub mod cells;
pub mod columns;
pub mod crfsuite;
pub mod encode;
pub mod input;
pub mod items;
pub mod jsonl;
pub mod pattern;
pub mod svmlight;
pub mod template;
