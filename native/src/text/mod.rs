//! From files to attributes: formats of text, templates, and the encoding of a text as a corpus.

mod arguments;
pub mod arriving;
mod attribute_names;
mod bytes;
pub mod cells;
pub mod columns;
pub mod conllu;
pub mod crfsuite;
pub mod dialect;
pub mod encode;
pub mod expand;
pub mod format;
pub mod input;
pub mod items;
mod joins;
pub mod jsonl;
pub mod labels;
pub mod layout;
pub mod look;
mod naming;
pub mod pattern;
pub mod ranges;
pub mod sentence;
pub mod svmlight;
pub mod template;
mod token_views;
mod view;
