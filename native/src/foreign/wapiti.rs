//! Wapiti's model files, which are text.
//!
//! ```text
//! #mdl#TYPE#WEIGHTS             0 maxent, 1 memm, 2 crf; old files have no type
//! #rdr#PATTERNS/COLUMNS/AUTO    old files have no /AUTO
//! LENGTH:PATTERN,               a line each
//! #qrk#LABELS
//! LENGTH:LABEL,                 a line each
//! #qrk#OBSERVATIONS
//! LENGTH:OBSERVATION,           a line each: an attribute
//! NUMBER=WEIGHT                 a line each: weights that are not 0, in hexadecimal or decimal notation
//! ```
//!
//! Weights are numbered through the observations: one that starts with `u` has a weight for each label, with `b` for each pair
//! of labels, with `*` both. A pattern that occurs twice counts twice, as lines of a template do.
//!
//! Differences of a model that is written to the one that was read: observations without weights are left out, as `wapiti train
//! --compact` leaves them out; observations of pairs come after the others; the weights of several patterns without macros,
//! such as `b`, are added up.

use crate::chain::model::{Model, Parts};
use crate::error::{Error, Result};
use crate::foreign::bytes::{Checked, Cursor, number, text};
use crate::foreign::{check_labels, kept_pairs, settings};
use crate::text::dialect::Dialect;
use crate::text::template::Template;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;

/// The parts of a model.
pub(super) fn read(bytes: &[u8]) -> Checked<Parts> {
    let mut file = Cursor::new(bytes, 0)?;
    let header = fields(&mut file, b"#mdl#", b'#')?;
    let (kind, n_weights): (u32, usize) = match header[..] {
        [kind, count] => (number(kind, "the model's type")?, number(count, "the number of weights")?),
        // Wapiti reads old files without a type as it reads a CRF.
        [count] => (2, number(count, "the number of weights")?),
        _ => return Err("its first line is not #mdl#TYPE#WEIGHTS".into()),
    };
    if kind == 1 {
        return Err("it is a maximum-entropy Markov model, which is not supported; train a CRF".into());
    }
    let reader = fields(&mut file, b"#rdr#", b'/')?;
    let patterns = strings(&mut file, number(reader[0], "the number of patterns")?)?;
    let labels = list(&mut file)?;
    check_labels(labels.len())?;
    let labels = labels.iter().map(|label| text(label, "label")).collect::<Checked<Vec<String>>>()?;
    let observations = list(&mut file)?;
    let template = template_of(&patterns)?;
    let weights = Weights { n_labels: labels.len(), weights: weights(&mut file, n_weights)? };
    weights.parts(labels, &observations, template)
}

/// The template of the patterns; None without patterns.
fn template_of(patterns: &[&[u8]]) -> Checked<Option<Template>> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let mut source = Dialect::Wapiti.first_line().to_owned();
    for pattern in patterns {
        source.push('\n');
        source.push_str(&text(pattern, "pattern")?);
    }
    Template::parse(&source).map(Some).map_err(|error| error.to_string())
}

/// The parts of a line that starts with `start`.
fn fields<'a>(file: &mut Cursor<'a>, start: &[u8], between: u8) -> Checked<Vec<&'a [u8]>> {
    file.expect(start)?;
    Ok(file.line()?.unwrap_or(b"").split(|&byte| byte == between).collect())
}

/// A list of strings after a line with their number.
fn list<'a>(file: &mut Cursor<'a>) -> Checked<Vec<&'a [u8]>> {
    let count = number(fields(file, b"#qrk#", b'/')?[0], "a number of strings")?;
    strings(file, count)
}

/// Strings, each after its length.
fn strings<'a>(file: &mut Cursor<'a>, count: usize) -> Checked<Vec<&'a [u8]>> {
    // The shortest string takes four bytes: `0:,` and the end of the line.
    if file.left() / 4 + 1 < count {
        return Err(format!("the file is too short for {count} strings at byte {}", file.at()));
    }
    (0..count)
        .map(|_| {
            let length = number(file.until(b':')?, "the length of a string")?;
            let string = file.take(length)?;
            file.expect(b",")?;
            file.line()?;
            Ok(string)
        })
        .collect()
}

/// The weights that are not 0, by number.
fn weights(file: &mut Cursor<'_>, count: usize) -> Checked<BTreeMap<u64, f64>> {
    if file.left() / 4 + 1 < count {
        return Err(format!("the file is too short for {count} weights"));
    }
    let mut weights = BTreeMap::new();
    for _ in 0..count {
        let at = file.at();
        let line = file.line()?.ok_or("the file ends before the last weight")?;
        let equals = line.iter().position(|&byte| byte == b'=').ok_or_else(|| format!("no weight at byte {at}"))?;
        let weight = parse_weight(&line[equals + 1..]).filter(|weight| weight.is_finite());
        let weight = weight.ok_or_else(|| format!("no finite weight at byte {at}"))?;
        weights.insert(number(&line[..equals], "the number of a weight")?, weight);
    }
    Ok(weights)
}

