"""What `loglinear rank` asks of chains and classifiers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...errors import OptionError
from ...extras import needed_by
from ..layout import (
    note_columns,
    refuse_json_lines,
    start_of,
    warn_of_labels,
    warn_of_tokens,
    warn_of_unknown_attributes,
    warn_of_unknown_words,
)
from ..options import chosen, option_flag
from ..reading import guessing, naming, rereadable
from .kind import RankedFile

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence

    from ...data.column_layout import ColumnLayout
    from ...data.corpus import Corpus
    from ...models.rank import Ranking
    from .kind import Kind

__all__ = ["ranked_sentences", "ranked_texts"]


def ranked_sentences(members: Sequence[Kind], arguments: Namespace, progress: Callable[[float], object]) -> RankedFile:
    """Return what to label next in a file of sentences; the first model is the one that will learn."""
    from ...data.excerpts import byte_order_mark, excerpts, together
    from ...data.formats import is_corpus, named, need_lines
    from ...data.tokens import corpus_words
    from ...models.training.ranking import RankOptions

    with needed_by("loglinear rank", "sklearn"):
        from ...models.rank import Chains, Voter, ranked, shown

    options, file = chosen(RankOptions, arguments), arguments.file
    if arguments.text:
        kinds: list[Any] = _same_kind(members)
        return _ranked_lines(kinds, arguments, lambda data: ranked(data, options, progress))
    if is_corpus(file) and arguments.output is not None:
        message = f"{file}: an encoded corpus does not contain its text; give the text, or leave out --output"
        raise OptionError(message)
    kinds = _same_kind(members)
    format, first = kinds[0].format(file, arguments.format), kinds[0]
    need_lines(format, file, "loglinear rank")
    with rereadable(file) as path:
        corpora, layout = _corpora(kinds, path, format, arguments)
        corpus = corpora[first.model.template]
        voters = [
            Voter(kind.model, corpora[kind.model.template], kind.model.labels, arguments.threads) for kind in kinds
        ]
        data = Chains(voters, lambda at: corpus_words(corpus[at]), has_spans=first.items == "tokens")
        with naming(file):
            ranking = ranked(data, options, progress)
        if format == "columns" and layout == first.columns(arguments, format):
            note_columns(file, start_of(path), layout)
        if is_corpus(path):
            places = [str(position + 1) for position in ranking.positions.tolist()]
            return RankedFile(ranking, places, [sentence.context for sentence in ranking.sentences], b"")
        with naming(file):
            passages = excerpts(path, named(format), corpus.columns, ranking.positions.tolist(), len(corpus))
            mark = byte_order_mark(path)
    contexts = []
    for sentence, excerpt in zip(ranking.sentences, passages, strict=True):
        words = [word for word in excerpt.words if word is not None]
        are_all = len(words) == len(excerpt.words)
        contexts.append(shown(words, sentence.start, sentence.end) if are_all else sentence.context)
    text = together(passages, named(format), mark)
    return RankedFile(ranking, [str(excerpt.line) for excerpt in passages], contexts, text)


def _ranked_lines(kinds: Sequence[Any], arguments: Namespace, rank: Callable[[Any], Ranking]) -> RankedFile:
    """Return what to label next in a file of raw texts, one per line, which the first model cuts into tokens."""
    from ...data.corpus import Corpus
    from ...data.formats import file_name
    from ...data.lines import decoded, read_lines
    from ...data.token_fit import check_fits
    from ...data.tokenizer import as_tokenizer
    from ...data.tokens import corpus_words
    from ...models.rank import Chains, Voter, shown

    for option in ("format", "separator", "label_column", "skip_comments"):
        if getattr(arguments, option) is not None:
            message = f"--text reads a text in each line; leave out {option_flag(option)}"
            raise OptionError(message)
    file, first = arguments.file, kinds[0]
    tokenizer = as_tokenizer(first.tokenizer(arguments), first.settings.get("tokenizer"))
    name = file_name(arguments.file)
    for kind in kinds:
        check_fits(tokenizer.spec, kind.model.template)
    lines = [*enumerate(read_lines(file), start=1)]
    texts = ((number, raw, tokenizer.tokens(decoded(raw, name, number).rstrip("\r\n"))) for number, raw in lines)
    numbered = [(number, raw, tokens) for number, raw, tokens in texts if tokens]
    words = [tokens for _, _, tokens in numbered]
    templates = {kind.model.template: kind.template for kind in kinds}
    corpora = {text: Corpus.encode(words, template=template) for text, template in templates.items()}
    voters = [Voter(kind.model, corpora[kind.model.template], kind.model.labels, arguments.threads) for kind in kinds]
    corpus = corpora[first.model.template]
    with naming(file):
        ranking = rank(Chains(voters, lambda at: corpus_words(corpus[at]), has_spans=first.items == "tokens"))
    chosen_texts = [numbered[at] for at in ranking.positions.tolist()]
    contexts = [
        shown(tokens, sentence.start, sentence.end)
        for (_, _, tokens), sentence in zip(chosen_texts, ranking.sentences, strict=True)
    ]
    text = b"".join(raw if raw.endswith(b"\n") else raw + b"\n" for _, raw, _ in chosen_texts)
    return RankedFile(ranking, [str(number) for number, _, _ in chosen_texts], contexts, text)


def _same_kind(members: Sequence[Any]) -> list[Any]:
    """Return models of one kind with labels in common; raise OptionError for others, which cannot vote."""
    first, *others = kinds = [*members]
    first.need_joint("rank")
    for member in others:
        if type(member) is not type(first):
            message = f"{member.path} is {member.called}, {first.path} is {first.called}; give models of one kind"
            raise OptionError(message)
        if {*member.model.labels}.isdisjoint(first.model.labels):
            message = f"{member.path} has none of the labels of {first.path}; give models of one task"
            raise OptionError(message)
    return kinds


def _corpora(
    kinds: Sequence[Any], path: str, format: str, arguments: Namespace
) -> tuple[dict[str | None, Corpus], ColumnLayout]:
    """Return the sentences of a file with the attributes of each template, and their layout for the first model."""
    from ...data.corpus import read_unlabelled

    first, start, corpora, layouts = kinds[0], start_of(path), {}, []
    if format == "columns":
        refuse_json_lines(path, start)
    for kind in kinds:
        if kind.model.template not in corpora:
            layouts.append(kind.columns_to_label(arguments, format, path))
            guess = first.guess(arguments.file, arguments.format)
            with guessing(format, guess, arguments.file, labels_text="tokenizer" in first.settings):
                corpora[kind.model.template] = read_unlabelled(
                    path, format, kind.template, layouts[-1], arguments.threads
                )
    if format == "columns":
        warn_of_unknown_words(arguments.file, start, first.columns(arguments, format), first.model)
    warn_of_unknown_attributes(arguments.file, start, format, first.model)
    return corpora, layouts[0]


def ranked_texts(members: Sequence[Kind], arguments: Namespace, progress: Callable[[float], object]) -> RankedFile:
    """Return what to label next in a file or folder of texts; the first model is the one that will learn."""
    from ...data.excerpts import byte_order_mark, lines_numbered
    from ...data.formats import file_name, need_lines
    from ...data.texts import read
    from ...models.training.ranking import RankOptions

    with needed_by("loglinear rank", "sklearn"):
        from ...models.rank import Classifiers, ranked
        from ...models.text_classifier import TextClassifier

    options, file = chosen(RankOptions, arguments), arguments.file
    if arguments.text:
        message = f"--text is for chains; {members[0].path} is {members[0].called}, which reads texts as they are; "
        message += "leave it out"
        raise OptionError(message)
    if os.path.isdir(file) and arguments.output is not None:
        message = f"{file}: the texts of a folder are files, whose names the table has; leave out --output"
        raise OptionError(message)
    kinds: list[Any] = _same_kind(members)
    need_lines(kinds[0].format(file, arguments.format), file, "loglinear rank")
    with rereadable(file) as path:
        documents = read(path, labelled=False)
        warn_of_labels(file_name(file), documents.texts, kinds[0].model.labels)
        warn_of_tokens(file_name(file), documents)
        ranking = ranked(
            Classifiers([TextClassifier.load(kind.path) for kind in kinds], documents.texts), options, progress
        )
        positions = ranking.positions.tolist()
        contexts = [sentence.context for sentence in ranking.sentences]
        if documents.files:
            return RankedFile(ranking, [documents.files[at] for at in positions], contexts, b"")
        numbers = [documents.lines[at] for at in positions]
        lines, mark = lines_numbered(path, {*numbers}), byte_order_mark(path)
    text = mark + b"".join(lines[number] for number in numbers)
    return RankedFile(ranking, [*map(str, numbers)], contexts, text)
