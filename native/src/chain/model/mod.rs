//! A trained chain model: the features whose weights are not 0, found by attribute. `encoding` makes its file, `weights` reads
//! the file's tensors, `rows` are made of them for long texts, `start` starts training from a model's weights, and `counts` lets
//! its features be features of other data.

pub mod counts;
mod encoding;
mod rows;
pub mod start;
mod weights;

use crate::chain::features::source::Source;
use crate::chain::inference::{Allowed, LabelSets, Labelling, Lattice, Transitions, Triples};
use crate::chain::model::encoding::{encode, seal};
use crate::chain::model::rows::{AddRows, MOST_SCORES, Rows};
use crate::chain::model::weights::{LEXICONS, OPTIONAL, Places, TENSORS, check, places};
use crate::corpus::Corpus;
use crate::corpus::hash::key_of;
use crate::corpus::labels::first_repeated;
use crate::error::{Error, Result};
use crate::files::model_file::{self, Contents, Storage};
use crate::numeric::arch::{arch, simd_task};
use crate::text::layout::Layout;
use crate::text::template::Template;
use crate::threads::Interrupt;
use rayon::prelude::*;
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

pub use crate::chain::model::encoding::{Kept, KeptByAttribute, Parts};
pub use crate::chain::model::rows::Terms;
pub use crate::chain::model::weights::ModelWeights;

/// A trained model, in memory or mapped from its file.
pub struct Model {
    storage: Arc<Storage>,
    contents: Arc<Contents>,
    places: Places,
    pub labels: Vec<String>,
    pub template: Option<Arc<Template>>,
    /// How the lines of the training data were laid out, and their columns; only a model with a template has any.
    pub layout: Layout,
    pub transitions: Transitions,
    /// Score of each label on every token, made by the intercept's features and the biases of labels; empty without either.
    intercept: Vec<f64>,
    /// The weights as rows of scores, once a long text has asked for them; None if there cannot be any.
    rows: Arc<OnceLock<Option<Rows>>>,
}

/// Attributes of a model for each token that is labelled, up to which rows of scores are made.
const ATTRIBUTES_PER_TOKEN: usize = 8;

impl Model {
    /// The model of some features at weights `w`; weights of 0 are left out.
    pub fn new(source: Source<'_>, w: &[f64]) -> Result<Model> {
        Model::from_storage(encode(source, w)?.into(), "the model")
    }

    /// The model with these parts; errors call it `name`.
    pub fn of_parts(parts: &Parts, name: &str) -> Result<Model> {
        Model::from_storage(seal(parts)?.into(), name)
    }

    /// Opens a model file. Errors: it cannot be read, or it is not a valid model.
    pub fn open(path: &Path) -> Result<Model> {
        Model::from_storage(Storage::open(path)?.into(), &path.display().to_string())
    }

