//! What people call attributes: the attribute `U01:La` of the line `U01:%x[-1,0]` is "previous word = La".

use crate::text::dialect::Dialect;
use crate::text::joins::{Line, Part};
use crate::text::naming;
use crate::text::template::Template;

impl Line {
    /// The literal text that the attributes of the line start with.
    fn label(&self) -> &[u8] {
        match self.parts.first() {
            Some(Part::Literal(text, _)) => text,
            _ => b"",
        }
    }

    /// The name of the line, if its author has given it one: `Uprev_word:` and `prev_word:` are called prev_word, `U01:` has no name.
    fn name(&self) -> Option<String> {
        let label = String::from_utf8_lossy(self.label());
        let label = if naming::starts_with_name(&format!("{label}%")) { &label } else { label.get(1..).unwrap_or("") };
        let name = label.trim_matches(|c: char| c.is_whitespace() || ":=/-_".contains(c));
        (name.chars().filter(|c| c.is_alphabetic()).count() > 1).then(|| name.to_owned())
    }

    /// The values of the macros, joined by `/`; the text as it is unless the literal texts between them cut it in one way.
    fn values(&self, text: &str, dialect: Dialect) -> String {
        let mut separators = self.parts.iter().skip(1).filter_map(|part| match part {
            Part::Literal(text, _) => std::str::from_utf8(text).ok(),
            Part::Cell { .. } => None,
        });
        let separator = separators.next();
        let values: Vec<&str> = match separator {
            Some(separator) if separators.all(|other| other == separator) => text.split(separator).collect(),
            _ => vec![text],
        };
        if values.len() != self.macro_names.len() {
            return text.to_owned();
        }
        values.into_iter().map(|value| bounded(value, dialect)).collect::<Vec<_>>().join("/")
    }
}

/// The value of a macro, where paddings say which end of the sentence they stand for.
fn bounded(value: &str, dialect: Dialect) -> &str {
    let is_padding = |sign: isize| (1..=8).any(|away| dialect.padding(sign * away) == value);
    match () {
        () if is_padding(-1) => "(start)",
        () if is_padding(1) => "(end)",
        () => value,
    }
}

impl Template {
    /// What people call an attribute; None if no line of the template gives it a name.
    pub fn name_of(&self, attribute: &str) -> Option<String> {
        let of_line = |line: &&Line| attribute.as_bytes().starts_with(line.label()) && !line.macro_names.is_empty();
        let line = self.lines.iter().filter(of_line).max_by_key(|line| line.label().len())?;
        let value = attribute.get(line.label().len()..).filter(|_| !line.label().is_empty())?;
        let name = line.name().unwrap_or_else(|| line.macro_names.join("/"));
        Some(format!("{name} = {}", line.values(value, self.dialect())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_have_the_names_of_their_lines_or_of_their_macros() {
        let template = "# Columns: word, tag\n\
            U01:%x[-1,0]\nU02:%x[0,0]\nU05:%x[-1,0]/%x[0,0]\nU2:%x[2,1]\nU14:%m[0,0,\"..$\"]\nU15:%m[1,0,\"^.\"]\n\
            U21:%t[0,0,\"\\d\"]\n\
            U22:%t[-1,0,\"^\\p{Lu}+$\"]\nU23:%t[0,1,\"N\"]\nU40:%substrings[0,0,9]\nU41:%shape[0,0]\nUprev_tag=%x[-1,1]\ntag[1]:%x[1,1]\n\
            C ending=%m[0,0,\"...$\"]\nU50:%x[1,ending]\nU60:%x[@1,0]\nU:%x[0,2]\nB70:%x[0,1]\nB\n";
        let template = Template::parse(template).unwrap();
        for (attribute, name) in [
            ("U01:La", "previous word = La"),
            ("U01:_B-1", "previous word = (start)"),
            ("U02:a/b", "word = a/b"),
            ("U05:_B-1/La", "previous word/word = (start)/La"),
            ("U05:a/b/c", "previous word/word = a/b/c"),
            ("U2:NN", "tag 2 after = NN"),
            ("U14:FE", "suffix = FE"),
            ("U15:x", "prefix of next word = x"),
            ("U21:true", "word has a digit = true"),
            ("U22:false", "previous word has only capitals = false"),
            ("U23:true", "tag matches N = true"),
            ("U40:EF", "substring = EF"),
            ("U41:Aaaa", "shape = Aaaa"),
            ("Uprev_tag=NN", "prev_tag = NN"),
            ("tag[1]:_B+1", "tag[1] = (end)"),
            ("U50:ing", "next ending = ing"),
            ("U60:The", "first word = The"),
            ("U:x", "column 2 = x"),
            ("B70:NN", "tag = NN"),
        ] {
            assert_eq!(template.name_of(attribute).as_deref(), Some(name), "{attribute}");
        }
        assert_eq!(template.name_of("w=dog"), None);
    }

    #[test]
    fn lines_that_start_with_a_name_form_attributes() {
        for (line, state, bigram) in [
            ("word[-1]:%x[-1,0]", true, false),
            ("tag=%x[0,0]", true, false),
            ("chunk:%x[0,0]", true, false),
            ("big:%x[0,0]", false, true),
        ] {
            let template = Template::parse(line).unwrap();
            assert_eq!((template.lines[0].state, template.lines[0].bigram), (state, bigram), "{line}");
        }
        for line in ["word", "to:%x[0,0]", "word %x[0,0]", "Word:%x[0,0]"] {
            assert!(Template::parse(line).is_err(), "{line}");
        }
        assert!(Template::parse("#!crf++\nword:%x[0,0]").is_err());
    }
}
