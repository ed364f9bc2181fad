//! Unit tests of corpora on disk.

use super::*;
use crate::corpus::Corpus;
use crate::corpus::assembly::{Assembly, Builder};
use crate::corpus::folder::growing::Growing;
use crate::corpus::folder::layout::BLOCK;
use crate::corpus::hash::key_of;
use crate::corpus::sink::{Gold, Sink};
use crate::numeric::random::Random;
use crate::threads::Interrupt;
use proptest::prelude::*;
use serde_json::json;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// A piece of random sentences; `kind` says which arrays are not trivial.
fn piece(seed: u64, sentences: usize, kind: u32) -> Builder {
    let (mut builder, mut random) = (Builder::default(), Random::new(seed, 0));
    let mut below = |count: u64| random.bits() % count;
    for _ in 0..sentences {
        for token in 0..below(5) {
            for _ in 0..below(4) {
                let name = format!("a{}", below(20));
                let value = if kind & 1 > 0 { below(3) as f64 / 2.0 } else { 1.0 };
                builder.state(key_of(name.as_bytes()), value, |out| out.extend_from_slice(name.as_bytes()));
            }
            if kind & 2 > 0 && token > 0 {
                builder.bigram(key_of(b"b"), |out| out.push(b'b'));
            }
            let labels = [b"x".as_slice(), b"yy", b"z"];
            builder.end_token(Some(match below(if kind & 4 > 0 { 5 } else { 3 }) {
                3 => Gold::Unknown,
                4 => Gold::OneOf(labels[1..].to_vec()),
                label => Gold::Label(labels[label as usize]),
            }));
        }
        builder.end_sentence(if kind & 8 > 0 { below(3) as f64 } else { 1.0 });
    }
    builder
}

fn joined(seeds: &[u64], kind: u32) -> Corpus {
    let mut assembly = Assembly::default();
    seeds.iter().for_each(|&seed| assembly.push(piece(seed, 40, kind)).unwrap());
    let mut corpus = assembly.finish();
    corpus.labelled = true;
    corpus
}

fn assert_same(a: &Corpus, b: &Corpus) {
    assert_eq!(*a.sentence_ends, *b.sentence_ends);
    assert_eq!((&*a.states.ends, &*a.states.ids), (&*b.states.ends, &*b.states.ids));
    assert_eq!((&*a.bigrams.ends, &*a.bigrams.ids), (&*b.bigrams.ends, &*b.bigrams.ids));
    assert_eq!((&*a.values, &*a.weights), (&*b.values, &*b.weights));
    assert_eq!((&*a.gold, &a.labels, &a.label_sets), (&*b.gold, &b.labels, &b.label_sets));
    let names = |corpus: &Corpus| {
        (0..corpus.attributes.len()).map(|id| corpus.attributes.text(id as u32).to_vec()).collect::<Vec<_>>()
    };
    assert_eq!(names(a), names(b));
    assert_eq!((a.transitions, a.triples, a.labelled), (b.transitions, b.triples, b.labelled));
}

fn written(path: &Path, seeds: &[u64], kind: u32) {
    let mut writer = Writer::create(path).unwrap();
    seeds.iter().for_each(|&seed| writer.push(piece(seed, 40, kind)).unwrap());
    writer.finish([true, false, true], json!({"template": null})).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn pieces_on_disk_are_what_they_are_in_memory(kind in 0u32..16, seeds in prop::collection::vec(0u64..1000, 1..4), first in 0usize..4) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("corpus");
        let whole = joined(&seeds, kind);
        written(&path, &seeds, kind);
        let (reopened, settings) = open(&path).unwrap();
        reopened.check(&Interrupt::default()).unwrap();
        assert_same(&reopened, &whole);
        prop_assert_eq!(settings, json!({"template": null}));
        // Saved from memory, and appended to.
        let first = first.min(seeds.len());
        save(&joined(&seeds[..first], kind), &path, json!(1)).unwrap();
        let mut writer = Writer::append(&path).unwrap();
        prop_assert_eq!(writer.settings(), &json!(1));
        seeds[first..].iter().for_each(|&seed| writer.push(piece(seed, 40, kind)).unwrap());
        writer.finish([true, false, true], json!(2)).unwrap();
        let (reopened, settings) = open(&path).unwrap();
        reopened.check(&Interrupt::default()).unwrap();
        prop_assert_eq!(settings, json!(2));
        prop_assert_eq!(reopened.labels.len(), whole.labels.len());
        // Labels of the first pieces were numbered by themselves, so sets of labels may be numbered in another order.
        for token in 0..whole.n_tokens() {
            let names = |corpus: &Corpus| {
                let mut names: Vec<String> = corpus.named_labels(token).iter().map(|&label| corpus.labels[label as usize].clone()).collect();
                names.sort();
                names
            };
            prop_assert_eq!(names(&reopened), names(&whole));
        }
        prop_assert_eq!((&*reopened.states.ids, &*reopened.weights, &reopened.labels), (&*whole.states.ids, &*whole.weights, &whole.labels));
    }
}

