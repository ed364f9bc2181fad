//! A model opened by a C program; several threads may label with it at once.

use crate::c_api::status::Failure;
use crate::chain::inference::constraints::allowed_by_settings;
use crate::chain::model::Model;
use crate::chain::tagging::answer::Answer;
use crate::chain::tagging::sequence::{Sequence, SequenceScorer};
use crate::chain::tagging::tagger;
use crate::corpus::hash::key_of;
use crate::corpus::sink::Sink;
use crate::error::Error;
use crate::foreign;
use crate::text::format::Format;
use crate::text::input::Source;
use crate::threads::{self, Interrupt, locked};
use serde_json::Value;
use std::ffi::CString;
use std::path::Path;
use std::sync::Mutex;

/// Size of a text, in bytes, from which several threads label it.
const LONG: usize = 64 << 10;
/// Maximum number of spare buffers: the number of threads that can label a sequence at the same time without making new
/// buffers.
const MOST_SPARE: usize = 64;

/// An open model: `loglinear_model` of the header.
pub struct OpenModel {
    model: Model,
    /// The names of the labels.
    pub labels: Vec<CString>,
    spare: Mutex<Vec<Sequence>>,
}

impl OpenModel {
    /// Opens a model file of any kind that the library reads, under the constraints of its settings.
    pub fn open(path: &Path) -> Result<OpenModel, Failure> {
        let model = foreign::open(path)?;
        let settings: Value = serde_json::from_str(model.settings()).unwrap_or_default();
        if settings["model"] == "choice" {
            let what =
                "a model of choices among alternatives, not of labels; open it with ConditionalLogit.load in Python";
            return Err(Error::ModelFile(format!("{}: {what}", path.display())).into());
        }
        let allowed = allowed_by_settings(model.settings(), &model.labels)?;
        let model = model.under(allowed);
        let name = |label: &String| CString::new(label.as_str());
        let labels: Result<Vec<CString>, _> = model.labels.iter().map(name).collect();
        let nul = |_| Error::ModelFile(format!("{}: a label contains a NUL character", path.display()));
        Ok(OpenModel { labels: labels.map_err(nul)?, model, spare: Mutex::default() })
    }

    /// Labels a text as `loglinear tag` does: columns if the model has a template, else lines of attributes.
    pub fn label_text(&self, text: &[u8]) -> Result<Vec<u8>, Failure> {
        let format = if self.model.template.is_some() { Format::Columns } else { Format::Crfsuite };
        let text = Source::of_bytes("the text", text.to_vec())?.text(|line| format.ends(line))?;
        let label =
            || tagger::tag(&self.model, &text, format, self.model.layout, Answer::Best.into(), &Interrupt::default());
        let labelled = if text.content().len() < LONG { label() } else { threads::pool(0)?.install(label) };
        Ok(labelled?.answers)
    }

    /// Labels one sequence, which `read` passes to a sink token by token. Writes the number of each token's label, or `UNKNOWN`
    /// at every token if all labellings are forbidden. With `marginals`, also writes the probability of every label, token by
    /// token.
    pub fn label_sequence(
        &self,
        labels: &mut [u32],
        marginals: Option<&mut [f64]>,
        read: impl FnOnce(&mut SequenceScorer<'_, '_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let spare = locked(&self.spare).pop();
        let mut sequence = spare.unwrap_or_else(|| Sequence::new(&self.model));
        let mut scorer = SequenceScorer::new(&self.model, &mut sequence);
        let is_read = read(&mut scorer);
        if is_read.is_ok() {
            scorer.end_sentence(1.0);
            labels.copy_from_slice(sequence.best_labels(&self.model));
            if let Some(marginals) = marginals {
                sequence.infer(&self.model);
                marginals.copy_from_slice(&self.model.unpadded(&sequence.lattice));
            }
        }
        let mut spare = locked(&self.spare);
        if spare.len() < MOST_SPARE {
            spare.push(sequence);
        }
        is_read
    }
}

/// Passes an attribute of the current token to a sink. Error: the value is not finite.
pub fn attribute(sink: &mut impl Sink, item: usize, name: &[u8], value: f64) -> Result<(), Failure> {
    if !value.is_finite() {
        let name = String::from_utf8_lossy(name);
        let message = format!("item {item}: attribute '{name}' has the value {value}; values must be finite numbers");
        return Err(Error::Data(message).into());
    }
    sink.state(key_of(name), value, |_| {});
    Ok(())
}
