//! A trained chain model: the features whose weights are not 0, found by attribute.

use crate::chain::features::{Features, MOST_LABELS_OF_TRIPLES};
use crate::chain::inference::{Edge, Lattice, PairCounts, Transitions, Triples};
use crate::corpus::Corpus;
use crate::corpus::alphabet::Alphabet;
use crate::corpus::hash::key_of;
use crate::error::{Error, Result};
use crate::files::model_file::{self, Contents, Expected, Storage, Tensor};
use crate::text::template::Template;
use crate::threads::Interrupt;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use safetensors::tensor::Dtype;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

const TENSORS: [Expected; 14] = [
    ("states.slots", Dtype::U64, 2),
    ("states.ends", Dtype::U64, 1),
    ("states.name_ends", Dtype::U64, 1),
    ("states.names", Dtype::U8, 1),
    ("states.labels", Dtype::U16, 1),
    ("states.weights", Dtype::F64, 1),
    ("bigrams.slots", Dtype::U64, 2),
    ("bigrams.ends", Dtype::U64, 1),
    ("bigrams.name_ends", Dtype::U64, 1),
    ("bigrams.names", Dtype::U8, 1),
    ("bigrams.pairs", Dtype::U16, 2),
    ("bigrams.weights", Dtype::F64, 1),
    ("transitions.pairs", Dtype::U16, 2),
    ("transitions.weights", Dtype::F64, 1),
];
/// Of second-order chains.
const TRIPLES: [Expected; 2] = [("triples.labels", Dtype::U16, 3), ("triples.weights", Dtype::F64, 1)];

pub struct Model {
    storage: Storage,
    contents: Contents,
    pub labels: Vec<String>,
    pub template: Option<Template>,
    pub transitions: Transitions,
    /// Score of each label on every token; empty if there is none.
    intercept: Vec<f64>,
}

/// What a model is made of besides weights.
pub struct Source<'a> {
    pub features: &'a Features,
    /// Names of the attributes.
    pub attributes: &'a Alphabet,
    pub labels: &'a [String],
    /// JSON.
    pub settings: String,
    pub template: Option<&'a str>,
    /// The attribute that every token has.
    pub intercept: Option<&'a str>,
}

/// The tensors of a model, ready to index.
pub struct Weights<'m> {
    pub states: Attributes<'m>,
    pub state_labels: &'m [u16],
    pub state_weights: &'m [f64],
    pub bigrams: Attributes<'m>,
    pub bigram_pairs: &'m [[u16; 2]],
    pub bigram_weights: &'m [f64],
    pub transition_pairs: &'m [[u16; 2]],
    pub transition_weights: &'m [f64],
    pub triples: &'m [[u16; 3]],
    pub triple_weights: &'m [f64],
}

/// Attributes and where their features are.
pub struct Attributes<'m> {
    slots: &'m [[u64; 2]],
    ends: &'m [u64],
    name_ends: &'m [u64],
    names: &'m [u8],
}

