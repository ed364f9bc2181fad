//! Lexicons in the text of a template: a line `#!lexicon PACKAGE NAME` for each, so that whatever has the text has them, too. In a
//! model file the package is in a tensor, and the line has its place there, `@start-end`.

use crate::error::{Error, Result};
use crate::files::model_file::Storage;
use crate::text::lexicon::base64::{decode, encode};
use crate::text::lexicon::source::Source;
use crate::text::lexicon::table::Lexicon;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// What the line of a lexicon begins with.
const MARK: &str = "#!lexicon ";

/// A lexicon with the name that macros call it by.
pub struct Attached {
    pub name: String,
    pub lexicon: Arc<Lexicon>,
}

/// What the line of a lexicon says: its package, and its name.
fn parts(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix(MARK)?.trim_end_matches('\r');
    Some(rest.split_once(' ').unwrap_or((rest, "")))
}

/// A place in the tensor of lexicons, which has a single spelling.
fn place(package: &str) -> Option<Range<usize>> {
    let (start, end) = package.strip_prefix('@')?.split_once('-')?;
    let place: Range<usize> = start.parse().ok()?..end.parse().ok()?;
    (place.start <= place.end && package == spelt(&place)).then_some(place)
}

fn spelt(place: &Range<usize>) -> String {
    format!("@{}-{}", place.start, place.end)
}

impl Attached {
    /// The lexicons in the text of a template; those in a model file are in a range of its bytes. Error: one is damaged.
    pub(in crate::text) fn all(source: &str, stored: Option<(&Arc<Storage>, Range<usize>)>) -> Result<Vec<Attached>> {
        let lexicon = |package: &str| match (place(package), &stored) {
            (Some(place), Some((storage, range))) if place.end <= range.len() => {
                Lexicon::in_storage(storage, range.start + place.start..range.start + place.end).ok()
            }
            (Some(_), _) => None,
            (None, _) => decode(package.as_bytes()).and_then(|bytes| Lexicon::of_bytes(bytes).ok()),
        };
        // A small file may name the same place often.
        let mut by_package: HashMap<&str, Arc<Lexicon>> = HashMap::new();
        let mut all = Vec::new();
        for (at, line) in source.lines().enumerate() {
            let Some((package, name)) = parts(line) else { continue };
            let lexicon = match by_package.get(package) {
                Some(lexicon) => Arc::clone(lexicon),
                None => Arc::new(lexicon(package).ok_or_else(|| {
                    Error::Template(format!(
                        "template line {}: the lexicon {name} in the template is damaged; read it again",
                        at + 1
                    ))
                })?),
            };
            by_package.insert(package, Arc::clone(&lexicon));
            all.push(Attached { name: name.to_owned(), lexicon });
        }
        Ok(all)
    }
}

/// The line that carries a lexicon under this name; and its number of entries. Errors name the line of the lexicon's text.
pub fn line_of(name: &str, source: &Source<'_>, folded: bool) -> Result<(String, usize)> {
    let lexicon = Lexicon::of_bytes(source.packed(folded)?)?;
    Ok((line(name, &lexicon), lexicon.entries))
}

/// The line that carries a lexicon.
fn line(name: &str, lexicon: &Lexicon) -> String {
    let mut line = MARK.to_owned();
    encode(lexicon.bytes(), &mut line);
    line.push(' ');
    line.push_str(name);
    line
}

/// The text of a template without the packages of its lexicons, which `@` stands for.
pub(in crate::text) fn shortened(source: &str) -> Cow<'_, str> {
    if !source.contains(MARK) {
        return Cow::Borrowed(source);
    }
    let short = |line: &str| parts(line).map_or_else(|| line.to_owned(), |(_, name)| format!("{MARK}@ {name}"));
    Cow::Owned(source.split('\n').map(short).collect::<Vec<_>>().join("\n"))
}

/// The text that `shortened` has made shorter.
pub(in crate::text) fn whole<'t>(short: &'t str, attached: &[Attached]) -> Cow<'t, str> {
    if attached.is_empty() {
        return Cow::Borrowed(short);
    }
    let mut next = attached.iter();
    let whole = |text: &str| match parts(text).and_then(|_| next.next()) {
        Some(Attached { name, lexicon }) => line(name, lexicon),
        None => text.to_owned(),
    };
    Cow::Owned(short.split('\n').map(whole).collect::<Vec<_>>().join("\n"))
}

/// The text of a template with the packages of its lexicons apart, as a model file has them. Equal packages are kept once.
pub fn detached(source: &str) -> Result<(Cow<'_, str>, Vec<u8>)> {
    if !source.contains(MARK) {
        return Ok((Cow::Borrowed(source), Vec::new()));
    }
    let attached = Attached::all(source, None)?;
    let (mut next, mut bytes, mut places) = (attached.iter(), Vec::new(), HashMap::new());
    let short = |line: &str| match parts(line).and_then(|_| next.next()) {
        Some(Attached { name, lexicon }) => {
            let place = places.entry(Arc::as_ptr(lexicon)).or_insert_with(|| {
                let start = bytes.len();
                bytes.extend_from_slice(lexicon.bytes());
                start..bytes.len()
            });
            format!("{MARK}{} {name}", spelt(place))
        }
        None => line.to_owned(),
    };
    let short = source.split('\n').map(short).collect::<Vec<_>>().join("\n");
    Ok((Cow::Owned(short), bytes))
}

/// Error: the name of a lexicon cannot stand at the end of a line.
pub(in crate::text) fn check_name(name: &str) -> Result<()> {
    if name.is_empty() || name.trim() != name || name.chars().any(char::is_control) {
        return Err(Error::Template(format!("the lexicon has no name, or one with surrounding blanks: \"{name}\"")));
    }
    Ok(())
}
