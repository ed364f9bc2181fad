"""Labels of sentences with the probabilities that they, their spans and whole labellings are right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from ...data.labels import typed
from ...display.table import data_frame
from ...errors import DataError
from ...options import one_of, real_number
from ...schemes import chunk_rule
from ...visible import counted, shortened, visible_name

if TYPE_CHECKING:
    import pandas

    from ...data.corpus import Corpus
    from ...report.labelled import Labelled
    from .chain import ChainModel

__all__ = ["DECODE", "Decode", "Span", "Tagging", "tag_corpus"]

Decode = Literal["viterbi", "marginal"]
DECODE: tuple[Decode, ...] = get_args(Decode)
By = Literal["span", "token", "sequence"]
BY: tuple[By, ...] = get_args(By)
# Labels of a screen, and characters of each.
_SHOWN, _WIDTH = 20, 24


class Span(NamedTuple):
    """A chunk in the labels of a sentence, such as an entity, and how probable it is.

    Attributes:
        type: type of the chunk; "" if the labels have none.
        start: number of its first token, from 0 on.
        end: one past its last token.
        probability: the probability that a chunk of this type starts and ends at these very tokens, whatever the other
            labels of the sentence are.

    Example:
        >>> from loglinear import Span
        >>> tokens, span = ["Ada", "Lovelace", "wrote"], Span("PER", 0, 2, 0.97)
        >>> tokens[span.start : span.end]
        ['Ada', 'Lovelace']
    """

    type: str
    start: int
    end: int
    probability: float


class Tagging(NamedTuple):
    """The labels of a sentence and how probable they are, as `ChainCRF.tag` returns them.

    Attributes:
        labels: a label for each token.
        probabilities: the probability of each of these labels.
        spans: the chunks in the labels, from left to right; none if the labels of the model follow no tagging scheme.
        log_probability: log p(labels | sentence), in nats; -inf if the model forbids the labels.

    Example:
        >>> import math
        >>> from loglinear import Tagging
        >>> tagging = Tagging(["DET", "NOUN"], [0.9, 0.8], [], math.log(0.75))
        >>> tagging.labels, round(tagging.probability, 6)
        (['DET', 'NOUN'], 0.75)
    """

    labels: list[Any]
    probabilities: list[float]
    spans: list[Span]
    log_probability: float

    def __str__(self) -> str:
        """Return labels and their probabilities, with the spans that begin there, as text that fits a screen."""
        starts = {span.start: span for span in self.spans}
        labels = [shortened(visible_name(str(label)), _WIDTH) for label in self.labels[:_SHOWN]]
        width = max(map(len, labels), default=0)
        lines = [f"probability of all labels together: {self.probability:.3g}"]
        for at, (label, probability) in enumerate(zip(labels, self.probabilities, strict=False)):
            span = starts.get(at)
            type_ = "" if span is None else f"{shortened(visible_name(span.type), _WIDTH)} {span.probability:.3f}"
            until = "" if span is None else f", {counted(span.end - span.start, 'token')}"
            lines.append(f"{at + 1:4d}  {label:{width}}  {probability:.3f}  {type_}{until}".rstrip())
        rest = len(self.labels) - len(labels)
        return "\n".join(lines + ([f"  … and {counted(rest, 'more label')}"] if rest else []))

    def to_frame(self) -> pandas.DataFrame:
        """Return the labels as a pandas DataFrame with a row for each token.

        Its columns are ``label``, ``probability``, and for tokens in a span the type of the span (``span``) and its
        probability (``span_probability``).

        Raises:
            MissingPackageError: pandas is not installed.
        """
        types: list[str | None] = [None] * len(self.labels)
        sure = [math.nan] * len(self.labels)
        for span in self.spans:
            types[span.start : span.end] = [span.type] * (span.end - span.start)
            sure[span.start : span.end] = [span.probability] * (span.end - span.start)
        columns = {"token": range(len(self.labels)), "label": self.labels, "probability": self.probabilities}
        return data_frame("Tagging.to_frame", columns | {"span": types, "span_probability": sure}, "token")

    def _repr_html_(self) -> str:
        return self.html()

    def html(self, words: Sequence[str] | None = None) -> str:
        """Return the labels in colour, each with its probability, and each span with its own, as HTML.

        Args:
            words: the words of the sentence, which are then in the colours of their spans, without their labels.

        Raises:
            DataError: the number of words is not the number of labels.

        Example:
            >>> from loglinear import Span, Tagging
            >>> tagging = Tagging(["B-PER", "O"], [0.9, 0.95], [Span("PER", 0, 1, 0.75)], -0.3)
            >>> "Ada" in tagging.html(["Ada", "wrote"])
            True
        """
        if words is not None and len(words) != len(self.labels):
            message = f"{len(words)} words for {len(self.labels)} labels; give one word for each label"
            raise DataError(message)
        return Tagging.html_of([self], words and [str(word) for word in words])

    @staticmethod
    def html_of(taggings: Sequence[Tagging], words: Sequence[str] | None = None) -> str:
        """Return the labels of several sentences in the same colours, as HTML; see `html`."""
        from ...report.labelled import Labelled, in_notebook

        colours = Labelled(str(label) for tagging in taggings for label in tagging.labels)
        return in_notebook("".join(tagging._sentence(colours, words) for tagging in taggings))

    def _sentence(self, colours: Labelled, words: Sequence[str] | None) -> str:
        from ...report.labelled import joined, shown

        labels = [str(label) for label in self.labels]
        sure = {(span.type, span.start, span.end): f"{span.probability:.3f}" for span in self.spans}
        pieces = []
        for type_, start, end in colours.pieces(labels):
            numbers = [f"{probability:.3f}" for probability in self.probabilities[start:end]]
            if words is None:
                pairs = zip(map(shown, labels[start:end]), numbers, strict=True)
                parts = [f'<span class="number">{label} <small class="soft">{p}</small></span>' for label, p in pairs]
                html = " ".join(parts)
            else:
                html = joined(words[start:end], [shown(word) for word in words[start:end]])
            number = sure.get((type_ or "", start, end), "" if words is None else numbers[0])
            pieces.append((start, colours.coloured(html, type_, number and f"{shown(type_ or '')} {number}")))
        texts = [""] * len(pieces) if words is None else [words[start] for start, _ in pieces]
        below = f'<p class="soft">probability of all labels together: {self.probability:.3g}</p>'
        return f'<p class="text" lang="" dir="auto">{joined(texts, [html for _, html in pieces])}</p>{below}'

    @property
    def probability(self) -> float:
        """The probability of all labels together; 0 for long sentences whose probability no float can hold."""
        return math.exp(self.log_probability)

    def accepted(self, least: float, *, by: By = "span", below: Any = None) -> list[Any]:
        """Return the labels, with another one in place of those that are less probable than some threshold.

        `Calibration.threshold` finds the threshold that answers must reach to be right often enough.

        Args:
            least: the least probability of a label that stays, from 0 to 1.
            by: of what: "span" of the span that contains the token, and of its label outside spans; "token" of its
                label; "sequence" of all labels of the sentence together.
            below: what is in place of the others, such as "O".

        Raises:
            OptionError: `least` is not a probability, or `by` is unknown.

        Example:
            >>> from loglinear import Span, Tagging
            >>> tagging = Tagging(["B-PER", "O"], [0.9, 0.95], [Span("PER", 0, 1, 0.75)], -0.3)
            >>> tagging.accepted(0.8), tagging.accepted(0.8, by="token")
            ([None, 'O'], ['B-PER', 'O'])
        """
        one_of("by", by, BY)
        real_number("least", least, "a probability, from 0 to 1", lambda p: 0.0 <= p <= 1.0)
        sure = list(self.probabilities)
        if by == "sequence":
            sure = [self.probability] * len(sure)
        elif by == "span":
            for span in self.spans:
                sure[span.start : span.end] = [span.probability] * (span.end - span.start)
        return [label if p >= least else below for label, p in zip(self.labels, sure, strict=True)]


def tag_corpus(
    model: ChainModel,
    corpus: Corpus,
    *,
    decode: Decode = "viterbi",
    spans: bool = True,
    label_type: str = "str",
    threads: int = 0,
) -> list[Tagging]:
    """Return the labels of the sentences of a corpus with their probabilities.

    Args:
        model: of a chain, or of a classifier that has joint probabilities.
        corpus: sentences.
        decode: "viterbi" or "marginal", see `ChainCRF.tag`.
        spans: whether spans are wanted, where the labels of the model follow a tagging scheme.
        label_type: type of the labels to return: "str", "int" or "bool".
        threads: 0 for all cores.
    """
    rule = chunk_rule(tuple(model.labels)) if spans else None
    rows = model.tag(corpus.core, decode=decode, rule=rule, threads=threads)
    label_sequences = typed([labels for labels, *_ in rows], label_type)
    return [
        Tagging(labels, probabilities, [Span(*span) for span in chunks], log_probability)
        for labels, (_, probabilities, chunks, log_probability) in zip(label_sequences, rows, strict=True)
    ]
