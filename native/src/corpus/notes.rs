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

/// What Python's tokens with attributes are: texts, each a single attribute, or collections of attributes.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Tokens {
    pub texts: bool,
    pub collections: bool,
}

impl Tokens {
    /// Nothing but texts.
    pub const TEXTS: Tokens = Tokens { texts: true, collections: false };
    /// Nothing but collections.
    pub const COLLECTIONS: Tokens = Tokens { texts: false, collections: true };

    /// The tokens if all are texts, or if none is.
    pub fn all_texts(texts: Option<bool>) -> Tokens {
        texts.map_or(Tokens::default(), |texts| if texts { Tokens::TEXTS } else { Tokens::COLLECTIONS })
    }

    /// Whether all are texts, or none is; none if there are both, or no tokens.
    pub fn are_texts(self) -> Option<bool> {
        (self.texts != self.collections).then_some(self.texts)
    }

    /// Adds other tokens.
    #[inline(always)]
    pub fn add(&mut self, other: Tokens) {
        self.texts |= other.texts;
        self.collections |= other.collections;
    }

    /// Fails if a token is not what all tokens of the training data, these ones, are.
    #[inline(always)]
    pub fn check(self, token: Tokens) -> Result<(), String> {
        match self.are_texts() {
            Some(texts) if texts != token.texts => Err(Tokens::unlike(texts)),
            _ => Ok(()),
        }
    }

    /// The message for a token that is not what the tokens of the training data are.
    #[cold]
    fn unlike(texts: bool) -> String {
        match texts {
            true => "expected a str, as in the training data, found a collection: is this a list of sentences?",
            false => {
                "expected a collection of attributes, as in the training data, found a str: is this one sentence in place of a list?"
            }
        }
        .to_owned()
    }
}

/// The shape of the lines of a text, and the numbers of odd ones.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Notes {
    /// Cells of a token, the label not counted; 0 if tokens have attributes.
    pub columns: usize,
    /// What Python's tokens with attributes are.
    pub tokens: Tokens,
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
        self.tokens.add(other.tokens);
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
