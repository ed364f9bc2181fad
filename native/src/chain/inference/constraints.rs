//! Constraints: the transitions that a chain allows, and the labels that its sentences may begin and end with.

use crate::chain::inference::label_sets::LabelSets;
use crate::chain::inference::schemes::{self, Pair};
use crate::error::{Error, Result};
use serde_json::Value;

/// Which labels may follow which, begin a sentence and end it.
#[derive(Clone, Debug)]
pub struct Constraints {
    /// What the constraints were made of: a scheme's name or pairs of labels, as in a model's settings.
    pub stated: Value,
    labels: usize,
    /// The pairs that are forbidden.
    pub forbidden: Vec<Pair>,
    /// For each label the labels that may follow it; behind them the labels that a sentence may begin with.
    after: LabelSets,
    /// For each label the labels that it may follow; behind them the labels that a sentence may end with.
    before: LabelSets,
}

impl Constraints {
    /// Constraints that forbid these pairs.
    pub fn new(labels: usize, forbidden: Vec<Pair>) -> Constraints {
        let (mut after, mut before) = (LabelSets::full(labels + 1, labels), LabelSets::full(labels + 1, labels));
        let row = |label: Option<u32>| label.map_or(labels, |label| label as usize);
        for &(from, to) in &forbidden {
            to.iter().for_each(|&to| after.remove(row(from), to as usize));
            from.iter().for_each(|&from| before.remove(row(to), from as usize));
        }
        Constraints { stated: Value::Null, labels, forbidden, after, before }
    }

    /// The constraints that a scheme's name stands for, or a list of pairs of labels, null for the edge of the sentence; None of
    /// null. Error: there is no such scheme or label, or a label does not belong to the scheme.
    pub fn of(stated: &Value, labels: &[String]) -> Result<Option<Constraints>> {
        let wrong = |what: String| Error::Option(format!("constraints: {what}"));
        let number = |label: &Value| {
            let name = match label {
                Value::Null => return Ok(None),
                Value::String(name) => name.clone(),
                Value::Bool(truth) => if *truth { "True" } else { "False" }.into(),
                other => other.to_string(),
            };
            labels.iter().position(|label| *label == name).map(|at| Some(at as u32)).ok_or_else(|| {
                let known: Vec<String> = labels.iter().take(8).map(|label| format!("'{label}'")).collect();
                let more = if labels.len() > 8 { ", ..." } else { "" };
                wrong(format!("there is no label '{name}'; the labels are {}{more}", known.join(", ")))
            })
        };
        let pair = |pair: &Value| match pair.as_array().map(Vec::as_slice) {
            Some([from, to]) if !(from.is_null() && to.is_null()) => Ok((number(from)?, number(to)?)),
            _ => Err(wrong(format!("{pair} is not a pair of labels"))),
        };
        let forbidden = match stated {
            Value::Null => return Ok(None),
            Value::String(scheme) => schemes::forbidden(scheme, labels)?,
            Value::Array(pairs) => pairs.iter().map(pair).collect::<Result<Vec<Pair>>>()?,
            other => return Err(wrong(format!("{other} is neither a scheme nor a list of pairs of labels"))),
        };
        Ok(Some(Constraints { stated: stated.clone(), ..Constraints::new(labels.len(), forbidden) }))
    }

    /// The constraints in a model's settings. Error: they do not fit the labels.
    pub fn in_settings(settings: &str, labels: &[String]) -> Result<Option<Constraints>> {
        let wrong = |what: String| Error::ModelFile(format!("the model's settings: {what}"));
        let settings: Value = serde_json::from_str(settings).map_err(|error| wrong(error.to_string()))?;
        Constraints::of(&settings["constraints"], labels).map_err(|error| wrong(error.to_string()))
    }

    /// Whether a label may follow another.
    pub fn allows(&self, from: usize, to: usize) -> bool {
        self.after.contains(from, to)
    }

    /// The forbidden transitions from label to label.
    pub fn forbidden_transitions(&self) -> impl Iterator<Item = (usize, usize)> {
        self.forbidden.iter().filter_map(|&(from, to)| Some((from? as usize, to? as usize)))
    }

    /// Removes from each token's labels those that are on no allowed labelling of the sentence. Returns whether there is an
    /// allowed labelling.
    pub fn prune(&self, tokens: &mut LabelSets) -> bool {
        let n = tokens.rows();
        if n == 0 {
            return true;
        }
        tokens.intersect(0, &self.after, self.labels);
        for token in 1..n {
            tokens.keep_reached(token, token - 1, &self.after);
        }
        tokens.intersect(n - 1, &self.before, self.labels);
        for token in (0..n - 1).rev() {
            tokens.keep_reached(token, token + 1, &self.before);
        }
        (0..n).all(|token| !tokens.is_empty(token))
    }

    /// The place of the first mistake in a labelling: the number of the token whose label may not follow the label before it, or
    /// may not begin the sentence; the number of tokens if the last label may not end it.
    pub fn first_mistake(&self, labels: &[u32]) -> Option<usize> {
        let mut before = self.labels;
        for (token, &label) in labels.iter().enumerate() {
            if !self.after.contains(before, label as usize) {
                return Some(token);
            }
            before = label as usize;
        }
        (!labels.is_empty() && !self.before.contains(self.labels, before)).then_some(labels.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_name_labels_of_every_type_as_python_does() {
        let labels = ["True".to_string(), "3".to_string()];
        let found = Constraints::in_settings(r#"{"constraints": [[true, 3], [null, "True"]]}"#, &labels).unwrap();
        assert_eq!(found.unwrap().forbidden, [(Some(0), Some(1)), (None, Some(0))]);
        for none in ["{}", r#"{"constraints": null}"#] {
            assert!(Constraints::in_settings(none, &labels).unwrap().is_none());
        }
        for wrong in [r#"[[true, "x"]]"#, r#"[["True"]]"#, "[[null, null]]", "{}", r#""BIO""#, "3"] {
            assert!(Constraints::in_settings(&format!(r#"{{"constraints": {wrong}}}"#), &labels).is_err(), "{wrong}");
        }
    }
}
