//! CRF++'s model files: the binary one, and the text that `crf_learn -t` writes in addition.
//!
//! | binary: little-endian | text |
//! | --- | --- |
//! | 32-bit version 100, type 0; double: cost factor; 32-bit: weights, columns, bytes of the trie | `version: 100`, `cost-factor: 1`, `maxid: `, `xsize: ` |
//! | 32-bit length; labels, each with a 0 byte | labels, a line each |
//! | 32-bit length; lines of the template, each with a 0 byte | template, a line each |
//! | trie: units of 32-bit base and check | `NUMBER ATTRIBUTE`, a line each |
//! | weights as floats | weights, a line each |
//!
//! Empty lines separate the parts of a text. The number of an attribute that starts with `U` is the number of its weight for
//! the first label; one that starts with `B` has weights for all pairs of labels. Labellings are scored with the weights times
//! the cost factor.
//!
//! The trie is a double array: from unit b, byte c leads to unit b + c + 1 if its check is b; its base is the next b. At the end of a
//! string, unit b has check b, and base -1 - number. A model that is written has the trie of this module's builder, which is laid
//! out in another order than CRF++'s, and finds the same strings.

use crate::chain::model::{Model, Parts};
use crate::error::{Error, Result};
use crate::foreign::bytes::{Checked, Cursor, number, text};
use crate::foreign::{check_labels, kept_pairs, settings};
use crate::text::dialect::Dialect;
use crate::text::template::Template;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;

const VERSION: u32 = 100;
/// The most bytes of an attribute: CRF++ reads lines of fewer.
const LONGEST: usize = 8192;

/// The content of a model file, in either layout.
struct Content {
    cost_factor: f64,
    columns: usize,
    labels: Vec<String>,
    template: Vec<String>,
    /// Attributes and the numbers of their first weights.
    attributes: Vec<(Vec<u8>, usize)>,
    weights: Vec<f64>,
}

/// The parts of a binary model.
pub(super) fn read_binary(bytes: &[u8]) -> Checked<Parts> {
    let mut file = Cursor::new(bytes, 0)?;
    let (version, kind, cost_factor) = (file.u32()?, file.u32()?, file.f64()?);
    if version != VERSION || kind != 0 {
        return Err(format!("its version is {version} and its type {kind}; only version 100 and type 0 are supported"));
    }
    let (n_weights, columns, trie) = (file.size()?, file.size()?, file.size()?);
    let length = file.size()?;
    let labels = zero_ended(file.take(length)?, "label")?;
    let length = file.size()?;
    let template = zero_ended(file.take(length)?, "line of the template")?;
    let mut units = Cursor::new(file.take(trie)?, 0)?;
    let units = (0..trie / 8).map(|_| Ok((units.u32()? as i32, units.u32()?))).collect::<Checked<Vec<_>>>()?;
    let attributes = strings_of(&units)?;
    if file.left() / 4 < n_weights {
        return Err(format!("the file is too short for {n_weights} weights: {} bytes left", file.left()));
    }
    let weights = (0..n_weights).map(|_| file.f32().map(f64::from)).collect::<Checked<Vec<f64>>>()?;
    if file.left() > 0 {
        return Err(format!("{} bytes too many after the weights", file.left()));
    }
    Content { cost_factor, columns, labels, template, attributes, weights }.parts("crf++")
}

/// Texts that each end with a 0 byte; empty texts fill up the part.
fn zero_ended(bytes: &[u8], what: &str) -> Checked<Vec<String>> {
    bytes.split(|&byte| byte == 0).filter(|one| !one.is_empty()).map(|one| text(one, what)).collect()
}

/// The parts of a text model.
pub(super) fn read_text(bytes: &[u8]) -> Checked<Parts> {
    let mut file = Cursor::new(bytes, 0)?;
    let version: u32 = field(&mut file, "version: ")?;
    if version != VERSION {
        return Err(format!("its version is {version}; only version 100 is supported"));
    }
    let cost_factor = field(&mut file, "cost-factor: ")?;
    let (n_weights, columns): (usize, usize) = (field(&mut file, "maxid: ")?, field(&mut file, "xsize: ")?);
    file.line()?;
    let texts = |lines: Vec<&[u8]>, what: &str| lines.into_iter().map(|line| text(line, what)).collect::<Checked<_>>();
    let labels = texts(file.lines()?, "label")?;
    let template = texts(file.lines()?, "line of the template")?;
    let mut attributes = Vec::new();
    for line in file.lines()? {
        let space = line.iter().position(|&byte| byte == b' ').ok_or("an attribute has no number")?;
        attributes.push((line[space + 1..].to_vec(), number(&line[..space], "the number of an attribute")?));
    }
    let weights = file.lines()?.into_iter().map(|line| number(line, "a weight")).collect::<Checked<Vec<f64>>>()?;
    if weights.len() != n_weights {
        return Err(format!("expected {n_weights} weights, found {}", weights.len()));
    }
    Content { cost_factor, columns, labels, template, attributes, weights }.parts("crf++-text")
}

