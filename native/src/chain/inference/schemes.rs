//! Tagging schemes as constraints: the pairs of labels that a scheme forbids.
//!
//! `src/loglinear/constraints.py` has the same rules, for Python; a test compares the two.

use crate::chain::inference::{Constraints, Pair};
use crate::error::{Error, Result};
use serde_json::Value;

/// What a label says of a chunk, and the chunk's type; None stands for the edge of the sentence.
type Tag<'a> = Option<(Role, &'a str)>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Outside,
    Begin,
    Inside,
    End,
    Single,
}

/// The role and the type of a label; None if the label belongs to no scheme.
fn parsed(label: &str) -> Option<(Role, &str)> {
    if label == "O" {
        return Some((Role::Outside, ""));
    }
    let (tag, kind) = label.split_once('-').unwrap_or((label, ""));
    let role = match tag {
        "B" => Role::Begin,
        "I" | "M" | "B2" | "B3" => Role::Inside,
        "E" | "L" => Role::End,
        "S" | "U" => Role::Single,
        _ => return None,
    };
    Some((role, kind))
}

/// Whether a chunk that is open behind `before` may go on in `after`.
fn goes_on(before: Tag<'_>, after: Tag<'_>) -> bool {
    match (before, after) {
        (Some((Role::Begin | Role::Inside, open)), Some((_, kind))) => open == kind,
        _ => false,
    }
}

/// Whether a scheme lets a label follow another.
fn is_allowed(scheme: &str, before: Tag<'_>, after: Tag<'_>) -> bool {
    let role = after.map(|(role, _)| role);
    match scheme {
        // I stands behind B or I of its type alone.
        "BIO" => role != Some(Role::Inside) || goes_on(before, after),
        // B stands behind a chunk of its type alone.
        "IOB1" => role != Some(Role::Begin) || goes_on(before, after),
        // A chunk that has begun and not ended goes on, and no other.
        _ => {
            let is_open = matches!(before, Some((Role::Begin | Role::Inside, _)));
            let continues = matches!(role, Some(Role::Inside | Role::End));
            is_open == continues && (!is_open || goes_on(before, after))
        }
    }
}

/// The constraints of a scheme: BIO, IOB1, IOBES, BILOU or BMES. Error: there is no such scheme, or a label does not belong to it.
pub fn constraints_of(scheme: &str, labels: &[String]) -> Result<Constraints> {
    if !["BIO", "IOB1", "IOBES", "BILOU", "BMES"].contains(&scheme) {
        return Err(Error::Option(format!("there is no tagging scheme {scheme:?}")));
    }
    let mut tags: Vec<(Option<u32>, Tag<'_>)> = vec![(None, None)];
    for (label, number) in labels.iter().zip(0..) {
        let tag = parsed(label);
        if tag.is_none() {
            return Err(Error::Option(format!("label {label:?} does not belong to the scheme {scheme}")));
        }
        tags.push((Some(number), tag));
    }
    let mut forbidden: Vec<Pair> = Vec::new();
    for &(from, before) in &tags {
        for &(to, after) in &tags {
            if (from, to) != (None, None) && !is_allowed(scheme, before, after) {
                forbidden.push((from, to));
            }
        }
    }
    Ok(Constraints::new(labels.len(), forbidden))
}

/// The constraints in a model's settings: a scheme's name, or pairs of labels, null for the edge of the sentence. Error: they do
/// not fit the labels.
pub fn constraints_in(settings: &str, labels: &[String]) -> Result<Option<Constraints>> {
    let wrong = |what: &str| Error::ModelFile(format!("the model's constraints: {what}"));
    let settings: Value = serde_json::from_str(settings).map_err(|error| wrong(&error.to_string()))?;
    let number = |label: &Value| -> Result<Option<u32>> {
        let name = match label {
            Value::Null => return Ok(None),
            Value::String(name) => name.clone(),
            other => other.to_string(),
        };
        let found = labels.iter().position(|label| *label == name);
        found.map(|at| Some(at as u32)).ok_or_else(|| wrong(&format!("there is no label {name:?}")))
    };
    match settings.get("constraints") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(scheme)) => constraints_of(scheme, labels).map(Some),
        Some(Value::Array(pairs)) => {
            let mut forbidden: Vec<Pair> = Vec::with_capacity(pairs.len());
            for pair in pairs {
                match pair.as_array().map(Vec::as_slice) {
                    Some([from, to]) => forbidden.push((number(from)?, number(to)?)),
                    _ => return Err(wrong("not pairs of labels")),
                }
            }
            Ok(Some(Constraints::new(labels.len(), forbidden)))
        }
        Some(_) => Err(wrong("neither a scheme nor pairs of labels")),
    }
}
