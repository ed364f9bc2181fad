//! Labels raw texts in parallel: a text is cut into tokens, its template expanded and its labels turned into spans of the text.

use crate::chain::inference::{ChunkRule, Span};
use crate::chain::model::Model;
use crate::chain::tagging::batch::{in_pieces, score};
use crate::chain::tagging::confidence::Decode;
use crate::chain::tagging::sequence::Sequence;
use crate::corpus::UNKNOWN;
use crate::error::{Error, Result};
use crate::text::cells::Cells;
use crate::text::input::{max_sentence, most_of_sentence};
use crate::text::template::Template;
use crate::text::tokenizer::{Characters, Tokenizer};
use crate::threads::Interrupt;
use std::ops::Range;

/// A part of a text with a label.
#[derive(Clone, Debug, PartialEq)]
pub struct TextSpan {
    /// Number of the chunk's type, or of the token's label if no rule says how labels form chunks.
    pub kind: u32,
    pub bytes: Range<usize>,
    /// The same range in characters (code points).
    pub characters: Range<usize>,
    /// The probability of the chunk or the label; None if it is not wanted.
    pub probability: Option<f64>,
}

/// The spans of a text, and log p(its labels | the text), in nats; None if probabilities are not wanted.
pub type Labelled = (Vec<TextSpan>, Option<f64>);

/// Bytes of text for a token, about.
pub const BYTES_PER_TOKEN: usize = 6;

/// The spans of every text: the chunks in its labels, or without a rule a span for each token. A text has none if every labelling is
/// forbidden; then log p is -inf. Errors: the template needs more than one column; a text is too large.
pub fn tag_texts(
    model: &Model,
    template: &Template,
    texts: &[&str],
    tokenizer: &Tokenizer,
    rule: Option<&ChunkRule>,
    probabilities: bool,
    interrupt: &Interrupt,
) -> Result<Vec<Labelled>> {
    if template.columns > 1 {
        return Err(Error::Option(format!(
            "the model's template looks at {} columns, but a token cut from text has one; pass tokens with their columns, or \
             train a model whose template uses column 0 alone",
            template.columns
        )));
    }
    let too_large = texts.iter().position(|text| text.len() > most_of_sentence());
    if let Some(number) = too_large {
        return Err(Error::Data(format!(
            "text {number} has more than {} MiB; split it into sentences or paragraphs, or raise the limit with set_max_sentence",
            max_sentence()
        )));
    }
    let sizes = texts.iter().map(|text| text.len().div_ceil(BYTES_PER_TOKEN));
    let pieces = in_pieces(model, template, sizes, interrupt, |piece, sequence, expander| {
        let mut cells = Cells { columns: 1, cells: Vec::new() };
        let (mut tokens, mut spans) = (Vec::new(), Vec::with_capacity(piece.len()));
        for number in piece {
            let text = texts[number];
            tokens.clear();
            tokens.extend(tokenizer.tokens(text));
            cells.clear();
            cells.cells.extend(tokens.iter().map(|token| &text.as_bytes()[token.clone()]));
            score(model, sequence, expander, &cells, || format!("text {number}"))?;
            let (chunks, log_probability) = chunks(model, sequence, rule, probabilities);
            spans.push((within(text, &tokens, &chunks), log_probability));
        }
        Ok(spans)
    })?;
    Ok(pieces.into_iter().flatten().collect())
}

/// The chunks of a sentence, or without a rule its tokens, with their probabilities and log p(labels | sentence).
fn chunks(
    model: &Model,
    sequence: &mut Sequence,
    rule: Option<&ChunkRule>,
    probabilities: bool,
) -> (Vec<(Span, Option<f64>)>, Option<f64>) {
    if sequence.tokens() == 0 {
        return (Vec::new(), probabilities.then_some(0.0));
    }
    if let (Some(rule), true) = (rule, probabilities) {
        let tagging = model.tag_lattice(&mut sequence.lattice, Decode::Viterbi, Some(rule));
        let spans = tagging.spans.into_iter().map(|(span, p)| (span, Some(p))).collect();
        return (spans, Some(tagging.log_probability));
    }
    let mut labels = sequence.best_labels(model).to_vec();
    let mut sure = Vec::new();
    let log_probability = probabilities.then(|| sequence.probabilities(model, &mut labels, &mut sure));
    if labels[0] == UNKNOWN {
        return (Vec::new(), log_probability);
    }
    let spans = match rule {
        Some(rule) => rule.spans(&labels).into_iter().map(|span| (span, None)).collect(),
        None => {
            let of_token = |(at, &kind)| (Span { kind, start: at, end: at + 1 }, sure.get(at).copied());
            labels.iter().enumerate().map(of_token).collect()
        }
    };
    (spans, log_probability)
}

/// The places of chunks in a text, given the bytes of its tokens.
fn within(text: &str, tokens: &[Range<usize>], chunks: &[(Span, Option<f64>)]) -> Vec<TextSpan> {
    let mut characters = Characters::of(text);
    let place = |&(span, probability): &(Span, Option<f64>)| {
        let bytes = tokens[span.start].start..tokens[span.end - 1].end;
        let start = characters.before(bytes.start);
        TextSpan { kind: span.kind, characters: start..characters.before(bytes.end), bytes, probability }
    };
    chunks.iter().map(place).collect()
}
