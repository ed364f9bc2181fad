//! Labelling with a trained model: from text or tokens to labels (`tagger`, `stream`, `batch`, `texts`, `keyed`, `sequence`), and what is
//! written of them (`answer`, `confidence`, `printing`).

pub mod answer;
pub mod batch;
pub mod confidence;
pub mod keyed;
mod printing;
pub mod scorer;
pub mod sequence;
pub mod stream;
pub mod tagger;
pub mod texts;
