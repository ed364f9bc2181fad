use super::*;
use crate::chain::model::KeptByAttribute;
use crate::numeric::random::Random;
use crate::text::dialect::Dialect;

/// A model with state features, transitions and, behind a template, attributes of label bigrams.
fn sample(dialect: Dialect) -> Model {
    let mut parts = Parts { labels: ["B", "I", "O"].map(String::from).to_vec(), ..Parts::default() };
    let (state, both) = match dialect {
        Dialect::Wapiti => ("u0:", "b1:"),
        _ => ("U0:", "B1:"),
    };
    for (at, word) in ["the", "dog", "äß", "_x-1", "日本", ""].iter().enumerate() {
        let weights = vec![at as f64 - 0.5, 0.25, -3.0];
        parts.states.push(format!("{state}{word}").as_bytes(), (vec![0, 1, 2], weights));
    }
    parts.transitions = (vec![[0, 1], [1, 1], [2, 0]], vec![1.5, -0.125, 2.0]);
    parts.settings = r#"{"model": "chain"}"#.into();
    if dialect != Dialect::Own {
        let mut bigrams = KeptByAttribute::default();
        bigrams.push(format!("{both}the").as_bytes(), (vec![[0, 2], [1, 0]], vec![0.5, -1.0]));
        parts.bigrams = bigrams;
        let (u, b) = (state, both);
        let plain = &b[..1];
        parts.template = Some(format!("{}\n{u}%x[0,0]\n{b}%x[0,0]\n{plain}", dialect.first_line()));
    }
    Model::of_parts(&parts, "sample").unwrap()
}

/// The formats with a dialect of templates that each can hold.
const FORMATS: [(Format, Dialect); 4] = [
    (Format::CrfSuite, Dialect::Own),
    (Format::Wapiti, Dialect::Wapiti),
    (Format::CrfppBinary, Dialect::Crfpp),
    (Format::CrfppText, Dialect::Crfpp),
];

/// All features of a model by name.
fn features(model: &Model) -> Vec<(String, f64)> {
    let weights = model.weights();
    let mut all = Vec::new();
    for (name, range) in weights.states.iter() {
        all.extend(range.map(|at| (format!("{name:?} {}", weights.state_labels[at]), weights.state_weights[at])));
    }
    for (name, range) in weights.bigrams.iter() {
        all.extend(range.map(|at| (format!("{name:?} {:?}", weights.bigram_pairs[at]), weights.bigram_weights[at])));
    }
    let pairs = weights.transition_pairs.iter().zip(weights.transition_weights);
    all.extend(pairs.map(|(pair, &weight)| (format!("{pair:?}"), weight)));
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

#[test]
fn a_model_comes_back_from_every_format_and_is_written_the_same_again() {
    for (format, dialect) in FORMATS {
        let model = sample(dialect);
        let bytes = write(&model, format, None).unwrap();
        assert_eq!(Format::of(&bytes), Some(format));
        let back = of_bytes(&bytes).unwrap();
        assert_eq!(features(&back), features(&model), "{format:?}");
        assert_eq!(back.labels, model.labels);
        assert!(write(&back, format, None).unwrap() == bytes, "{format:?}");
    }
}

#[test]
fn labels_are_written_in_the_order_asked_for() {
    for (format, dialect) in &FORMATS[..2] {
        let model = sample(*dialect);
        let order = ["O", "B", "I"].map(String::from);
        let back = of_bytes(&write(&model, *format, Some(&order)).unwrap()).unwrap();
        assert_eq!(back.labels, order);
        let again = write(&back, *format, Some(&model.labels)).unwrap();
        assert!(again == write(&model, *format, None).unwrap());
    }
    assert!(write(&sample(Dialect::Own), Format::CrfSuite, Some(&["O".into()])).is_err());
}

#[test]
fn every_truncation_is_an_error() {
    for (format, dialect) in FORMATS {
        let bytes = write(&sample(dialect), format, None).unwrap();
        for length in 0..bytes.len() {
            let cut = &bytes[..length];
            if Format::of(cut) == Some(format) {
                assert!(of_bytes(cut).is_err(), "{format:?} cut at {length} of {}", bytes.len());
            }
        }
    }
}

fn below(random: &mut Random, count: u64) -> u64 {
    random.bits() % count
}

/// Reads mutants of each format: changed, inserted, removed and repeated bytes, and numbers put in place of others.
fn read_mutants(count: usize) {
    for (format, dialect) in FORMATS {
        let sound = write(&sample(dialect), format, None).unwrap();
        let mut random = Random::new(7, 0);
        let mut readable = 0;
        for _ in 0..count {
            let mut bytes = sound.clone();
            for _ in 0..=below(&mut random, 3) {
                let at = below(&mut random, bytes.len() as u64) as usize;
                match below(&mut random, 6) {
                    0 => bytes[at] = below(&mut random, 256) as u8,
                    1 => bytes[at] ^= 1 << below(&mut random, 8),
                    2 => bytes.insert(at, below(&mut random, 256) as u8),
                    3 => drop(bytes.remove(at)),
                    4 => {
                        let huge =
                            [0u32, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0xffff][below(&mut random, 6) as usize];
                        let at = at / 4 * 4;
                        let end = (at + 4).min(bytes.len());
                        bytes[at..end].copy_from_slice(&huge.to_le_bytes()[..end - at]);
                    }
                    _ => {
                        let piece = bytes[at..(at + 40).min(bytes.len())].to_vec();
                        let to = below(&mut random, bytes.len() as u64) as usize;
                        bytes.splice(to..to, piece);
                    }
                }
            }
            if let Ok(parts) = format.read(&bytes) {
                readable += 1;
                let _ = Model::of_parts(&parts, "a mutant");
            }
        }
        assert!(readable > 0 && readable < count, "{format:?}: {readable} of {count} mutants can be read");
    }
}

#[test]
fn mutants_are_errors_and_never_panics() {
    read_mutants(2_000);
}

#[test]
#[ignore = "takes a minute; run by hand with `cargo test --profile quick --lib mutants -- --ignored`"]
fn a_hundred_thousand_mutants_of_each_format_are_errors_and_never_panics() {
    read_mutants(100_000);
}

#[test]
fn features_that_a_program_lacks_are_refused_with_the_reason() {
    let refused = |dialect, format| write(&sample(dialect), format, None).unwrap_err().to_string();
    assert!(refused(Dialect::Wapiti, Format::CrfSuite).contains("label bigrams"));
    assert!(refused(Dialect::Own, Format::Wapiti).contains("#!wapiti"));
    assert!(refused(Dialect::Own, Format::CrfppText).contains("template"));
    assert!(refused(Dialect::Wapiti, Format::CrfppBinary).contains("paddings"));
}
