//! Unit tests of the joining of pieces.

use super::*;
use crate::corpus::hash::key_of;

fn build(sentences: &[&[(&str, &str, f64)]]) -> Builder {
    let mut builder = Builder::default();
    for sentence in sentences {
        for (attribute, label, value) in *sentence {
            let name = attribute.as_bytes();
            builder.state(key_of(name), *value, |out| out.extend_from_slice(name));
            builder.end_token(Some(Gold::Label(label.as_bytes())));
        }
        builder.end_sentence(1.0);
    }
    builder
}

#[test]
fn pieces_assemble_to_what_one_piece_gives() {
    let a: &[(&str, &str, f64)] = &[("x", "N", 1.0), ("y", "V", 1.0)];
    let b: &[(&str, &str, f64)] = &[("y", "A", 0.5), ("z", "N", 1.0)];
    let one = Corpus::assemble(vec![build(&[a, b])]).unwrap();
    let two = Corpus::assemble(vec![build(&[a]), build(&[]), build(&[b])]).unwrap();
    for corpus in [&one, &two] {
        assert_eq!(*corpus.states.ids, [0, 1, 1, 2]);
        assert_eq!(*corpus.values, [1.0, 1.0, 0.5, 1.0]);
        assert_eq!(*corpus.labels, ["N", "A", "V"]);
        assert_eq!(*corpus.gold, [0, 2, 1, 0]);
        assert_eq!(*corpus.sentence_ends, [2, 4]);
        assert_eq!(corpus.attributes.text(2), b"z");
    }
    let second = one.select(&[1]).unwrap();
    assert_eq!((&*second.states.ids, &*second.gold), ([1, 2].as_slice(), [1, 0].as_slice()));
    assert!(one.select(&[2]).is_err());
}

#[test]
fn sets_of_labels_are_joined_and_renumbered() {
    let sentence = |labels: &[Gold<'_>]| {
        let mut builder = Builder::default();
        labels.iter().for_each(|label| builder.end_token(Some(label.clone())));
        builder.end_sentence(1.0);
        builder
    };
    let (a, b, c) = (b"a".as_slice(), b"b".as_slice(), b"c".as_slice());
    let first = [Gold::OneOf(vec![c, a]), Gold::Label(b), Gold::OneOf(vec![b, b])];
    let second = [Gold::Unknown, Gold::OneOf(vec![b, a]), Gold::OneOf(vec![a, c])];
    let two = Corpus::assemble(vec![sentence(&first), sentence(&second)]).unwrap();
    // Only `b` stands alone; `a` and `c` follow in byte order.
    assert_eq!(*two.labels, ["b", "a", "c"]);
    assert_eq!(*two.gold, [FIRST_SET, 0, 0, UNKNOWN, FIRST_SET + 1, FIRST_SET]);
    assert_eq!(*two.label_sets, [[1, 2], [0, 1]]);
    assert_eq!(two.named_labels(0), [1, 2]);
    assert_eq!(two.named_labels(1), [0]);
    assert_eq!(two.named_labels(3), [0; 0]);
    let chosen = two.select(&[1]).unwrap();
    assert_eq!((chosen.first_partial(), chosen.named_labels(1)), (Some((0, 0)), [0, 1].as_slice()));
    let one = Corpus::assemble(vec![sentence(&[&first[..], &second[..]].concat())]).unwrap();
    assert_eq!((&*one.gold, &one.label_sets, &one.labels), (&*two.gold, &two.label_sets, &two.labels));
    assert_eq!(Corpus::assemble(vec![sentence(&first[1..])]).unwrap().first_partial(), None);
}
