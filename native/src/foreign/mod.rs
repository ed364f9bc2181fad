//! Model files of other programs, recognised by their first bytes, read as ours and written.
//!
//! | format | program |
//! | --- | --- |
//! | `crfsuite` | CRFsuite, python-crfsuite, sklearn-crfsuite |
//! | `wapiti` | Wapiti, wapiti-ruby |
//! | `crf++`, `crf++-text` | CRF++, its binary and its text model |
//!
//! A model that is read keeps the order of its labels, since ties go to the first. A template of Wapiti or CRF++ keeps its rules by
//! its first line, `#!wapiti` or `#!crf++` (`text::dialect`).

mod bytes;
mod cqdb;
mod crfpp;
mod crfsuite;
#[cfg(test)]
mod tests;
mod wapiti;

use crate::chain::features::MOST_LABELS;
use crate::chain::model::{Kept, Model, Parts};
use crate::corpus::labels::first_repeated;
use crate::error::{Error, Result};
use crate::files::model_file::Storage;
use crate::foreign::bytes::Checked;
use crate::text::writable::Place;
use serde_json::json;
use std::path::Path;
use std::str::FromStr;

/// The most features of an attribute, as our files count them in 16 bits.
const MOST_OF_ATTRIBUTE: usize = 0xffff;

/// The layout of another program's model file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    CrfSuite,
    Wapiti,
    CrfppBinary,
    CrfppText,
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Format> {
        let formats = [Format::CrfSuite, Format::Wapiti, Format::CrfppBinary, Format::CrfppText];
        let format = formats.into_iter().find(|format| format.name() == name);
        format.ok_or_else(|| {
            Error::Option(format!("unknown format {name:?}; choose crfsuite, wapiti, crf++ or crf++-text"))
        })
    }
}

impl Format {
    /// The name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Format::CrfSuite => "crfsuite",
            Format::Wapiti => "wapiti",
            Format::CrfppBinary => "crf++",
            Format::CrfppText => "crf++-text",
        }
    }

    /// The program that writes the format.
    fn program(self) -> &'static str {
        match self {
            Format::CrfSuite => "CRFsuite",
            Format::Wapiti => "Wapiti",
            Format::CrfppBinary | Format::CrfppText => "CRF++",
        }
    }

    /// The format of a file that starts with these bytes; None if it is not a foreign format.
    pub fn of(bytes: &[u8]) -> Option<Format> {
        // CRF++'s binary files start with their version, 100, and with 0; a header in braces shows one of our own.
        let binary = bytes.starts_with(&[100, 0, 0, 0, 0, 0, 0, 0]) && bytes.get(8) != Some(&b'{');
        match bytes {
            [b'l', b'C', b'R', b'F', ..] => Some(Format::CrfSuite),
            [b'#', b'm', b'd', b'l', b'#', ..] => Some(Format::Wapiti),
            _ if bytes.starts_with(b"version: ") => Some(Format::CrfppText),
            _ if binary => Some(Format::CrfppBinary),
            _ => None,
        }
    }

    fn read(self, bytes: &[u8]) -> Checked<Parts> {
        match self {
            Format::CrfSuite => crfsuite::read(bytes),
            Format::Wapiti => wapiti::read(bytes),
            Format::CrfppBinary => crfpp::read_binary(bytes),
            Format::CrfppText => crfpp::read_text(bytes),
        }
    }
}

/// Opens a model file, our own, which is mapped, or another program's.
///
/// Errors: the file cannot be read; it is damaged, or of an unknown kind; it holds what a chain here cannot have.
pub fn open(path: &Path) -> Result<Model> {
    let storage = Storage::open(path)?;
    match Format::of(&storage) {
        Some(format) => model_of(format, &storage, &path.display().to_string()),
        None => Model::open(path),
    }
}

/// The model of the bytes of its file.
pub fn of_bytes(bytes: &[u8]) -> Result<Model> {
    match Format::of(bytes) {
        Some(format) => model_of(format, bytes, "the model"),
        None => Model::from_bytes(bytes),
    }
}

/// The file of a model in another program's format. `labels` names all labels in the order that they have in the file.
///
/// Errors: the other program has no such models; `labels` are not the model's.
pub fn write(model: &Model, format: Format, labels: Option<&[String]>) -> Result<Vec<u8>> {
    let order = order_of(model, labels.unwrap_or(&model.labels))?;
    if model.allowed().is_some() {
        let message = "other programs' models do not support constraints; save the model as a loglinear model instead";
        return Err(Error::ModelFile(message.into()));
    }
    if model.label_bias().map_or(true, |bias| !bias.is_empty()) {
        let message = "other programs' models do not support biases of labels; remove them in Python before the export: set_params(label_bias=None)";
        return Err(Error::ModelFile(message.into()));
    }
    if let Some(lexicon) = model.template.as_deref().and_then(|template| template.lexicons().first()) {
        return Err(Error::ModelFile(format!(
            "{} has no lexicons, and the template looks words up in {}; save the model as a loglinear model instead, or train \
             without the lines with %in",
            format.program(),
            lexicon.name
        )));
    }
    // CRFsuite's files are no text, and refuse only the character that ends a string in C.
    if format != Format::CrfSuite {
        Place::Program.check("the model's label", &model.labels, "save the model as a loglinear model instead")?;
    }
    match format {
        Format::CrfSuite => crfsuite::write(model, &order),
        Format::Wapiti => wapiti::write(model, &order),
        Format::CrfppBinary => crfpp::write_binary(model),
        Format::CrfppText => crfpp::write_text(model),
    }
}

