"""Laws of `loglinear presets`."""

from __future__ import annotations

import pytest

from loglinear import _core
from loglinear.data.templates import PRESETS


def test_help_shows_an_example(done):
    assert "example: loglinear presets" in done("presets", "--help").stdout


def test_list_has_a_line_for_every_preset(done):
    lines = done("presets").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(PRESETS)
    assert {"chunking", "ner", "pos", "segmentation"} <= set(PRESETS)


@pytest.mark.parametrize("name", PRESETS)
def test_printed_template_trains_the_same_model_as_the_preset(done, sample, tmp_path, name):
    template = tmp_path / "template"
    template.write_text(done("presets", name).stdout, encoding="utf-8")
    data = tmp_path / "data"
    rows = ([*row[:2], "x", row[2]] for sentence in sample.data["train"][:20] for row in [*sentence, ["", "", ""]])
    data.write_text("".join(" ".join(row) + "\n" if row[0] else "\n" for row in rows), encoding="utf-8")
    models = []
    for option, value in (("--template", template), ("--preset", name)):
        done("train", data, option, value, "-m", tmp_path / "m", "--max-iterations", "3", "-q")
        model = _core.ChainModel.open(str(tmp_path / "m"))
        models.append((model.state_features(), model.transition_features(), model.template))
    assert models[0] == models[1]
    assert models[0][0]
    assert models[0][1]
    assert models[0][2] == PRESETS[name].text