fn field<T: std::str::FromStr>(file: &mut Cursor<'_>, name: &str) -> Checked<T> {
    file.expect(name.as_bytes())?;
    number(file.line()?.unwrap_or(b""), name.trim_end())
}

impl Content {
    fn parts(mut self, format: &str) -> Checked<Parts> {
        self.attributes.sort_by_key(|&(_, start)| start);
        let n = self.labels.len();
        check_labels(n)?;
        if !self.cost_factor.is_finite() {
            return Err(format!("its cost factor is {}", self.cost_factor));
        }
        let source = [&[Dialect::Crfpp.first_line().to_owned()], &self.template[..]].concat().join("\n");
        let template = Template::parse(&source).map_err(|error| error.to_string())?;
        if template.columns > self.columns {
            return Err(format!("its template needs {} columns, but the data had {}", template.columns, self.columns));
        }
        let mut parts = Parts { template: Some(source), labels: self.labels, ..Parts::default() };
        let mut links = Vec::new();
        for (name, start) in &self.attributes {
            let is_state = match name.first() {
                Some(b'U') => true,
                Some(b'B') => false,
                _ => return Err(format!("the attribute '{}' starts with neither U nor B", name.escape_ascii())),
            };
            let count = if is_state { n } else { n * n };
            let weights = start.checked_add(count).and_then(|end| self.weights.get(*start..end));
            let weights = weights.ok_or_else(|| format!("weights of '{}' are missing", name.escape_ascii()))?;
            let weights = weights.iter().map(|weight| weight * self.cost_factor);
            if is_state {
                parts.states.push(name, kept_pairs((0..).zip(weights).collect())?);
                continue;
            }
            let pairs = (0..count).map(|at| [(at / n) as u16, (at % n) as u16]);
            match template.plain(name) {
                0 => parts.bigrams.push(name, kept_pairs(pairs.zip(weights).collect())?),
                times => links.extend(pairs.zip(weights.map(|weight| weight * times as f64))),
            }
        }
        parts.transitions = kept_pairs(links)?;
        parts.settings = settings(
            format,
            "columns",
            Some(("crf++", json!({"cost_factor": self.cost_factor, "columns": self.columns}))),
        );
        Ok(parts)
    }

    /// What CRF++'s files hold of a model. Error: its template or its features are not CRF++'s.
    fn of(model: &Model) -> Result<Content> {
        let fail = |what: String| Error::ModelFile(format!("{what}; save the model as a loglinear model instead"));
        let Some(template) = model.template.as_deref() else {
            return Err(fail("CRF++ needs a template, and the model has none".into()));
        };
        let lines: Vec<String> = template.patterns().map(str::to_owned).collect();
        let source = [&[Dialect::Crfpp.first_line().to_owned()], &lines[..]].concat().join("\n");
        if template.dialect() == Dialect::Wapiti {
            return Err(fail("the model's template follows Wapiti's rules, which pad differently from CRF++".into()));
        }
        let template =
            Template::parse(&source).map_err(|error| fail(format!("CRF++ cannot read the template: {error}")))?;
        let weights = model.weights();
        if !weights.triple_weights.is_empty() {
            return Err(fail("CRF++ models do not support order=2".into()));
        }
        let settings: Value = serde_json::from_str(model.settings()).unwrap_or_default();
        let cost_factor = settings["crf++"]["cost_factor"].as_f64().filter(|&factor| factor != 0.0).unwrap_or(1.0);
        let columns = settings["crf++"]["columns"].as_u64().map_or(template.columns, |columns| columns as usize);
        if weights.states.iter().chain(weights.bigrams.iter()).any(|(name, _)| name.len() > LONGEST) {
            return Err(fail(format!("CRF++ limits attribute names to {LONGEST} bytes")));
        }
        let ends = |name: &[u8]| name.iter().any(|byte| b"\0\n\r".contains(byte));
        if weights.states.iter().chain(weights.bigrams.iter()).any(|(name, _)| ends(name)) {
            return Err(fail("CRF++ does not support attributes with ends of lines or the character U+0000".into()));
        }
        let n = model.labels.len();
        let mut content = Content {
            cost_factor,
            columns,
            labels: model.labels.clone(),
            template: lines,
            attributes: Vec::new(),
            weights: Vec::new(),
        };
        for (name, range) in weights.states.iter() {
            let places = weights.state_labels[range.clone()].iter().map(|&label| usize::from(label));
            content.push(name, n, places.zip(&weights.state_weights[range]), 1.0);
        }
        let place = |&[from, to]: &[u16; 2]| usize::from(from) * n + usize::from(to);
        for (name, range) in weights.bigrams.iter() {
            let places = weights.bigram_pairs[range.clone()].iter().map(place);
            content.push(name, n * n, places.zip(&weights.bigram_weights[range]), 1.0);
        }
        if !weights.transition_weights.is_empty() {
            let plain = template.patterns().find(|line| template.plain(line.as_bytes()) > 0);
            let plain =
                plain.ok_or_else(|| fail("the model has transitions, but its template has no B line".into()))?;
            let places = weights.transition_pairs.iter().map(place);
            let times = template.plain(plain.as_bytes()) as f64;
            content.push(plain.as_bytes(), n * n, places.zip(weights.transition_weights), times);
        }
        Ok(content)
    }

