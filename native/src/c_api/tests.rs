//! The C functions, called as C calls them.

use super::*;
use crate::chain::features::source::Source as Trained;
use crate::chain::features::{Features, Selection};
use crate::chain::model::Model;
use crate::corpus::Corpus;
use crate::text::encode::encode;
use crate::text::format::{Format, Reading};
use crate::text::input::Source;
use crate::text::labels::Labels;
use crate::text::template::Template;
use crate::threads::Interrupt;
use std::ffi::CString;
use std::mem::MaybeUninit;
use std::path::PathBuf;

const TEXT: &str = "the D\ndog N\nbarks V\n\na D\ncat N\n";
const TEMPLATE: &str = "U0:%x[0,0]\nB\n";

/// Writes a model with a weight of 1 for every feature that the text has.
fn saved(folder: &Path, settings: &str, template: Option<&str>) -> CString {
    let parsed = Template::parse(TEMPLATE).unwrap();
    let source = Source::of_bytes("text", TEXT.into()).unwrap();
    let reading = Reading::new(Format::Columns, Some(&parsed), Labels::Whole).unwrap();
    let corpus: Corpus = encode(source, reading, &Interrupt::default()).unwrap();
    let features = Features::new(&corpus, Selection::seen(1)).unwrap();
    let (attributes, labels) = (&*corpus.attributes, &corpus.labels[..]);
    let w = vec![1.0; features.len()];
    let settings = settings.to_owned();
    let trained = Trained { features: &features, attributes, labels, settings, template, intercept: None };
    let path = folder.join(format!("{}.loglinear", template.map_or("plain", |_| "template")));
    Model::new(trained, &w).unwrap().save(&path).unwrap();
    c_path(&path)
}

fn c_path(path: &Path) -> CString {
    CString::new(path.to_str().unwrap()).unwrap()
}

fn message() -> String {
    // SAFETY: the message stays until the next call on this thread. Test: the tests below.
    unsafe { CStr::from_ptr(loglinear_last_error()) }.to_str().unwrap().into()
}

fn open(path: &CStr) -> *mut OpenModel {
    let mut model = ptr::null_mut();
    // SAFETY: a string and a place to write to. Test: the tests below.
    assert_eq!(unsafe { loglinear_open(path.as_ptr(), &mut model) }, Status::Ok, "{}", message());
    assert!(!model.is_null());
    model
}

fn label_names(model: *const OpenModel) -> Vec<String> {
    let (mut n, mut name) = (0, ptr::null());
    // SAFETY: an open model, and places to write to. Test: the tests below.
    unsafe {
        assert_eq!(loglinear_n_labels(model, &mut n), Status::Ok);
        let mut all = Vec::new();
        for label in 0..n {
            assert_eq!(loglinear_label_name(model, label as u32, &mut name), Status::Ok);
            all.push(CStr::from_ptr(name).to_str().unwrap().to_owned());
        }
        all
    }
}

/// The text that the library returns.
fn labelled(model: *const OpenModel, text: &str) -> String {
    let (mut out, mut length) = (ptr::null_mut(), 0);
    // SAFETY: an open model, a text of the length given, and places to write to. Test: the tests below.
    unsafe {
        let status = loglinear_label_text(model, text.as_ptr().cast(), text.len(), &mut out, &mut length);
        assert_eq!(status, Status::Ok, "{}", message());
        let output = CStr::from_ptr(out).to_str().unwrap().to_owned();
        assert_eq!(output.len(), length);
        loglinear_free_text(out);
        output
    }
}

