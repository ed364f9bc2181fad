"""Laws of all components: files, bytes and processes give the same annotations, and mistakes are told by name."""

from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from spacy.tokens import Doc
from thinc.config import ConfigValidationError

import spacy
from loglinear import ChainCRF, DataError, DataWarning, ModelFileError, NotFittedError, OptionError
from oracles.patience import patience
from oracles.spacy_docs import COMPONENTS, TEXTS, WORDS, chain, examples, pipeline, trained

SRC = Path(__file__).parents[2] / "src"


def annotations(doc):
    """All that the components set."""
    spans = {key: [(s.start, s.end, s.label_) for s in group] for key, group in doc.spans.items()}
    scores = {key: group.attrs["scores"].tolist() for key, group in doc.spans.items()}
    return [(ent.text, ent.label_) for ent in doc.ents], [token.tag_ for token in doc], doc.cats, spans, scores


@pytest.fixture(scope="module")
def nlp():
    return trained(*COMPONENTS)


@pytest.fixture(scope="module")
def expected(nlp):
    found = [annotations(doc) for doc in nlp.pipe(TEXTS)]
    assert all(all(part) for part in found[0])
    return found


def test_a_folder_has_a_pipeline(nlp, expected, tmp_path):
    nlp.to_disk(tmp_path)
    assert [annotations(doc) for doc in spacy.load(tmp_path).pipe(TEXTS)] == expected
    nlp.to_disk(tmp_path)  # over models that are open


def test_bytes_have_a_pipeline(nlp, expected):
    other = pipeline(*COMPONENTS).from_bytes(nlp.to_bytes())
    assert [annotations(doc) for doc in other.pipe(TEXTS)] == expected
    again = pickle.loads(pickle.dumps(nlp))
    assert [annotations(doc) for doc in again.pipe(TEXTS)] == expected


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_component_is_pickled_written_and_read_alone(nlp, name, tmp_path):
    pipe = nlp.get_pipe(name)
    labels = pipe.labels
    blank = pipeline(name).get_pipe(name)
    pipe.to_disk(tmp_path / "folder")
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["model"]
    doc = annotations(pipe(nlp.make_doc(TEXTS[0])))
    for other in (
        pickle.loads(pickle.dumps(pipe)),
        pipeline(name).get_pipe(name).from_bytes(pipe.to_bytes()),
        pipeline(name).get_pipe(name).from_disk(tmp_path / "folder"),
    ):
        assert other.labels == labels
        assert all(label in other.vocab.strings for label in labels)
        assert annotations(other(Doc(other.vocab, words=WORDS[0]))) == doc
    pipe.to_disk(tmp_path / "empty", exclude=["model"])
    assert blank.from_disk(tmp_path / "empty").labels == ()
    assert blank.from_bytes(pipe.to_bytes(), exclude=["model"]).labels == ()


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_model_that_is_opened_runs_on_the_threads_of_the_config(nlp, name, tmp_path):
    nlp.get_pipe(name).to_disk(tmp_path)
    pipe = pipeline(name, config={"options": {"n_jobs": 1}}).get_pipe(name).from_disk(tmp_path)
    assert pipe.estimator.n_jobs == 1


@pytest.mark.parametrize("name", COMPONENTS)
def test_damaged_files_are_model_file_errors(nlp, name, tmp_path):
    pipe = nlp.get_pipe(name)
    pipe.to_disk(tmp_path)
    data = (tmp_path / "model").read_bytes()
    (tmp_path / "model").write_bytes(data[:-9])
    blank = pipeline(name).get_pipe(name)
    with pytest.raises(ModelFileError, match=r"model: .*damaged"):
        blank.from_disk(tmp_path)
    assert not blank.is_trained
    (tmp_path / "model").write_bytes(b"")
    with pytest.raises(ModelFileError, match="empty"):
        blank.from_disk(tmp_path)
    broken = spacy.util.to_bytes({"model": lambda: data[:-9]}, ())
    with pytest.raises(ModelFileError, match=f"^component '{name}': .*damaged"):
        blank.from_bytes(broken)
    for foreign in (b"garbage", b"", b"\x01", b"\x81", spacy.util.to_bytes({"model": lambda: "text"}, ())):
        with pytest.raises(ModelFileError, match=f"^component '{name}': the bytes are not from to_bytes"):
            blank.from_bytes(foreign)
    assert not blank.is_trained


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_model_file_that_was_removed_is_missed_when_the_pipeline_is_opened(nlp, name, tmp_path):
    nlp.to_disk(tmp_path)
    (tmp_path / name / "model").unlink()
    with pytest.raises(ModelFileError, match=rf"{name}.model: the model of component '{name}' is missing; restore"):
        spacy.load(tmp_path)
    assert name not in spacy.load(tmp_path, exclude=[name]).pipe_names


