"""A project of spaCy, with the config that `spacy init config` writes, trains and scores the components."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from spacy.cli.init_config import fill_config
from spacy.tokens import DocBin
from spacy.util import load_config

import spacy
from oracles.patience import patience
from oracles.spacy_docs import COMPONENTS, WORDS, gold

SRC = Path(__file__).parents[2] / "src"
PROJECT = """
title: Entities
vars:
  name: entities
directories: [corpus, training]
workflows:
  all: [train, evaluate]
commands:
  - name: train
    script:
      - >-
        python -m spacy train config.cfg --code code.py --output training
        --paths.train corpus/train.spacy --paths.dev corpus/dev.spacy
    deps: [corpus/train.spacy, corpus/dev.spacy, config.cfg]
    outputs: [training/model-best]
  - name: evaluate
    script:
      - "python -m spacy evaluate training/model-best corpus/dev.spacy --code code.py --output training/metrics.json"
    deps: [training/model-best]
    outputs: [training/metrics.json]
"""


def config(nlp, **training):
    """The config of a pipeline, with the readers of files that `spacy init config` gives it."""
    whole = nlp.config.copy()
    whole["paths"] = {"train": None, "dev": None, "vectors": None, "init_tok2vec": None}
    reader = {"@readers": "spacy.Corpus.v1"}
    whole["corpora"] = {name: reader | {"path": f"${{paths.{name}}}"} for name in ("train", "dev")}
    whole["training"] |= training
    return whole


@pytest.fixture
def project(tmp_path):
    nlp = spacy.blank("xx")
    for name in COMPONENTS:
        nlp.add_pipe(name)
    (tmp_path / "corpus").mkdir()
    for part, sentences in (("train", WORDS), ("dev", WORDS[::3])):
        DocBin(docs=[gold(nlp.vocab, words) for words in sentences]).to_disk(tmp_path / "corpus" / f"{part}.spacy")
    config(nlp, max_steps=1, eval_frequency=1).to_disk(tmp_path / "config.cfg")
    (tmp_path / "code.py").write_text("import loglinear.spacy\n", encoding="utf-8")
    (tmp_path / "project.yml").write_text(PROJECT, encoding="utf-8")
    return tmp_path


def test_initialising_from_a_config_trains(project):
    overrides = {f"paths.{part}": str(project / "corpus" / f"{part}.spacy") for part in ("train", "dev")}
    nlp = spacy.training.initialize.init_nlp(load_config(project / "config.cfg", overrides))
    assert {len(pipe.labels) for _, pipe in nlp.pipeline} == {2, 3}
    assert nlp("Grace lived in New York .").ents[1].text == "New York"


def test_the_config_of_the_page_can_be_filled(tmp_path):
    page = (SRC.parent / "docs" / "spacy.md").read_text(encoding="utf-8")
    (tmp_path / "base.cfg").write_text(page.partition("```ini\n")[2].partition("```")[0], encoding="utf-8")
    _, filled = fill_config(tmp_path / "config.cfg", tmp_path / "base.cfg", silent=True)
    assert (filled["components"]["loglinear_ner"]["l1"], filled["training"]["max_steps"]) == (0.3, 1)


@pytest.mark.slow
def test_a_project_runs(project):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = os.environ | {"PYTHONPATH": str(SRC), "PATH": path}
    done = subprocess.run(
        [sys.executable, "-m", "spacy", "project", "run", "all"],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=patience(300),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    metrics = json.loads((project / "training" / "metrics.json").read_text(encoding="utf-8"))
    assert (metrics["ents_f"], metrics["tag_acc"], metrics["spans_sc_f"]) == (1.0, 1.0, 1.0)
    meta = json.loads((project / "training" / "model-best" / "meta.json").read_text(encoding="utf-8"))
    assert meta["labels"]["loglinear_ner"] == ["LOC", "PER"]
