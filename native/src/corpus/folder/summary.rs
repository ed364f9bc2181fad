//! The file that describes the arrays of a corpus on disk: JSON, followed by a line with its checksum.

use crate::corpus::FIRST_SET;
use crate::corpus::array::{ARRAYS, Array};
use crate::corpus::folder::layout::{BLOCK, SUMMARY, VERSION};
use crate::corpus::labels::{first_repeated, sets_are_sound};
use crate::error::{Error, Result};
use crate::files::atomic::write_atomically;
use crate::files::opening::open_regular;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// An array's file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stored {
    pub file: String,
    /// Bytes that count.
    pub bytes: usize,
    /// Checksums of the blocks, XXH3.
    pub sums: Vec<u64>,
}

/// The content of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Summary {
    /// Label -> its name, and on how many tokens it is the only one.
    pub labels: Vec<(String, u64)>,
    pub label_sets: Vec<Vec<u32>>,
    pub label_shares: Vec<Vec<f64>>,
    pub transitions: bool,
    pub triples: bool,
    pub labelled: bool,
    /// The caller's settings: JSON.
    pub settings: Value,
    pub arrays: BTreeMap<Array, Stored>,
}

impl Summary {
    /// The numbers of an array.
    pub fn count(&self, array: Array) -> usize {
        self.arrays.get(&array).map_or(0, |stored| stored.bytes / array.row().1)
    }

    /// A checksum of the corpus: of the names of its labels, and of the checksums of all blocks.
    pub fn checksum(&self) -> String {
        let mut text = json!([self.labels, self.label_sets, self.transitions, self.triples]).to_string();
        if !self.label_shares.is_empty() {
            text += &json!(self.share_bits()).to_string();
        }
        for (array, stored) in &self.arrays {
            text += &format!("{array:?} {} {:x?}", stored.bytes, stored.sums);
        }
        format!("{:032x}", xxhash_rust::xxh3::xxh3_128(text.as_bytes()))
    }

    /// The bits of the probabilities, which JSON keeps to the last one.
    fn share_bits(&self) -> Vec<Vec<u64>> {
        self.label_shares.iter().map(|shares| shares.iter().map(|share| share.to_bits()).collect()).collect()
    }

    fn to_json(&self) -> Value {
        let arrays: Map<String, Value> = self
            .arrays
            .iter()
            .map(|(array, Stored { file, bytes, sums })| {
                let sums: Vec<String> = sums.iter().map(|sum| format!("{sum:016x}")).collect();
                (array.row().0.to_owned(), json!({"file": file, "bytes": bytes, "xxh3": sums}))
            })
            .collect();
        json!({
            "format": "loglinear corpus",
            "version": VERSION,
            "block": BLOCK,
            "n_sentences": self.count(Array::SentenceEnds),
            "n_tokens": self.count(Array::StateEnds),
            "n_entries": self.count(Array::StateIds),
            "n_attributes": self.count(Array::AttributeKeys),
            "labelled": self.labelled,
            "transitions": self.transitions,
            "triples": self.triples,
            "labels": self.labels,
            "label_sets": self.label_sets,
            "label_shares": self.share_bits(),
            "settings": self.settings,
            "arrays": arrays,
        })
    }

