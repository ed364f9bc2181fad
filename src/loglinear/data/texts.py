"""Texts: a file with a line for each, or a folder with a file for each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

from .. import _core
from ..errors import DataError, DataWarning, warn
from ..visible import shortened
from .formats import file_name, named
from .labels import check_whole_or_soft
from .lines import decoded, read_lines
from .parts import expanded
from .survey import names_of, remedy_of_labels

__all__ = ["Documents", "documents", "exchanged", "oddities", "read"]


class Documents(NamedTuple):
    """Texts of a file or of several files.

    Attributes:
        texts: a text for each line that is not blank, or for each file of a folder.
        labels: label of each text, a dict of probabilities by label if it is soft; None without labels.
        lines: number of each text's line in its file, from 1; of a file of a folder, its number in the folder.
        files: the file of each text of a folder; empty for texts that are lines.
        format: as messages about labels need it: text, folder for texts that are files, or spacy:cats.
    """

    texts: list[str]
    labels: list[Any] | None
    lines: list[int]
    files: Sequence[str] = ()
    format: str = "text"

    @property
    def label_names(self) -> list[str]:
        """Distinct labels, those with a probability as well, in the order of their first texts."""
        return [*dict.fromkeys(_names(self.labels or ()))]


def read(*paths: str, labelled: bool = True, partial: bool = False, format: str = "text") -> Documents:
    """Read files whose lines are `label TAB text`, or texts alone; maybe compressed; `-` is standard input.

    Patterns such as part-*.tsv are expanded. A folder has a folder for each label, and in it a file for each text, as
    `sklearn.datasets.load_files` reads it; without labels, every file in a folder and its folders is a text.

    Args:
        paths: of the files.
        labelled: whether the texts have labels.
        partial: allow labels such as `A:0.7|B:0.3` in lines, which become dicts.
        format: "text", or "spacy:cats" for files of docs of spaCy, which have categories.

    Raises:
        DataError: there is no text, a line has no TAB or no label, a label is not valid, or text is not UTF-8; names
            file and line.
        OSError: a file cannot be read.

    Warns:
        DataWarning: files in a folder do not belong to a label, or a label has no files.
    """
    files = [file for path in paths for file in ([path] if os.path.isdir(path) else expanded(path))]
    are_docs = named(format).has_docs
    parts = [
        _read_docs(file, partial=partial) if are_docs else _read_one(file, labelled=labelled, partial=partial)
        for file in files
    ]
    labels = [label for part in parts for label in part.labels or ()] if labelled else None
    texts = [text for part in parts for text in part.texts]
    lines = [line for part in parts for line in part.lines]
    formats = [part.format for part in parts]
    of_folders = [file for part in parts for file in part.files]
    return Documents(texts, labels, lines, of_folders, "folder" if "folder" in formats else formats[0])


def _read_docs(path: str, *, partial: bool) -> Documents:
    """Return the texts and categories of a file of docs of spaCy."""
    from .spacy_docs import labelled_texts

    texts, labels = labelled_texts(path, partial=partial)
    if not texts:
        message = f"{path}: no texts found; the file has no docs"
        raise DataError(message)
    return Documents(texts, labels, list(range(1, len(texts) + 1)), format="spacy:cats")


def _read_one(path: str, *, labelled: bool, partial: bool) -> Documents:
    if os.path.isdir(path):
        return _read_folder(path, labelled=labelled)
    parsed = documents(read_lines(path), file_name(path), labelled=labelled, partial=partial)
    if not parsed.texts:
        message = f"{file_name(path)}: no texts found; the file is empty or has only blank lines"
        raise DataError(message)
    return parsed


def _read_folder(path: str, *, labelled: bool) -> Documents:
    """Return the texts of a folder: of the folders in it, which are named after the labels, or of all files."""
    files = _files(path)
    if labelled:
        _warn_of_left_out(path, files)
        files = [(label, file) for label, file in files if label is not None]
    texts: list[str] = []
    undecodable: list[str] = []
    for _, file in files:
        try:
            texts.append(b"".join(read_lines(file)).decode("utf-8-sig"))
        except UnicodeDecodeError:
            undecodable.append(file)
    if undecodable:
        share = f"{len(undecodable):,} of {len(files):,} files are not UTF-8: {names_of(undecodable)}"
        message = f"{path}: {share}; convert them (for example with iconv), or leave them out"
        raise DataError(message)
    if not texts:
        layout = " with a folder for each label and a file for each text in it" if labelled else ""
        message = f"{path}: no texts found; give a folder of texts{layout}"
        raise DataError(message)
    labels = [label for label, _ in files if label is not None] if labelled else None
    return Documents(texts, labels, list(range(1, len(texts) + 1)), [file for _, file in files], "folder")


def _files(path: str) -> list[tuple[str | None, str]]:
    """Return label and path of each file of a folder, sorted; names that begin with a dot are left out.

    The label is the name of the folder that holds the file; None for a file in the folder itself or deeper down.
    """

    def fail(error: OSError) -> NoReturn:
        raise error

    files: list[tuple[str | None, str]] = []
    for place, folders, names in os.walk(path, onerror=fail, followlinks=True):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and not _is_loop(place, name))
        parts = [] if place == path else os.path.relpath(place, path).split(os.sep)
        label = parts[0] if len(parts) == 1 else None
        paths = [os.path.join(place, name) for name in sorted(names) if not name.startswith(".")]
        files += [(label, file) for file in paths if os.path.isfile(file)]
    return files


def _is_loop(place: str, folder: str) -> bool:
    """Whether a folder is a link to one of the folders that contain it."""
    target, place = os.path.realpath(os.path.join(place, folder)), os.path.realpath(place)
    return os.path.commonpath([target, place]) == target


def _warn_of_left_out(path: str, files: Sequence[tuple[str | None, str]]) -> None:
    """Warn of files that have no label, and of labels that have no files."""
    labels = {label for label, _ in files if label is not None}
    if not labels:
        return
    if left_out := [file for label, file in files if label is None]:
        verb = "file is" if len(left_out) == 1 else "files are"
        where = f"{len(left_out):,} {verb} left out: {names_of(left_out)}"
        warn(f"{path}: {where}; put every file directly in the folder of its label", DataWarning)
    folders = sorted(name for name in os.listdir(path) if os.path.isdir(os.path.join(path, name)))
    if empty := [name for name in folders if not name.startswith(".") and name not in labels]:
        verb = "folder has" if len(empty) == 1 else "folders have"
        warn(f"{path}: {len(empty):,} {verb} no files, so no label: {names_of(empty)}", DataWarning)


def exchanged(texts: Sequence[str], labels: Sequence[str]) -> str | None:
    """Return what suggests that texts and labels have been exchanged; None if nothing does.

    No sensible data have more labels than texts, and longer ones.
    """
    n_texts, n_labels = len(set(texts)), len(set(labels))
    if n_texts >= n_labels or not texts:
        return None
    label, text = max(labels, key=len), max(texts, key=len)
    if not text.strip() or len(label) <= len(text):  # texts without words, or a text that has several labels
        return None
    return f"the labels look like texts ({_shown(label)}) and the texts like labels ({_shown(text)})"


def oddities(documents: Documents) -> list[str]:
    """Return what is odd about labelled texts, each with what to do."""
    labels, n_texts = documents.labels or [], len(documents.texts)
    counts = Counter(_names(labels))
    notes: list[str] = []
    if (reason := exchanged(documents.texts, [*_names(labels)])) is not None:
        return [f"{reason}; {remedy_of_labels(documents.format)}"]
    if 10 <= n_texts < 2 * len(counts):
        example = max(counts, key=len)
        many = f"{n_texts:,} texts have {len(counts):,} different labels, such as {_shown(example)}"
        return [f"{many}; {remedy_of_labels(documents.format)}"]
    if rare := sorted(label for label, count in counts.items() if count == 1 < len(counts)):
        notes.append(
            f"{_listed(rare)} {'occurs' if len(rare) == 1 else 'occur'} in one text only, too few to learn from; add "
            "texts, or merge labels"
        )
    if empty := [at for at, text in enumerate(documents.texts) if not any(map(str.isalnum, text))]:
        files = f": {names_of([documents.files[at] for at in empty])}" if documents.files else ""
        notes.append(f"{len(empty):,} of {n_texts:,} texts have no letters or digits{files}; leave them out")
    labels_of: dict[str, set[str]] = {}
    for text, label in zip(documents.texts, labels, strict=True):
        if isinstance(label, dict):
            continue
        labels_of.setdefault(text, set()).add(label)
    if clashes := [text for text, several in labels_of.items() if len(several) > 1]:
        text = clashes[0]
        notes.append(
            f"{len(clashes):,} {'text occurs' if len(clashes) == 1 else 'texts occur'} with different labels, such as "
            f"{_shown(text)} with {_listed(sorted(labels_of[text]))}; check the labels"
        )
    return notes


def _shown(text: str) -> str:
    return repr(shortened(text))


def _listed(labels: Sequence[str]) -> str:
    return ", ".join(shortened(label, 30) for label in labels[:5]) + (
        f" and {len(labels) - 5:,} more labels" if len(labels) > 5 else ""
    )


def documents(rows: Iterable[bytes], name: str, *, labelled: bool, partial: bool = False, first: int = 1) -> Documents:
    """Return the texts of some lines of a file.

    Args:
        rows: the lines.
        name: of the file, for messages.
        labelled: whether a line is `label TAB text`.
        partial: allow labels such as `A:0.7|B:0.3`, which become dicts.
        first: number of the first line.

    Raises:
        DataError: a line has no TAB, no label or an invalid one, or is not UTF-8; names file and line.
    """
    texts: list[str] = []
    labels: list[Any] = []
    lines: list[int] = []
    for number, line in enumerate(rows, start=first):
        text = decoded(line, name, number).rstrip("\r\n")
        if not text.strip():
            continue
        if labelled:
            label, tab, text = text.partition("\t")
            if not tab or not label.strip():
                message = f"{name}, line {number}: no label; write a label, a TAB and the text"
                raise DataError(message)
            labels.append(_label_of(label.strip(), f"{name}, line {number}", partial=partial))
        texts.append(text)
        lines.append(number)
    return Documents(texts, labels if labelled else None, lines)


def _label_of(cell: str, where: str, *, partial: bool) -> Any:
    """Return the label of a text, or the probability of each label; errors begin with `where`."""
    try:
        label = _core.label_of_cell(cell, partial) if partial or "|" in cell else cell
    except DataError as error:
        message = f"{where}: {error}"
        raise DataError(message) from None
    check_whole_or_soft(label, where)
    return label


def _names(labels: Iterable[Any]) -> Iterator[str]:
    """Yield each label, and each of the labels of a dict of probabilities."""
    for label in labels:
        yield from label if isinstance(label, dict) else [label]