    /// A model of the bytes of its file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Model> {
        Model::from_storage(Storage::owned(bytes).into(), "the model")
    }

    /// The same model with other transitions allowed; its bytes are shared.
    pub fn constrained(&self, allowed: Option<Arc<Allowed>>) -> Model {
        Model {
            storage: Arc::clone(&self.storage),
            contents: Arc::clone(&self.contents),
            places: self.places.clone(),
            labels: self.labels.clone(),
            template: self.template.clone(),
            layout: self.layout,
            transitions: transition_scores(&self.weights(), self.labels.len(), allowed),
            intercept: self.intercept.clone(),
            rows: Arc::clone(&self.rows),
        }
    }

    /// The same model with its weights multiplied by a factor, and with other settings (JSON).
    pub fn rewritten(&self, factor: f64, settings: &str) -> Result<Model> {
        let mut metadata = self.contents.metadata.clone();
        metadata.insert("settings".into(), settings.into());
        let bytes = model_file::rewritten(&self.storage, &self.contents, (&TENSORS, &OPTIONAL), factor, metadata)?;
        let model = Model::from_storage(bytes.into(), "the model")?;
        Ok(model.under(self.transitions.allowed.clone()))
    }

    /// The biases of labels in the settings: numbers of labels, and what is added to their scores at every token. Error: they do
    /// not fit the labels.
    pub fn label_bias(&self) -> std::result::Result<Vec<(usize, f64)>, &'static str> {
        let settings: serde_json::Value = serde_json::from_str(self.settings()).unwrap_or_default();
        let bias = match settings.get("label_bias") {
            None | Some(serde_json::Value::Null) => return Ok(Vec::new()),
            Some(bias) => bias.as_object().ok_or("label_bias is not an object")?,
        };
        let entry = |(name, score): (&String, &serde_json::Value)| {
            let at = self.labels.iter().position(|label| label == name);
            Ok((at.ok_or("label_bias names no label")?, score.as_f64().ok_or("label_bias is not a number")?))
        };
        bias.iter().map(entry).collect()
    }

    /// The model with these transitions allowed; unchanged if no transition is forbidden.
    pub fn under(self, allowed: Option<Arc<Allowed>>) -> Model {
        if allowed.is_some() { self.constrained(allowed) } else { self }
    }

    fn from_storage(storage: Arc<Storage>, name: &str) -> Result<Model> {
        let contents = Arc::new(model_file::decode(&storage, name, &TENSORS, &OPTIONAL)?);
        let wrong = |what: &str| Error::ModelFile(format!("{name}: not a valid loglinear model ({what})"));
        let labels: Vec<String> = contents
            .metadata
            .get("labels")
            .and_then(|labels| serde_json::from_str(labels).ok())
            .filter(|labels: &Vec<String>| !labels.is_empty())
            .ok_or_else(|| wrong("no labels"))?;
        if let Some(twice) = first_repeated(&labels) {
            return Err(wrong(&format!("it has the label '{twice}' twice")));
        }
        let parsed = |source: &String| Template::parse_stored(source, &storage, contents.range(LEXICONS.0));
        let template = contents.metadata.get("template").map(parsed).transpose();
        let template = template.map_err(|error| wrong(&error.to_string()))?.map(Arc::new);
        let transitions = Transitions::new(1);
        let places = places(&contents);
        let settings = contents.metadata.get("settings");
        let layout = settings.map_or_else(Layout::default, |text| Layout::of_settings(text));
        let (intercept, rows) = (Vec::new(), Arc::default());
        let mut model = Model { storage, contents, places, labels, template, layout, transitions, intercept, rows };
        check(&model.weights(), model.labels.len()).map_err(wrong)?;
        let weights = model.weights();
        let transitions = transition_scores(&weights, model.labels.len(), None);
        let mut intercept = Vec::new();
        if let Some(name) = model.intercept_name() {
            intercept.resize(model.labels.len(), 0.0);
            weights.add_states(weights.states.find(key_of(name.as_bytes())), 1.0, &mut intercept);
        }
        for (label, bias) in model.label_bias().map_err(wrong)? {
            intercept.resize(model.labels.len(), 0.0);
            intercept[label] += bias;
        }
        (model.transitions, model.intercept) = (transitions, intercept);
        Ok(model)
    }

    /// The tensors.
    #[inline]
    pub fn weights(&self) -> ModelWeights<'_> {
        ModelWeights::new(&self.storage, &self.places)
    }

    /// The attribute whose features score every token.
    pub fn intercept_name(&self) -> Option<&str> {
        self.contents.metadata.get("intercept").map(String::as_str)
    }

    /// Makes ready to label a text of about this number of tokens: a long one is worth rows of scores.
    pub fn expect(&self, tokens: usize) {
        let weights = self.weights();
        if tokens >= weights.states.len() / ATTRIBUTES_PER_TOKEN && Rows::serve(self.labels.len()) {
            self.rows.get_or_init(|| Rows::new(&weights, self.labels.len(), MOST_SCORES));
        }
    }

    /// Sets the scores of a sentence's tokens, which are 0. `ends` has the end of each token's attributes, which begin at `start`.
    pub fn add_tokens(
        &self,
        weights: &ModelWeights<'_>,
        attributes: &[(u64, f64)],
        (mut start, ends): (usize, &[usize]),
        buffer: &mut Terms,
        scores: &mut [f64],
    ) {
        if let Some(Some(rows)) = self.rows.get()
            && Rows::hold(attributes)
        {
            rows.find(weights, attributes, (start, ends), buffer);
            arch().dispatch(AddRows(rows, weights, buffer, &self.intercept, scores));
            return;
        }
        for (&end, scores) in ends.iter().zip(scores.chunks_exact_mut(self.transitions.width)) {
            weights.add_token(&attributes[start..end], &mut buffer.ranges, scores);
            self.add_intercept(scores);
            start = end;
        }
    }

    /// Adds the intercept to the scores of a token.
    #[inline(always)]
    pub fn add_intercept(&self, scores: &mut [f64]) {
        scores.iter_mut().zip(&self.intercept).for_each(|(score, intercept)| *score += intercept);
    }

    /// The allowed transitions; None if all are allowed.
    pub fn allowed(&self) -> Option<&Allowed> {
        self.transitions.allowed.as_deref()
    }

    /// Whether a labelling is allowed.
    pub fn allows(&self, labels: &[u32]) -> bool {
        self.allowed().is_none_or(|allowed| allowed.first_mistake(labels).is_none())
    }

    /// Completes the lattice of a sentence whose scores have been added up; `sets` is a buffer.
    #[inline(always)]
    pub fn complete(&self, lattice: &mut Lattice, sets: &mut LabelSets) {
        arch().dispatch(KeepInRange(lattice));
        if let Some(allowed) = self.allowed() {
            sets.fill(lattice.tokens, self.labels.len());
            allowed.prune(sets);
            lattice.mask.add(sets, self.transitions.width);
        }
    }

    /// The bytes of the model's file.
    pub fn bytes(&self) -> &[u8] {
        &self.storage
    }

    /// Settings and training summary, as JSON.
    pub fn settings(&self) -> &str {
        self.contents.metadata.get("settings").map_or("{}", String::as_str)
    }

    /// Writes the model's file atomically.
    pub fn save(&self, path: &Path) -> Result<()> {
        model_file::save(&self.storage, path)
    }

    /// Calls `infer` with the lattice and the number of every sentence, in parallel; returns the results by sentence.
    pub(super) fn each_sentence<T, F>(&self, corpus: &Corpus, interrupt: &Interrupt, infer: F) -> Result<Vec<T>>
    where
        T: Send,
        F: Fn(&mut Lattice, usize) -> T + Sync,
    {
        corpus.check(interrupt)?;
        let weights = self.weights();
        let keys: Vec<u64> = (0..corpus.attributes.len() as u32).map(|id| corpus.attributes.key(id)).collect();
        let states: Vec<Range<usize>> = keys.par_iter().map(|&key| weights.states.find(key)).collect();
        let bigrams: Vec<Range<usize>> = if corpus.bigrams.ids.is_empty() {
            Vec::new()
        } else {
            keys.par_iter().map(|&key| weights.bigrams.find(key)).collect()
        };
        let fresh = || {
            let mut lattice = Lattice::heeding(interrupt);
            lattice.prepare(&self.transitions);
            (lattice, LabelSets::default())
        };
        let sentences = (0..corpus.n_sentences()).into_par_iter().with_min_len(16);
        sentences
            .map_init(fresh, |(lattice, sets), sentence| {
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
                self.complete(lattice, sets);
                let answer = infer(lattice, sentence);
                interrupt.check()?;
                Ok(answer)
            })
            .collect()
    }

    /// The best labelling of every sentence.
    pub fn predict(&self, corpus: &Corpus, interrupt: &Interrupt) -> Result<Vec<Vec<u32>>> {
        self.each_sentence(corpus, interrupt, |lattice, _| {
            let mut path = Vec::new();
            if lattice.tokens > 0 {
                arch().dispatch(Viterbi(lattice, &self.transitions, &mut path));
            }
            path
        })
    }

    /// The n best labellings of every sentence, as returned by `Lattice::n_best`.
    pub fn n_best(&self, corpus: &Corpus, n: NonZeroUsize, interrupt: &Interrupt) -> Result<Vec<Vec<Labelling>>> {
        self.each_sentence(corpus, interrupt, |lattice, _| self.best_labellings(lattice, n))
    }

    /// `Lattice::n_best` of the sentence in a lattice.
    pub fn best_labellings(&self, lattice: &mut Lattice, n: NonZeroUsize) -> Vec<Labelling> {
        arch().dispatch(NBest(lattice, &self.transitions, n))
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

    /// log Z of every sentence, and log p of its labels, -inf if one of them is unknown to the model or to the data.
    pub fn log_partition(&self, corpus: &Corpus, interrupt: &Interrupt) -> Result<Vec<(f64, f64)>> {
        let ids: HashMap<&str, u32> = self.labels.iter().zip(0..).map(|(label, id)| (label.as_str(), id)).collect();
        let map: Vec<Option<u32>> = corpus.labels.iter().map(|label| ids.get(label.as_str()).copied()).collect();
        self.each_sentence(corpus, interrupt, |lattice, sentence| {
            if lattice.tokens == 0 {
                return (0.0, 0.0);
            }
            let gold = corpus.gold.get(corpus.tokens(sentence)).unwrap_or(&[]);
            let path: Option<Vec<u32>> = gold.iter().map(|&label| *map.get(label as usize)?).collect();
            let score = match path.filter(|path| self.allows(path)) {
                Some(path) => lattice.score(&self.transitions, path.into_iter()),
                None => f64::NEG_INFINITY,
            };
            let log_z = self.infer(lattice);
            let is_possible = score > f64::NEG_INFINITY && log_z > f64::NEG_INFINITY;
            (log_z + lattice.offset(), if is_possible { (score - log_z).min(0.0) } else { f64::NEG_INFINITY })
        })
    }

    /// Forward-backward; returns log Z and leaves marginals in the lattice.
    pub fn infer(&self, lattice: &mut Lattice) -> f64 {
        if lattice.tokens == 0 {
            return 0.0;
        }
        arch().dispatch(ForwardBackward(lattice, &self.transitions))
    }

    /// About how many additions an inference over `tokens` tokens makes.
    pub fn operations(&self, tokens: usize) -> usize {
        let width = self.transitions.width;
        let links = width * width * if self.transitions.triples.is_some() { width } else { 1 };
        tokens.saturating_mul(links)
    }

    /// The lattice's marginals without padding.
    pub fn unpadded(&self, lattice: &Lattice) -> Vec<f64> {
        let rows = lattice.marginals.chunks_exact(self.transitions.width).take(lattice.tokens);
        rows.flat_map(|row| &row[..self.labels.len()]).copied().collect()
    }
}

