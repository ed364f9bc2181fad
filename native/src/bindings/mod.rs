//! The Python module `loglinear._core`: converts and checks, nothing else.

mod arrays;
mod arrow;
mod batch;
mod chain;
mod choices;
mod classes;
mod classifier;
mod collection;
mod corpus_writer;
mod data;
mod errors;
mod forks;
mod graphs;
mod held;
mod instances;
mod interrupt;
mod item_sequence;
mod items;
mod keyed;
mod lexicon;
mod model;
mod network;
mod network_file;
mod numeric;
mod objective;
mod pseudolikelihood;
mod samples;
mod single;
mod stochastic;
mod stream;
mod table;
mod tagger;
mod text_reader;
mod texts;

use crate::chain::features::MOST_LABELS;
use crate::files::compression::KINDS;
use crate::text::input;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// From now on a failed allocation ends the process with a message and exit code 1. For the command line.
#[pyfunction]
fn end_when_exhausted() {
    crate::memory::end_when_exhausted();
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // A panic becomes an exception that carries its message (see `interrupt`); nothing else is printed.
    std::panic::set_hook(Box::new(|_| {}));
    interrupt::make_panics_exceptions(module.py())?;
    module.add_class::<data::Corpus>()?;
    module.add_class::<corpus_writer::CorpusWriter>()?;
    module.add_class::<instances::Instances>()?;
    module.add_class::<objective::Objective>()?;
    module.add_class::<classes::ChainObjective>()?;
    module.add_class::<classes::LikelyLabels>()?;
    module.add_class::<classes::PrunedObjective>()?;
    module.add_class::<classes::SamplePasses>()?;
    module.add_class::<choices::ChoiceObjective>()?;
    module.add_class::<classifier::ClassifierObjective>()?;
    module.add_class::<classifier::ClassifierPath>()?;
    module.add_class::<classifier::NewtonStep>()?;
    module.add_class::<classifier::ReachedPoint>()?;
    module.add_class::<arrow::columns::ArrowColumn>()?;
    module.add_class::<arrow::export::ArrowLabels>()?;
    module.add_class::<item_sequence::ItemSequence>()?;
    module.add_class::<model::ChainModel>()?;
    module.add_class::<tagger::SequenceTagger>()?;
    module.add_class::<text_reader::TextReader>()?;
    module.add_class::<texts::Tokenizer>()?;
    module.add_class::<table::PartCounts>()?;
    module.add_class::<table::FeatureTable>()?;
    module.add_class::<table::ChainPart>()?;
    module.add_class::<network::Network>()?;
    module.add_class::<network::CompletedRows>()?;
    module.add_class::<network::LoopyBeliefs>()?;
    module.add_class::<network_file::NetworkFile>()?;
    module.add_class::<pseudolikelihood::PseudoLikelihood>()?;
    module.add_class::<pseudolikelihood::Regression>()?;
    module.add_class::<pseudolikelihood::RestrictedPseudoLikelihood>()?;
    module.add_function(wrap_pyfunction!(classifier::classifier_model, module)?)?;
    module.add_function(wrap_pyfunction!(graphs::graph_passes, module)?)?;
    module.add_function(wrap_pyfunction!(samples::classifier_of_corpus, module)?)?;
    module.add_function(wrap_pyfunction!(samples::checked_probabilities, module)?)?;
    module.add_function(wrap_pyfunction!(samples::label_of_cell, module)?)?;
    module.add_function(wrap_pyfunction!(arrow::columns::arrow_columns, module)?)?;
    module.add_function(wrap_pyfunction!(arrow::objects::arrow_objects, module)?)?;
    module.add_function(wrap_pyfunction!(batch::tag_lists, module)?)?;
    module.add_function(wrap_pyfunction!(batch::chunk_lists, module)?)?;
    module.add_function(wrap_pyfunction!(table::cut_file, module)?)?;
    module.add_function(wrap_pyfunction!(batch::tag_arrow, module)?)?;
    module.add_function(wrap_pyfunction!(texts::tag_texts, module)?)?;
    module.add_function(wrap_pyfunction!(model::write_output, module)?)?;
    module.add_function(wrap_pyfunction!(model::write_text, module)?)?;
    module.add_function(wrap_pyfunction!(model::is_compressed, module)?)?;
    module.add_function(wrap_pyfunction!(model::not_a, module)?)?;
    module.add_function(wrap_pyfunction!(network::symmetric_inverse, module)?)?;
    module.add_function(wrap_pyfunction!(network_file::write_network, module)?)?;
    module.add_function(wrap_pyfunction!(network_file::read_network, module)?)?;
    module.add_function(wrap_pyfunction!(model::check_template, module)?)?;
    module.add_function(wrap_pyfunction!(lexicon::needed_lexicons, module)?)?;
    module.add_function(wrap_pyfunction!(lexicon::lexicon_line, module)?)?;
    module.add_function(wrap_pyfunction!(lexicon::lexicons_of, module)?)?;
    module.add_function(wrap_pyfunction!(model::attribute_names, module)?)?;
    module.add_function(wrap_pyfunction!(model::violations, module)?)?;
    module.add_function(wrap_pyfunction!(model::check_labels, module)?)?;
    module.add_function(wrap_pyfunction!(model::check_text, module)?)?;
    module.add("MAX_SENTENCE", input::MAX_SENTENCE)?;
    module.add("MOST_LABELS", MOST_LABELS)?;
    module.add("COMPRESSED", PyTuple::new(module.py(), KINDS.iter().map(|kind| format!(".{}", kind.suffix)))?)?;
    module.add_function(wrap_pyfunction!(data::max_sentence, module)?)?;
    module.add_function(wrap_pyfunction!(data::set_max_sentence, module)?)?;
    module.add_function(wrap_pyfunction!(data::column_roles, module)?)?;
    module.add_function(wrap_pyfunction!(data::look_at, module)?)?;
    module.add_function(wrap_pyfunction!(end_when_exhausted, module)?)?;
    module.add_function(wrap_pyfunction!(forks::prepare_fork, module)?)?;
    module.add_function(wrap_pyfunction!(interrupt::panic, module)?)?;
    module.add("MEMORY_REMEDY", crate::memory::REMEDY)?;
    numeric::register(module)
}
