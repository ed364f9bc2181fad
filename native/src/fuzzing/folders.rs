//! Folders of encoded corpora: their files, one after the other with `BETWEEN` in between, are one input.
//!
//! The first file is corpus.json without its checksum, the others are the arrays. What is written to disk has the right sizes and
//! checksums, as far as corpus.json still has a place for them.

use crate::chain::features::Selection;
use crate::chain::objective::ChainObjective;
use crate::corpus::Corpus;
use crate::corpus::array::ARRAYS;
use crate::corpus::folder;
use crate::error::{Error, Result};
use crate::text::encode::encode;
use crate::text::format::{Format, Reading};
use crate::text::input::Source;
use crate::text::labels::Labels;
use crate::text::template::Template;
use crate::threads::Interrupt;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// What separates two files.
const BETWEEN: &[u8] = b"\xff\xfebetween\xfd\xfc";

/// What `signed` adds to corpus.json if it is not there.
const FILLED_IN: [&str; 4] = ["format", "version", "block", "arrays"];

/// The names of the files.
fn names() -> impl Iterator<Item = &'static str> {
    std::iter::once("corpus.json").chain(ARRAYS.iter().map(|&(_, name, _)| name))
}

/// Folders of small corpora.
pub fn seeds() -> Vec<Vec<u8>> {
    let items = "{\"tokens\": [\"a\", {\"b\": 0.5, \"c\": 1}], \"labels\": [\"A\", [\"A\", \"B\"]], \"weight\": 2, \"token_weights\": [1, 0.5]}\n\
        {\"tokens\": [\"c\"], \"labels\": [{\"A\": 0.25, \"B\": 0.75}]}\n{\"tokens\": [], \"labels\": []}\n\
        {\"tokens\": [\"a\", \"d\"], \"labels\": [null, \"C\"]}\n";
    let template = Template::parse("U:%x[0,0]\nB:%x[0,0]\nB\n").expect("a sound template");
    let texts = [(items, Format::Jsonl, None), ("the B\ndog I\n\nruns O\n\n", Format::Columns, Some(&template))];
    let corpora = texts.map(|(text, format, template)| {
        let reading = Reading::new(format, template, Labels::Partial).expect("a template if the format needs one");
        let source = Source::of_bytes("text", text.as_bytes().to_vec()).expect("plain text");
        encode(source, reading, &Interrupt::default()).expect("a sound text")
    });
    let [items, columns] = &corpora;
    [(items, true), (columns, true), (columns, false)]
        .map(|(corpus, short)| packed(corpus, short).expect("a folder"))
        .to_vec()
}

/// The bytes of the files of a corpus' folder. A short corpus.json leaves most changes to the arrays.
fn packed(corpus: &Corpus, is_short: bool) -> Result<Vec<u8>> {
    let parent = in_memory()?;
    let path = parent.path().join("corpus");
    folder::save(corpus, &path, json!({}))?;
    let mut files: Vec<Vec<u8>> = names().map(|name| std::fs::read(path.join(name)).unwrap_or_default()).collect();
    let mut summary =
        serde_json::Deserializer::from_slice(&files[0]).into_iter::<Value>().flatten().next().unwrap_or_default();
    if is_short {
        FILLED_IN.iter().for_each(|&key| _ = summary.as_object_mut().and_then(|summary| summary.remove(key)));
    }
    files[0] = summary.to_string().into_bytes();
    Ok(files.join(BETWEEN))
}

/// A new folder, where possible one in memory.
fn in_memory() -> Result<tempfile::TempDir> {
    let shared = Path::new("/dev/shm");
    let folder = if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() };
    folder.map_err(|source| Error::io(shared, source))
}

