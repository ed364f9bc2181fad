//! JSON lines: `{"tokens": [...], "labels": [...], "weight": 1.0, "token_weights": [...]}`, a sentence a line. The last two may be
//! missing: the weight of the sentence, and the costs of wrong labels of its tokens.
//!
//! A token is a string, a list of strings, or a dictionary of attributes. With a template, strings and lists are raw columns;
//! without one they are attributes. Dictionaries are always attributes, named as python-crfsuite names them (`items`).
//!
//! A label is a string, a list of possible labels, an object of probabilities by label, or null for any label. Whole numbers, true and false are labels too, with the
//! names that they have in Python.

use crate::corpus::notes::Notes;
use crate::corpus::sink::{Gold, Sink};
use crate::error::Located;
use crate::text::cells::{Cells, Width};
use crate::text::expand::Expander;
use crate::text::input::for_each_line;
use crate::text::items::Items;
use crate::text::labels::{Labels, check_costs, checked_shares, unequal};
use crate::text::template::Template;
use serde_json::Value;
use std::ops::Range;
use std::slice;

/// Reads `text[range]` into a sink. Every sentence must have labels unless labels are ignored. With a template, tokens may not have
/// more columns than those of the training data, if these are known.
pub fn read<S: Sink>(
    text: &[u8],
    range: Range<usize>,
    labels: Labels,
    template: Option<&Template>,
    trained: Option<usize>,
    sink: &mut S,
) -> Result<(), Located> {
    let mut width = Width::of_training(trained);
    let mut expander = template.map(Expander::new);
    let columns = template.map_or(0, |template| template.columns);
    for_each_line(text, range, |start, line| {
        if !line.iter().all(u8::is_ascii_whitespace) {
            sentence(line, labels, expander.as_mut(), columns, &mut width, sink)?;
            sink.locate(slice::from_ref(&(start..start + line.len())));
        }
        Ok(())
    })?;
    sink.note(&Notes { columns: width.seen.unwrap_or(0), ..Notes::default() });
    Ok(())
}

/// Reads the sentence of a line into a sink.
fn sentence<S: Sink>(
    line: &[u8],
    labels: Labels,
    expander: Option<&mut Expander<'_>>,
    columns: usize,
    width: &mut Width,
    sink: &mut S,
) -> Result<(), String> {
    let mut value: Value = serde_json::from_slice(line).map_err(|error| {
        // The parser has seen only this line, and counts it as line 1.
        let reason = error.to_string().replace(" at line 1 column", " at column");
        format!("not a JSON object: {reason}")
    })?;
    if let Some(Value::Array(labels)) = value.get_mut("labels") {
        labels.iter_mut().for_each(name_label);
    }
    let tokens = value.get("tokens").and_then(Value::as_array).ok_or_else(|| without_tokens(&value))?;
    let labels = match value.get("labels") {
        _ if !labels.given() => None,
        Some(Value::Array(labels)) => Some(labels),
        _ => return Err("no \"labels\" list; training and evaluation need one".into()),
    };
    if let Some(labels) = labels
        && labels.len() != tokens.len()
    {
        return Err(unequal(tokens.len(), labels.len()));
    }
    let gold: Vec<Gold<'_>> = labels.into_iter().flatten().enumerate().map(gold_of).collect::<Result<_, _>>()?;
    let weight = value.get("weight").map_or(Some(1.0), Value::as_f64).filter(|weight| *weight >= 0.0);
    let weight = weight.ok_or("\"weight\" must be a number of at least 0")?;
    let costs = value.get("token_weights").filter(|_| labels.is_some()).map(|list| costs_of(list, tokens.len()));
    let costs = costs.transpose()?;
    if tokens.is_empty() {
        return Ok(());
    }
    match expander {
        Some(expander) => {
            let mut cells = Cells { columns, cells: Vec::with_capacity(tokens.len() * columns) };
            for (index, token) in tokens.iter().enumerate() {
                let n_cells = push_cells(token, &mut cells)
                    .ok_or(format!("token {index}: a template needs a string or a list of strings"))?;
                if n_cells < columns {
                    return Err(format!(
                        "token {index} has {n_cells} of the {columns} columns that the template looks at"
                    ));
                }
                width.allow(index, n_cells)?;
            }
            expander.expand(&cells, sink, |token| gold.get(token).cloned())?;
        }
        None => {
            let mut items = Items::default();
            for (index, token) in tokens.iter().enumerate() {
                attributes(token, &mut items, sink).map_err(|message| format!("token {index}: {message}"))?;
                sink.end_token(gold.get(index).cloned());
            }
        }
    }
    if let Some(costs) = costs {
        sink.costs(&costs);
    }
    sink.end_sentence(weight);
    Ok(())
}

/// The costs of wrong labels of a sentence with so many tokens.
fn costs_of(list: &Value, tokens: usize) -> Result<Vec<f64>, String> {
    let wrong = "\"token_weights\" must be a list with a number of at least 0 for each token";
    let costs: Vec<f64> =
        list.as_array().ok_or(wrong)?.iter().map(Value::as_f64).collect::<Option<_>>().ok_or(wrong)?;
    check_costs(&costs, tokens)?;
    Ok(costs)
}

