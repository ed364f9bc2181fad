//! CRFsuite's model files.
//!
//! | part | layout: little-endian 32-bit numbers, doubles |
//! | --- | --- |
//! | header | `lCRF`, size of the file, `FOMC`, 100, 0, labels, attributes, offsets of the five parts below |
//! | `FEAT` | size, number of features, each: 0 for a state or 1 for a transition, attribute or first label, label, weight |
//! | labels, attributes | a database each (`cqdb`) |
//! | `LFRF` | size, labels + 2, offset of each label's list, 0, 0; lists: length, numbers of the transitions from the label |
//! | `AFRF` | size, attributes, offset of each attribute's list; lists: length, numbers of its state features |
//!
//! The two last parts start at multiples of 4. A model has neither a bias nor scores of the edges of a sentence. Reading needs the
//! features and the databases; the rest is an index over them.

use crate::chain::model::{KeptByAttribute, Model, Parts};
use crate::error::{Error, Result};
use crate::foreign::bytes::{Checked, Cursor, text};
use crate::foreign::cqdb::{self, push, put};
use crate::foreign::{kept_pairs, settings};
use std::ops::Range;

const HEADER: usize = 48;
const FEATURE: usize = 20;
const STATE: u32 = 0;
const TRANSITION: u32 = 1;

/// The parts of a model.
pub(super) fn read(bytes: &[u8]) -> Checked<Parts> {
    let mut header = Cursor::new(bytes, 0)?;
    header.expect(b"lCRF")?;
    let size = header.size()?;
    if size > bytes.len() {
        return Err(format!("it was cut short: {} of {size} bytes are left", bytes.len()));
    }
    header.expect(b"FOMC")?;
    let version = header.u32()?;
    if version != 100 {
        return Err(format!("its version is {version}; only version 100 is supported"));
    }
    let _features = header.u32()?;
    let (n_labels, n_attributes) = (header.size()?, header.size()?);
    let [features, labels, attributes] = [header.size()?, header.size()?, header.size()?];
    let labels = cqdb::read(bytes, labels, n_labels, "label")?;
    let labels = labels.iter().map(|label| text(label, "label")).collect::<Checked<Vec<String>>>()?;
    let names = cqdb::read(bytes, attributes, n_attributes, "attribute")?;
    let mut of_attributes: Vec<Vec<(u16, f64)>> = vec![Vec::new(); n_attributes];
    let mut transitions = Vec::new();
    for_each_feature(bytes, features, |kind, from, label, weight| {
        let label = label_of(label, n_labels)?;
        match kind {
            STATE => of_attributes
                .get_mut(from as usize)
                .ok_or("a feature's attribute does not exist")?
                .push((label, weight)),
            TRANSITION => transitions.push(([label_of(from, n_labels)?, label], weight)),
            _ => return Err(format!("a feature has the unknown kind {kind}")),
        }
        Ok(())
    })?;
    let mut states = KeptByAttribute::default();
    for (name, features) in names.iter().zip(of_attributes) {
        states.push(name, kept_pairs(features)?);
    }
    let settings = settings("crfsuite", "crfsuite", None);
    Ok(Parts { labels, settings, states, transitions: kept_pairs(transitions)?, ..Parts::default() })
}

fn label_of(label: u32, n_labels: usize) -> Checked<u16> {
    let number = u16::try_from(label).ok().filter(|&label| usize::from(label) < n_labels);
    number.ok_or_else(|| format!("a feature has label {label}, but there are only {n_labels} labels"))
}

/// Calls `on_feature` with kind, source, label and weight of every feature of the chunk at byte `start`.
fn for_each_feature(
    bytes: &[u8],
    start: usize,
    mut on_feature: impl FnMut(u32, u32, u32, f64) -> Checked<()>,
) -> Checked<()> {
    let mut chunk = Cursor::new(bytes, start)?;
    chunk.expect(b"FEAT")?;
    let (_size, count) = (chunk.size()?, chunk.size()?);
    if chunk.left() / FEATURE < count {
        return Err(format!("the file is too short for {count} features"));
    }
    for _ in 0..count {
        on_feature(chunk.u32()?, chunk.u32()?, chunk.u32()?, chunk.f64()?)?;
    }
    Ok(())
}