@pytest.mark.slow
def test_a_fresh_process_knows_the_labels(nlp, expected, tmp_path):
    nlp.to_disk(tmp_path)
    program = f"""
    import spacy, loglinear.spacy
    nlp = spacy.load({str(tmp_path)!r})
    assert all(label in nlp.vocab.strings for pipe in nlp.pipe_labels.values() for label in pipe)
    for doc in nlp.pipe({TEXTS[:2]!r}, n_process=2, batch_size=1):
        print([(ent.text, ent.label_) for ent in doc.ents], [token.tag_ for token in doc], dict(doc.cats))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=patience(60)
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{ents} {tags} {cats}" for ents, tags, cats, *_ in expected[:2]]


def test_pipes_can_be_switched_off(nlp):
    with nlp.select_pipes(enable=["loglinear_tagger"]):
        doc = nlp(TEXTS[0])
    assert (len(doc.ents), dict(doc.cats), bool(doc[0].tag_)) == (0, {}, True)


def test_the_analysis_of_pipes_knows_what_they_assign(nlp):
    analysis = nlp.analyze_pipes()
    assert not any(analysis["problems"][name] for name in COMPONENTS)
    assert "loglinear_ner" in analysis["attrs"]["doc.ents"]["assigns"]
    weights = nlp.config["training"]["score_weights"]
    assert {"ents_f", "tag_acc", "cats_score", "spans_sc_f"} <= weights.keys()
    assert nlp.pipe_labels["loglinear_ner"] == ["LOC", "PER"]


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_component_that_is_not_trained_says_so(name, tmp_path):
    nlp = pipeline(name)
    with pytest.raises(NotFittedError, match=f"component '{name}' is not trained; call nlp.initialize") as failure:
        nlp(TEXTS[0])
    assert isinstance(failure.value, ValueError)  # as in spaCy
    nlp.to_disk(tmp_path)
    assert spacy.load(tmp_path).get_pipe(name).labels == ()
    config = {"model_path": str(tmp_path / "none")}
    pipeline(name, config=config).to_disk(tmp_path / "pointing")
    with pytest.raises(ModelFileError, match=f"component '{name}': there is no model file .*none; check model_path"):
        spacy.load(tmp_path / "pointing")


@pytest.mark.parametrize("path", ["", " "])
def test_an_empty_path_of_a_model_is_refused(path):
    with pytest.raises(OptionError, match="component 'loglinear_ner': model_path is empty; give the path"):
        pipeline("loglinear_ner", config={"model_path": path})


@pytest.mark.parametrize(("name", "annotation"), [("loglinear_ner", "entities"), ("loglinear_spancat", "spans")])
def test_training_without_any_span_is_warned_of(name, annotation):
    nlp = pipeline(name)
    given = examples(nlp)
    for example in given:
        example.reference.set_ents([])
        example.reference.spans["sc"] = []
    with pytest.warns(DataWarning) as seen:
        nlp.initialize(lambda: given)
    (message,) = [str(warning.message) for warning in seen]
    assert message.startswith(f"component '{name}': the examples have no {annotation} (doc.")
    assert "so the model will never set one" in message
    assert not nlp.get_pipe(name).labels


@pytest.mark.parametrize("name", COMPONENTS)
def test_error_handlers_see_the_batch_and_the_others_go_on(nlp, name, monkeypatch):
    pipe, seen = nlp.get_pipe(name), []
    original = pipe.predict

    def predict(docs):
        if any(doc.text == "bad" for doc in docs):
            message = "no"
            raise RuntimeError(message)
        return original(docs)

    with nlp.select_pipes(enable=[name]):
        monkeypatch.setattr(pipe, "predict", predict)
        with pytest.raises(RuntimeError, match="no"):
            list(nlp.pipe(["bad"]))
        nlp.set_error_handler(lambda name, proc, docs, error: seen.append((name, [doc.text for doc in docs])))
        try:
            found = [doc.text for doc in nlp.pipe([TEXTS[0], "bad", TEXTS[1]], batch_size=1)]
        finally:
            nlp.set_error_handler(spacy.util.raise_error)
    assert (found, seen) == ([TEXTS[0], TEXTS[1]], [(name, ["bad"])])


@pytest.mark.parametrize("name", COMPONENTS)
def test_unknown_keys_and_values_out_of_range_are_refused(name):
    with pytest.raises(ConfigValidationError, match="nonsense"):
        pipeline(name, config={"nonsense": 1})
    with pytest.raises(ConfigValidationError, match="l2"):
        pipeline(name, config={"l2": "much"})
    with pytest.raises(OptionError, match=f"component '{name}': l1=-1.0 is not a valid penalty"):
        pipeline(name, config={"l1": -1.0})
    for key, words in {"solvr": "did you mean solver", "nonsense": "correct it, or leave it out"}.items():
        with pytest.raises(OptionError, match=f"component '{name}': options has '{key}', which is not a .*{words}"):
            pipeline(name, config={"options": {key: 1.0}})
    with pytest.raises(OptionError, match=f"component '{name}': options has 'l2', which is a key of the config"):
        pipeline(name, config={"l2": 0.1, "options": {"l2": 1.0}})
    with pytest.raises(OptionError, match=f"component '{name}': .*nope"):
        pipeline(name, config={"options": {"solver": "nope"}})


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("chunking", "looks at 2 columns, and a doc has one, the words"),
        ("nre", "neither a preset"),
        ("X:%x[0,0]", "a line must start with"),
    ],
)
def test_templates_look_at_words(template, reason):
    with pytest.raises(ValueError, match=reason):
        pipeline("loglinear_ner", config={"template": template})


def test_a_model_file_takes_the_place_of_training(tmp_path):
    crf, path = chain(), tmp_path / "ner.loglinear"
    crf.save(path)
    nlp = pipeline("loglinear_ner", config={"model_path": str(path)})
    nlp.initialize(lambda: examples(nlp, WORDS[:2]))
    assert nlp.get_pipe("loglinear_ner").estimator.predict(WORDS) == crf.predict(WORDS)
    # The pipeline has its own copy.
    nlp.to_disk(tmp_path / "nlp")
    path.unlink()
    assert len(spacy.load(tmp_path / "nlp")(TEXTS[0]).ents) == 2
    with pytest.raises(NotFittedError, match=r"there is no model file .*ner\.loglinear; check model_path"):
        pipeline("loglinear_ner", config={"model_path": str(path)})(TEXTS[0])


def test_models_that_do_not_suit_a_component_are_refused(tmp_path):
    ChainCRF().fit([[["a"], ["b"]]], [["B-A", "O"]]).save(tmp_path / "attributes")
    ChainCRF(template="pos").fit([["a", "b"]], [["NOUN", "VERB"]]).save(tmp_path / "tags")
    ChainCRF(template="pos").fit([["a", "b"]], [[0, 1]]).save(tmp_path / "numbers")
    reasons = {
        "attributes": "trained on attributes, not on words",
        "tags": "do not mark spans.*; use loglinear_tagger",
        "numbers": "of type int, and spaCy needs strings",
    }
    for name, reason in reasons.items():
        with pytest.raises(OptionError, match=f"component 'loglinear_ner': .*{reason}"):
            pipeline("loglinear_ner", config={"model_path": str(tmp_path / name)})


def test_updates_leave_the_model_as_it_is(nlp, expected):
    losses = nlp.update(examples(nlp)[:2])
    assert losses == dict.fromkeys(COMPONENTS, 0.0)
    assert [annotations(doc) for doc in nlp.pipe(TEXTS)] == expected
    assert not any(pipe.is_trainable for _, pipe in nlp.pipeline)


def test_announced_labels_are_compared_with_the_data():
    nlp = pipeline("loglinear_ner")
    pipe, given = nlp.get_pipe("loglinear_ner"), examples(nlp)
    with pytest.raises(DataError, match="the training data have the label 'LOC', which is not in"):
        pipe.initialize(lambda: given, nlp=nlp, labels=["PER"])
    assert not pipe.is_trained
    with pytest.warns(DataWarning, match="no example has the label 'ORG', which is never predicted"):
        pipe.initialize(lambda: given, nlp=nlp, labels=["PER", "LOC", "ORG"])
    pipe.initialize(lambda: given, nlp=nlp, labels=pipe.label_data)


def test_a_training_that_streams_is_warned_of():
    nlp = pipeline("loglinear_tagger")
    nlp.config["training"]["max_epochs"] = -1
    with pytest.warns(DataWarning, match=r"learns from the first 100 examples only.*max_epochs is -1; set it to 0"):
        nlp.get_pipe("loglinear_tagger").initialize(lambda: examples(nlp), nlp=nlp)


def test_a_scorer_replaces_the_scores():
    nlp = trained("loglinear_tagger", config={"scorer": {"@scorers": "spacy.tagger_scorer.v1"}})
    assert nlp.evaluate(examples(nlp))["tag_acc"] == 1.0
    assert "pos_acc" not in nlp.get_pipe("loglinear_tagger").score([])


def test_importing_the_library_and_the_command_line_does_not_import_spacy():
    program = "import sys, loglinear, loglinear.cli.main; loglinear.ChainCRF; print('spacy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=patience(60))
    assert done.stdout == "False\n"


@pytest.mark.slow
def test_entry_points_make_an_import_unnecessary(tmp_path):
    """As installed: a folder with the entry points of pyproject.toml before all others."""
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 reads no TOML")
    project = tomllib.loads((SRC.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    points = project["entry-points"]["spacy_factories"]
    assert set(points) == set(COMPONENTS)
    info = tmp_path / "loglinear_entry_points-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: loglinear-entry-points\nVersion: 1\n")
    lines = "".join(f"{name} = {place}\n" for name, place in points.items())
    (info / "entry_points.txt").write_text(f"[spacy_factories]\n{lines}")
    program = f"""
    import sys
    sys.path[:0] = [{str(tmp_path)!r}]
    import spacy
    nlp = spacy.blank("xx")
    for name in {COMPONENTS!r}:
        nlp.add_pipe(name)
    import loglinear.spacy
    print(nlp.pipe_names)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=patience(60)
    )
    assert (done.stdout, done.stderr) == (f"{[*COMPONENTS]}\n", "")
