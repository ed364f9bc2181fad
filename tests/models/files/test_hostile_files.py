"""Model files with the right checksum and the wrong content are refused when they are opened, or work all the same."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import re
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from loglinear import ChainCRF, DataError, GraphCRF, MaxEnt, ModelFileError, PairwiseMRF, Tagger
from loglinear.data.texts import read as read_texts
from loglinear.models.files import checkpoint as checkpoint_file
from loglinear.models.text_classifier import TextClassifier
from loglinear.models.training.checkpoint import Checkpoint
from loglinear.models.training.structure import OBJECTIVES, NetworkOptions
from loglinear.networks.inference import INFERENCES
from loglinear.options import checks_of
from oracles.command_line import run_command
from oracles.hostile import CHANGES, DELETED, changed, places
from oracles.model_file import ModelFile

SENTENCES = [[["Ada", "NE"], ["met", "V"], ["Bob", "NE"]], [["Bob", "NE"], ["Ross", "NE"], ["ran", "V"]]]
WORDS = [[word for word, _ in words] for words in SENTENCES]
TAGS = [["B-P", "O", "B-P"], ["B-P", "I-P", "O"]]
DENSE = np.random.default_rng(0).normal(size=(24, 4))
CLASSES = np.argmax(DENSE[:, :3] + 0.5, axis=1)
NAMED = [["good", "fine"], ["bad"], ["good"], ["fair", "bad"]]
NAMED_CLASSES = ["+", "-", "+", "-"]
COLUMNS = "".join(
    "".join(f"{word} {tag} {label}\n" for (word, tag), label in zip(words, labels, strict=True)) + "\n"
    for words, labels in zip(SENTENCES, TAGS, strict=True)
)
TEXTS = "good\ta fine film\nbad\ta dull film\ngood\tfine\nbad\tdull and slow\n"
ATTRIBUTES = "".join(f"{label}\t{chr(9).join(names)}\n" for names, label in zip(NAMED, NAMED_CLASSES, strict=True))


def table(n: int = 60) -> pd.DataFrame:
    """A binary, a categorical and a numeric column, and one of a single value."""
    random = np.random.default_rng(1)
    wet = random.integers(0, 2, n)
    return pd.DataFrame(
        {
            "wet": wet,
            "sky": np.where(random.random(n) < 0.8, np.where(wet, "rain", "sun"), "fog"),
            "degrees": (10.0 * random.random(n) - 6.0 * wet).round(2),
            "place": "here",
        }
    )


def network(X: pd.DataFrame, **options) -> PairwiseMRF:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PairwiseMRF(**options).fit(X)


def use_chain(path, X, y) -> None:
    crf = ChainCRF.load(path)
    crf.predict(X)
    crf.predict_marginals(X)
    assert str(crf.explain(X[0]))
    assert crf.report(X, y).html()
    assert repr(crf) + crf._repr_html_()
    crf.save(f"{path}.again")
    ChainCRF.load(f"{path}.again")
    Tagger(path).tag(X[0])


def use_classifier(path, X, y) -> None:
    classifier = MaxEnt.load(path)
    if (classifier.attributes_ is None) is isinstance(X, list):  # a classifier of other samples
        return
    if not isinstance(X, list):
        if classifier.n_features_in_ > 10**6:  # nothing but its shape has been looked at
            return
        X = scipy.sparse.csr_array(
            (X.data, X.nonzero()), shape=(X.shape[0], max(classifier.n_features_in_, X.shape[1]))
        )
        X = X[:, : classifier.n_features_in_]
    classifier.predict(X)
    classifier.predict_proba(X)
    assert str(classifier.explain(X))
    assert classifier.report(X, y).html()
    assert repr(classifier) + classifier._repr_html_()
    classifier.save(f"{path}.again")
    MaxEnt.load(f"{path}.again")


def use_texts(path, texts, labels) -> None:
    classifier = TextClassifier.load(str(path))
    classifier.predict(texts)
    classifier.predict_proba(texts)
    assert str(classifier.explain(texts))


def use_network(path, X, _) -> None:
    mrf = PairwiseMRF.load(path)
    X = X if X.columns.tolist() == list(getattr(mrf, "feature_names_in_", [])) else X.to_numpy()
    try:
        mrf.predict(X)
    except DataError as error:  # a network of variables with other states
        assert "does not know" in str(error)  # noqa: PT017
        return
    mrf.log_likelihood(X)
    mrf.marginals()
    mrf.sample(2, random_state=0)
    assert [str(each) for each in mrf.explain(X[:2])]
    assert mrf.report(X).settings
    assert repr(mrf) + mrf._repr_html_()


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Good models by kind: bytes of the file, how Python uses it, and the file for the command line with its format."""
    folder = tmp_path_factory.mktemp("good")
    texts = {"columns": COLUMNS, "text": TEXTS, "attributes": ATTRIBUTES}
    files = {name: folder / name for name in texts}
    for name, text in texts.items():
        files[name].write_text(text)
    X = table()
    files["table"] = folder / "table.csv"
    X.to_csv(files["table"], index=False)
    sparse = scipy.sparse.csr_array(np.where(DENSE > 0, DENSE, 0.0))
    start = folder / "start"
    ChainCRF(template="chunking").fit(SENTENCES[:1], TAGS[:1]).save(start)
    made = {}

    def add(name, model, use, X, y, file=None, format=None):
        if isinstance(model, Path):
            content = model.read_bytes()
        else:
            model.save(folder / "model")
            content = (folder / "model").read_bytes()
        made[name] = SimpleNamespace(content=content, use=lambda path: use(path, X, y), file=file, format=format)

    attributes = [[{"w": word, tag: 2.0} for word, tag in words] for words in SENTENCES]
    numbers = [[len(label) for label in labels] for labels in TAGS]
    arguments = ["train", files["columns"], "--preset", "chunking", "-m", folder / "m", "--dev", files["columns"]]
    assert not run_command(*arguments, "--start", start, "--constraints", "BIO", "--order", "2").returncode
    add("chain with a template", folder / "m", use_chain, SENTENCES, TAGS, files["columns"], "columns")
    pairs = [(None, 1), (1, 1)]
    add("chain", ChainCRF(constraints=pairs).fit(attributes, numbers), use_chain, attributes, numbers)
    add("dense classifier", MaxEnt(multi_class="ovr").fit(DENSE, CLASSES), use_classifier, sparse, CLASSES)
    add("sparse classifier", MaxEnt(l1=0.1).fit(sparse, CLASSES == 1), use_classifier, sparse, CLASSES == 1)
    named = MaxEnt(l1=0.01, class_weight="balanced").fit(NAMED, NAMED_CLASSES)
    add("classifier of names", named, use_classifier, NAMED, NAMED_CLASSES, files["attributes"], "crfsuite")
    arguments = ["train", files["text"], "-f", "text", "--tfidf", "--ngrams", "1-2", "-m", folder / "t"]
    arguments += ["--model-type", "maxent"]
    assert not run_command(*arguments).returncode
    documents = read_texts(str(files["text"]))
    add("classifier of texts", folder / "t", use_texts, documents.texts, documents.labels, files["text"], "text")
    mrf = network(X, l1=1.0, bins=3)
    add("network", mrf, use_network, X, None, files["table"])
    options = {"objective": "likelihood", "inference_options": {"damping": 0.2, "max_iterations": 300}}
    add("network by likelihood", network(X[["wet", "sky"]], l1=0.1, **options), use_network, X[["wet", "sky"]], None)
    return made