    /// Writes the file, whole or not at all.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(&self.to_json()).expect("strings and numbers") + "\n";
        let sum = xxh3_64(text.as_bytes());
        write_atomically(&folder.join(SUMMARY), |out| {
            out.write_all(text.as_bytes())?;
            writeln!(out, "{sum:016x}")
        })
    }

    /// Reads the file. Errors: it is damaged, or of another version.
    pub fn read(folder: &Path) -> Result<Summary> {
        let path = folder.join(SUMMARY);
        let mut bytes = Vec::new();
        open_regular(&path)?.read_to_end(&mut bytes).map_err(|source| Error::io(&path, source))?;
        Summary::parse(&bytes, &path)
    }

    /// The summary that is the content of a file.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Summary> {
        let damaged = |what: &str| damaged(path, what);
        let text = std::str::from_utf8(bytes).map_err(|_| damaged("the file is damaged"))?;
        let end = text.trim_end_matches('\n').rfind('\n').map_or(0, |at| at + 1);
        let (content, sum) = text.split_at(end);
        if !sum.ends_with('\n') || u64::from_str_radix(sum.trim(), 16).ok() != Some(xxh3_64(content.as_bytes())) {
            return Err(damaged("its checksum is wrong: the file is damaged or was cut short"));
        }
        let json: Value = serde_json::from_str(content).map_err(|_| damaged("the file is damaged"))?;
        if json["format"] != "loglinear corpus" {
            return Err(damaged("not a loglinear corpus"));
        }
        if json["version"] != VERSION || json["block"] != BLOCK {
            let version = &json["version"];
            return Err(damaged(&format!("corpus version {version}; this program reads version {VERSION}")));
        }
        let summary = Summary::of_json(&json).ok_or_else(|| damaged("a field is missing or has the wrong type"))?;
        summary.mistake().map_or(Ok(summary), |what| Err(damaged(what)))
    }

    /// What contradicts itself in the summary; None if nothing does.
    fn mistake(&self) -> Option<&'static str> {
        let n_tokens = self.count(Array::StateEnds);
        let fits = |array, expected| [0, expected].contains(&self.count(array));
        let sizes_fit = fits(Array::Values, self.count(Array::StateIds))
            && fits(Array::Weights, self.count(Array::SentenceEnds))
            && fits(Array::Costs, n_tokens)
            && fits(Array::BigramEnds, n_tokens)
            && (self.count(Array::BigramIds) == 0 || self.count(Array::BigramEnds) == n_tokens)
            && self.count(Array::Gold) == if self.labelled { n_tokens } else { 0 }
            && self.count(Array::AttributeEnds) == self.count(Array::AttributeKeys);
        if !sizes_fit {
            return Some("the sizes of its arrays do not match");
        }
        let labelled = self.labels.iter().try_fold(0u64, |sum, &(_, count)| sum.checked_add(count));
        if first_repeated(self.labels.iter().map(|(name, _)| name)).is_some() {
            return Some("two labels have the same name");
        }
        if self.labels.len() > FIRST_SET as usize {
            return Some("it has too many labels");
        }
        if labelled.is_none_or(|count| count > n_tokens as u64) {
            return Some("its labels have more tokens than the corpus");
        }
        let is_sound = sets_are_sound(&self.label_sets, &self.label_shares, self.labels.len());
        (!is_sound).then_some("its sets of labels are inconsistent")
    }

    fn of_json(json: &Value) -> Option<Summary> {
        let list = |value: &Value| value.as_array().cloned();
        let label = |pair: &Value| Some((pair[0].as_str()?.to_owned(), pair[1].as_u64()?));
        let numbers = |set: &Value| list(set)?.iter().map(|label| u32::try_from(label.as_u64()?).ok()).collect();
        let mut arrays = BTreeMap::new();
        for (array, name, width) in ARRAYS {
            let Some(stored) = json["arrays"].get(name) else { continue };
            let sum = |text: &Value| u64::from_str_radix(text.as_str()?, 16).ok();
            let stored = Stored {
                file: stored["file"].as_str()?.to_owned(),
                bytes: usize::try_from(stored["bytes"].as_u64()?).ok()?,
                sums: list(&stored["xxh3"])?.iter().map(sum).collect::<Option<_>>()?,
            };
            if !is_file_of(name, &stored.file)
                || !stored.bytes.is_multiple_of(width)
                || stored.sums.len() != stored.bytes.div_ceil(BLOCK)
            {
                return None;
            }
            arrays.insert(array, stored);
        }
        Some(Summary {
            labels: list(&json["labels"])?.iter().map(label).collect::<Option<_>>()?,
            label_sets: list(&json["label_sets"])?.iter().map(numbers).collect::<Option<_>>()?,
            // Corpora without soft labels may lack them.
            label_shares: list(json.get("label_shares").unwrap_or(&json!([])))?
                .iter()
                .map(|set| list(set)?.iter().map(|bits| Some(f64::from_bits(bits.as_u64()?))).collect())
                .collect::<Option<_>>()?,
            transitions: json["transitions"].as_bool()?,
            triples: json["triples"].as_bool()?,
            labelled: json["labelled"].as_bool()?,
            settings: json["settings"].clone(),
            arrays,
        })
    }
}

/// Whether a file of this name may hold the array with the usual name `name`: renumbered labels get a new file, `gold-2.u32`.
fn is_file_of(name: &str, file: &str) -> bool {
    let number = file.strip_prefix("gold-").and_then(|file| file.strip_suffix(".u32"));
    let is_renumbered = number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    file == name || (name == Array::Gold.row().0 && is_renumbered)
}

/// The error for a file of a corpus that has changed since it was written.
pub(super) fn damaged(path: &Path, what: &str) -> Error {
    Error::Data(format!("{}: {what}; encode the corpus again", path.display()))
}
