//! Fuzzing: everything that reads bytes from outside, as functions of any bytes that may fail but never panic, hang, or ask for
//! more memory than the bytes can fill.
//!
//! The tests run the targets on mutants of their seeds. To run any number of mutants:
//! `LOGLINEAR_FUZZ=10000000 cargo test --profile quick fuzzing -- --nocapture`. `fuzz/` passes the targets to cargo-fuzz.

mod folders;
mod mutation;
pub mod seeds;

pub use mutation::Mutator;
use seeds::texts;

use crate::chain::model::Model;
use crate::chain::tagging::answer::Answer;
use crate::chain::tagging::tagger;
use crate::files::model_file;
use crate::foreign;
use crate::network::file::NetworkFile;
use crate::text::encode::encode;
use crate::text::format::{Format, Reading};
use crate::text::input::Source;
use crate::text::labels::Labels;
use crate::text::layout::Layout;
use crate::text::template::Template;
use crate::text::tokenizer::{self, Tokenizer};
use crate::text::{columns, conllu, crfsuite, jsonl, svmlight};
use crate::threads::Interrupt;
use std::sync::LazyLock;

/// A reader to be fuzzed.
pub struct Target {
    pub name: &'static str,
    /// Reads the bytes; returns whether they were in order.
    pub run: fn(&[u8]) -> bool,
    /// Sound inputs to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All targets.
pub const TARGETS: [Target; 16] = [
    Target { name: "columns", run: |text| read(text, "columns", Some(&TEMPLATE)), seeds: || texts(columns::SEEDS) },
    Target { name: "conllu", run: |text| read(text, "conllu:feats", Some(&WORDS)), seeds: || texts(conllu::SEEDS) },
    Target { name: "crfsuite", run: |text| read(text, "crfsuite", None), seeds: || texts(crfsuite::SEEDS) },
    Target { name: "jsonl", run: |text| read(text, "jsonl", None), seeds: || texts(jsonl::SEEDS) },
    Target {
        name: "jsonl_cells",
        run: |text| read(text, "jsonl", Some(&WORDS)),
        seeds: || texts(jsonl::SEEDS_OF_CELLS),
    },
    Target { name: "svmlight", run: |text| read(text, "svmlight", None), seeds: || texts(svmlight::SEEDS) },
    Target { name: "compressed", run: |bytes| read(bytes, "crfsuite", None), seeds: seeds::compressed },
    Target { name: "template", run: template, seeds: seeds::templates },
    Target { name: "tokenizer", run: tokenizer, seeds: || texts(&tokenizer::SEEDS) },
    Target { name: "tag", run: tag, seeds: || texts(columns::SEEDS) },
    Target { name: "model", run: |bytes| model(&sealed(bytes)), seeds: seeds::models },
    Target {
        name: "network",
        run: |bytes| NetworkFile::of_bytes(&sealed(bytes), "network").is_ok(),
        seeds: seeds::networks,
    },
    Target { name: "crfsuite_model", run: model, seeds: || seeds::foreign_models(foreign::Format::CrfSuite) },
    Target { name: "wapiti_model", run: model, seeds: || seeds::foreign_models(foreign::Format::Wapiti) },
    Target { name: "crfpp_model", run: model, seeds: seeds::crfpp_models },
    Target { name: "corpus", run: folders::opened, seeds: folders::seeds },
];

/// Runs the target that the first byte chooses on the other bytes; for cargo-fuzz.
pub fn run(bytes: &[u8]) {
    if let [first, rest @ ..] = bytes {
        (TARGETS[usize::from(*first) % TARGETS.len()].run)(rest);
    }
}

/// A template with every macro, for columns of three cells.
static TEMPLATE: LazyLock<Template> = LazyLock::new(|| Template::parse(seeds::TEMPLATE).expect("a sound template"));
/// A template of words only.
static WORDS: LazyLock<Template> = LazyLock::new(|| Template::parse("U:%x[0,0]\nB\n").expect("a sound template"));
/// A model for texts of columns.
static MODEL: LazyLock<Model> = LazyLock::new(|| Model::from_bytes(&seeds::models()[1]).expect("a sound model"));

/// Encodes a text with partial labels.
fn read(text: &[u8], format: &str, template: Option<&Template>) -> bool {
    let format = format.parse().expect("a format");
    let reading = Reading::new(format, template, Labels::Partial).expect("a template if the format needs one");
    Source::of_bytes("text", text.to_vec()).and_then(|source| encode(source, reading, &Interrupt::default())).is_ok()
}

/// Parses a template and expands it on a sentence.
fn template(bytes: &[u8]) -> bool {
    let parsed = std::str::from_utf8(bytes).ok().and_then(|text| Template::parse(text).ok());
    parsed.is_some_and(|template| {
        read(b"The\tDT\tB\ndog\tNN\tI\n\xe6\x97\xa5\xe6\x9c\xac\tNN\tO\n\n", "columns", Some(&template))
    })
}

/// Compiles an expression, the first line, and cuts the rest with it.
fn tokenizer(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let (expression, rest) = text.split_once('\n').unwrap_or((&text[..], "Ada's 21 日本 e\u{301}"));
    let Ok(tokenizer) = Tokenizer::new(expression) else { return false };
    let mut end = 0;
    for token in tokenizer.tokens(rest) {
        assert!(end <= token.start && token.start < token.end && !rest[token.clone()].is_empty());
        end = token.end;
    }
    true
}

/// Labels a text of columns, with probabilities.
fn tag(text: &[u8]) -> bool {
    let answer = Answer::Marginals.into();
    let tagged = Source::of_bytes("text", text.to_vec())
        .and_then(|source| source.text(|line| Format::Columns.ends(line)))
        .and_then(|text| tagger::tag(&MODEL, &text, Format::Columns, Layout::default(), answer, &Interrupt::default()));
    tagged.is_ok()
}

/// Opens a model and labels a sentence with it.
fn model(bytes: &[u8]) -> bool {
    let Ok(model) = foreign::of_bytes(bytes) else { return false };
    let interrupt = Interrupt::default();
    let text = b"O\tU0\\:the\tU0\\:dog:2.5\nO\tb1\\:the\nO\tU0\\:dog\n\n".to_vec();
    let reading = Reading::new(Format::Crfsuite, None, Labels::Ignored).expect("no template");
    let source = Source::of_bytes("text", text).expect("plain text");
    let corpus = encode(source, reading, &interrupt).expect("a sound text");
    let paths = model.predict(&corpus, &interrupt).expect("no interrupt");
    assert!(paths.iter().flatten().all(|&label| (label as usize) < model.labels.len()));
    let marginals = model.marginals(&corpus, &interrupt).expect("no interrupt");
    assert!(marginals.iter().flatten().all(|p| (0.0..=1.0 + 1e-9).contains(p)), "{marginals:?}");
    true
}

/// A model's bytes with the right checksum, so that a changed byte gets past it.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if bytes.len() >= 8 {
        model_file::seal(&mut bytes);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::format::NAMES;
    use cpu_time::ThreadTime;
    use std::time::{Duration, Instant};

