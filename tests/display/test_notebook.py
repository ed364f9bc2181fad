"""The example of notebooks, run by Jupyter's kernel: every display is there, and nothing is on stderr."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from oracles.browser import needs_browser, opened
from oracles.patience import patience

EXAMPLE = Path(__file__).parents[2] / "examples" / "notebook.py"
# Jupyter's packages warn of one another, which is not our concern.
RUN = """
import sys
import nbclient, nbformat
book = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(book, kernel_name="python3", timeout=300).execute(cwd=sys.argv[2])
nbformat.write(book, sys.argv[1])
"""

# Cells with running times, which the page of the example does not have.
LAST = (
    "verbose = ChainCRF(template='pos', l1=0.5, tolerance=0.002, verbose=True)\nverbose.fit(corpus)",
    "verbose.result_",
)


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """The cells of the example with their outputs, by the last line of their code."""
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    folder = tmp_path_factory.mktemp("notebook")
    parts = [*re.split("^# %%$", EXAMPLE.read_text(encoding="utf-8"), flags=re.MULTILINE), *LAST]
    cells = [
        {
            "cell_type": "code",
            "id": f"c{at}",
            "source": part.strip(),
            "metadata": {},
            "outputs": [],
            "execution_count": None,
        }
        for at, part in enumerate(parts)
    ]
    path = folder / "example.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}), encoding="utf-8")
    program = [sys.executable, "-c", RUN, str(path), str(folder)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=patience(300))
    assert done.returncode == 0, done.stderr
    run = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return {cell["source"][-1].strip(): cell["outputs"] for cell in run}


def shown(outputs, kind):
    """The texts of one kind among the outputs of a cell."""
    return ["".join(output["data"][kind]) for output in outputs if kind in output.get("data", {})]


@pytest.mark.slow
def test_a_notebook_has_every_display_and_nothing_on_stderr(book):
    streams = {output["name"] for outputs in book.values() for output in outputs if output["output_type"] == "stream"}
    assert streams == {"stdout"}
    for name in (
        "corpus",
        "crf",
        "verbose.fit(corpus)",
        "verbose.result_",
        "scores",
        "taggings",
        "explanation",
        "edges",
    ):
        (html,) = shown(book[name], "text/html")
        assert html.startswith('<div class="loglinear')
        assert html.endswith("</div>")
    for line in ("frame.head()", "confidence.to_frame()"):
        assert 'class="dataframe"' in shown(book[line], "text/html")[0]
    assert "<summary>trace</summary>" in shown(book["verbose.result_"], "text/html")[0]
    assert 'class="label"' in shown(book["taggings"], "text/html")[0]
    assert shown(book["plt.show()"], "image/png")


@pytest.mark.slow
def test_the_progress_of_a_notebook_is_one_line_with_the_end_of_the_training(book):
    progress, display = book["verbose.fit(corpus)"]
    assert [*progress["data"]] == ["text/plain"]
    (line,) = (
        progress["data"]["text/plain"]
        if isinstance(progress["data"]["text/plain"], list)
        else [progress["data"]["text/plain"]]
    )
    iteration, objective = re.search(r"iteration (\d+), objective ([\d,.]+),", line).groups()
    text = re.sub("<[^>]*>", " ", "".join(display["data"]["text/html"]))
    assert re.search(rf"iterations\s+{iteration}\s", text)
    (result,) = shown(book["verbose.result_"], "text/html")
    assert objective == f"{float(re.search(r'objective</th><td>([0-9.,]+)<', result)[1].replace(',', '')):,.1f}"


@needs_browser
@pytest.mark.slow
def test_a_browser_has_no_complaints_about_the_displays(book, tmp_path):
    parts = [part for outputs in book.values() for part in shown(outputs, "text/html")]
    (path := tmp_path / "page.html").write_text(
        f"<!DOCTYPE html><meta charset=utf-8>{''.join(parts)}", encoding="utf-8"
    )
    complaints, document = opened(path)
    assert complaints == []
    assert document.count('<div class="loglinear') == sum(part.count('<div class="loglinear') for part in parts) > 6