#[test]
fn a_model_is_opened_and_labels_sequences_and_texts() {
    let folder = tempfile::tempdir().unwrap();
    let model = open(&saved(folder.path(), "{}", Some(TEMPLATE)));
    let names = label_names(model);
    assert_eq!(labelled(model, "a \ndog\n\n \nthe\n"), "a\tD\ndog\tN\n\nthe\tD\n\n");
    assert_eq!(labelled(model, ""), "");
    let attributes = [c"U0:the", c"U0:cat"].map(|name| Attribute { name: name.as_ptr(), value: 1.0 });
    let item = |attribute| Item { attributes: attribute, n_attributes: 1 };
    let items = [item(&attributes[0]), item(&attributes[1]), Item { attributes: ptr::null(), n_attributes: 0 }];
    let mut labels = [MaybeUninit::<u32>::uninit(); 3];
    let mut marginals = vec![f64::NAN; 3 * names.len()];
    // SAFETY: an open model, and arrays as long as said. Test: this one.
    let label_names = unsafe {
        let (labels, n) = (labels.as_mut_ptr().cast::<u32>(), items.len());
        assert_eq!(loglinear_label_sequence(model, items.as_ptr(), n, labels, marginals.as_mut_ptr()), Status::Ok);
        slice::from_raw_parts(labels, n).iter().map(|&label| names[label as usize].as_str()).collect::<Vec<_>>()
    };
    assert_eq!(label_names, ["D", "N", "V"]);
    for row in marginals.chunks_exact(names.len()) {
        assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
    // SAFETY: the model is open, and nobody uses it after this. Test: this one.
    unsafe { loglinear_free(model) };
    let plain = open(&saved(folder.path(), "{}", None));
    assert_eq!(labelled(plain, "?\tU0\\:the\n?\tU0\\:dog\tother:2.5\n"), "D\nN\n\n");
    // SAFETY: as above. Test: this one.
    unsafe { loglinear_free(plain) };
}

#[test]
fn constraints_in_the_settings_hold() {
    let folder = tempfile::tempdir().unwrap();
    let model = open(&saved(folder.path(), r#"{"constraints": [["D", "N"], [null, "N"]]}"#, Some(TEMPLATE)));
    assert!(!labelled(model, "the\ndog\n").contains("\tN"));
    assert!(!labelled(model, "dog\n").contains("\tN"));
    assert!(labelled(model, "barks\ndog\n").ends_with("dog\tN\n\n"));
    // SAFETY: the model is open, and nobody uses it after this. Test: this one.
    unsafe { loglinear_free(model) };
    let wrong = [r#"{"constraints": "BIO"}"#, r#"{"constraints": [["X", "N"]]}"#, r#"{"constraints": 3}"#, "no JSON"];
    for settings in wrong.into_iter().chain([r#"{"model": "choice"}"#]) {
        let path = saved(folder.path(), settings, Some(TEMPLATE));
        let mut model = ptr::dangling_mut();
        // SAFETY: a string and a place to write to. Test: this one.
        assert_ne!(unsafe { loglinear_open(path.as_ptr(), &mut model) }, Status::Ok);
        assert!(model.is_null());
    }
}

#[test]
fn every_call_checks_its_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let path = saved(folder.path(), "{}", Some(TEMPLATE));
    let damaged: PathBuf = folder.path().join("damaged");
    std::fs::write(&damaged, b"no model at all").unwrap();
    let model = open(&path);
    let (mut opened, mut n, mut name) = (ptr::null_mut(), 0, ptr::null());
    let (mut out, mut label) = (ptr::null_mut(), 0u32);
    let missing = c_path(&folder.path().join("missing"));
    let item = Item { attributes: ptr::null(), n_attributes: 2 };
    let nameless = [Attribute { name: ptr::null(), value: 1.0 }];
    let infinite = [Attribute { name: c"a".as_ptr(), value: f64::INFINITY }];
    let of = |attributes: &[Attribute; 1]| Item { attributes: attributes.as_ptr(), n_attributes: 1 };
    let (nameless, infinite) = (of(&nameless), of(&infinite));
    let (null, none) = (ptr::null::<OpenModel>(), ptr::null_mut());
    let text = c"\xff\n".as_ptr();
    let check = |status: Status, expected, named: &str| {
        assert_eq!(status, expected, "{named}: {}", message());
        assert!(message().contains(named), "{named}: {}", message());
    };
    // SAFETY: pointers are NULL or good. Test: this one.
    unsafe {
        check(loglinear_open(ptr::null(), &mut opened), Status::Misuse, "path");
        check(loglinear_open(path.as_ptr(), ptr::null_mut()), Status::Misuse, "model");
        check(loglinear_open(missing.as_ptr(), &mut opened), Status::Io, "missing");
        check(loglinear_open(c_path(&damaged).as_ptr(), &mut opened), Status::Model, "damaged");
        check(loglinear_n_labels(null, &mut n), Status::Misuse, "model");
        check(loglinear_n_labels(model, ptr::null_mut()), Status::Misuse, "n_labels");
        check(loglinear_label_name(null, 0, &mut name), Status::Misuse, "model");
        check(loglinear_label_name(model, 3, &mut name), Status::Misuse, "label 3 does not exist");
        check(loglinear_label_name(model, 0, ptr::null_mut()), Status::Misuse, "name");
        check(loglinear_label_text(null, text, 2, &mut out, none), Status::Misuse, "model");
        check(loglinear_label_text(model, ptr::null(), 2, &mut out, none), Status::Misuse, "text");
        check(loglinear_label_text(model, text, usize::MAX, &mut out, none), Status::Misuse, "is too large");
        check(loglinear_label_text(model, text, 2, ptr::null_mut(), none), Status::Misuse, "labelled");
        check(loglinear_label_text(model, text, 2, &mut out, none), Status::Data, "the text, line 1");
        check(loglinear_label_sequence(null, &item, 1, &mut label, ptr::null_mut()), Status::Misuse, "model");
        check(loglinear_label_sequence(model, ptr::null(), 1, &mut label, ptr::null_mut()), Status::Misuse, "items");
        check(loglinear_label_sequence(model, &item, 1, &mut label, ptr::null_mut()), Status::Misuse, "attributes");
        check(loglinear_label_sequence(model, &nameless, 1, &mut label, ptr::null_mut()), Status::Misuse, "name");
        check(loglinear_label_sequence(model, &infinite, 1, &mut label, ptr::null_mut()), Status::Data, "value inf");
        check(
            loglinear_label_sequence(model, &infinite, 1, ptr::null_mut(), ptr::null_mut()),
            Status::Misuse,
            "labels",
        );
        check(loglinear_label_sequence(model, ptr::null(), 0, ptr::null_mut(), ptr::null_mut()), Status::Ok, "");
    }
    assert!(opened.is_null() && out.is_null());
    // SAFETY: pointers are NULL or good. Test: this one.
    unsafe {
        loglinear_free(ptr::null_mut());
        loglinear_free_text(ptr::null_mut());
        loglinear_free(model);
    }
}

#[test]
fn a_failure_says_what_is_wrong() {
    // SAFETY: pointers are NULL or good. Test: this one.
    unsafe {
        assert_eq!(loglinear_open(c"/nowhere/at/all".as_ptr(), ptr::null_mut()), Status::Misuse);
        assert_eq!(message(), "the argument `model` is NULL");
        let mut model = ptr::null_mut();
        assert_eq!(loglinear_open(c"/nowhere/at/all".as_ptr(), &mut model), Status::Io);
        assert!(message().starts_with("/nowhere/at/all: "), "{}", message());
        assert_eq!(CStr::from_ptr(loglinear_version()).to_str().unwrap(), env!("CARGO_PKG_VERSION"));
    }
}