/// The file of a model, with its labels in this order: the file's label i is the model's label `order[i]`.
///
/// Errors: the model has features that CRFsuite does not have, or strings that its files cannot hold.
pub(super) fn write(model: &Model, order: &[u16]) -> Result<Vec<u8>> {
    let weights = model.weights();
    refuse(!weights.bigram_weights.is_empty(), "bigram attributes (B lines with macros)")?;
    refuse(!weights.triple_weights.is_empty(), "order=2")?;
    refuse(model.intercept_name().is_some(), "an intercept")?;
    let mut number = vec![0u32; order.len()];
    for (at, &label) in order.iter().enumerate() {
        number[usize::from(label)] = at as u32;
    }
    let mut file = Writer { out: vec![0; HEADER], sections: [0; 5] };
    let mut states: Vec<StatesOf<'_>> = Vec::with_capacity(weights.states.len());
    for (name, range) in weights.states.iter() {
        let labels = weights.state_labels[range.clone()].iter().map(|&label| number[usize::from(label)]);
        let mut features: Vec<(u32, f64)> = labels.zip(weights.state_weights[range].iter().copied()).collect();
        features.sort_by_key(|&(label, _)| label);
        states.push((name, features));
    }
    let pairs = weights.transition_pairs.iter().map(|pair| pair.map(|label| number[usize::from(label)]));
    let mut transitions: Vec<([u32; 2], f64)> = pairs.zip(weights.transition_weights.iter().copied()).collect();
    transitions.sort_by_key(|&(pair, _)| pair);
    let labels: Vec<&[u8]> = order.iter().map(|&label| model.labels[usize::from(label)].as_bytes()).collect();
    let holds_zero = |name: &[u8]| name.contains(&0);
    refuse(
        states.iter().any(|(name, _)| holds_zero(name)) || labels.iter().any(|name| holds_zero(name)),
        "names with the character U+0000",
    )?;
    file.features(&states, &transitions);
    file.sections[1] = file.out.len();
    cqdb::write(labels.iter().copied(), &mut file.out);
    file.sections[2] = file.out.len();
    cqdb::write(states.iter().map(|(name, _)| *name), &mut file.out);
    let n_states: usize = states.iter().map(|(_, features)| features.len()).sum();
    let from = |label: u32| {
        let place = |bound: u32| n_states + transitions.partition_point(|&([from, _], _)| from < bound);
        place(label)..place(label + 1)
    };
    file.lists(3, b"LFRF", (0..labels.len() as u32).map(from), 2);
    let mut end = 0;
    let of_attributes = states.iter().map(|(_, features)| {
        end += features.len();
        end - features.len()..end
    });
    file.lists(4, b"AFRF", of_attributes, 0);
    file.finish(labels.len(), states.len())
}

/// Error if a model has something that CRFsuite's files cannot hold.
fn refuse(present: bool, what: &str) -> Result<()> {
    if !present {
        return Ok(());
    }
    Err(Error::ModelFile(format!("CRFsuite models do not support {what}; save the model as a loglinear model instead")))
}

/// An attribute with its features: labels by their numbers in the file, and weights.
type StatesOf<'a> = (&'a [u8], Vec<(u32, f64)>);

/// A file that is being written.
struct Writer {
    out: Vec<u8>,
    /// Where the five parts start.
    sections: [usize; 5],
}

impl Writer {
    fn features(&mut self, states: &[StatesOf<'_>], transitions: &[([u32; 2], f64)]) {
        self.sections[0] = self.out.len();
        let n_features = states.iter().map(|(_, features)| features.len()).sum::<usize>() + transitions.len();
        self.out.extend_from_slice(b"FEAT");
        push(&mut self.out, &[(12 + FEATURE * n_features) as u32, n_features as u32]);
        let mut feature = |kind: u32, from: u32, label: u32, weight: f64| {
            push(&mut self.out, &[kind, from, label]);
            self.out.extend_from_slice(&weight.to_le_bytes());
        };
        for (attribute, (_, features)) in states.iter().enumerate() {
            features.iter().for_each(|&(label, weight)| feature(STATE, attribute as u32, label, weight));
        }
        transitions.iter().for_each(|&([from, to], weight)| feature(TRANSITION, from, to, weight));
    }

    /// A part that lists the numbers of the features of each label or attribute; `absent` more lists do not exist.
    fn lists(&mut self, section: usize, name: &[u8; 4], lists: impl Iterator<Item = Range<usize>>, absent: usize) {
        self.out.resize(self.out.len().next_multiple_of(4), 0);
        let start = self.out.len();
        self.sections[section] = start;
        let lists: Vec<Range<usize>> = lists.collect();
        let count = lists.len() + absent;
        self.out.resize(start + 12 + 4 * count, 0);
        for (at, list) in lists.into_iter().enumerate() {
            let place = self.out.len() as u32;
            put(&mut self.out, start + 12 + 4 * at, &[place]);
            push(&mut self.out, &[list.len() as u32]);
            self.out.extend(list.flat_map(|feature| (feature as u32).to_le_bytes()));
        }
        let size = (self.out.len() - start) as u32;
        self.out[start..start + 4].copy_from_slice(name);
        put(&mut self.out, start + 4, &[size, count as u32]);
    }

    fn finish(mut self, n_labels: usize, n_attributes: usize) -> Result<Vec<u8>> {
        let Ok(size) = u32::try_from(self.out.len()) else {
            let message =
                format!("the model needs {} bytes in CRFsuite's format, which is limited to 4 GiB", self.out.len());
            return Err(Error::ModelFile(message));
        };
        self.out[..4].copy_from_slice(b"lCRF");
        put(&mut self.out, 4, &[size]);
        self.out[8..12].copy_from_slice(b"FOMC");
        put(&mut self.out, 12, &[100, 0, n_labels as u32, n_attributes as u32]);
        put(&mut self.out, 28, &self.sections.map(|place| place as u32));
        Ok(self.out)
    }
}