    /// Adds an attribute with `count` weights, 0 except for `nonzero`, which are divided by `times` and the cost factor.
    fn push<'w>(&mut self, name: &[u8], count: usize, nonzero: impl Iterator<Item = (usize, &'w f64)>, times: f64) {
        let start = self.weights.len();
        self.attributes.push((name.to_vec(), start));
        self.weights.resize(start + count, 0.0);
        nonzero.for_each(|(at, weight)| self.weights[start + at] = weight / (self.cost_factor * times));
    }
}

/// The text model of a model. Error: its template or its features are not CRF++'s.
pub(super) fn write_text(model: &Model) -> Result<Vec<u8>> {
    let mut content = Content::of(model)?;
    content.attributes.sort();
    let mut out = Vec::new();
    let written = (|| {
        writeln!(out, "version: {VERSION}\ncost-factor: {}", content.cost_factor)?;
        writeln!(out, "maxid: {}\nxsize: {}\n", content.weights.len(), content.columns)?;
        content.labels.iter().try_for_each(|label| writeln!(out, "{label}"))?;
        writeln!(out)?;
        content.template.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        writeln!(out)?;
        for (name, start) in &content.attributes {
            write!(out, "{start} ")?;
            out.extend_from_slice(name);
            out.push(b'\n');
        }
        writeln!(out)?;
        content.weights.iter().try_for_each(|weight| writeln!(out, "{weight:.16}"))
    })();
    written.map_err(|error| Error::io("the model", error))?;
    Ok(out)
}

/// The binary model of a model. Error: its template or its features are not CRF++'s.
pub(super) fn write_binary(model: &Model) -> Result<Vec<u8>> {
    let content = Content::of(model)?;
    let zero_ended =
        |lines: &[String]| lines.iter().flat_map(|line| [line.as_bytes(), b"\0"].concat()).collect::<Vec<u8>>();
    let (labels, mut template) = (zero_ended(&content.labels), zero_ended(&content.template));
    template.resize(
        template.len() + (labels.len() + template.len()).next_multiple_of(4) - labels.len() - template.len(),
        0,
    );
    let trie = trie_of(&content.attributes);
    let sizes = [content.weights.len(), content.columns, trie.len() * 8, labels.len(), template.len()];
    let Ok(sizes) = sizes.into_iter().map(u32::try_from).collect::<std::result::Result<Vec<u32>, _>>() else {
        return Err(Error::ModelFile("the model is too large for CRF++, which stores sizes in 32 bits".into()));
    };
    let mut out = Vec::new();
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&0u32.to_le_bytes());
    out.extend_from_slice(&content.cost_factor.to_le_bytes());
    out.extend(sizes[..4].iter().flat_map(|size| size.to_le_bytes()));
    out.extend_from_slice(&labels);
    out.extend_from_slice(&sizes[4].to_le_bytes());
    out.extend_from_slice(&template);
    out.extend(trie.iter().flat_map(|&(base, check)| [base.to_le_bytes(), check.to_le_bytes()].concat()));
    out.extend(content.weights.iter().flat_map(|&weight| (weight as f32).to_le_bytes()));
    Ok(out)
}