#[test]
fn a_folder_that_is_replaced_is_replaced_whole_and_nothing_stays_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus");
    written(&path, &[1], 15);
    let (old, _) = open(&path).unwrap();
    written(&path, &[2, 3], 0);
    assert_same(&open(&path).unwrap().0, &joined(&[2, 3], 0));
    assert_same(&old, &joined(&[1], 15));
    drop(Writer::create(&path).unwrap());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    std::fs::write(folder.path().join("file"), "text").unwrap();
    assert!(Writer::create(&folder.path().join("file")).is_err());
}

#[test]
fn an_append_that_fails_leaves_the_corpus_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus");
    written(&path, &[1], 0);
    let files = || {
        let read = |entry: std::io::Result<std::fs::DirEntry>| {
            let path = entry.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            (path, bytes)
        };
        let mut all: Vec<_> =
            std::fs::read_dir(&path).unwrap().map(read).filter(|(path, _)| !path.ends_with("lock")).collect();
        all.sort();
        all
    };
    let before = files();
    let mut writer = Writer::append(&path).unwrap();
    assert!(Writer::append(&path).is_err_and(|error| error.to_string().contains("another program")));
    writer.push(piece(5, 3000, 15)).unwrap();
    drop(writer);
    assert!(files() == before);
    // Without labels, where the others have some.
    let mut writer = Writer::append(&path).unwrap();
    let mut unlabelled = Builder::default();
    unlabelled.end_token(None);
    unlabelled.end_sentence(1.0);
    writer.push(unlabelled).unwrap();
    assert!(writer.finish([true, false, true], json!(0)).is_err());
    assert!(files() == before);
}

#[test]
fn damage_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus");
    written(&path, &[1, 2], 15);
    let sound = |path: &Path| open(path).and_then(|(corpus, _)| corpus.check(&Interrupt::default()));
    sound(&path).unwrap();
    for entry in std::fs::read_dir(&path).unwrap() {
        let file = entry.unwrap().path();
        let bytes = std::fs::read(&file).unwrap();
        for at in [0, bytes.len() / 2, bytes.len() - 1] {
            let mut changed = bytes.clone();
            changed[at] ^= 4;
            std::fs::write(&file, &changed).unwrap();
            assert!(sound(&path).is_err(), "{} changed at {at}", file.display());
            std::fs::write(&file, &bytes[..at]).unwrap();
            assert!(sound(&path).is_err(), "{} cut at {at}", file.display());
        }
        std::fs::remove_file(&file).unwrap();
        assert!(sound(&path).is_err());
        std::fs::write(&file, &bytes).unwrap();
    }
    sound(&path).unwrap();
}

#[test]
fn indices_beyond_their_arrays_are_found_behind_right_checksums() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus");
    let damages: [fn(&mut Corpus); 6] = [
        |corpus| corpus.states.ids.to_mut()[3] = 1 << 20,
        |corpus| corpus.bigrams.ids.to_mut()[0] = 1 << 20,
        |corpus| corpus.gold.to_mut()[0] = 3,
        |corpus| corpus.sentence_ends.to_mut()[0] = 1 << 40,
        |corpus| corpus.values.to_mut()[1] = f64::NAN,
        |corpus| corpus.weights.to_mut()[1] = -1.0,
    ];
    for damage in damages {
        let mut corpus = joined(&[1, 2], 15);
        damage(&mut corpus);
        assert!(save(&corpus, &path, json!(0)).is_err());
        assert!(!path.exists());
    }
}

#[test]
fn sentences_in_a_row_are_checked_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus");
    let seeds: Vec<u64> = (0..40).collect();
    written(&path, &seeds, 15);
    let whole = joined(&seeds, 15);
    let (corpus, _) = open(&path).unwrap();
    let (first, last) = (vec![3, 4, 5, 6], vec![0, 9]);
    for some in [&first, &last, &Vec::new()] {
        assert_same(&corpus.select(some).unwrap(), &whole.select(some).unwrap());
    }
    for file in ["state_ids.u32", "gold-2.u32", "values.f64", "attribute_keys.u64", "sentence_ends.u64"] {
        let file = path.join(file);
        let Ok(bytes) = std::fs::read(&file) else { continue };
        let mut changed = bytes.clone();
        changed[17] ^= 1;
        std::fs::write(&file, &changed).unwrap();
        assert!(open(&path).unwrap().0.select(&first).is_err(), "{}", file.display());
        std::fs::write(&file, &bytes).unwrap();
    }
    assert_same(&open(&path).unwrap().0.select(&first).unwrap(), &whole.select(&first).unwrap());
}

#[test]
fn every_block_has_the_checksum_of_its_own_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let numbers: Vec<u32> = (0..2 * BLOCK as u32 / 4 + 5).collect();
    let (first, second) = numbers.split_at(BLOCK / 4 + 1_000);
    let mut growing = Growing::new(folder.path(), "numbers".into()).unwrap();
    first.chunks(1_000_003).for_each(|some| growing.extend(some).unwrap());
    let stored = growing.finish().unwrap();
    let sums =
        |numbers: &[u32]| bytemuck::cast_slice::<u32, u8>(numbers).chunks(BLOCK).map(xxh3_64).collect::<Vec<_>>();
    assert_eq!(stored.sums, sums(first));
    let mut growing = Growing::open(folder.path(), stored).unwrap();
    growing.extend(second).unwrap();
    assert_eq!(growing.finish().unwrap().sums, sums(&numbers));
}