/// A number as C's `%la` or `%le` writes it: `0x1.8p+1` or `3.0e+00`.
fn parse_weight(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1.0, digits),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let Some(hexadecimal) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) else {
        return digits
            .starts_with(|c: char| c.is_ascii_digit() || c == '.')
            .then(|| digits.parse::<f64>().ok().map(|x| sign * x))?;
    };
    let (mantissa, exponent) = hexadecimal.split_once(['p', 'P']).unwrap_or((hexadecimal, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // A double has 14 hexadecimal digits at most.
    if whole.len() + fraction.len() > 15 || mantissa.is_empty() {
        return None;
    }
    let digits = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok()?;
    let exponent = exponent.parse::<i32>().ok()?.checked_sub(4 * fraction.len() as i32)?;
    // Two factors, lest a power be too small for a double where the product is not.
    let half = exponent.clamp(-4000, 4000) / 2;
    Some(sign * (digits as f64 * 2f64.powi(half)) * 2f64.powi(exponent.clamp(-4000, 4000) - half))
}

/// A number as C's `%la` writes it, except for numbers below 2^-1022, whose leading digit is 0.
fn hexadecimal(weight: f64) -> String {
    let bits = weight.to_bits();
    let (sign, exponent, fraction) = (if weight < 0.0 { "-" } else { "" }, bits >> 52 & 0x7ff, bits & ((1 << 52) - 1));
    let digits = format!("{fraction:013x}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    match exponent {
        0 => format!("{sign}0x0{point}{digits}p-1022"),
        _ => format!("{sign}0x1{point}{digits}p{:+}", exponent as i64 - 1023),
    }
}

/// The weights of a model.
struct Weights {
    n_labels: usize,
    weights: BTreeMap<u64, f64>,
}

impl Weights {
    fn parts(&self, labels: Vec<String>, observations: &[&[u8]], template: Option<Template>) -> Checked<Parts> {
        let n = self.n_labels as u64;
        let mut parts = Parts { labels, ..Parts::default() };
        let mut links: Vec<([u16; 2], f64)> = Vec::new();
        let (mut next, mut seen) = (0u64, HashSet::new());
        for &name in observations {
            if !seen.insert(name) {
                return Err(format!("the observation '{}' occurs twice", name.escape_ascii()));
            }
            let (state, pairs) = match name.first() {
                Some(b'u') => (true, false),
                Some(b'b') => (false, true),
                Some(b'*') => (true, true),
                _ => return Err(format!("the observation '{}' does not start with u, b or *", name.escape_ascii())),
            };
            if state {
                parts.states.push(name, kept_pairs(self.range(next, n, |at| at as u16))?);
                next += n;
            }
            if pairs {
                let weights = self.range(next, n * n, |at| [(at / n) as u16, (at % n) as u16]);
                next += n * n;
                match template.as_ref().map_or(0, |template| template.plain(name)) {
                    0 if template.is_none() && !weights.is_empty() => {
                        let message = "it has label bigrams but no patterns: bigram attributes need a template";
                        return Err(format!("{message} ('{}')", name.escape_ascii()));
                    }
                    0 => parts.bigrams.push(name, kept_pairs(weights)?),
                    times => links.extend(weights.into_iter().map(|(pair, weight)| (pair, weight * times as f64))),
                }
            }
        }
        if let Some((number, _)) = self.weights.range(next..).next() {
            return Err(format!("weight {number} does not belong to an observation: there are {next} weights"));
        }
        parts.transitions = kept_pairs(links)?;
        let data = if template.is_some() { "columns" } else { "crfsuite" };
        parts.settings = settings("wapiti", data, None);
        parts.template = template.map(|template| template.source().into_owned());
        Ok(parts)
    }

    /// The weights with the numbers from `start` on, which are not 0, each with `labels` of its place.
    fn range<T>(&self, start: u64, count: u64, labels: impl Fn(u64) -> T) -> Vec<(T, f64)> {
        self.weights.range(start..start + count).map(|(number, &weight)| (labels(number - start), weight)).collect()
    }
}

/// What an observation weighs: each label, each pair of labels.
#[derive(Default)]
struct Observation {
    states: Vec<(u16, f64)>,
    pairs: Vec<([u16; 2], f64)>,
}

/// The file of a model, with its labels in this order: the file's label i is the model's label `order[i]`.
///
/// Errors: the model has features that Wapiti does not have, or a template that does not follow its rules.
pub(super) fn write(model: &Model, order: &[u16]) -> Result<Vec<u8>> {
    let fail = |what: &str| Err(Error::ModelFile(format!("{what}; save the model as a loglinear model instead")));
    let Some(template) = model.template.as_deref().filter(|template| template.dialect() == Dialect::Wapiti) else {
        return fail("Wapiti needs a template in its own syntax: train with a template whose first line is #!wapiti");
    };
    if !model.weights().triple_weights.is_empty() {
        return fail("Wapiti models do not support order=2");
    }
    let patterns: Vec<&str> = template.patterns().collect();
    let observations = observations(model, order, template)?;
    let n = order.len() as u64;
    let count: usize = observations.iter().map(|(_, one)| one.states.len() + one.pairs.len()).sum();
    let mut out = Vec::new();
    let written = (|| {
        writeln!(out, "#mdl#2#{count}")?;
        writeln!(out, "#rdr#{}/{}/0", patterns.len(), template.columns - 1)?;
        patterns.iter().try_for_each(|pattern| string(&mut out, pattern.as_bytes()))?;
        writeln!(out, "#qrk#{n}")?;
        order.iter().try_for_each(|&label| string(&mut out, model.labels[usize::from(label)].as_bytes()))?;
        writeln!(out, "#qrk#{}", observations.len())?;
        observations.iter().try_for_each(|(name, _)| string(&mut out, name))?;
        let mut next = 0u64;
        for (name, one) in &observations {
            if matches!(name.first(), Some(b'u' | b'*')) {
                one.states.iter().try_for_each(|&(label, weight)| {
                    writeln!(out, "{}={}", next + u64::from(label), hexadecimal(weight))
                })?;
                next += n;
            }
            if matches!(name.first(), Some(b'b' | b'*')) {
                one.pairs.iter().try_for_each(|&([from, to], weight)| {
                    let at = next + u64::from(from) * n + u64::from(to);
                    writeln!(out, "{at}={}", hexadecimal(weight))
                })?;
                next += n * n;
            }
        }
        Ok::<(), std::io::Error>(())
    })();
    written.expect("writing to memory");
    Ok(out)
}

/// A string after its length.
fn string(out: &mut Vec<u8>, text: &[u8]) -> std::io::Result<()> {
    write!(out, "{}:", text.len())?;
    out.extend_from_slice(text);
    out.extend_from_slice(b",\n");
    Ok(())
}

/// The observations of a model with their weights, by the numbers of the labels in the file.
fn observations(model: &Model, order: &[u16], template: &Template) -> Result<Vec<(Vec<u8>, Observation)>> {
    let weights = model.weights();
    let mut number = vec![0u16; order.len()];
    for (at, &label) in order.iter().enumerate() {
        number[usize::from(label)] = at as u16;
    }
    let mut observations: Vec<(Vec<u8>, Observation)> = Vec::new();
    let mut place: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut entry = |name: &[u8], observations: &mut Vec<(Vec<u8>, Observation)>| {
        *place.entry(name.to_vec()).or_insert_with(|| {
            observations.push((name.to_vec(), Observation::default()));
            observations.len() - 1
        })
    };
    for (name, range) in weights.states.iter() {
        let at = entry(name, &mut observations);
        let labels = weights.state_labels[range.clone()].iter().map(|&label| number[usize::from(label)]);
        observations[at].1.states = labels.zip(weights.state_weights[range].iter().copied()).collect();
        observations[at].1.states.sort_by_key(|&(label, _)| label);
    }
    let renumbered = |pairs: &[[u16; 2]], weights: &[f64], times: f64| {
        let pairs = pairs.iter().map(|pair| pair.map(|label| number[usize::from(label)]));
        let mut pairs: Vec<([u16; 2], f64)> = pairs.zip(weights.iter().map(|weight| weight / times)).collect();
        pairs.sort_by_key(|&(pair, _)| pair);
        pairs
    };
    for (name, range) in weights.bigrams.iter() {
        let at = entry(name, &mut observations);
        observations[at].1.pairs =
            renumbered(&weights.bigram_pairs[range.clone()], &weights.bigram_weights[range], 1.0);
    }
    if !weights.transition_weights.is_empty() {
        let Some(plain) = template.patterns().find(|pattern| template.plain(pattern.as_bytes()) > 0) else {
            let message =
                "the model has transitions, but its template has no pattern without macros that starts with b or *";
            return Err(Error::ModelFile(message.into()));
        };
        let at = entry(plain.as_bytes(), &mut observations);
        let times = template.plain(plain.as_bytes()) as f64;
        observations[at].1.pairs = renumbered(weights.transition_pairs, weights.transition_weights, times);
    }
    Ok(observations)
}