KINDS = (
    "chain with a template",
    "chain",
    "dense classifier",
    "sparse classifier",
    "classifier of names",
    "classifier of texts",
    "network",
    "network by likelihood",
)
# Settings that files of the kind need not have: parameters of estimators, and what other kinds have.
ADDED = ("template", "n_jobs", "verbose", "constraints", "text", "imported", "label_type", "classes", "bin_edges")


def check(model, path: Path, command_line: bool = True) -> None:
    """Either every way to open a file refuses it, naming it, or all that can be asked of the model has an answer."""
    try:
        model.use(path)
    except ModelFileError as error:
        assert str(error).startswith(str(path))  # noqa: PT017
        assert len(str(error)) < 1000  # noqa: PT017
        refused = True
    except DataError as error:
        # A model whose labels or tokens are said to be of another kind does not fit the data.
        kinds = r"(the )?labels (are of|have) (the )?(type|several types)|sentence \d+: token \d+ has \d+ columns"
        assert re.match(kinds, str(error)), error  # noqa: PT017
        refused = False
    else:
        refused = False
    if not command_line:
        return
    commands = [["inspect", path], ["inspect", path, "--json"]]
    if model.file is not None:
        given = ["-m", path, model.file, *(() if model.format is None else ("-f", model.format))]
        commands += [["evaluate", *given], ["explain", *given], ["tag", *given]]
        given = [path, "--data", model.file, *(() if model.format is None else ("-f", model.format))]
        commands += [["report", *given, "-o", f"{path}.html"]]
    for command in commands:
        done = run_command(*command)
        if done.returncode:
            assert done.returncode == 2, (command, done.stderr)
            # What a model of another shape cannot do is said of the data, or of the option.
            assert refused or re.search("one-vs-rest|the model does not know", done.stderr), (command, done.stderr)
            assert done.stderr.startswith("loglinear"), done.stderr


