//! Dictionaries for the attributes of a model, compared: times of the look-ups that tagging makes, of known and unknown attributes.
//!
//!     LOGLINEAR_DATA=... cargo bench --bench dictionary
//!
//! - The model file's open-addressing table of 64-bit hashes, with the hash given (as templates give it), and with the hash
//!   computed from the string.
//! - A minimal perfect hash over the same hashes (`boomphf`), which are kept to recognise unknown attributes.
//! - A finite-state transducer over the strings (`fst`).
//!
//! Times are nanoseconds a look-up, the median of seven rounds.

use loglinear::corpus::Corpus;
use loglinear::corpus::hash::key_of;
use loglinear::text::encode::encode;
use loglinear::text::format::{Format, Reading};
use loglinear::text::input::Source;
use loglinear::text::labels::Labels;
use loglinear::text::template::Template;
use loglinear::threads::Interrupt;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

const TEMPLATE: &str = include_str!("../../src/loglinear/data/presets/chunking.txt");

/// A file of CoNLL-2000, encoded by the preset for chunking.
fn read(name: &str) -> Corpus {
    let folder = std::env::var("LOGLINEAR_DATA").expect("LOGLINEAR_DATA names the folder of the data");
    let source = Source::open(Path::new(&format!("{folder}/conll2000/{name}.txt"))).expect("the data is there");
    let template = Template::parse(TEMPLATE).expect("the preset is sound");
    let reading = Reading::new(Format::Columns, Some(&template), Labels::Whole).expect("columns take a template");
    encode(source, reading, &Interrupt::default()).expect("the data is sound")
}

/// Median nanoseconds a look-up, and the number of attributes found.
fn measure(queries: usize, mut round: impl FnMut() -> usize) -> (f64, usize) {
    let mut nanoseconds: Vec<f64> = (0..7)
        .map(|_| {
            let start = Instant::now();
            black_box(round());
            start.elapsed().as_nanos() as f64 / queries as f64
        })
        .collect();
    nanoseconds.sort_by(f64::total_cmp);
    (nanoseconds[3], round())
}

fn main() {
    let (train, test) = (read("train"), read("test"));
    // A model trained with L1 keeps about one attribute in twenty; a model trained with L2 keeps them all.
    for (what, keep) in [("every 20th attribute", 20), ("all attributes", 1)] {
        let mut names: Vec<Vec<u8>> =
            (0..train.attributes.len() as u32).step_by(keep).map(|id| train.attributes.text(id).to_vec()).collect();
        names.sort_unstable();
        let keys: Vec<u64> = names.iter().map(|name| key_of(name)).collect();
        let queries: Vec<&[u8]> = test.states.ids.iter().map(|&id| test.attributes.text(id)).collect();
        let query_keys: Vec<u64> = test.states.ids.iter().map(|&id| test.attributes.key(id)).collect();
        let n = queries.len();

        let capacity = (keys.len() * 3 / 2 + 1).next_power_of_two();
        let mut slots = vec![[0u64; 2]; capacity];
        for (value, &key) in keys.iter().enumerate() {
            let mut slot = key as usize & (capacity - 1);
            while slots[slot][0] != 0 {
                slot = (slot + 1) & (capacity - 1);
            }
            slots[slot] = [key, value as u64];
        }
        let find = |key: u64| {
            let mut slot = key as usize & (capacity - 1);
            loop {
                let [found, value] = slots[slot];
                if found == key || found == 0 {
                    return (found == key).then_some(value);
                }
                slot = (slot + 1) & (capacity - 1);
            }
        };
        let perfect = boomphf::Mphf::new(1.7, &keys);
        let mut by_hash = vec![0u64; keys.len()];
        keys.iter().for_each(|key| by_hash[perfect.hash(key) as usize] = *key);
        let mut builder = fst::MapBuilder::memory();
        for (value, name) in names.iter().enumerate() {
            builder.insert(name, value as u64).expect("names are sorted and distinct");
        }
        let transducer = fst::Map::new(builder.into_inner().expect("in memory")).expect("just built");

        println!("{what}: {} in the dictionary, {n} look-ups", keys.len());
        let rows: [(&str, usize, (f64, usize)); 4] = [
            (
                "open addressing, hash at hand",
                capacity * 16,
                measure(n, || query_keys.iter().filter(|&&key| find(key).is_some()).count()),
            ),
            (
                "open addressing, hashing the string",
                capacity * 16,
                measure(n, || queries.iter().filter(|name| find(key_of(name)).is_some()).count()),
            ),
            (
                "minimal perfect hash, hash at hand",
                keys.len() * 16 + keys.len() / 2,
                measure(n, || {
                    let known = |key: &&u64| perfect.try_hash(*key).is_some_and(|at| by_hash[at as usize] == **key);
                    query_keys.iter().filter(known).count()
                }),
            ),
            (
                "finite-state transducer",
                transducer.as_fst().size(),
                measure(n, || queries.iter().filter(|name| transducer.get(name).is_some()).count()),
            ),
        ];
        for (name, bytes, (nanoseconds, found)) in rows {
            println!("  {name:<36} {nanoseconds:7.1} ns  {:6.2} MB  {found} found", bytes as f64 / 1e6);
        }
    }
}
