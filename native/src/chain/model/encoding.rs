//! Encodes features and weights, or the parts of another program's model, as the bytes of a model file.

use crate::chain::features::source::Source;
use crate::chain::model::weights::LEXICONS;
use crate::corpus::hash::key_of;
use crate::error::{Error, Result};
use crate::files::model_file::{self, Storage, Tensor};
use crate::text::lexicon::detached;
use bytemuck::cast_slice;
use safetensors::tensor::Dtype;
use std::collections::HashMap;

/// All parts of a model.
#[derive(Default)]
pub struct Parts {
    pub labels: Vec<String>,
    /// Settings and training summary, as JSON.
    pub settings: String,
    pub template: Option<String>,
    /// Name of the attribute that every token has, if there is one.
    pub intercept: Option<String>,
    pub states: KeptByAttribute<u16>,
    pub bigrams: KeptByAttribute<[u16; 2]>,
    pub transitions: Kept<[u16; 2]>,
    pub triples: Kept<[u16; 3]>,
}

/// The attributes of a model that is being made.
#[derive(Default)]
struct AttributeTable {
    keys: Vec<u64>,
    ends: Vec<u64>,
    name_ends: Vec<u64>,
    names: Vec<u8>,
}

impl AttributeTable {
    fn push(&mut self, name: &[u8], end: usize) {
        self.keys.push(key_of(name));
        self.names.extend_from_slice(name);
        self.name_ends.push(self.names.len() as u64);
        self.ends.push(end as u64);
    }

    /// An open-addressing table at most 2/3 full: most look-ups touch one cache line, found or not.
    fn slots(&self) -> Vec<[u64; 2]> {
        let capacity = (self.keys.len() * 3 / 2 + 1).next_power_of_two();
        let mut slots = vec![[0u64; 2]; capacity];
        let mut start = 0;
        for (&key, &end) in self.keys.iter().zip(&self.ends) {
            let mut slot = key as usize & (capacity - 1);
            while slots[slot][0] != 0 {
                slot = (slot + 1) & (capacity - 1);
            }
            slots[slot] = [key, start << 16 | (end - start)];
            start = end;
        }
        slots
    }
}

/// The features of one kind whose weights are not 0: the label or labels of each, and its weight.
pub type Kept<T> = (Vec<T>, Vec<f64>);

/// The features of one kind, found by attribute, whose weights are not 0.
#[derive(Default)]
pub struct KeptByAttribute<T> {
    attributes: AttributeTable,
    /// The labels or pairs of labels of the features.
    labels: Vec<T>,
    weights: Vec<f64>,
}

impl<T> KeptByAttribute<T> {
    /// Adds the features of the attribute with this name, which must be new. An attribute without features is left out.
    pub fn push(&mut self, name: &[u8], (labels, weights): Kept<T>) {
        if !weights.is_empty() {
            self.labels.extend(labels);
            self.weights.extend(weights);
            self.attributes.push(name, self.weights.len());
        }
    }

    pub fn len(&self) -> usize {
        self.attributes.keys.len()
    }

    pub fn is_empty(&self) -> bool {
        self.attributes.keys.is_empty()
    }
}

/// The features whose weights are not 0.
fn nonzero<T: Copy>(features: &[T], weights: &[f64]) -> Kept<T> {
    features.iter().zip(weights).filter(|(_, weight)| **weight != 0.0).unzip()
}

/// The file of the model of some features at weights `w`; weights of 0 are left out. Error: a weight is not finite.
pub(super) fn encode(source: Source<'_>, w: &[f64]) -> Result<Storage> {
    let Source { features, attributes, .. } = source;
    if let Some(bad) = w.iter().find(|weight| !weight.is_finite()) {
        return Err(Error::Data(format!("a weight is {bad}; weights must be finite")));
    }
    let (transition_weights, rest) = w.split_at(features.transitions.len());
    let (triple_weights, rest) = rest.split_at(features.triples.len());
    let (bigram_weights, state_weights) = rest.split_at(features.n_bigrams());
    let transitions = nonzero(&features.transitions, transition_weights);
    let triples = nonzero(&features.triples, triple_weights);
    let mut bigrams = KeptByAttribute::default();
    for (attribute, range) in features.bigram_ranges.iter().enumerate() {
        let range = range.start as usize..range.end as usize;
        let pairs_and_weights = nonzero(&features.bigram_pairs[range.clone()], &bigram_weights[range]);
        bigrams.push(attributes.text(attribute as u32), pairs_and_weights);
    }
    let mut states = KeptByAttribute::default();
    // Attributes that are not dense are grouped by the blocks of the data; the file does not depend on the blocks.
    let mut sequence: Vec<(usize, u32)> =
        features.state_attributes.iter().map(|&(attribute, _)| attribute).enumerate().collect();
    sequence[features.n_dense..].sort_unstable_by_key(|&(_, attribute)| attribute);
    for (index, attribute) in sequence {
        let range = features.state_range(index..index + 1);
        let labels_and_weights = nonzero(&features.state_labels[range.clone()], &state_weights[range]);
        states.push(attributes.text(attribute), labels_and_weights);
    }
    let (labels, settings) = (source.labels.to_vec(), source.settings);
    let (template, intercept) = (source.template.map(str::to_owned), source.intercept.map(str::to_owned));
    seal(&Parts { labels, settings, template, intercept, states, bigrams, transitions, triples })
}

