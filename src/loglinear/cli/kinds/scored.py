"""What `loglinear evaluate` shows of a model that predicts labels: scores, calibration, columns for conlleval."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from ...data.column_layout import ColumnLayout
from ...errors import DataError, OptionError
from ...visible import CONTROLS
from ..output import bias_text, say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ...calibration import Calibration
    from ...metrics import Evaluation
    from ...models.explain.answers import Answers

__all__ = [
    "check_calibration",
    "for_conlleval",
    "numbered",
    "scheme_hint",
    "shown",
    "shown_correction",
    "tagged_columns",
    "tell_of_blanks",
]


_HAS_BLANK = re.compile(rf"[\s{''.join(map(chr, CONTROLS))}]")


def check_calibration(picture: str, mode: str) -> None:
    """Raise OptionError if the mode does not allow calibration, or the picture (empty for none) cannot be drawn."""
    if mode != "conlleval":
        message = f"--calibration is not available with --mode {mode}; leave out --mode {mode}"
        raise OptionError(message)
    if picture:
        from ...report.figure import check_figure

        check_figure(picture)


def for_conlleval(answers: Answers, scores: Evaluation) -> Answers:
    """Return answers whose chunks conlleval counts as the scores do: in IOB2, unless the labels are IOB or no tags."""
    from ...schemes import in_iob2

    scheme, mode = scores.scheme, scores.mode
    if scheme is None or mode is None or scheme in ("IOB", "IOB1", "IOB2"):
        return answers
    gold, predicted = ([in_iob2(labels, scheme, mode) for labels in of] for of in (answers.gold, answers.predicted))
    return answers._replace(gold=gold, predicted=predicted)


def tell_of_blanks(labels: Iterable[str], output: str) -> None:
    """Say how labels are written that conlleval would take for several columns.

    Raises:
        DataError: two labels would be written alike.
    """
    ordered, name = sorted(labels), "<stdout>" if output == "-" else output
    label_of: dict[str, str] = {}
    for label in ordered:
        written = _as_one_column(label)
        other = label_of.setdefault(written, label)
        if other != label:
            message = f"{name}: the labels {other!r} and {label!r} would both be written as {written}; leave out "
            message += "--output, or rename one of them"
            raise DataError(message)
    blanks = [label for label in ordered if _HAS_BLANK.search(label)]
    if blanks:
        written = _as_one_column(blanks[0])
        others = f", and {len(blanks) - 1} others likewise" if len(blanks) > 1 else ""
        odd = "blanks" if re.search(r"\s", blanks[0]) else "control characters"
        say(f"warning: {name}: the label {blanks[0]!r} is written as {written}, because it has {odd}{others}")


def tagged_columns(file: str, answers: Answers, unknown: str | None) -> bytes:
    """Return the lines of a column file with gold and predicted labels at the end, without blanks in cells.

    The columns before a label in the last column stay; other layouts lose their weights. Tokens with the unknown label
    are left out, as they are not scored.

    Args:
        file: the column file.
        answers: gold and predicted labels.
        unknown: label of tokens whose label is not known.
    """
    columns = ColumnLayout() if answers.corpus is None else answers.corpus.columns
    lines, sentences = [], _scored_rows(file, columns, answers, unknown)
    for rows, gold, predicted in zip(sentences, answers.gold, answers.predicted, strict=True):
        for cells, *labels in zip(rows, gold, predicted, strict=True):
            others = [len(cells) - 1] if columns.label == -1 else columns.roles(len(cells))
            inputs = [cell for at, cell in enumerate(cells) if at not in others]
            lines.append(" ".join(map(_as_one_column, [*inputs, *labels])))
        lines.append("")
    return "".join(line + "\n" for line in lines).encode()


def _scored_rows(file: str, columns: ColumnLayout, answers: Answers, unknown: str | None) -> Iterator[list[list[str]]]:
    """Yield the cells of the tokens with a label; with probabilities, of the sentences in which all tokens have one."""
    from ...data.formats import named
    from ...data.lines import sentence_lines

    for sentence in sentence_lines(file, named("columns"), columns):
        rows = [columns.cells(line) for _, line in sentence]
        labelled = [cells for cells in rows if cells[columns.label_of(cells) or 0] != unknown]
        if answers.taggings is None or len(labelled) == len(rows):
            yield labelled


def _as_one_column(cell: str) -> str:
    """Return a cell as one column for conlleval: without blanks and control characters, and not empty."""
    return _HAS_BLANK.sub("_", cell) or "_"


def numbered(answers: Answers, *, flat: bool) -> bytes:
    """Return a line for each token: its number in the sentence, its gold and its predicted label.

    With `flat` each sequence is a sample, and samples are numbered, without blank lines between them.
    """
    lines, number = [], 0
    for pair in zip(answers.gold, answers.predicted, strict=True):
        number = number if flat else 0
        for cells in zip(*pair, strict=True):
            number += 1
            lines.append(" ".join([str(number), *map(_as_one_column, cells)]))
        if not flat:
            lines.append("")
    return "".join(line + "\n" for line in lines).encode()


def scheme_hint(scores: Evaluation) -> str | None:
    """Return advice if there are chunks but none of them follows the scheme of strict mode."""
    from ...schemes import found_scheme

    gold = {label for label, score in scores.per_label.items() if score["support"]}
    if scores.mode != "strict" or not gold - {"O"} or any(score["support"] for score in scores.per_type.values()):
        return None
    scheme = found_scheme(gold, "strict")
    remedy = "leave out --mode strict to accept malformed chunks"
    if scheme not in (None, scores.scheme):
        remedy = f"the labels look like {scheme}: leave out --scheme"
    return f"no gold chunk is well-formed in the scheme {scores.scheme}, so all chunk scores are 0; {remedy}"


def shown(scores: Evaluation, calibrations: dict[str, Calibration], *, items: str, as_json: bool) -> str:
    """Return scores and calibrations as JSON, or as tables that fit the terminal.

    Args:
        scores: of the model.
        calibrations: by what has probabilities.
        items: what has labels: tokens, samples or texts.
        as_json: whether to return JSON.
    """
    samples = items != "tokens"
    if as_json:
        # Machines find texts as samples, as in n_samples.
        named = {"samples" if name == "texts" else name: of.to_dict() for name, of in calibrations.items()}
        extra = {"calibration": named} if named else {}
        return json.dumps(scores.to_dict(samples=samples) | extra)
    import shutil

    tables = [
        scores.report(samples=samples, noun=items.removesuffix("s"), width=shutil.get_terminal_size((60, 24)).columns)
    ]
    return "\n\n".join(tables + [calibration.report(name) for name, calibration in calibrations.items()])


def shown_correction(
    temperature: float,
    bias: Mapping[str, float] | None,
    before_and_after: tuple[Answers, Answers],
    *,
    items: str,
    as_json: bool,
) -> str:
    """Return what was corrected, and how much better answers and probabilities are.

    Args:
        temperature: of the model.
        bias: of labels; None if it was not tuned.
        before_and_after: the answers to the development data.
        items: what has a label.
        as_json: whether to return JSON.
    """
    from ...metrics import evaluate

    before, after = (
        {name: of.expected_error for name, of in answers.calibrations(items).items()} for answers in before_and_after
    )
    rows: list[dict[str, float]] = []
    for answers in before_and_after if bias is not None else ():
        scores = evaluate(answers.gold, answers.predicted)
        of_chunks = {"precision": scores.precision, "recall": scores.recall, "f1": scores.f1}
        rows += [{"accuracy": scores.accuracy} | {name: x for name, x in of_chunks.items() if x is not None}]
    if as_json:
        told: dict[str, Any] = {"temperature": temperature, "before": before, "after": after}
        if bias is not None:
            told |= {"label_bias": bias, "scores": dict(zip(("before", "after"), rows, strict=True))}
        return json.dumps(told)
    lines = []
    if bias is not None:
        lines = [f"label bias {bias_text(bias)}"]
        lines += _compared("score", *rows)
    lines.append(f"temperature {temperature:.4g}")
    if temperature == 1.0:
        lines[-1] += ": no other one is better by more than chance allows; the weights stay as they are"
    return "\n".join([*lines, *_compared("expected calibration error", before, after)])


def _compared(what: str, before: Mapping[str, float], after: Mapping[str, float]) -> list[str]:
    """Return a table of shares before and after, in percent."""
    rows = [f"  {name:<26} {100.0 * x:7.2f} {100.0 * after[name]:7.2f}" for name, x in before.items()]
    return [f"{what:<28} {'before':>7} {'after':>7}", *rows]
