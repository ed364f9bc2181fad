"""A headless browser that opens pages: what it complains about, and the document that it makes of them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from importlib.util import find_spec
from pathlib import Path

import pytest

from oracles.patience import patience

_BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

has_axe = _BROWSER is not None and find_spec("axe_core_python") is not None
needs_axe = pytest.mark.skipif(not has_axe, reason="no Chromium or no axe-core-python is installed")
needs_browser = pytest.mark.skipif(_BROWSER is None, reason="no Chromium is installed")


def opened(path, place="", *, dark=False, width=1280, url=None):
    """Return the browser's messages about a page, and the document that it has made of it.

    Args:
        path: of the page; or of a file that is not there, if the page has another address.
        place: where in the page to go, such as "#top".
        dark: whether the browser asks for dark pages.
        width: of the window, pixels.
        url: address of a page that is not a file.
    """
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0", "--dump-dom"]
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    options += [scheme, f"--window-size={width},900", "--virtual-time-budget=20000"]
    done = subprocess.run(
        [_BROWSER, *options, f"--user-data-dir={path}.profile", f"{url or f'file://{path}'}{place}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=patience(60),
    )
    return [line for line in done.stderr.splitlines() if "CONSOLE" in line], done.stdout


def without_scripts(html):
    """Return a page whose scripts a browser does not run."""
    policy = '<meta http-equiv="Content-Security-Policy" content="script-src \'none\'">'
    return html.replace("<head>", f"<head>{policy}", 1)


def findings(path, *, dark, width=1280):
    """Return what axe finds serious or critical in a page: the rule, the element, and what is wrong.

    The page runs axe once it has settled. A copy beside it does so, for it may name files of its folder.
    """
    axe = Path(find_spec("axe_core_python").origin).with_name("axe.min.js").read_text(encoding="utf-8")
    script = f"<script>{axe.replace('</script', '<' + chr(92) + '/script')}</script><script>{_RUN}</script>"
    copy = path.with_name(f"axe-{path.name}")
    copy.write_text(path.read_text(encoding="utf-8") + script, encoding="utf-8")
    document = opened(copy, dark=dark, width=width)[1]
    copy.unlink()
    found = json.loads(unescape(re.search('<pre id="axe">(.*?)</pre>', document, re.DOTALL)[1]))
    return [tuple(each) for each in found]


_RUN = """
addEventListener("load", () => setTimeout(async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  const told = (id) => (node) => [id, node.html.slice(0, 150), node.failureSummary];
  const found = serious.flatMap(({ id, nodes }) => nodes.map(told(id)));
  const result = document.createElement("pre");
  result.id = "axe";
  result.textContent = JSON.stringify(found);
  document.body.replaceChildren(result);
}, 200));
"""
