//! Small sound inputs of every reader.

use crate::chain::model::{KeptByAttribute, Model, Parts};
use crate::files::compression;
use crate::foreign::{self, Format};
use crate::network::file::NetworkFile;
use crate::text::crfsuite;
use crate::text::dialect::Dialect;
use crate::text::lexicon;

/// A template with every macro, for columns of two cells and a label.
pub const TEMPLATE: &str = "C end=%m[0,0,\"..$\"]\nU0:%x[-2,0]/%X[1,1]\nU1:%t[0,0,\"^\\u\"]%T[0,1,\"N\"]\nU2:%m[0,0,\"\\d+\"]%M[0,0,\".\"]\n\
    U3:%shape[0,0] %normal[@1,0]\nU4:%substrings[0,0,3]\nU5:%drop[0,0,\"a\"]%DROP[@-1,0,\"b\"]\nU6:%length[0,0]%x[0,end]\nB7:%x[0,1]\n*8\nB\n";

/// Texts as bytes.
pub fn texts(all: &[&str]) -> Vec<Vec<u8>> {
    all.iter().map(|text| text.as_bytes().to_vec()).collect()
}

pub fn compressed() -> Vec<Vec<u8>> {
    let packed = |kind: &compression::Kind| {
        let mut bytes = Vec::new();
        kind.compression.write(&mut bytes, crfsuite::SEEDS[0].as_bytes()).expect("memory");
        bytes
    };
    compression::KINDS.iter().map(packed).collect()
}

/// A template with a lexicon, which it looks up exactly and in lower case, in cells and in a column of its own.
pub fn with_lexicon() -> String {
    let source = lexicon::Source { name: "seed", text: b"the dog\nThe\tX\nthe dog runs\tY\n", comments: true };
    let line = |folded| lexicon::line_of("l", &source, folded).expect("a sound lexicon").0;
    let lines = "C a=%in[0,0,\"l\"]\nC b=%X[0,0]\nU0:%x[-1,a]/%IN[1,0,\"l\"]\nlow:%IN[0,b,\"l\"]\nB";
    format!("{lines}\n{}\n{}\n", line(false), line(true))
}

pub fn templates() -> Vec<Vec<u8>> {
    let mut all = texts(&[
        TEMPLATE,
        "#!crf++\n# words\nU00:%x[-2,0]\nU01:%x[0,0]/%x[0,1]\nB\n",
        "#!wapiti\nu:%x[0,0]\n*:%t[0,0,\"^\\u*\"]\nb:%M[1,1,\"N.?\"]\n",
        "U:%x[0,0]\nT\n",
        "C a=%x[0,0]%X[0,1]\nC b=%x[0,a]%shape[0,a]-\nC c=%drop[0,b,\"e\"]%x[0,b]%x[0,a]\nU:%x[-1,c]%x[0,c]\nU1:%substrings[0,c,9]/%x[0,b]\n",
    ]);
    all.push(with_lexicon().into_bytes());
    all
}

/// A model with state features, transitions and, with a template, bigram attributes.
pub fn sample(dialect: Dialect) -> Model {
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
    Model::of_parts(&parts, "sample").expect("a sound model")
}

pub fn models() -> Vec<Vec<u8>> {
    let mut second = Parts { labels: ["A", "B"].map(String::from).to_vec(), ..Parts::default() };
    second.triples = (vec![[0, 1, 0]], vec![0.5]);
    second.intercept = Some("bias".into());
    second.states.push(b"bias", (vec![1], vec![2.0]));
    let second = Model::of_parts(&second, "second").expect("a sound model");
    let mut looks_up = Parts { labels: ["A", "B"].map(String::from).to_vec(), ..Parts::default() };
    looks_up.template = Some(with_lexicon());
    looks_up.states.push(b"low:B-Y", (vec![1], vec![2.0]));
    let looks_up = Model::of_parts(&looks_up, "with a lexicon").expect("a sound model");
    let all = [sample(Dialect::Own), sample(Dialect::Wapiti), second, looks_up];
    all.iter().map(|model| model.bytes().to_vec()).collect()
}

pub fn foreign_models(format: Format) -> Vec<Vec<u8>> {
    let dialect = match format {
        Format::CrfSuite => Dialect::Own,
        Format::Wapiti => Dialect::Wapiti,
        _ => Dialect::Crfpp,
    };
    vec![foreign::write(&sample(dialect), format, None).expect("a model that the format has")]
}

pub fn crfpp_models() -> Vec<Vec<u8>> {
    [Format::CrfppBinary, Format::CrfppText].into_iter().flat_map(foreign_models).collect()
}

pub fn networks() -> Vec<Vec<u8>> {
    let file = NetworkFile {
        settings: r#"{"model": "network", "categories": [[0, 1], ["a", "b"], [0, 1]]}"#.into(),
        edges: vec![0, 1, 1, 2],
        node_weights: vec![0.0, 0.5, 0.0, -1.0, 0.0, 2.0],
        edge_weights: vec![1.5; 8],
    };
    vec![file.bytes().expect("a sound network").to_vec()]
}