/// Writes the folder that the bytes describe.
fn unpacked(bytes: &[u8], path: &Path) -> Result<()> {
    let mut files = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(BETWEEN.len()).position(|window| window == BETWEEN) {
        files.push(&rest[..at]);
        rest = &rest[at + BETWEEN.len()..];
    }
    files.push(rest);
    let mut files = files.into_iter();
    let summary = files.next().unwrap_or_default();
    let arrays: Vec<(&str, &[u8])> = names().skip(1).zip(files).filter(|(_, file)| !file.is_empty()).collect();
    for (name, file) in &arrays {
        std::fs::write(path.join(name), file).map_err(|source| Error::io(path, source))?;
    }
    std::fs::write(path.join("corpus.json"), signed(summary, &arrays)).map_err(|source| Error::io(path, source))
}

/// The content of corpus.json with the lengths and checksums of the arrays, and its own.
fn signed(summary: &[u8], arrays: &[(&str, &[u8])]) -> Vec<u8> {
    let mut text = match serde_json::from_slice::<Value>(summary) {
        Ok(mut json) => {
            let files: Map<String, Value> =
                arrays.iter().map(|(name, _)| ((*name).into(), json!({"file": name}))).collect();
            let defaults = [json!("loglinear corpus"), json!(1), json!(16 << 20), files.into()];
            if let Some(fields) = json.as_object_mut() {
                FILLED_IN.iter().zip(defaults).for_each(|(&key, value)| _ = fields.entry(key).or_insert(value));
            }
            for (name, file) in arrays {
                let stored = json.pointer_mut(&format!("/arrays/{name}")).and_then(Value::as_object_mut);
                let sum = json!([format!("{:016x}", xxh3_64(file))]);
                let right = [("bytes".into(), json!(file.len())), ("xxh3".into(), sum)];
                stored.into_iter().for_each(|stored| stored.extend(right.clone()));
            }
            json.to_string().into_bytes()
        }
        Err(_) => summary.to_vec(),
    };
    text.push(b'\n');
    let sum = xxh3_64(&text);
    text.extend(format!("{sum:016x}\n").bytes());
    text
}

/// Opens a folder and does with the corpus what Python does.
pub fn opened(bytes: &[u8]) -> bool {
    let folder = in_memory().expect("a folder");
    unpacked(bytes, folder.path()).expect("files");
    used(folder.path()).is_ok()
}

fn used(path: &Path) -> Result<()> {
    let (corpus, _) = folder::open(path)?;
    // A slice comes first: it looks at its own sentences alone.
    let n = corpus.n_sentences();
    let slices = [0..n, 0..n / 2, n / 2..n].map(|range| corpus.select(&range.collect::<Vec<_>>()));
    slices.iter().flatten().for_each(look);
    corpus.check(&Interrupt::default())?;
    look(&corpus);
    let [all, first, _] = slices;
    let corpus = Arc::new(corpus);
    Corpus::concat(&[Arc::clone(&corpus), Arc::new(first?)])?;
    corpus.relabelled(&corpus.labels, corpus.gold.to_vec())?;
    let objective =
        ChainObjective::new(Arc::new(all?), Selection { order: 1, min_count: 1, ..Selection::default() }, None, 1)?;
    let mut gradient = vec![0.0; objective.features.len()];
    objective.value_and_gradient(&gradient.clone(), &mut gradient, &Interrupt::default())?;
    Ok(())
}

/// Reads everything that a corpus holds.
fn look(corpus: &Corpus) {
    corpus.label_counts();
    corpus.first_partial();
    corpus.is_repetitive();
    (0..corpus.attributes.len()).for_each(|id| _ = corpus.attributes.text(id as u32).len());
    for sentence in 0..corpus.n_sentences() {
        assert!(corpus.weight(sentence) >= 0.0);
        for token in corpus.tokens(sentence) {
            let ids = corpus.states.row(token).iter().chain(corpus.bigrams_of(token));
            assert!(ids.clone().all(|&id| (id as usize) < corpus.attributes.len()));
            let labels = corpus.gold.get(token).into_iter().flat_map(|entry| corpus.shares_of(entry));
            labels.for_each(|(label, share)| assert!((label as usize) < corpus.labels.len() && share > 0.0));
        }
    }
}