def write(path: Path, file: ModelFile) -> Path:
    path.write_bytes(file.to_bytes())
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_good_models_stay_good(models, kind, tmp_path):
    file = ModelFile.of_bytes(models[kind].content)
    file.settings = file.settings
    models[kind].use(write(tmp_path / "m", file))
    check(models[kind], tmp_path / "m")


def hostile(data, models, folder, kind):
    """A model with another setting, and the path of its file."""
    file = ModelFile.of_bytes(models[kind].content)
    ways = [*places(file.settings), *((name,) for name in ADDED if name not in file.settings)]
    way, change = data.draw(st.sampled_from(ways)), data.draw(st.sampled_from(CHANGES))
    if way and way[-1] in ADDED and way[-1] not in file.settings and (change is DELETED or callable(change)):
        change = "x"
    file.settings = changed(file.settings, way, change)
    return write(folder / "m", file)


@pytest.mark.thread_unsafe
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@examples(25)
def test_any_other_setting_is_refused_or_works(models, tmp_path_factory, kind, data):
    check(models[kind], hostile(data, models, tmp_path_factory.getbasetemp(), kind))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_setting_replaced_by_every_value_is_refused_or_works(models, tmp_path, kind):
    file = ModelFile.of_bytes(models[kind].content)
    settings = file.settings
    for way in places(settings):
        for change in CHANGES:
            file.settings = changed(settings, way, change)
            check(models[kind], write(tmp_path / "m", file), command_line=False)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite_are_refused(models, tmp_path, kind, value):
    file = ModelFile.of_bytes(models[kind].content)
    for name, count in file.weights().items():
        for at in {0, count - 1}:
            wrong = copy.deepcopy(file)
            wrong.set_weight(name, at, value)
            with pytest.raises(ModelFileError, match="finite"):
                models[kind].use(write(tmp_path / "m", wrong))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "JSON"),
        ("{", "JSON"),
        ("[1]", "JSON object"),
        ("5", "JSON object"),
        ('{"model": ' + "[" * 100_000 + "}", "JSON"),
        ('{"a": ' + "9" * 10_000 + "}", "JSON|not a"),
        ('{"model": "chain", "a": "\\ud800"}', "JSON"),
        ('{"model": "chain", "a": ' + "[" * 30 + "]" * 30 + "}", "levels"),
        ('{"model": ["chain"]}', "not a"),
    ],
)
@pytest.mark.parametrize("kind", ["chain", "dense classifier", "network"])
def test_settings_that_are_no_settings_are_refused(models, tmp_path, kind, text, wanted):
    file = ModelFile.of_bytes(models[kind].content)
    file.metadata["settings"] = text
    write(tmp_path / "m", file)
    with pytest.raises(ModelFileError, match=wanted):
        models[kind].use(tmp_path / "m")
    assert run_command("inspect", tmp_path / "m").returncode == 2