/// The model with these weights: attributes, each with the numbers of labels and their weights, and pairs of labels.
///
/// Errors: a weight is not finite, a label does not exist, an attribute occurs twice.
pub fn of_weights(
    labels: Vec<String>,
    states: Vec<(String, Vec<(u16, f64)>)>,
    transitions: Vec<([u16; 2], f64)>,
    settings: String,
    template: Option<String>,
) -> Result<Model> {
    let wrong = |what: String| Error::Data(format!("these weights do not form a model: {what}"));
    check_labels(labels.len()).map_err(wrong)?;
    let mut parts = Parts { labels, settings, template, ..Parts::default() };
    let mut seen = std::collections::HashSet::new();
    for (name, features) in states {
        if !seen.insert(name.clone()) {
            return Err(wrong(format!("the attribute '{name}' occurs twice")));
        }
        parts.states.push(name.as_bytes(), kept_pairs(features).map_err(wrong)?);
    }
    parts.transitions = kept_pairs(transitions).map_err(wrong)?;
    Model::of_parts(&parts, "the model")
}

fn model_of(format: Format, bytes: &[u8], name: &str) -> Result<Model> {
    let program = format.program();
    let wrong = |what: String| Error::ModelFile(format!("{name}: cannot be read as a {program} model: {what}"));
    let parts = format.read(bytes).map_err(wrong)?;
    let labels = parts.labels.len();
    if labels == 0 {
        return Err(wrong("it has no labels; train it on labelled data".into()));
    }
    if let Some(twice) = first_repeated(&parts.labels) {
        return Err(wrong(format!("it has the label '{twice}' twice")));
    }
    Model::of_parts(&parts, name)
}

/// The numbers of the model's labels in another order of their names.
fn order_of(model: &Model, labels: &[String]) -> Result<Vec<u16>> {
    let place = |label: &String| model.labels.iter().position(|of_model| of_model == label).map(|place| place as u16);
    let order: Option<Vec<u16>> = labels.iter().map(place).collect();
    match order {
        Some(order) if order.len() == model.labels.len() && first_repeated(labels).is_none() => Ok(order),
        _ => Err(Error::Option("labels must contain each label of the model exactly once".into())),
    }
}

/// The settings of a model that was read: JSON that includes `more`.
fn settings(format: &str, data: &str, more: Option<(&str, serde_json::Value)>) -> String {
    let mut settings = json!({"model": "chain", "imported": format, "format": data});
    if let (Some((name, value)), Some(settings)) = (more, settings.as_object_mut()) {
        settings.insert(name.into(), value);
    }
    settings.to_string()
}

/// An error if there are more labels than a model may have.
fn check_labels(count: usize) -> Checked<()> {
    if count > MOST_LABELS {
        return Err(format!("it has {count} labels, more than {MOST_LABELS}"));
    }
    Ok(())
}

/// Features in ascending order of their labels; weights of the same labels add up, and weights of 0 are left out.
fn kept_pairs<T: Ord + Copy>(mut features: Vec<(T, f64)>) -> Checked<Kept<T>> {
    features.sort_by_key(|&(labels, _)| labels);
    let mut merged: Kept<T> = (Vec::new(), Vec::new());
    for (labels, weight) in features {
        match (merged.0.last(), merged.1.last_mut()) {
            (Some(&last), Some(sum)) if last == labels => *sum += weight,
            _ => {
                merged.0.push(labels);
                merged.1.push(weight);
            }
        }
    }
    if let Some(weight) = merged.1.iter().find(|weight| !weight.is_finite()) {
        return Err(format!("a weight is {weight}; weights must be finite"));
    }
    let nonzero: Vec<bool> = merged.1.iter().map(|&weight| weight != 0.0).collect();
    let mut keep = nonzero.iter();
    merged.0.retain(|_| *keep.next().expect("a flag for each feature"));
    merged.1.retain(|&weight| weight != 0.0);
    if merged.0.len() > MOST_OF_ATTRIBUTE {
        return Err(format!("an attribute has {} features, more than {MOST_OF_ATTRIBUTE}", merged.0.len()));
    }
    Ok(merged)
}
