"""A headless browser that opens pages: what it complains about, and the document that it makes of them."""

from __future__ import annotations

import shutil
import subprocess

import pytest

_BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

needs_browser = pytest.mark.skipif(_BROWSER is None, reason="no Chromium is installed")


def opened(path, place=""):
    """Return the browser's messages about a page, and the document that it has made of it.

    Args:
        path: of the page.
        place: where in the page to go, such as "#top".
    """
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0", "--dump-dom"]
    done = subprocess.run(
        [_BROWSER, *options, f"--user-data-dir={path}.profile", f"file://{path}{place}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return [line for line in done.stderr.splitlines() if "CONSOLE" in line], done.stdout


def without_scripts(html):
    """Return a page whose scripts a browser does not run."""
    policy = '<meta http-equiv="Content-Security-Policy" content="script-src \'none\'">'
    return html.replace("<head>", f"<head>{policy}", 1)
