"""What a notebook shows of an estimator: its parameters; once fitted, its labels, size and how training ended."""

from __future__ import annotations

from html import escape

__all__ = ["summary_html"]

_STYLE = """<style>
.loglinear-estimator { font-family: system-ui, sans-serif; line-height: 1.4; max-width: 44rem; overflow-x: auto; }
.loglinear-estimator code { white-space: pre-wrap; }
.loglinear-estimator table { border-collapse: collapse; font-size: .9rem; }
.loglinear-estimator :is(th, td) { padding: .1rem .8rem .1rem 0; text-align: left; vertical-align: top; }
.loglinear-estimator th { font-weight: 400; opacity: .75; }
</style>"""


def summary_html(call: str, rows: dict[str, str]) -> str:
    """Return an estimator as HTML: the call that makes it and, if it is fitted, a table of what training has given."""
    cells = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(text)}</td></tr>' for name, text in rows.items()
    )
    table = f"<table><tbody>{cells}</tbody></table>" if rows else "<p>not fitted yet</p>"
    return f'<div class="loglinear-estimator">{_STYLE}<code>{escape(call)}</code>{table}</div>'
