"""What `loglinear inspect --card` says of chains and classifiers, and of the training of any model."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from ...models.explain.markdown import code
from ...models.explain.model_card import ModelCard, quoted
from ...models.files.settings import version_of
from ...result import Status, status_text
from ...visible import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["card_of", "data_rows", "loaded", "not_converged", "own_settings"]

# Rows of the table on a model that have their own places in a card.
_DATA = ("format", "imported from", "trained on", "date of training")
_ELSEWHERE = (*_DATA, "scores on development data", "version of loglinear")


def loaded(path: str, names: str, variable: str, call: str) -> str:
    """Return code that loads a model and calls it; `names` is what to import, the class last."""
    return f"from loglinear import {names}\n\n{variable} = {names.rpartition(' ')[2]}.load({_name(path)})\n{call}"


def own_settings(rows: Mapping[str, str]) -> dict[str, str]:
    """Return the rows of the table on a model without those that have their own places in a card."""
    return {name: value for name, value in rows.items() if name not in (*_ELSEWHERE, *data_rows(rows))}


def data_rows(rows: Mapping[str, str]) -> dict[str, str]:
    """Return the rows of the table on a model that are about its training data, the names of the files last."""
    files = {name: value for name, value in rows.items() if name.endswith((" file", " files"))}
    return {name: rows[name] for name in _DATA if name in rows} | files


def not_converged(training: Mapping[str, Any]) -> str:
    """Return why a training has ended, if it has not converged; else nothing."""
    status = str(training.get("status", "")).upper()
    if status not in Status.__members__ or Status[status].converged:
        return ""
    return status_text(status)


def card_of(kind: Any) -> ModelCard:
    """Return the card of a chain or a classifier, whose kind is given."""
    from ...models.explain.reports import model_rows

    settings = kind.checked_settings()
    training, rows = settings.get("training") or {}, model_rows(kind.model)
    does, task, tags = _classifies(kind) if kind.items != "tokens" else _tags_tokens(kind)
    name = quoted(kind.path)
    return ModelCard(
        path=kind.path,
        task=task,
        tags=tags,
        does=does,
        label_noun="labels" if kind.items == "tokens" else "classes",
        labels={label: () for label in kind.model.labels},
        data=data_rows(rows),
        settings=own_settings(rows),
        command=kind.training_command(),
        template=kind.model.template,
        dev=training.get("dev") or {},
        kept_best=settings.get("keep") == "best",
        status=not_converged(training),
        temperature=settings.get("temperature"),
        shell=f"loglinear tag {name} new.txt\nloglinear evaluate {name} test.txt",
        python=_python(kind),
        version=version_of(kind.path),
        has_probabilities=kind.joint,
        package="loglinear" if kind.items == "tokens" else "'loglinear[sklearn]'",
    )


def _tags_tokens(kind: Any) -> tuple[str, str, Sequence[str]]:
    """Return what a chain does, its task and its tags."""
    from ...schemes import chunk_rule

    labels = kind.model.labels
    order = {1: " of first order", 2: " of second order"}.get(kind.settings.get("order", 0), "")
    does = f"A linear-chain conditional random field{order}. It gives each token of a sentence one of {len(labels):,} "
    does += "labels."
    rule = chunk_rule(tuple(labels))
    types = [] if rule is None else sorted({type_ for type_ in rule.types if type_})
    if types:
        does += f" The labels encode spans of these types: {', '.join(map(code, types))}."
    elif rule is not None:
        does += " The labels divide a sentence into words."
    return does, "token-classification", ("conditional-random-field", "sequence-labelling")


def _classifies(kind: Any) -> tuple[str, str, Sequence[str]]:
    """Return what a classifier does, its task and its tags."""
    of_texts, n = kind.items == "texts", len(kind.model.labels)
    how = "one logistic regression for each class" if not kind.joint else "multinomial logistic regression"
    does = (
        f"A maximum-entropy classifier ({how}). It gives each {'text' if of_texts else 'sample'} one of {n:,} classes"
    )
    does += ", by the words in it." if of_texts else "."
    task = "text-classification" if of_texts else "tabular-classification"
    return does, task, ("logistic-regression", "maximum-entropy")


def _python(kind: Any) -> str:
    """Return code that uses a chain or a classifier."""
    from ...data.formats import n_columns

    template, settings = kind.model.template, kind.settings
    if kind.items == "texts":
        return loaded(kind.path, "TextClassifier", "classifier", 'classifier.predict(["a text", "another text"])')
    if kind.items == "samples":
        width = settings.get("n_columns")
        call = 'classifier.predict([{"attribute": 1.0}])  # samples with the attributes of the training data'
        if width is not None:
            call = f"classifier.predict(X)  # a matrix with {counted(width, 'column')}"
        elif template is not None:
            call = 'template = open("template.txt").read()  # the template below, saved to this file\n'
            call += 'classifier.predict(Corpus.read("new.txt", template=template, labelled=False))'
        return loaded(kind.path, "MaxEnt" if template is None else "Corpus, MaxEnt", "classifier", call)
    words = ["Ada", "wrote", "programs"]
    if template is None:
        call = 'tagger.tag([{"word": "Ada"}, {"word": "wrote"}])  # tokens with the attributes of the training data'
    elif (width := n_columns(template)) > 1:
        more = [f"column {number}" for number in range(2, width + 1)]
        call = f"tagger.tag({json.dumps([[word, *more] for word in words])})"
    else:
        call = f"tagger.tag({json.dumps(words)})"
    return f"from loglinear import Tagger\n\ntagger = Tagger({_name(kind.path)})\n{call}"


def _name(path: str) -> str:
    return json.dumps(os.path.basename(path))