@pytest.mark.parametrize(
    ("kind", "way", "value", "named"),
    [
        ("chain", ("training", "iterations"), "x", "setting training.iterations='x' is not a whole number"),
        ("chain", ("training", "seconds"), DELETED, "setting training.seconds is missing"),
        ("chain", ("training", "n_tokens"), "x", "setting training.n_tokens"),
        ("chain", ("n_jobs",), 0, "setting n_jobs"),
        ("chain", ("label_type",), "bool", "setting label_type"),
        ("chain", ("label_type",), "date", "setting label_type"),
        ("chain", ("constraints",), [[1, 77]], "setting constraints"),
        ("chain with a template", ("constraints",), "BIOX", "setting constraints"),
        ("chain with a template", ("training", "start", "new_labels"), 3, "setting training.start.new_labels"),
        ("dense classifier", ("n_columns",), 10**18, "setting n_columns"),
        ("dense classifier", ("n_columns",), 2**31, "setting n_columns .* at most 2,147,483,648 weights"),
        ("dense classifier", ("n_columns",), -1, "setting n_columns"),
        ("dense classifier", ("n_columns",), "x", "setting n_columns"),
        ("dense classifier", ("n_columns",), 2, "a weight"),
        ("dense classifier", ("classes",), [0, 1], "setting classes"),
        ("dense classifier", ("class_type",), "<U99999999999", "setting classes"),
        ("dense classifier", ("class_type",), "O", "setting class_type"),
        ("dense classifier", ("multi_class",), "ovo", "setting multi_class='ovo' is not one of softmax, ovr"),
        ("classifier of texts", ("tolerance",), "x", "setting tolerance"),
        ("classifier of texts", ("text", "idf"), [1.0], "setting text.idf"),
        ("classifier of texts", ("text", "words"), ["fine", "fine"], "setting text.words"),
        ("classifier of texts", ("text", "words"), ["another"] * 9, "setting text.words"),
        ("classifier of texts", ("text", "words", 0), "another", "setting text.words .* which has weights"),
        ("classifier of texts", ("format",), "columns", "setting format"),
        ("network", ("names",), ["a"], "setting names"),
        ("network", ("rule",), "nor", "setting rule"),
        ("network", ("names", 0), 5, "setting names"),
        ("network", ("bin_edges",), [], "setting bin_edges"),
        ("network", ("bin_edges", 2), [1.0], r"setting bin_edges\[2\]"),
        ("network", ("bin_edges", 2), [2.0, 1.0], r"setting bin_edges\[2\]"),
        ("network", ("categories", 0), [1, 0], r"setting categories\[0\]"),
        ("network", ("categories", 0), [1, 1], r"setting categories\[0\]"),
        ("network", ("categories", 0), [0, 1, 2], "the weights of nodes"),
        ("network", ("categories", 0), [0], "the list of edges|the weights of nodes"),
        ("network", ("l2",), DELETED, "setting l2 is missing"),
        ("network by likelihood", ("inference_options",), {"damping": 7}, "setting inference_options .* damping"),
    ],
)
def test_what_is_wrong_is_named(models, tmp_path, kind, way, value, named):
    file = ModelFile.of_bytes(models[kind].content)
    file.settings = changed(file.settings, way, value)
    with pytest.raises(ModelFileError, match=named) as caught:
        models[kind].use(write(tmp_path / "m", file))
    assert str(caught.value).startswith(f"{tmp_path / 'm'}: ")
    assert "train the model again" in str(caught.value)


def test_options_out_of_their_range_are_refused_by_commands_that_show_them(models, tmp_path):
    file = ModelFile.of_bytes(models["chain with a template"].content)
    file.settings = changed(file.settings, ("order",), [2])
    finished = run_command("inspect", write(tmp_path / "m", file))
    assert finished.returncode == 2
    assert "setting order=[2] is not a whole number" in finished.stderr


def test_columns_that_a_file_does_not_hold_cost_nothing(models, tmp_path):
    file = ModelFile.of_bytes(models["dense classifier"].content)
    file.settings = file.settings | {"n_columns": 10**8}
    began = time.process_time()
    assert MaxEnt.load(write(tmp_path / "m", file)).coef_.shape == (3, 10**8)
    assert time.process_time() - began < 2.0


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith("network")])
def test_a_label_that_occurs_twice_is_refused_by_every_kind_of_model(models, tmp_path, kind):
    file = ModelFile.of_bytes(models[kind].content)
    labels = json.loads(file.metadata["labels"])
    file.metadata["labels"] = json.dumps([*labels[:-1], labels[0]])
    path = write(tmp_path / "m", file)
    for use in (models[kind].use, *([Tagger] if "chain" in kind else [])):
        with pytest.raises(ModelFileError, match=f"m: .*it has the label '{re.escape(labels[0])}' twice"):
            use(path)
    done = run_command("inspect", path)
    assert (done.returncode, "twice" in done.stderr) == (2, True)