/// The scores of transitions and triples.
fn transition_scores(weights: &ModelWeights<'_>, labels: usize, allowed: Option<Arc<Allowed>>) -> Transitions {
    let mut transitions = Transitions::new(labels);
    transitions.constrain(allowed);
    let pairs = weights.transition_pairs.iter().zip(weights.transition_weights);
    transitions.set(pairs.map(|(&[from, to], &weight)| (usize::from(from), usize::from(to), weight)));
    if !weights.triples.is_empty() {
        let scores = weights.triples.iter().copied().zip(weights.triple_weights.iter().copied());
        transitions.triples = Some(Triples::new(labels, scores));
    }
    transitions
}

simd_task!(
    /// `Lattice::viterbi`, to be dispatched to the machine's instruction set.
    pub Viterbi<'a>(lattice: &'a mut Lattice, transitions: &'a Transitions, path: &'a mut Vec<u32>) -> f64,
    |simd| lattice.viterbi(simd, transitions, path)
);

simd_task!(KeepInRange<'a>(lattice: &'a mut Lattice) -> (), |simd| lattice.keep_in_range(simd));

simd_task!(
    NBest<'a>(lattice: &'a mut Lattice, transitions: &'a Transitions, n: NonZeroUsize) -> Vec<Labelling>,
    |simd| lattice.n_best(simd, transitions, n)
);

simd_task!(ForwardBackward<'a>(lattice: &'a mut Lattice, transitions: &'a Transitions) -> f64, |simd| {
    let log_z = lattice.forward(simd, transitions);
    let mut pairs = lattice.unneeded_counts(transitions);
    lattice.backward(simd, transitions, 1.0, &mut pairs);
    log_z
});
