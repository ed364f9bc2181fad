"""What a notebook shows of an estimator: its parameters; once fitted, its labels, size and how training ended."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from typing import Any

__all__ = ["summary_html", "summary_rows"]

# Labels that are named.
_NAMED = 20
_STYLE = """<style>
.loglinear-estimator { font-family: system-ui, sans-serif; line-height: 1.4; max-width: 44rem; overflow-x: auto; }
.loglinear-estimator code { white-space: pre-wrap; }
.loglinear-estimator table { border-collapse: collapse; font-size: .9rem; }
.loglinear-estimator :is(th, td) { padding: .1rem .8rem .1rem 0; text-align: left; vertical-align: top; }
.loglinear-estimator th { font-weight: 400; opacity: .75; }
</style>"""


def summary_html(estimator: Any) -> str:
    """Return an estimator as HTML: the call that makes it and, if it is fitted, a table of what training has given."""
    from .explain.reports import call_text

    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(text)}</td></tr>'
        for name, text in summary_rows(estimator).items()
    )
    fitted = vars(estimator).get("model_")
    call = repr(estimator) if fitted is None else call_text(estimator, fitted.template).partition(".fit(")[0]
    table = f"<table><tbody>{rows}</tbody></table>" if rows else "<p>not fitted yet</p>"
    return f'<div class="loglinear-estimator">{_STYLE}<code>{escape(call)}</code>{table}</div>'


def summary_rows(estimator: Any) -> dict[str, str]:
    """Return what training has given, as the rows of a table; nothing of an estimator that is not fitted."""
    import numpy as np
    import scipy.sparse

    from .explain import network_report, reports
    from .files.settings import training_summary

    known = vars(estimator)
    if "model_" in known:
        rows = reports.model_rows(json.loads(estimator.model_.settings), estimator.model_)
        return {"labels": _named(estimator.model_.labels), **rows}
    if "edges_" in known:
        return network_report.network_rows(estimator)
    if "node_weights_" in known:
        return {"labels": _named(estimator.classes_), **network_report.graph_rows(estimator)}
    if "coef_" not in known:
        return {}
    training = training_summary(estimator.results_) if estimator.results_ else {}
    coef = estimator.coef_
    found = {
        "model": "classifier",
        "columns": coef.shape[1],
        "features with a weight": int(coef.count_nonzero() if scipy.sparse.issparse(coef) else np.count_nonzero(coef)),
        "l1": estimator.l1,
        "l2": estimator.l2,
        **reports.training_rows(training),
    }
    return {"classes": _named(estimator.classes_), **reports.settings_rows(found)}


def _named(labels: Iterable[Any]) -> str:
    """Return how many labels there are, and their names if they are few."""
    names = [str(label) for label in labels]
    return f"{len(names):,}: {', '.join(names[:_NAMED])}{', …' if len(names) > _NAMED else ''}"
