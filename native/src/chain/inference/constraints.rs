//! The option `constraints`: a tagging scheme, or pairs of labels that may not follow each other.

use crate::chain::inference::allowed::Allowed;
use crate::chain::inference::schemes::{self, Pair};
use crate::error::{Error, Result};
use serde_json::Value;
use std::sync::Arc;

/// What is allowed by a scheme's name, or by a list of pairs of labels that is forbidden, null for the edge of the sentence; None
/// of null. Error: the scheme or a label does not exist, or a label does not belong to the scheme.
pub fn allowed(stated: &Value, labels: &[String]) -> Result<Option<Arc<Allowed>>> {
    let wrong = |what: String| Error::Option(format!("constraints: {what}"));
    let number = |label: &Value| {
        let name = match label {
            Value::Null => return Ok(None),
            Value::String(name) => name.clone(),
            Value::Bool(truth) => if *truth { "True" } else { "False" }.into(),
            other => other.to_string(),
        };
        labels.iter().position(|label| *label == name).map(|at| Some(at as u32)).ok_or_else(|| {
            let names: Vec<String> = labels.iter().take(8).map(|label| format!("'{label}'")).collect();
            let more = if labels.len() > 8 { ", ..." } else { "" };
            wrong(format!("unknown label '{name}'; the labels are {}{more}", names.join(", ")))
        })
    };
    let pair = |pair: &Value| match pair.as_array().map(Vec::as_slice) {
        Some([from, to]) if !(from.is_null() && to.is_null()) => Ok((number(from)?, number(to)?)),
        _ => Err(wrong(format!("{pair} is not a pair of labels"))),
    };
    let forbidden = match stated {
        Value::Null => return Ok(None),
        Value::String(scheme) => schemes::forbidden(scheme, labels)
            .map_err(|what| Error::Option(format!("constraints='{scheme}': {what}")))?,
        Value::Array(pairs) => pairs.iter().map(pair).collect::<Result<Vec<Pair>>>()?,
        other => return Err(wrong(format!("{other} is neither a scheme nor a list of pairs of labels"))),
    };
    Ok(Some(Arc::new(Allowed::new(labels.len(), forbidden, stated.clone()))))
}

/// What the constraints in a model's settings allow. Error: they do not fit the labels.
pub fn allowed_by_settings(settings: &str, labels: &[String]) -> Result<Option<Arc<Allowed>>> {
    let wrong = |what: String| Error::ModelFile(format!("the model's settings: {what}"));
    let settings: Value = serde_json::from_str(settings).map_err(|error| wrong(error.to_string()))?;
    allowed(&settings["constraints"], labels).map_err(|error| wrong(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_name_labels_of_every_type_as_python_does() {
        let labels = ["True".to_string(), "3".to_string()];
        let allowed = allowed_by_settings(r#"{"constraints": [[true, 3], [null, "True"]]}"#, &labels).unwrap();
        assert_eq!(allowed.unwrap().forbidden, [(Some(0), Some(1)), (None, Some(0))]);
        for none in ["{}", r#"{"constraints": null}"#] {
            assert!(allowed_by_settings(none, &labels).unwrap().is_none());
        }
        for wrong in [r#"[[true, "x"]]"#, r#"[["True"]]"#, "[[null, null]]", "{}", r#""BIO""#, "3"] {
            assert!(allowed_by_settings(&format!(r#"{{"constraints": {wrong}}}"#), &labels).is_err(), "{wrong}");
        }
    }
}