/// The file of the model with these parts.
pub(super) fn seal(parts: &Parts) -> Result<Storage> {
    let Parts { states, bigrams, transitions, triples, .. } = parts;
    let (state_slots, bigram_slots) = (states.attributes.slots(), bigrams.attributes.slots());
    let tensor = |name, kind, shape: &[usize], bytes| Tensor { name, kind, shape: shape.to_vec(), bytes };
    let (s, b, n_states, n_bigrams) =
        (&states.attributes, &bigrams.attributes, states.weights.len(), bigrams.weights.len());
    let mut tensors = vec![
        tensor("states.slots", Dtype::U64, &[state_slots.len(), 2], cast_slice(&state_slots)),
        tensor("states.ends", Dtype::U64, &[s.ends.len()], cast_slice(&s.ends)),
        tensor("states.name_ends", Dtype::U64, &[s.ends.len()], cast_slice(&s.name_ends)),
        tensor("states.names", Dtype::U8, &[s.names.len()], &s.names),
        tensor("states.labels", Dtype::U16, &[n_states], cast_slice(&states.labels)),
        tensor("states.weights", Dtype::F64, &[n_states], cast_slice(&states.weights)),
        tensor("bigrams.slots", Dtype::U64, &[bigram_slots.len(), 2], cast_slice(&bigram_slots)),
        tensor("bigrams.ends", Dtype::U64, &[b.ends.len()], cast_slice(&b.ends)),
        tensor("bigrams.name_ends", Dtype::U64, &[b.ends.len()], cast_slice(&b.name_ends)),
        tensor("bigrams.names", Dtype::U8, &[b.names.len()], &b.names),
        tensor("bigrams.pairs", Dtype::U16, &[n_bigrams, 2], cast_slice(&bigrams.labels)),
        tensor("bigrams.weights", Dtype::F64, &[n_bigrams], cast_slice(&bigrams.weights)),
        tensor("transitions.pairs", Dtype::U16, &[transitions.0.len(), 2], cast_slice(&transitions.0)),
        tensor("transitions.weights", Dtype::F64, &[transitions.1.len()], cast_slice(&transitions.1)),
    ];
    if !triples.0.is_empty() {
        tensors.push(tensor("triples.labels", Dtype::U16, &[triples.0.len(), 3], cast_slice(&triples.0)));
        tensors.push(tensor("triples.weights", Dtype::F64, &[triples.1.len()], cast_slice(&triples.1)));
    }
    let (template, lexicons) = match parts.template.as_deref().map(detached).transpose()? {
        Some((template, lexicons)) => (Some(template), lexicons),
        None => (None, Vec::new()),
    };
    if !lexicons.is_empty() {
        tensors.push(tensor(LEXICONS.0, LEXICONS.1, &[lexicons.len()], &lexicons));
    }
    model_file::encode(tensors, metadata(parts, template.as_deref()))
}

/// Labels, settings, template, whose lexicons are a tensor, and intercept, as the file's metadata.
fn metadata(parts: &Parts, template: Option<&str>) -> HashMap<String, String> {
    let labels = serde_json::to_string(&parts.labels).expect("strings are valid JSON");
    let mut metadata = HashMap::from([("labels".to_owned(), labels), ("settings".to_owned(), parts.settings.clone())]);
    metadata.extend(template.map(|template| ("template".to_owned(), template.to_owned())));
    metadata.extend(parts.intercept.clone().map(|name| ("intercept".to_owned(), name)));
    metadata
}

#[cfg(test)]
mod tests {
    use crate::chain::model::{Model, Parts};
    use crate::files::model_file::Storage;
    use crate::text::lexicon::{self, Source};
    use crate::text::template::Template;
    use std::sync::Arc;

    #[test]
    fn a_model_holds_its_lexicons_each_once() {
        let source = Source { name: "l", text: b"new york\tTOWN\nyork\n", comments: true };
        let line = |name| lexicon::line_of(name, &source, false).unwrap().0;
        let template = format!("U:%in[0,0,\"a\"]%in[0,0,\"b\"]\nB\n{}\n{}\n", line("a"), line("b"));
        let mut parts = Parts { labels: vec!["A".into()], template: Some(template.clone()), ..Parts::default() };
        parts.states.push(b"U:BB", (vec![0], vec![1.0]));
        let model = Model::of_parts(&parts, "m").unwrap();
        let read = Model::from_bytes(model.bytes()).unwrap();
        let template_of_file = read.template.as_deref().unwrap();
        assert_eq!(template_of_file.source(), template);
        assert_eq!(
            template_of_file.lexicons().iter().map(|attached| attached.lexicon.entries).collect::<Vec<_>>(),
            [2, 2]
        );
        let package = template_of_file.lexicons()[0].lexicon.bytes();
        assert_eq!(model.bytes().windows(package.len()).filter(|window| *window == package).count(), 1);
        let rewritten = model.rewritten(0.5, "{}").unwrap();
        let (short, _) = lexicon::detached(&template).unwrap();
        for hostile in ["@0-18446744073709551615", "@1-2", "@00-1", "@9-1", "@-", ""] {
            let first =
                short.lines().find_map(|line| line.strip_prefix("#!lexicon ")).unwrap().split(' ').next().unwrap();
            let source = short.replace(first, hostile);
            let error = Template::parse_stored(&source, &Arc::new(Storage::owned(model.bytes())), 0..package.len());
            assert!(error.err().unwrap().to_string().contains("is damaged"), "{hostile}");
        }
        assert_eq!(rewritten.template.as_deref().unwrap().source(), template);
    }
}
