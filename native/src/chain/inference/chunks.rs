//! How chunks are read from labels: a chunk is a typed stretch of tokens, such as an entity.

/// The rule that says how labels form chunks, as conditions on neighbouring labels.
///
/// A chunk continues from one token to the next where the next label has the same type and does not begin a chunk after the label
/// before it.
pub struct ChunkRule {
    /// Names of the types.
    pub types: Vec<String>,
    /// The number of each label's type; None for a label outside every chunk.
    type_of: Vec<Option<u32>>,
    /// Whether a label begins a chunk after another: a row for the start of the sentence, then a row for each label before.
    begins: Vec<bool>,
}

/// A stretch of tokens that is a chunk of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Number of the type.
    pub kind: u32,
    pub start: usize,
    /// One past the last token.
    pub end: usize,
}

impl ChunkRule {
    /// A rule of the name of each label's type and the matrix `begins`, (labels + 1) x labels, whose first row is the start of the
    /// sentence. None if the sizes do not fit.
    pub fn new(names: &[Option<String>], begins: Vec<bool>) -> Option<Self> {
        let mut types: Vec<String> = names.iter().flatten().cloned().collect();
        types.sort_unstable();
        types.dedup();
        let number =
            |name: &Option<String>| Some(types.binary_search(name.as_ref()?).expect("a type among the types") as u32);
        let type_of = names.iter().map(number).collect();
        (begins.len() == (names.len() + 1) * names.len()).then_some(ChunkRule { types, type_of, begins })
    }

    /// Labels that the rule is for.
    pub fn labels(&self) -> usize {
        self.type_of.len()
    }

    /// Whether a label begins a chunk of a type after another label, or at the start of the sentence for None.
    pub(super) fn begins(&self, previous: Option<usize>, label: usize, kind: u32) -> bool {
        let row = previous.map_or(0, |previous| previous + 1);
        self.type_of[label] == Some(kind) && self.begins[row * self.labels() + label]
    }

    /// Whether a label continues the chunk of the label before it.
    pub(super) fn continues(&self, previous: usize, label: usize) -> bool {
        let same = self.type_of[previous] == self.type_of[label];
        same && self.type_of[label].is_some() && !self.begins[(previous + 1) * self.labels() + label]
    }

    /// The chunks of a labelling, from left to right.
    pub fn spans(&self, labels: &[u32]) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        let mut previous = None;
        for (token, &label) in labels.iter().enumerate() {
            let label = label as usize;
            if let Some(kind) = self.type_of[label] {
                match (previous, spans.last_mut()) {
                    (Some(previous), Some(open)) if self.continues(previous, label) => open.end = token + 1,
                    _ => spans.push(Span { kind, start: token, end: token + 1 }),
                }
            }
            previous = Some(label);
        }
        spans
    }
}
