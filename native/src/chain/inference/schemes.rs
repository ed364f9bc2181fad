//! Tagging schemes: the pairs of labels that a scheme forbids.

const REMEDY: &str = "choose auto, BIO, IOB1, IOBES, BILOU, BMES or none";

/// A transition by the numbers of its labels; None is the edge of the sentence.
pub type Pair = (Option<u32>, Option<u32>);

/// What a label says of a chunk, and the chunk's type; None is the edge of the sentence.
type Tag<'a> = Option<(Role, &'a str)>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Outside,
    Begin,
    Inside,
    End,
    Single,
}

/// The role and the type of a label; None if the label's tag is not one of these.
fn parsed<'a>(label: &'a str, tags: &[&str]) -> Tag<'a> {
    if label == "O" {
        return Some((Role::Outside, ""));
    }
    let (tag, kind) = label.split_once('-').unwrap_or((label, ""));
    let role = match tag {
        "B" => Role::Begin,
        "E" | "L" => Role::End,
        "S" | "U" => Role::Single,
        _ => Role::Inside,
    };
    tags.contains(&tag).then_some((role, kind))
}

/// Whether a chunk that is open after `before` may continue in `after`.
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
        // I follows only B or I of its type.
        "BIO" => role != Some(Role::Inside) || goes_on(before, after),
        // B follows only a chunk of its type.
        "IOB1" => role != Some(Role::Begin) || goes_on(before, after),
        // Only a chunk that has begun and not ended continues.
        _ => {
            let is_open = matches!(before, Some((Role::Begin | Role::Inside, _)));
            let continues = matches!(role, Some(Role::Inside | Role::End));
            is_open == continues && (!is_open || goes_on(before, after))
        }
    }
}

/// The tags of each scheme apart from O.
const TAGS: [(&str, &[&str]); 5] = [
    ("BIO", &["B", "I"]),
    ("IOB1", &["B", "I"]),
    ("IOBES", &["B", "I", "E", "S"]),
    ("BILOU", &["B", "I", "L", "U"]),
    ("BMES", &["B", "B2", "B3", "M", "E", "S"]),
];

/// The pairs of labels that a scheme forbids. Error: the scheme does not exist, or a label does not belong to it.
pub fn forbidden(scheme: &str, labels: &[String]) -> Result<Vec<Pair>, String> {
    let fail = |what: String| format!("{what}; {REMEDY}");
    let (_, prefixes) = TAGS.iter().find(|(name, _)| *name == scheme).ok_or_else(|| fail("unknown scheme".into()))?;
    let mut tags: Vec<(Option<u32>, Tag<'_>)> = vec![(None, None)];
    for (label, number) in labels.iter().zip(0..) {
        let tag = parsed(label, prefixes);
        tag.ok_or_else(|| fail(format!("label '{label}' does not belong to the scheme {scheme}")))?;
        tags.push((Some(number), tag));
    }
    let mut pairs = Vec::new();
    for &(from, before) in &tags {
        for &(to, after) in &tags {
            if (from, to) != (None, None) && !is_allowed(scheme, before, after) {
                pairs.push((from, to));
            }
        }
    }
    Ok(pairs)
}
