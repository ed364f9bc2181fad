//! What a reader notices of a text beside its sentences: the shape of its lines, and lines that look odd.

/// What the beginning of a column file shows of lines that hold something else than words and labels.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Look {
    /// The character that separates the cells of every line, other than spaces and tabs.
    pub mark: Option<char>,
    /// Whether the first column counts tokens or lines.
    pub counts: bool,
    /// Whether the first column is the same in every line.
    pub constant: bool,
    /// Whether the lines are those of CoNLL-U.
    pub conllu: bool,
    /// Cells that spaces separate in every line although tabs should and there is none; else 0.
    pub unsplit: usize,
}

/// The shape of the lines of a text, and the numbers of odd ones.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Notes {
    /// Cells of a token, the label not counted; 0 if tokens have attributes.
    pub columns: usize,
    /// Whether single tabs separate the cells.
    pub tabs: bool,
    /// Sentences whose first token looks like a comment.
    pub comments: usize,
    /// Sentences whose first token marks the start of a document, `-DOCSTART-`.
    pub documents: usize,
    /// Lines that were passed over as comments.
    pub skipped: usize,
    /// Carriage returns that end no line.
    pub returns: usize,
    /// What the beginning of the text shows.
    pub look: Look,
}

impl Notes {
    /// Adds what was noticed of another part of the text.
    pub fn join(&mut self, other: &Notes) {
        self.columns = self.columns.max(other.columns);
        self.tabs |= other.tabs;
        self.comments += other.comments;
        self.documents += other.documents;
        self.skipped += other.skipped;
        self.returns += other.returns;
        if self.look == Look::default() {
            self.look = other.look;
        }
    }
}