impl<'m> Attributes<'m> {
    /// The features of the attribute with this key.
    #[inline(always)]
    pub fn find(&self, key: u64) -> Range<usize> {
        let mask = self.slots.len() - 1;
        let mut slot = key as usize & mask;
        loop {
            let [found, place] = self.slots[slot];
            if found == key {
                let start = (place >> 16) as usize;
                return start..start + (place & 0xffff) as usize;
            }
            if found == 0 {
                return 0..0;
            }
            slot = (slot + 1) & mask;
        }
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Names with their features, in order of the features.
    pub fn iter(&self) -> impl Iterator<Item = (&'m str, Range<usize>)> {
        let (names, name_ends, ends) = (self.names, self.name_ends, self.ends);
        let start_of = |ends: &[u64], at: usize| if at == 0 { 0 } else { ends[at - 1] as usize };
        (0..ends.len()).map(move |at| {
            let name = &names[start_of(name_ends, at)..name_ends[at] as usize];
            (std::str::from_utf8(name).unwrap_or("?"), start_of(ends, at)..ends[at] as usize)
        })
    }
}

/// Attributes while a model is put together.
#[derive(Default)]
struct AttributeTable {
    keys: Vec<u64>,
    ends: Vec<u64>,
    name_ends: Vec<u64>,
    names: Vec<u8>,
}

impl AttributeTable {
    fn push(&mut self, alphabet: &Alphabet, attribute: u32, end: usize) {
        self.keys.push(alphabet.key(attribute));
        self.names.extend_from_slice(alphabet.text(attribute));
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

impl Model {
    /// The model of some features at weights `w`; weights of 0 are left out.
    pub fn new(source: Source<'_>, w: &[f64]) -> Result<Model> {
        let Source { features, attributes, labels, settings, template, intercept } = source;
        if let Some(bad) = w.iter().find(|weight| !weight.is_finite()) {
            return Err(Error::Data(format!("a weight is {bad}; a model needs finite weights")));
        }
        let nonzero = |pairs: &[(u16, u16)], weights: &[f64]| -> (Vec<[u16; 2]>, Vec<f64>) {
            let both = pairs.iter().zip(weights).filter(|(_, weight)| **weight != 0.0);
            both.map(|(&(from, to), &weight)| ([from, to], weight)).unzip()
        };
        let (transition_weights, rest) = w.split_at(features.transitions.len());
        let (triple_weights, rest) = rest.split_at(features.triples.len());
        let (bigram_weights, state_weights) = rest.split_at(features.n_bigrams());
        let kept = features.triples.iter().zip(triple_weights).filter(|(_, weight)| **weight != 0.0);
        let (triples, triple_weights): (Vec<[u16; 3]>, Vec<f64>) = kept.unzip();
        let (transition_pairs, transition_weights) = nonzero(&features.transitions, transition_weights);
        let mut bigrams = AttributeTable::default();
        let (mut bigram_pairs, mut kept_bigrams) = (Vec::new(), Vec::new());
        for (attribute, range) in features.bigram_ranges.iter().enumerate() {
            let range = range.start as usize..range.end as usize;
            let (pairs, weights) = nonzero(&features.bigram_pairs[range.clone()], &bigram_weights[range]);
            if !weights.is_empty() {
                bigram_pairs.extend(pairs);
                kept_bigrams.extend(weights);
                bigrams.push(attributes, attribute as u32, kept_bigrams.len());
            }
        }
        let mut states = AttributeTable::default();
        let (mut state_labels, mut kept_states) = (Vec::new(), Vec::new());
        let mut start = 0;
        for &(attribute, end) in &features.state_attributes {
            let before = kept_states.len();
            for at in start..end as usize {
                if state_weights[at] != 0.0 {
                    state_labels.push(features.state_labels[at]);
                    kept_states.push(state_weights[at]);
                }
            }
            start = end as usize;
            if kept_states.len() > before {
                states.push(attributes, attribute, kept_states.len());
            }
        }
        let (state_slots, bigram_slots) = (states.slots(), bigrams.slots());
        let tensor = |name, kind, shape: &[usize], bytes| Tensor { name, kind, shape: shape.to_vec(), bytes };
        use bytemuck::cast_slice;
        let mut tensors = vec![
            tensor("states.slots", Dtype::U64, &[state_slots.len(), 2], cast_slice(&state_slots)),
            tensor("states.ends", Dtype::U64, &[states.ends.len()], cast_slice(&states.ends)),
            tensor("states.name_ends", Dtype::U64, &[states.ends.len()], cast_slice(&states.name_ends)),
            tensor("states.names", Dtype::U8, &[states.names.len()], &states.names),
            tensor("states.labels", Dtype::U16, &[state_labels.len()], cast_slice(&state_labels)),
            tensor("states.weights", Dtype::F64, &[kept_states.len()], cast_slice(&kept_states)),
            tensor("bigrams.slots", Dtype::U64, &[bigram_slots.len(), 2], cast_slice(&bigram_slots)),
            tensor("bigrams.ends", Dtype::U64, &[bigrams.ends.len()], cast_slice(&bigrams.ends)),
            tensor("bigrams.name_ends", Dtype::U64, &[bigrams.ends.len()], cast_slice(&bigrams.name_ends)),
            tensor("bigrams.names", Dtype::U8, &[bigrams.names.len()], &bigrams.names),
            tensor("bigrams.pairs", Dtype::U16, &[bigram_pairs.len(), 2], cast_slice(&bigram_pairs)),
            tensor("bigrams.weights", Dtype::F64, &[kept_bigrams.len()], cast_slice(&kept_bigrams)),
            tensor("transitions.pairs", Dtype::U16, &[transition_pairs.len(), 2], cast_slice(&transition_pairs)),
            tensor("transitions.weights", Dtype::F64, &[transition_weights.len()], cast_slice(&transition_weights)),
        ];
        if !triples.is_empty() {
            tensors.push(tensor("triples.labels", Dtype::U16, &[triples.len(), 3], cast_slice(&triples)));
            tensors.push(tensor("triples.weights", Dtype::F64, &[triples.len()], cast_slice(&triple_weights)));
        }
        let labels = serde_json::to_string(labels).expect("strings are valid JSON");
        let mut metadata = HashMap::from([("labels".to_owned(), labels), ("settings".to_owned(), settings)]);
        if let Some(template) = template {
            metadata.insert("template".into(), template.into());
        }
        if let Some(intercept) = intercept {
            metadata.insert("intercept".into(), intercept.into());
        }
        Model::from_storage(model_file::encode(tensors, metadata)?, "the model")
    }

    pub fn open(path: &Path) -> Result<Model> {
        Model::from_storage(Storage::map(path)?, &path.display().to_string())
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Model> {
        Model::from_storage(Storage::owned(bytes), "the model")
    }

    fn from_storage(storage: Storage, name: &str) -> Result<Model> {
        let contents = model_file::decode(&storage, name, &TENSORS, &TRIPLES)?;
        let wrong = |what: &str| Error::ModelFile(format!("{name}: not a valid loglinear model ({what})"));
        let labels: Vec<String> = contents
            .metadata
            .get("labels")
            .and_then(|labels| serde_json::from_str(labels).ok())
            .filter(|labels: &Vec<String>| !labels.is_empty())
            .ok_or_else(|| wrong("no labels"))?;
        let template = contents.metadata.get("template").map(|template| Template::parse(template)).transpose()?;
        let transitions = Transitions::new(labels.len());
        let mut model = Model { storage, contents, labels, template, transitions, intercept: Vec::new() };
        model.check().map_err(wrong)?;
        let mut transitions = Transitions::new(model.labels.len());
        let weights = model.weights();
        let pairs = weights.transition_pairs.iter().zip(weights.transition_weights);
        transitions.set(pairs.map(|(&[from, to], &weight)| (usize::from(from), usize::from(to), weight)));
        if !weights.triples.is_empty() {
            let scores = weights.triples.iter().zip(weights.triple_weights);
            let scores = scores.map(|(labels, &weight)| (labels.map(usize::from), weight));
            transitions.triples = Some(Triples::new(model.labels.len(), scores));
        }
        let mut intercept = Vec::new();
        if let Some(name) = model.intercept_name() {
            intercept.resize(model.labels.len(), 0.0);
            weights.add_states(weights.states.find(key_of(name.as_bytes())), 1.0, &mut intercept);
        }
        (model.transitions, model.intercept) = (transitions, intercept);
        Ok(model)
    }

    /// Whether all indices lie where they have to, so that a file with a valid checksum but wrong content cannot mislead look-ups.
    fn check(&self) -> std::result::Result<(), &'static str> {
        let weights = self.weights();
        let n_labels = self.labels.len();
        let below = |label: &u16| usize::from(*label) < n_labels;
        if !weights.state_labels.iter().all(below) {
            return Err("a state feature's label is out of range");
        }
        if !weights.bigram_pairs.iter().chain(weights.transition_pairs).all(|pair| pair.iter().all(below)) {
            return Err("a transition's label is out of range");
        }
        if !weights.triples.iter().flatten().all(below) {
            return Err("the label of a triple is out of range");
        }
        if !weights.triples.is_empty() && n_labels > MOST_LABELS_OF_TRIPLES {
            return Err("too many labels for triples");
        }
        let same = [
            (weights.state_labels.len(), weights.state_weights.len()),
            (weights.bigram_pairs.len(), weights.bigram_weights.len()),
            (weights.transition_pairs.len(), weights.transition_weights.len()),
            (weights.triples.len(), weights.triple_weights.len()),
        ];
        if same.iter().any(|(a, b)| a != b) {
            return Err("there are not as many weights as features");
        }
        for (attributes, n) in
            [(&weights.states, weights.state_weights.len()), (&weights.bigrams, weights.bigram_weights.len())]
        {
            let ascending =
                |ends: &[u64], most: usize| ends.is_sorted() && ends.last().is_none_or(|&end| end as usize <= most);
            let (mut filled, mut in_range) = (0, true);
            for &[key, place] in attributes.slots {
                filled += usize::from(key != 0);
                in_range &= (place >> 16) as usize + (place & 0xffff) as usize <= n;
            }
            let sound = attributes.slots.len().is_power_of_two()
                && filled == attributes.len()
                && filled < attributes.slots.len()
                && in_range
                && attributes.name_ends.len() == attributes.len()
                && ascending(attributes.ends, n)
                && ascending(attributes.name_ends, attributes.names.len());
            if !sound {
                return Err("an attribute table is inconsistent");
            }
        }
        Ok(())
    }

    fn tensor<T: bytemuck::AnyBitPattern>(&self, name: &str) -> &[T] {
        // The header is padded so that data start at a multiple of 8, and tensors lie in order of their alignment.
        bytemuck::try_cast_slice(&self.storage[self.contents.range(name)]).unwrap_or(&[])
    }

    pub fn weights(&self) -> Weights<'_> {
        Weights {
            states: Attributes {
                slots: self.tensor("states.slots"),
                ends: self.tensor("states.ends"),
                name_ends: self.tensor("states.name_ends"),
                names: self.tensor("states.names"),
            },
            state_labels: self.tensor("states.labels"),
            state_weights: self.tensor("states.weights"),
            bigrams: Attributes {
                slots: self.tensor("bigrams.slots"),
                ends: self.tensor("bigrams.ends"),
                name_ends: self.tensor("bigrams.name_ends"),
                names: self.tensor("bigrams.names"),
            },
            bigram_pairs: self.tensor("bigrams.pairs"),
            bigram_weights: self.tensor("bigrams.weights"),
            transition_pairs: self.tensor("transitions.pairs"),
            transition_weights: self.tensor("transitions.weights"),
            triples: self.tensor("triples.labels"),
            triple_weights: self.tensor("triples.weights"),
        }
    }

    /// The attribute whose features score every token.
    pub fn intercept_name(&self) -> Option<&str> {
        self.contents.metadata.get("intercept").map(String::as_str)
    }

    /// Adds the intercept to the scores of a token.
    #[inline(always)]
    pub fn add_intercept(&self, scores: &mut [f64]) {
        scores.iter_mut().zip(&self.intercept).for_each(|(score, intercept)| *score += intercept);
    }

    pub fn bytes(&self) -> &[u8] {
        &self.storage
    }

    /// Settings and training summary, as JSON.
    pub fn settings(&self) -> &str {
        self.contents.metadata.get("settings").map_or("{}", String::as_str)
    }

    pub fn save(&self, path: &Path) -> Result<()> {
        model_file::save(&self.storage, path)
    }

    /// Calls `infer` on the lattice of every sentence, in parallel; results in order of the sentences.
    fn each_sentence<T, F>(&self, corpus: &Corpus, interrupt: &Interrupt, infer: F) -> Result<Vec<T>>
    where
        T: Send,
        F: Fn(&mut Lattice, usize) -> T + Sync,
    {
        let weights = self.weights();
        let keys: Vec<u64> = (0..corpus.attributes.len() as u32).map(|id| corpus.attributes.key(id)).collect();
        let states: Vec<Range<usize>> = keys.par_iter().map(|&key| weights.states.find(key)).collect();
        let bigrams: Vec<Range<usize>> = if corpus.bigrams.ids.is_empty() {
            Vec::new()
        } else {
            keys.par_iter().map(|&key| weights.bigrams.find(key)).collect()
        };
        let fresh = || {
            let mut lattice = Lattice::default();
            lattice.prepare(&self.transitions);
            lattice
        };
        let sentences = (0..corpus.n_sentences()).into_par_iter().with_min_len(16);
        sentences
            .map_init(fresh, |lattice, sentence| {
                interrupt.check()?;
                let tokens = corpus.tokens(sentence);
                lattice.begin(tokens.len(), &self.transitions);
                for (scores, token) in lattice.scores.chunks_exact_mut(self.transitions.width).zip(tokens.clone()) {
                    let range = corpus.states.range(token);
                    for (at, &attribute) in range.clone().zip(&corpus.states.ids[range]) {
                        weights.add_states(states[attribute as usize].clone(), corpus.value(at), scores);
                    }
                    self.add_intercept(scores);
                }
                if !bigrams.is_empty() {
                    for (at, token) in tokens.enumerate() {
                        let attributes = if at == 0 { &[] } else { corpus.bigrams_of(token) };
                        for &attribute in attributes {
                            weights.add_edges(bigrams[attribute as usize].clone(), lattice);
                        }
                        lattice.overlap = lattice.overlap.max(attributes.len());
                        lattice.edge_ends.push(lattice.edges.len());
                    }
                }
                Ok(infer(lattice, sentence))
            })
            .collect()
    }

    /// The best labelling of every sentence.
    pub fn predict(&self, corpus: &Corpus, interrupt: &Interrupt) -> Result<Vec<Vec<u32>>> {
        self.each_sentence(corpus, interrupt, |lattice, _| {
            let mut path = Vec::new();
            if lattice.tokens > 0 {
                Arch::new().dispatch(Viterbi { lattice, transitions: &self.transitions, path: &mut path });
            }
            path
        })
    }

    /// p(label | sentence) of every token: tokens x labels for every sentence.
    pub fn marginals(&self, corpus: &Corpus, interrupt: &Interrupt) -> Result<Vec<Vec<f64>>> {
        self.each_sentence(corpus, interrupt, |lattice, _| {
            self.infer(lattice);
            self.unpadded(lattice)
        })
    }

    /// p(from, to | sentence) of every pair of neighbours: (tokens - 1) x labels x labels for every sentence.
    pub fn transition_marginals(&self, corpus: &Corpus, interrupt: &Interrupt) -> Result<Vec<Vec<f64>>> {
        self.each_sentence(corpus, interrupt, |lattice, _| {
            if lattice.tokens < 2 { Vec::new() } else { lattice.pair_marginals(&self.transitions) }
        })
    }

    /// log Z of every sentence, and the score of its labels: -inf where a label is unknown to the model.
    pub fn log_partition(&self, corpus: &Corpus, interrupt: &Interrupt) -> Result<Vec<(f64, f64)>> {
        let known: HashMap<&str, u32> = self.labels.iter().zip(0..).map(|(label, id)| (label.as_str(), id)).collect();
        let map: Vec<Option<u32>> = corpus.labels.iter().map(|label| known.get(label.as_str()).copied()).collect();
        self.each_sentence(corpus, interrupt, |lattice, sentence| {
            if lattice.tokens == 0 {
                return (0.0, 0.0);
            }
            let gold = corpus.gold.get(corpus.tokens(sentence)).unwrap_or(&[]);
            let path: Option<Vec<u32>> = gold.iter().map(|&label| map[label as usize]).collect();
            let score = path.map_or(f64::NEG_INFINITY, |path| lattice.score(&self.transitions, path.into_iter()));
            (self.infer(lattice), score)
        })
    }

    /// Forward-backward; returns log Z and leaves marginals in the lattice.
    pub fn infer(&self, lattice: &mut Lattice) -> f64 {
        if lattice.tokens == 0 {
            return 0.0;
        }
        Arch::new().dispatch(ForwardBackward { lattice, transitions: &self.transitions })
    }

    /// The lattice's marginals without padding.
    pub fn unpadded(&self, lattice: &Lattice) -> Vec<f64> {
        let rows = lattice.marginals.chunks_exact(self.transitions.width).take(lattice.tokens);
        rows.flat_map(|row| &row[..self.labels.len()]).copied().collect()
    }
}

impl Weights<'_> {
    #[inline(always)]
    pub fn add_states(&self, features: Range<usize>, value: f64, scores: &mut [f64]) {
        for (&label, &weight) in self.state_labels[features.clone()].iter().zip(&self.state_weights[features]) {
            scores[usize::from(label)] += value * weight;
        }
    }

    pub fn add_edges(&self, features: Range<usize>, lattice: &mut Lattice) {
        for feature in features {
            let [from, to] = self.bigram_pairs[feature];
            let score = self.bigram_weights[feature];
            let edge =
                Edge { from: from.into(), to: to.into(), score, feature: feature as u32, place: 0, marginal: 0.0 };
            lattice.edges.push(edge);
        }
    }
}

pub struct Viterbi<'a> {
    pub lattice: &'a mut Lattice,
    pub transitions: &'a Transitions,
    pub path: &'a mut Vec<u32>,
}

impl WithSimd for Viterbi<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        self.lattice.viterbi(simd, self.transitions, self.path)
    }
}

struct ForwardBackward<'a> {
    lattice: &'a mut Lattice,
    transitions: &'a Transitions,
}

impl WithSimd for ForwardBackward<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let log_z = self.lattice.forward(simd, self.transitions);
        let mut pairs = PairCounts::without_triples(self.transitions);
        self.lattice.backward(simd, self.transitions, 1.0, &mut pairs);
        log_z
    }
}