/// The strings of a trie with their numbers, in byte order.
fn strings_of(units: &[(i32, u32)]) -> Checked<Vec<(Vec<u8>, usize)>> {
    let mut strings = Vec::new();
    let Some(&(root, _)) = units.first() else { return Ok(strings) };
    // Nodes to go to: their base, the length of the string before the last byte, and the last byte.
    let mut open: Vec<(i32, usize, Option<u8>)> = vec![(root, 0, None)];
    let (mut name, mut visited, mut bytes) = (Vec::new(), 0, 0);
    while let Some((base, length, byte)) = open.pop() {
        visited += 1;
        if visited > units.len() {
            return Err("its trie contains a cycle".into());
        }
        name.truncate(length);
        name.extend(byte);
        if name.len() > LONGEST || bytes > units.len() * 8 * 64 {
            return Err(format!("its trie holds strings of more than {LONGEST} bytes, or too many for its size"));
        }
        let at = |place: usize| units.get(place).filter(|&&(_, check)| check == base as u32);
        let Ok(place) = usize::try_from(base) else { return Err("its trie is damaged".into()) };
        if let Some(&(leaf, _)) = at(place).filter(|(leaf, _)| *leaf < 0) {
            strings.push((name.clone(), (-1 - i64::from(leaf)) as usize));
            bytes += name.len();
        }
        for byte in (0..=255u8).rev() {
            if let Some(&(next, _)) = at(place + usize::from(byte) + 1)
                && next >= 0
            {
                open.push((next, name.len(), Some(byte)));
            }
        }
    }
    Ok(strings)
}

/// The trie of strings with their numbers.
fn trie_of(attributes: &[(Vec<u8>, usize)]) -> Vec<(i32, u32)> {
    let sorted: BTreeMap<&[u8], usize> = attributes.iter().map(|(name, at)| (name.as_slice(), *at)).collect();
    let sorted: Vec<(&[u8], usize)> = sorted.into_iter().collect();
    let mut trie = Trie { units: vec![(0, 0)], used: vec![true], first_free: 1 };
    trie.units[0].0 = trie.insert(&sorted, 0) as i32;
    trie.units
}

/// A double array that is being built.
struct Trie {
    units: Vec<(i32, u32)>,
    /// Whether a unit is taken, and whether a place is some node's base.
    used: Vec<bool>,
    first_free: usize,
}

impl Trie {
    /// Places the strings, which share their first `depth` bytes; returns the base of their node.
    fn insert(&mut self, strings: &[(&[u8], usize)], depth: usize) -> usize {
        let symbol = |string: &[u8]| string.get(depth).map_or(0, |&byte| usize::from(byte) + 1);
        let groups: Vec<&[(&[u8], usize)]> = strings.chunk_by(|a, b| symbol(a.0) == symbol(b.0)).collect();
        let symbols: Vec<usize> = groups.iter().map(|group| symbol(group[0].0)).collect();
        let base = self.place(&symbols);
        for (&symbol, group) in symbols.iter().zip(groups) {
            self.units[base + symbol].1 = base as u32;
            self.units[base + symbol].0 = match symbol {
                0 => -1 - group[0].1 as i32,
                _ => self.insert(group, depth + 1) as i32,
            };
        }
        base
    }

    /// Takes the units of symbols at the first base that has all of them free; returns the base.
    fn place(&mut self, symbols: &[usize]) -> usize {
        while self.used.get(self.first_free) == Some(&true) {
            self.first_free += 1;
        }
        let first = symbols.first().copied().unwrap_or(0);
        let mut base = self.first_free.saturating_sub(first).max(1);
        // A base is used by only one node, or the checks of two nodes would be the same: the unit of symbol 0 is kept for its node.
        while symbols.iter().chain([&0]).any(|symbol| self.used.get(base + symbol) == Some(&true)) {
            base += 1;
        }
        let end = base + symbols.last().copied().unwrap_or(0) + 1;
        if self.units.len() < end {
            self.units.resize(end, (0, 0));
            self.used.resize(end, false);
        }
        symbols.iter().chain([&0]).for_each(|symbol| self.used[base + symbol] = true);
        base
    }
}
