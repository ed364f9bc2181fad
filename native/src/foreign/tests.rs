use super::*;
use crate::fuzzing::seeds::sample;
use crate::text::dialect::Dialect;

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

#[test]
fn features_that_a_program_lacks_are_refused_with_the_reason() {
    let refused = |dialect, format| write(&sample(dialect), format, None).unwrap_err().to_string();
    assert!(refused(Dialect::Wapiti, Format::CrfSuite).contains("bigram attributes"));
    assert!(refused(Dialect::Own, Format::Wapiti).contains("#!wapiti"));
    assert!(refused(Dialect::Own, Format::CrfppText).contains("template"));
    assert!(refused(Dialect::Wapiti, Format::CrfppBinary).contains("pad differently"));
}