def test_a_label_of_graphs_or_a_state_of_networks_that_occurs_twice_is_refused(models, tmp_path):
    nodes, edges = [[0.0], [1.0]], [[0, 1]]
    GraphCRF().fit([(nodes, edges)], [["a", "b"]]).save(tmp_path / "g")
    for path, way in ((tmp_path / "g", ("classes",)), (tmp_path / "n", ("categories", 0))):
        content = path.read_bytes() if path.exists() else models["network"].content
        file = ModelFile.of_bytes(content)
        file.settings = changed(file.settings, way, lambda values: [values[0], *values[:-1]])
        with pytest.raises(ModelFileError, match=r"setting .* not a list of different values"):
            (GraphCRF if way[0] == "classes" else PairwiseMRF).load(write(path, file))


@pytest.mark.parametrize(
    "edges",
    [
        [[1, 0], [0, 2], [1, 2]],
        [[0, 0], [0, 2], [1, 2]],
        [[0, 1], [0, 1], [1, 2]],
        [[0, 1], [0, 2], [1, 3]],
        [[0, 1], [0, 2], [1, 2**32 - 1]],
    ],
)
def test_edges_out_of_range_or_order_are_refused(models, tmp_path, edges):
    file = ModelFile.of_bytes(models["network"].content)
    dtype, shape, content = file.tensors["network.edges"]
    assert np.frombuffer(content, np.uint32).tolist() == [0, 1, 0, 2, 1, 2]
    file.tensors["network.edges"] = dtype, shape, np.array(edges, np.uint32).tobytes()
    with pytest.raises(ModelFileError, match="list of edges"):
        PairwiseMRF.load(write(tmp_path / "m", file))


@pytest.mark.parametrize(
    ("estimator", "kind"), [(ChainCRF, "chain"), (MaxEnt, "maxent"), (PairwiseMRF, "network"), (GraphCRF, "graph")]
)
def test_every_parameter_that_loading_sets_is_checked(estimator, kind):
    for name in {*estimator().get_params()} - {"template"}:
        with pytest.raises(ModelFileError, match=f"m: setting {name}\\b"):
            estimator._of_settings({name: float("nan")}, "m")


def test_names_of_objectives_and_inferences_are_those_that_are_accepted():
    for name, choices in (("objective", OBJECTIVES), ("inference", INFERENCES)):
        for choice in choices:
            checks_of(NetworkOptions)[name](name, choice)


SIZES = {"sentences": "x", "checksum": 1}


@pytest.mark.parametrize(
    ("part", "value"),
    [
        *(("terms", value) for value in (None, 5, [], [{}, "lbfgs", {}], [{}, {}, {}, {}])),
        *(("terms", [{}, "lbfgs", {}, {"training data": data}]) for data in (1, {}, SIZES)),
        *(("trace", value) for value in (None, [], ["x"], ["{}"], "x")),
    ],
)
def test_checkpoints_with_the_right_checksum_and_the_wrong_content_are_refused(tmp_path, part, value):
    path = str(tmp_path / "c")
    ChainCRF(template="pos").fit(WORDS, TAGS, checkpoint=Checkpoint(path))
    content = checkpoint_file.read(path)
    checkpoint_file.write(path, content | {part: value})
    with pytest.raises(DataError, match="not a checkpoint of this version"):
        ChainCRF(template="pos").fit(WORDS, TAGS, checkpoint=Checkpoint(path, resume=True))


def test_a_checkpoint_too_deep_for_python_is_refused(tmp_path):
    text = np.frombuffer(b"[" * 100_000, np.uint8)
    content = checkpoint_file.NAME + checkpoint_file.VERSION
    with io.BytesIO() as file:
        np.lib.format.write_array(file, text)
        content += file.getvalue()
    content += hashlib.blake2b(content, digest_size=checkpoint_file.SIZE).digest()
    (tmp_path / "c").write_bytes(content)
    with pytest.raises(DataError, match="not a checkpoint of this version"):
        checkpoint_file.read(str(tmp_path / "c"))
