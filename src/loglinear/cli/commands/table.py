"""Fit a log-linear model to a contingency table: which of its variables interact, and how well the model fits.

Each column of the file is a variable and each line a sample, or as many samples as the column --counts says; the first
line contains the names. The formula has names of columns, quoted if they have blanks: A:B is an interaction, A*B is
A + B + A:B, (A + B + C)^2 has all interactions of two, . is all columns, and - removes a term. A model with an
interaction has all terms within it. Columns that are not in the formula are ignored.

The output is the deviance G2 and Pearson's X2 with their p-values, AIC and BIC, and one line per parameter with its
standard error. -o writes expected counts and residuals of all cells, as CSV. --choose looks for the best model within
the formula: main effects stay, and interactions are removed or added one at a time.
"""

from __future__ import annotations

import json
import math
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from ...errors import OptionError
from ...extras import needed_by
from ...visible import visible_name
from ..inputs import Inputs, add_data
from ..options import add_json, add_table_layout, missing_marks
from ..output import say, tab_separated

if TYPE_CHECKING:
    from ...models.loglinear import LogLinear

EXAMPLE = """example: loglinear table survey.csv --formula "smoker*cancer + sex"
         loglinear table counts.csv --counts n --choose bic -o cells.csv --plot mosaic.svg"""
READS: tuple[str, ...] = ("data",)
WRITES: tuple[str, ...] = ("cells", "plot")


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    with needed_by("`loglinear table`", "sklearn"):
        from ...models.training.table_fit import CRITERIA, SEARCHES
        from ...tables.design import CODINGS

    add = parser.add_argument
    inputs = Inputs("DATA", model=False, data="data")
    add_data(parser, parser, inputs, "DATA", "CSV, TSV (may be compressed; - for stdin) or Parquet")
    formula = "the model, such as 'A*B + C'; with --choose, the largest one (default: .^2, all interactions of two)"
    add("--formula", "--model", dest="formula", default=".^2", metavar="FORMULA", help=formula)
    add("--choose", choices=CRITERIA, help="choose interactions of the formula by aic or bic")
    search = (
        "with --choose: both and backward start at the formula, forward at the main effects; l1 tries the interactions "
        "that a group penalty leaves (default: both)"
    )
    add("--search", choices=SEARCHES, help=search)
    add("--counts", metavar="COLUMN", help="column with the number of samples that a line stands for")
    method = "newton, ipf (iterative proportional fitting), auto, or a batch solver such as lbfgs (default: auto)"
    add("--method", default="auto", metavar="NAME", help=method)
    l1 = "strength of an L1 penalty that makes whole interactions 0 (larger for more samples) (default: 0, none)"
    add("--l1", type=float, default=0.0, metavar="X", help=l1)
    coding = "effects, which sum to zero, or treatment, differences from the first level (default: effects)"
    add("--coding", choices=CODINGS, default="effects", help=coding)
    cells = "output file for the cells: observed and expected counts and residuals, as CSV"
    add("-o", "--output", "--cells", dest="cells", metavar="FILE", help=cells)
    plot = "draw a mosaic plot, coloured by residuals, to FILE: .svg, .png or .pdf (pip install matplotlib)"
    add("--plot", metavar="FILE", help=plot)
    add_table_layout(parser)
    add_json(parser)
    add("-q", "--quiet", action="store_true", help="do not say which files are written")


def run(arguments: Namespace) -> None:
    """Fit, write the cells and the figure, print the parameters."""
    from ...data.table import read_table
    from ...data.writing import write_text
    from ...models.loglinear import LogLinear
    from ...report.figure import check_figure
    from ..reading import naming

    if arguments.search is not None and arguments.choose is None:
        message = f"--search {arguments.search} is for --choose; add --choose bic, or leave out --search"
        raise OptionError(message)
    if arguments.json and arguments.cells == "-":
        message = "--json and --output - both write to stdout; give --output a file"
        raise OptionError(message)
    if arguments.plot is not None:
        check_figure(arguments.plot)
    model = LogLinear(arguments.formula, method=arguments.method, l1=arguments.l1)
    table = read_table(
        arguments.data,
        delimiter=arguments.delimiter,
        header=not arguments.no_header,
        missing=missing_marks(arguments),
        distinct=True,
    )
    with naming(arguments.data):
        if arguments.choose is None:
            model.fit(table, counts=arguments.counts)
        else:
            search = arguments.search or "both"
            model.choose(table, criterion=arguments.choose, search=search, counts=arguments.counts)
    if arguments.cells is not None:
        write_text(arguments.cells, _cells(model).encode())
    if arguments.plot is not None:
        model.save_figure(arguments.plot)
    if arguments.json:
        print(_json(model, arguments.coding))
    elif arguments.cells != "-":
        print(_text(model, arguments.coding), end="")
    if not arguments.quiet:
        for place in (arguments.cells, arguments.plot):
            if place not in (None, "-"):
                say(f"wrote {place}")


def _cells(model: LogLinear) -> str:
    """Return a line for each cell, as CSV."""
    import csv
    import io

    columns = model.cells()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in zip(*columns.values(), strict=True))
    return text.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.10g}"
    return value


def _text(model: LogLinear, coding: str) -> str:
    """Return how well the model fits, the models on the way to it, and its parameters."""
    lines = [*model.summary()]
    if model.choices_:
        lines += ["", "models on the way, with G2, df and criterion:"]
        for choice in model.choices_:
            numbers = f"{choice.deviance:.2f}  {choice.df:.0f}  {choice.criterion:.2f}"
            lines.append(visible_name(f"  {choice.formula}  {numbers}  {choice.change}".rstrip()))
    columns = _parameters(model, coding)
    if columns is None:
        return "\n".join([*lines, "the model has too many parameters to list", ""])
    if not any(columns["note"]):
        del columns["note"]
    rows = ([_shown(value) for value in row] for row in zip(*columns.values(), strict=True))
    return "\n".join([*lines, "", tab_separated([*columns], rows)])


def _parameters(model: LogLinear, coding: str) -> dict[str, list[Any]] | None:
    """Return the columns of the parameters; None if they are too many."""
    try:
        return model.parameters(coding)
    except OptionError:
        return None


def _shown(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _json(model: LogLinear, coding: str) -> str:
    """Return the statistics, parameters and models as JSON; numbers that are not finite become null."""
    columns = _parameters(model, coding)
    rows = zip(*columns.values(), strict=True) if columns is not None else ()
    parameters = None if columns is None else [dict(zip(columns, row, strict=True)) for row in rows]
    fields = {
        "formula": model.formula_,
        "n_samples": float(model.counts_.sum()),
        "n_cells": model.counts_.size,
        "interactions": model.interactions_,
        "deviance": model.deviance_,
        "pearson": model.pearson_,
        "df": model.df_,
        "deviance_p": model.deviance_p_,
        "pearson_p": model.pearson_p_,
        "aic": model.aic_,
        "bic": model.bic_,
        "empty_margins": model.empty_margins_,
        "coding": coding,
        "parameters": parameters,
        "choices": [vars(choice) for choice in model.choices_],
    }
    return json.dumps(_finite(fields), ensure_ascii=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
