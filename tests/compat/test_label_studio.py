"""Label Studio's own converter beside ours: it reads the same spans of the same export.

The converter is not installed for tests: it pins older versions of NumPy. Without it, the test is skipped.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loglinear import labelled_tokens, read_annotations

SAMPLES = Path(__file__).parents[1] / "data" / "annotations" / "samples"
CONFIG = """<View><Labels name="label" toName="text"><Label value="PER"/><Label value="LOC"/></Labels>
<Text name="text" value="$text"/></View>"""


@pytest.mark.slow
def test_label_studio_converts_its_export_to_the_spans_that_we_read(tmp_path):
    converter = pytest.importorskip("label_studio_sdk.converter.converter")
    own = converter.Converter(CONFIG, project_dir=None, download_resources=False)
    own.convert(str(SAMPLES / "label-studio.json"), str(tmp_path), "JSON_MIN", is_dir=False)
    expected = read_annotations(SAMPLES / "label-studio.json")
    assert json.loads((tmp_path / "result.json").read_text()) == json.loads(
        (SAMPLES / "label-studio-min.json").read_text(encoding="utf-8")
    )
    assert read_annotations(tmp_path / "result.json") == expected
    own.convert(str(SAMPLES / "label-studio.json"), str(tmp_path), "CONLL2003", is_dir=False)
    rows = [line.split() for line in (tmp_path / "result.conll").read_text(encoding="utf-8").splitlines()[1:] if line]
    # It cuts text into words in its own way, but the words of spans are the same.
    X, y = labelled_tokens(expected)
    ours = [(word, label) for pair in zip(X, y, strict=True) for word, label in zip(*pair, strict=True)]
    assert [label for *_, label in rows if label[0] == "B"] == [label for _, label in ours if label[0] == "B"]
    assert [word for word, *_, label in rows if label != "O"][:5] == [word for word, label in ours if label != "O"][:5]
