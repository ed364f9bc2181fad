//! Unit tests of which features a corpus gives.

use super::*;
use crate::corpus::assembly::Builder;
use crate::corpus::hash::key_of;
use crate::corpus::sink::{Gold, Sink};
use std::collections::BTreeSet;

/// A corpus of sentences of tokens: an attribute, which is one of states and of bigrams, and the labels named.
fn corpus_of(sentences: &[&[(&str, &[&'static str])]]) -> Corpus {
    let mut builder = Builder::default();
    for sentence in sentences {
        for (at, (attribute, labels)) in sentence.iter().enumerate() {
            let name = attribute.as_bytes();
            builder.state(key_of(name), 1.0, |out| out.extend_from_slice(name));
            if at > 0 {
                builder.bigram(key_of(name), |out| out.extend_from_slice(name));
            }
            builder.end_token(Some(match labels {
                [] => Gold::Unknown,
                [label] => Gold::Label(label.as_bytes()),
                several => Gold::OneOf(several.iter().map(|label| label.as_bytes()).collect()),
            }));
        }
        builder.end_sentence(1.0);
    }
    Corpus::assemble(vec![builder]).unwrap()
}

/// The names of the features of a corpus.
fn names(corpus: &Corpus, selection: Selection) -> BTreeSet<String> {
    let features = Features::new(corpus, selection).unwrap();
    let label = |label: &u16| corpus.labels[usize::from(*label)].as_str();
    let attribute = |id: u32| String::from_utf8_lossy(corpus.attributes.text(id)).into_owned();
    let mut names: Vec<String> = Vec::new();
    names.extend(features.transitions.iter().map(|pair| pair.each_ref().map(label).concat()));
    names.extend(features.triples.iter().map(|labels| labels.each_ref().map(label).concat()));
    for (id, range) in features.bigram_ranges.iter().enumerate() {
        let pairs = &features.bigram_pairs[range.start as usize..range.end as usize];
        let name = attribute(id as u32);
        names.extend(pairs.iter().map(|[from, to]| format!("{name} {}{}", label(from), label(to))));
    }
    for (index, &(id, _)) in features.state_attributes.iter().enumerate() {
        names.extend(features.labels(index).iter().map(|at| format!("{} {}", attribute(id), label(at))));
    }
    let (count, names) = (names.len(), BTreeSet::from_iter(names));
    assert_eq!((count, count), (names.len(), features.len()), "each feature once");
    names
}

#[test]
fn every_label_that_the_data_name_is_seen() {
    let corpus = corpus_of(&[
        &[("x", &["A", "B"]), ("y", &["C"]), ("y", &["B", "D"]), ("z", &[]), ("z", &["A"])],
        &[("x", &["B"]), ("v", &[]), ("z", &["A", "C"])],
    ]);
    let states = ["x A", "x B", "y C", "y B", "y D", "z A", "z C"];
    let pairs = ["AC", "BC", "CB", "CD"];
    let bigrams = ["y AC", "y BC", "y CB", "y CD"];
    let triples = ["ACB", "ACD", "BCB", "BCD"];
    let expect = |names: &[&[&str]]| names.concat().into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
    assert_eq!(names(&corpus, Selection::seen(2)), expect(&[&states, &pairs, &bigrams, &triples]));
    // y is on two tokens, x as well; z on three, one of them without a known label.
    let frequent = Selection { min_count: 3, ..Selection::seen(1) };
    assert_eq!(names(&corpus, frequent), expect(&[&["z A", "z C"], &pairs]));
    let all = Selection { all_states: true, ..Selection::seen(1) };
    assert_eq!(names(&corpus, all).iter().filter(|name| name.starts_with("v ")).count(), 4);
}

#[test]
fn features_are_left_out_by_their_sums() {
    // x with A adds up to 2, y with A and with B to 1; A A occurs once, A B twice.
    let corpus = corpus_of(&[&[("x", &["A"]), ("x", &["A"]), ("y", &["B"])], &[("y", &["A"]), ("z", &["B"])]]);
    let of =
        |min_sum, all_states| names(&corpus, Selection { min_sum: Some(min_sum), all_states, ..Selection::seen(1) });
    let without = |mut all: BTreeSet<String>| {
        all.retain(|name| name.len() < 4);
        all
    };
    let expect = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<BTreeSet<_>>();
    assert_eq!(without(of(2.0, false)), expect(&["x A", "AB"]));
    assert_eq!(without(of(2.0, true)), expect(&["x A", "AB"]));
    assert_eq!(without(of(1.0, false)), expect(&["x A", "y A", "y B", "z B", "AA", "AB"]));
    assert_eq!(without(of(0.0, true)).len(), 6 + 2);
}

#[test]
fn unknown_labels_alone_are_nothing_to_train_on() {
    let message = Features::new(&corpus_of(&[&[("x", &[])]]), Selection::seen(1)).err().unwrap().to_string();
    assert!(message.contains("no token has a known label"), "{message}");
}

#[test]
fn more_features_than_32_bits_count_are_refused_before_memory_is_asked_for() {
    // 4,096 labels, and 2^20 + 1 attributes: all states are 4,096 more than 2^32.
    let n = (1 << 20) + 1;
    let mut builder = Builder::default();
    for token in 0..n {
        builder.state(token + 1, 1.0, |_| ());
        builder.end_token(Some(Gold::Label(format!("{}", token % 4096).as_bytes())));
        builder.end_sentence(1.0);
    }
    let corpus = Corpus::assemble(vec![builder]).unwrap();
    let of = |all_states| Features::new(&corpus, Selection { all_states, ..Selection::seen(1) });
    assert_eq!(of(false).unwrap().len() as u64, n);
    let message = of(true).err().unwrap().to_string();
    assert!(message.starts_with("4294971392 features, more than 2^32"), "{message}");
}

/// The number of blocks of 1,000 sentences of one token each.
fn n_blocks(attributes: usize, steps: usize, sums: usize) -> usize {
    let mut corpus = Corpus::of_samples(vec!["A".into()], vec![0; 1000], Vec::new());
    corpus.states.ends = (1..=1000).map(|token| token * attributes).collect::<Vec<_>>().into();
    let blocks = blocks(&corpus, Cost { steps, sums }, MOST_BLOCKS);
    assert_eq!(blocks.iter().map(|sentences| sentences.len()).sum::<usize>(), 1000);
    blocks.len()
}

#[test]
fn large_corpora_are_cut_into_more_blocks_than_64() {
    let counts = [10, 100, 2_400, 400_000, 1_000_000].map(|attributes| n_blocks(attributes, 0, 0));
    assert_eq!(counts, [1, 2, 48, 64, 125]);
}

#[test]
fn blocks_are_cut_by_the_work_of_inference_and_by_their_sums() {
    let counts = [0, 1_000, 10_000, 100_000].map(|steps| n_blocks(10, steps, 0));
    assert_eq!(counts, [1, 2, 26, 64]);
    let counts = [0, 30_000, 50_000, 100_000, 200_000].map(|sums| n_blocks(1_000, 0, sums));
    assert_eq!(counts, [20, 8, 6, 2, 1]);
}

#[test]
fn attributes_with_few_and_with_many_labels_have_a_feature_of_each() {
    let labels: Vec<String> = (0..70).map(|label| format!("L{label}")).collect();
    let mut builder = Builder::default();
    let mut expected = BTreeSet::new();
    for (at, label) in labels.iter().enumerate().chain(labels.iter().enumerate().skip(40)) {
        // `all` has every label, `third` a third of them, and the others have one.
        for name in ["all".to_owned(), if at % 3 == 0 { "third".into() } else { format!("a{at}") }] {
            builder.state(key_of(name.as_bytes()), 1.0, |out| out.extend_from_slice(name.as_bytes()));
            expected.insert(format!("{name} {label}"));
        }
        builder.end_token(Some(Gold::Label(label.as_bytes())));
        builder.end_sentence(1.0);
    }
    assert_eq!(names(&Corpus::assemble(vec![builder]).unwrap(), Selection::seen(1)), expected);
}