/// The message for a line without a list of tokens.
fn without_tokens(value: &Value) -> String {
    let remedy = if value.get("text").is_some_and(Value::is_string) {
        "for a classifier of texts, write a label, a tab and a text on each line, and train with --model-type maxent --format text"
    } else {
        "a line looks like {\"tokens\": [...], \"labels\": [...]}"
    };
    format!("no \"tokens\" list; {remedy}")
}

/// Replaces a whole number or a truth value by its name in Python, also in a list of possible labels.
fn name_label(label: &mut Value) {
    match label {
        Value::Number(number) if !number.is_f64() => *label = Value::String(number.to_string()),
        Value::Bool(flag) => *label = Value::String(if *flag { "True" } else { "False" }.into()),
        Value::Array(labels) => labels.iter_mut().for_each(name_label),
        _ => (),
    }
}

/// The label of the token with this index, from an entry of `labels`.
fn gold_of((index, label): (usize, &Value)) -> Result<Gold<'_>, String> {
    match label {
        Value::String(name) => Ok(Gold::Label(name.as_bytes())),
        Value::Null => Ok(Gold::Unknown),
        Value::Object(shares) => {
            let shares: Option<Vec<(&[u8], f64)>> =
                shares.iter().map(|(name, share)| Some((name.as_bytes(), share.as_f64()?))).collect();
            let shares = shares.ok_or_else(|| format!("label {index}: a probability is not a number"))?;
            checked_shares(shares).map(Gold::Soft).map_err(|message| format!("label {index}: {message}"))
        }
        Value::Array(names) if names.is_empty() => {
            Err(format!("label {index} is an empty list; list the possible labels, or write null for any"))
        }
        Value::Array(names) => names
            .iter()
            .map(|name| name.as_str().map(str::as_bytes))
            .collect::<Option<_>>()
            .map(Gold::OneOf)
            .ok_or_else(|| format!("label {index} is a list with items that are not labels; list the possible labels")),
        _ => Err(format!(
            "label {index} must be a string, a whole number, a list of possible labels, or null for any label"
        )),
    }
}

/// Appends at most `cells.columns` cells of a token; returns the number of its cells; None for a dictionary or an invalid
/// token.
fn push_cells<'a>(token: &'a Value, cells: &mut Cells<'a>) -> Option<usize> {
    let columns = cells.columns;
    match token {
        Value::String(text) => {
            cells.cells.push(text.as_bytes());
            Some(1)
        }
        Value::Array(list) => {
            for cell in list.iter().take(columns) {
                cells.cells.push(cell.as_str()?.as_bytes());
            }
            Some(list.len())
        }
        _ => None,
    }
}

/// Passes the attributes of a token to a sink.
fn attributes<S: Sink>(token: &Value, items: &mut Items, sink: &mut S) -> Result<(), String> {
    match token {
        Value::String(name) => items.name(name, sink),
        Value::Array(names) => {
            for name in names {
                items.name(name.as_str().ok_or("an attribute is not a string")?, sink);
            }
        }
        Value::Object(map) => {
            for (key, value) in map {
                named(key, value, items, sink)?;
            }
        }
        _ => return Err("a token must be a string, a list of strings or a dictionary of attributes".into()),
    }
    Ok(())
}

/// Passes the attributes of a dictionary entry to a sink.
fn named<S: Sink>(key: &str, value: &Value, items: &mut Items, sink: &mut S) -> Result<(), String> {
    match value {
        Value::Bool(flag) => items.number(key, f64::from(u8::from(*flag)), sink)?,
        Value::Number(number) => items.number(key, number.as_f64().unwrap_or(f64::NAN), sink)?,
        Value::String(text) => items.text(key, text, sink),
        Value::Array(names) => {
            let outer = items.enter(key);
            for name in names {
                items.name(name.as_str().ok_or_else(|| format!("'{key}': a list must contain only strings"))?, sink);
            }
            items.leave(outer);
        }
        Value::Object(map) => {
            let outer = items.enter(key);
            for (inner, value) in map {
                named(inner, value, items, sink)?;
            }
            items.leave(outer);
        }
        Value::Null => return Err(format!("attribute '{key}' is null; leave it out instead")),
    }
    Ok(())
}

/// Valid texts to start fuzzing with.
#[cfg(any(test, feature = "fuzzing"))]
pub const SEEDS: &[&str] = &[
    "{\"tokens\": [\"a\", [\"b\", \"c\"], {\"d\": 1.5, \"e\": true, \"f\": \"g\", \"h\": [\"i\"], \"j\": {\"k\": 3}}], \"labels\": [\"A\", [\"A\", \"B\"], null], \"weight\": 2, \"token_weights\": [1, 0.5, 0]}\n\n",
    "{\"tokens\": [], \"labels\": []}\n{\"labels\": [\"\\u00e9\"], \"tokens\": [{\"\\ud83d\\ude00\": 1e308}]}\n",
];

/// Valid texts to start fuzzing with, of cells for a template.
#[cfg(any(test, feature = "fuzzing"))]
pub const SEEDS_OF_CELLS: &[&str] =
    &["{\"tokens\": [[\"The\", \"DT\"], [\"dog\", \"NN\"]], \"labels\": [\"B\", \"I\"]}\n"];