    /// No input may take more of the processor's time.
    const SLOW: Duration = Duration::from_secs(5);

    /// Runs a target on its seeds, on their truncations, and on mutants: as many as the variable LOGLINEAR_FUZZ says, or a thousand.
    fn fuzz(name: &str) {
        // What the target does in parallel, it does on this one thread.
        rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(|| {
            let target = TARGETS.iter().find(|target| target.name == name).unwrap();
            let seeds = (target.seeds)();
            assert!(seeds.iter().all(|seed| (target.run)(seed)), "a seed is refused");
            for seed in &seeds {
                (0..seed.len()).for_each(|length| _ = (target.run)(&seed[..length]));
            }
            let runs = std::env::var("LOGLINEAR_FUZZ").map_or(1000, |runs| runs.parse().unwrap());
            let (mut mutator, mut sound) = (Mutator::new(seeds, runs), 0u64);
            let (began, mut slowest) = (Instant::now(), Duration::ZERO);
            for run in 0..runs {
                let (mutant, start) = (mutator.next(), ThreadTime::now());
                let outcome = std::panic::catch_unwind(|| (target.run)(mutant));
                assert!(outcome.is_ok(), "run {run} panics on {:?}", String::from_utf8_lossy(mutant));
                sound += u64::from(outcome.unwrap());
                slowest = slowest.max(start.elapsed());
                assert!(slowest < SLOW, "run {run} takes {slowest:?} on {:?}", String::from_utf8_lossy(mutant));
            }
            println!("| {name} | {runs} | {sound} | {:.0} s | {slowest:?} |", began.elapsed().as_secs_f64());
            assert!(sound > 0 && sound < runs, "{sound} of {runs} mutants are in order");
        });
    }

    macro_rules! fuzz {
        ($($name:ident)*) => {
            $(#[test] fn $name() { fuzz(stringify!($name)); })*

            #[test]
            fn every_target_has_its_test() {
                let names = [$(stringify!($name)),*];
                assert_eq!(names, TARGETS.map(|target| target.name));
                for (format, _) in NAMES {
                    assert!(names.contains(&format.split(':').next().unwrap()), "{format}");
                }
            }
        };
    }

    fuzz!(columns conllu crfsuite jsonl jsonl_cells svmlight compressed template tokenizer tag model network crfsuite_model wapiti_model crfpp_model corpus);
}
