"""The page of `loglinear serve`: one file, whose script and style are the only ones that the browser may use."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from html import escape
from pathlib import Path

from ..display.fragment import shown
from ..report.style import head

__all__ = ["POLICY", "page"]

_FOLDER = Path(__file__).parent
_SCRIPT = (_FOLDER / "page.js").read_text(encoding="utf-8")
_HASH = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()

POLICY = (
    f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_HASH}'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the page may do: talk to its own server, and nothing else."""


def page(title: str, hues: Mapping[str, float]) -> bytes:
    """Return the page, which colours each type of spans in its hue."""
    body = (_FOLDER / "page.html").read_text(encoding="utf-8").replace("{{ hues }}", escape(json.dumps(hues)))
    body = body.replace("{{ title }}", shown(title))
    return f"{head(shown(title), 'labelled')}\n{body}<script>{_SCRIPT}</script>\n</html>\n".encode()
