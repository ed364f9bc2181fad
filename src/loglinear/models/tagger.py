"""A small tagger: a model that labels raw tokens, without what only training and evaluation need."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

from ..data.columns import as_items, is_column
from ..data.labels import check_ordered, check_sentence, typed
from ..data.tokenizer import TOKENIZERS, Tokenizer, as_tokenizer
from ..errors import DataError, OptionError
from ..options import thread_limit
from ..schemes import ChunkRule, chunk_rule
from .column_tagging import tag_column
from .files.chain import ChainModel, chunk_lists, open_model, tag_lists
from .files.tagging import Tagging
from .files.text_spans import spans_of

if TYPE_CHECKING:
    from ..data.inputs import ArrowData, Sentence, Sentences
    from ..data.text_span import TextSpan
    from .chain import ChainCRF

__all__ = ["Tagger"]


class Tagger:
    """Label sentences of raw tokens, or raw text, with a linear-chain CRF: one at a time, or many in parallel.

    The model's template forms the attributes of the tokens in native code, without Python objects, and the GIL is
    released while a batch is labelled. Neither NumPy nor scikit-learn is imported. A tagger may be used by several
    threads at the same time.

    A tagger is pickled as the bytes of its model file, not as a path, so that it works on any machine of a cluster.
    Worker processes that share a disk should rather open the path themselves: the file is memory-mapped, and they
    share its memory.

    Args:
        model: path of a model file of loglinear, CRFsuite, CRF++ or Wapiti; or a fitted `ChainCRF`.
        tokenizer: how to cut raw text, see `Tokenizer`; by default as the model says.

    Attributes:
        labels: labels of the model.
        tokenizer: cuts raw text; None if neither the model nor the caller has said how.

    Raises:
        OptionError: the tokenizer is not valid.
        ModelFileError: the file is damaged, or the model is not a chain.
        OSError: the file cannot be read.

    Warns:
        DataWarning: the tokenizer is not the one of the model.

    Example:
        >>> from loglinear import ChainCRF, Tagger
        >>> crf = ChainCRF(template="pos").fit([["Dogs", "bark"], ["Cats", "sleep"]], [["NOUN", "VERB"]] * 2)
        >>> tagger = Tagger(crf)
        >>> tagger.tag(["Dogs", "sleep"])
        ['NOUN', 'VERB']
        >>> tagger.tag_batch([["Cats", "bark"], ["Dogs"]])
        [['NOUN', 'VERB'], ['NOUN']]
    """

    labels: list[Any]
    tokenizer: Tokenizer | None

    def __init__(self, model: str | os.PathLike[str] | ChainCRF, *, tokenizer: str | Tokenizer | None = None) -> None:
        if isinstance(model, (str, os.PathLike)):
            opened, settings = open_model(os.fspath(model), "chain")
            label_type, trained = settings.get("label_type", "str"), settings.get("tokenizer")
        else:
            opened, label_type, trained = _fitted(model)
        self._set(opened, label_type, trained if tokenizer is None else as_tokenizer(tokenizer, trained))

    def _set(self, model: ChainModel, label_type: str, tokenizer: str | Tokenizer | None) -> None:
        self._model, self._label_type = model, label_type
        self.labels = typed([model.labels], label_type)[0]
        self.tokenizer = None if tokenizer is None else as_tokenizer(tokenizer)

    @cached_property
    def _rule(self) -> ChunkRule | None:
        """How the labels form chunks."""
        return chunk_rule(tuple(self._model.labels))

    @classmethod
    def _of(cls, model: ChainModel, label_type: str, tokenizer: Tokenizer | None = None) -> Tagger:
        tagger = cls.__new__(cls)
        tagger._set(model, label_type, tokenizer)
        return tagger

    def __repr__(self) -> str:
        return f"<Tagger of {len(self.labels)} labels, {self._model.n_features:,} features>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._of, (self._model, self._label_type, self.tokenizer)

    def tag(self, tokens: Sentence) -> list[Any]:
        """Return the most probable labels of a sentence; runs on the calling thread.

        Args:
            tokens: each a str, or a sequence of str with the columns of the template. For a model without a template,
                the attributes of each token: a dict, a str or a sequence of str, as for `ChainCRF`.

        Returns:
            A label for each token; None for each if every label sequence is forbidden.

        Raises:
            DataError: an invalid sentence; names the token.

        Example:
            >>> from loglinear import ChainCRF, Tagger
            >>> crf = ChainCRF().fit([[{"w": "Dogs"}, {"w": "bark"}]], [["NOUN", "VERB"]])
            >>> Tagger(crf).tag([{"w": "Dogs", "length": 4}])
            ['NOUN']
        """
        tokens = as_items(tokens, tuples=self._model.has_template)
        if type(tokens) is not list:
            check_ordered(tokens, "the sentence")
        labels = self._model.predict_single(tokens)
        return labels if self._label_type == "str" else typed([labels], self._label_type)[0]

    @overload
    def tag_batch(
        self, sentences: Sentences, *, probabilities: Literal[False] = False, threads: int = 0
    ) -> list[list[Any]]: ...

    @overload
    def tag_batch(self, sentences: Sentences, *, probabilities: Literal[True], threads: int = 0) -> list[Tagging]: ...

    @overload
    def tag_batch(self, sentences: ArrowData, *, probabilities: bool = False, threads: int = 0) -> Any: ...

    def tag_batch(self, sentences: Any, *, probabilities: bool = False, threads: int = 0) -> Any:
        """Return the most probable labels of many sentences, in parallel.

        Sentences may also be a column of lists: a Series of pandas or polars, an array of pyarrow, a DuckDB relation
        with one column, or any object with Arrow's PyCapsule interface. With a template, Arrow's memory is read without
        copying: `list<string>`, or for templates with several columns `list<list<string>>` or `list<struct>` of
        strings, in the order of the columns. Strings may have 32-bit or 64-bit offsets, be views or
        dictionary-encoded. Other columns go through Python's lists. The index of a pandas Series and the chunks of a
        chunked array are kept.

        Args:
            sentences: lists of tokens, as for `tag`; or a column of such lists.
            probabilities: also return the probabilities of the labels.
            threads: number of threads; 0 for all cores. A small batch is labelled on the calling thread.

        Returns:
            For lists, a list of labels for each sentence; with probabilities, a `Tagging` for each, without spans (see
            `ChainCRF.tag` for spans).

            For a column, a column of the same library (of pyarrow for DuckDB and others) with a list of labels for each
            sentence. The list is null for a sentence that is null; a label is null if every label sequence is
            forbidden. With probabilities, a table of the same library with the columns `labels`, `probabilities` and
            `log_probability`.

        Raises:
            DataError: an invalid sentence, which the message names; a token that is null; or a column of another type.

        Example:
            >>> from loglinear import ChainCRF, Tagger
            >>> crf = ChainCRF(template="pos").fit([["Dogs", "bark"], ["Cats", "sleep"]], [["NOUN", "VERB"]] * 2)
            >>> (tagging,) = Tagger(crf).tag_batch([["Cats", "bark"]], probabilities=True)
            >>> tagging.labels, [round(p, 2) for p in tagging.probabilities], round(tagging.probability, 2)
            (['NOUN', 'VERB'], [0.91, 0.91], 0.83)
            >>> import pyarrow
            >>> Tagger(crf).tag_batch(pyarrow.array([["Cats", "bark"], []])).to_pylist()
            [['NOUN', 'VERB'], []]
        """
        thread_limit(threads)
        if is_column(sentences):
            return tag_column(self._model, self._label_type, sentences, probabilities=probabilities, threads=threads)
        if type(sentences) is not list:
            check_ordered(sentences, "the sentences", "give a list of sentences")
            sentences = list(sentences)
        has_columns = self._model.has_template
        sentences = [as_items(sentence, tuples=has_columns) for sentence in sentences]
        for number, sentence in enumerate(sentences):
            if type(sentence) is not list:
                check_sentence(sentence, f"sentence {number}")
        names, sure = tag_lists(self._model, sentences, probabilities=probabilities, threads=threads)
        labels = names if self._label_type == "str" else typed(names, self._label_type)
        if sure is None:
            return labels
        probable, log_probabilities = sure
        rows = zip(labels, probable, log_probabilities, strict=False)
        return [Tagging(names, p, [], log_p) for names, p, log_p in rows]

    def _chunks(self, sentences: list[list[str]], *, threads: int = 0) -> list[tuple[int, str, int, int]]:
        """Return the chunks in the most probable labels of many sentences, of a model whose labels form chunks.

        Python objects are made of the chunks alone, not of labels.

        Args:
            sentences: as for `tag_batch`.
            threads: number of threads; 0 for all cores.

        Returns:
            For each chunk the number of its sentence, its type, its first token and one past its last token.
        """
        rule = self._rule
        assert rule is not None
        return chunk_lists(self._model, sentences, rule, threads=threads)

    def tag_text(
        self, text: str, *, probabilities: bool = True, tokenizer: str | Tokenizer | None = None
    ) -> list[TextSpan]:
        """Cut a text into tokens, label them, and return the labelled parts of the text; runs on the calling thread.

        The text is one sequence: a sentence, an address, a title. Longer texts are better cut into sentences first.

        Args:
            text: the text.
            probabilities: also return the probability of each span, which takes longer than the labels alone.
            tokenizer: how to cut the text; by default as the tagger says.

        Returns:
            The spans, from left to right. If the labels follow a tagging scheme, such as B-PER, I-PER and O, a span for
            each chunk; otherwise one for each token. None for a text without tokens, or if every label sequence is
            forbidden.

        Raises:
            OptionError: no tokenizer is known, or it is not valid; the model has no template, or its template looks
                at several columns, which text does not have.
            DataError: the text is not a str, not valid Unicode, or larger than `set_max_sentence` allows.

        Example:
            >>> from loglinear import ChainCRF, Tagger
            >>> X, y = [["Ada", "Lovelace", "wrote", "."]], [["B-PER", "I-PER", "O", "O"]]
            >>> tagger = Tagger(ChainCRF(template="ner", tokenizer="words", l2=0.01).fit(X, y))
            >>> for span in tagger.tag_text("Ada  Lovelace wrote."):
            ...     print(span.start, span.end, span.label, span.text, f"{span.probability:.2f}")
            0 13 PER Ada  Lovelace 0.99
        """
        if not isinstance(text, str):
            message = f"a text must be a str, not {type(text).__name__}; for several texts use tag_texts"
            raise DataError(message)
        return self._spans([text], probabilities, tokenizer, threads=1)[0][0]

    def tag_texts(
        self,
        texts: Iterable[str],
        *,
        probabilities: bool = True,
        tokenizer: str | Tokenizer | None = None,
        threads: int = 0,
    ) -> list[list[TextSpan]]:
        """Cut many texts into tokens, label them, and return the labelled parts of each text, in parallel.

        Tokens, attributes and labels are handled in native code; Python objects are made of the spans alone.

        Args:
            texts: the texts; each is one sequence, see `tag_text`.
            probabilities: also return the probability of each span.
            tokenizer: how to cut the texts; by default as the tagger says.
            threads: number of threads; 0 for all cores. A few texts are labelled on the calling thread.

        Returns:
            For each text its spans, as from `tag_text`.

        Raises:
            OptionError: as for `tag_text`.
            DataError: as for `tag_text`; names the text.

        Example:
            >>> from loglinear import ChainCRF, Tagger
            >>> crf = ChainCRF(template="pos").fit([["Dogs", "bark"], ["Cats", "sleep"]], [["NOUN", "VERB"]] * 2)
            >>> texts = ["Cats bark", ""]
            >>> spans = Tagger(crf, tokenizer="words").tag_texts(texts, probabilities=False)
            >>> [[(span.text, span.label) for span in row] for row in spans]
            [[('Cats', 'NOUN'), ('bark', 'VERB')], []]
        """
        thread_limit(threads)
        check_ordered(texts, "the texts", "give a list of texts, or one text to tag_text")
        return self._spans(texts, probabilities, tokenizer, threads=threads)[0]

    def cut(self, text: str, *, tokenizer: str | Tokenizer | None = None) -> list[str]:
        """Return the tokens of a text, as `tag_text` labels them.

        Args:
            text: the text.
            tokenizer: how to cut the text; by default as the tagger says.

        Raises:
            OptionError: no tokenizer is known, or it is not valid.
            DataError: the text is not a str, or not valid Unicode.

        Example:
            >>> from loglinear import ChainCRF, Tagger
            >>> crf = ChainCRF(template="pos", tokenizer="words").fit([["Dogs", "bark"]], [["NOUN", "VERB"]])
            >>> Tagger(crf).cut("Dogs bark.")
            ['Dogs', 'bark', '.']
        """
        return self._cutter(tokenizer).tokens(text)

    def _cutter(self, tokenizer: str | Tokenizer | None) -> Tokenizer:
        """Return the tokenizer to use, or raise OptionError if there is none."""
        cutter = self.tokenizer if tokenizer is None else as_tokenizer(tokenizer)
        if cutter is None:
            message = (
                "the model does not say how to cut text into tokens; pass tokenizer='words' (--tokenizer), or train "
            )
            message += f"it with a tokenizer: {', '.join(TOKENIZERS)}, or a regular expression"
            raise OptionError(message)
        return cutter

    def _spans(
        self, texts: Iterable[str], probabilities: bool, tokenizer: str | Tokenizer | None, *, threads: int
    ) -> tuple[list[list[TextSpan]], list[float] | None]:
        """Return the spans of texts and log p(labels | text) of each; see `tag_texts`."""
        return spans_of(
            self._model,
            texts,
            self._cutter(tokenizer),
            self._rule,
            probabilities=probabilities,
            label_type=self._label_type,
            threads=threads,
        )


def _fitted(crf: ChainCRF) -> tuple[ChainModel, str, str | None]:
    """Return the model of an estimator, the type of its labels, and how it cuts raw text.

    Raises:
        OptionError: it is no chain, or not fitted.
    """
    from .chain import ChainCRF

    if not isinstance(crf, ChainCRF):
        message = f"a tagger needs the path of a model or a fitted ChainCRF, not {type(crf).__name__}"
        raise OptionError(message)
    model = crf._constrained_model
    trained = json.loads(model.settings).get("tokenizer") if crf.tokenizer is None else crf.tokenizer
    return model, crf._label_type, trained
