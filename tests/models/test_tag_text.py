"""Laws of `Tagger.tag_text`: spans of a text are the chunks of its tokens, with their places and probabilities."""

from __future__ import annotations

import gc
import json
import pickle
import random
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loglinear import ChainCRF, DataError, DataWarning, ModelFileError, OptionError, Tagger, TextSpan, Tokenizer
from loglinear.data.sentence_size import set_max_sentence
from loglinear.data.token_fit import misfit_of
from loglinear.metrics import chunks
from loglinear.models.files.text_spans import spans_html

TEMPLATE = "U0:%x[0,0]\nU1:%shape[0,0]\nU2:%x[-1,0]\nB\n"
TRAIN = [
    ("Ada Lovelace wrote to Charles Babbage .", "B-PER I-PER O O B-PER I-PER O"),
    ("Babbage lived in London , not in Paris .", "B-PER O O B-LOC O O O B-LOC O"),
    ("In Paris he met Ada .", "O B-LOC O O B-PER O"),
]
X, Y = ([row[at].split() for row in TRAIN] for at in (0, 1))
IOBES = {"B-PER": "B-PER", "I-PER": "E-PER", "B-LOC": "S-LOC", "O": "O"}
TEXT = "\ufeff Ada\tLovelace met  Charles 𝒳 Babbage,\r\nin e\u0301te\u0301 (Paris)."


@pytest.fixture(scope="module")
def entities():
    return ChainCRF(template=TEMPLATE, tokenizer="words", l2=0.1).fit(X, Y)


@pytest.fixture(scope="module")
def parts():
    """A model whose labels follow no scheme."""
    return ChainCRF(template=TEMPLATE, tokenizer="words", l2=0.1).fit(X, [[y[-3:] for y in row] for row in Y])


def expected(crf, tokenizer, text):
    """The spans by way of tokens: the chunks that the estimator finds, or a span for each token."""
    places, (tagging,) = tokenizer.offsets(text), crf.tag([tokenizer.tokens(text)])
    rows = [(span.start, span.end, span.type, span.probability) for span in tagging.spans]
    if not any(label.startswith("B-") for label in crf.classes_):
        pairs = zip(tagging.labels, tagging.probabilities, strict=True)
        rows = [(at, at + 1, label, p) for at, (label, p) in enumerate(pairs)]
    spans = [(places[first][0], places[last - 1][1], label, p) for first, last, label, p in rows]
    return [TextSpan(start, end, label, text[start:end], p) for start, end, label, p in spans]


ALPHABET = st.lists(
    st.sampled_from([*"Ada Lovelace|Paris|London|met|in|.|,| |\t|𝒳|e\u0301|-|\x00".split("|")]), max_size=30
)


@pytest.mark.filterwarnings("ignore:the tokenizer:loglinear.errors.DataWarning")
@given(
    ALPHABET.map("".join) | ALPHABET.map(" ".join) | st.text(max_size=20),
    st.sampled_from(["words", "whitespace", "characters"]),
)
def test_spans_are_the_chunks_of_the_tokens(entities, parts, text, name):
    for crf in (entities, parts):
        found = Tagger(crf).tag_text(text, tokenizer=name)
        wanted = expected(crf, Tokenizer(name), text)
        assert [span[:4] for span in found] == [span[:4] for span in wanted]
        assert [span.probability for span in found] == pytest.approx([span.probability for span in wanted], abs=1e-12)
        assert all(text[span.start : span.end] == span.text for span in found)
        bare = Tagger(crf, tokenizer=name).tag_text(text, probabilities=False)
        assert bare == [span._replace(probability=None) for span in found]


def test_offsets_count_characters(entities):
    spans = Tagger(entities).tag_text(TEXT)
    assert next((span.label, span.text) for span in spans) == ("PER", "Ada\tLovelace")
    assert ("LOC", "Paris") in [(span.label, span.text) for span in spans]
    assert spans == expected(entities, Tokenizer("words"), TEXT)


@pytest.mark.parametrize("threads", [1, 2, 0])
def test_many_texts_have_the_spans_of_each(entities, parts, threads):
    texts = [TEXT, "", "\ufeff", "Ada", *[f"{word} wrote {at} in Paris." for at, word in enumerate("abc" * 300)]]
    for crf in (entities, parts):
        tagger = Tagger(crf)
        assert tagger.tag_texts(texts, threads=threads) == [tagger.tag_text(text) for text in texts]
        assert tagger.tag_texts((text for text in texts[:4]), threads=threads)[1:3] == [[], []]


def test_texts_have_the_probability_of_all_labels_from_the_same_decoding(entities, parts):
    texts = [TEXT, "", "Ada wrote.", "Babbage"]
    for crf in (entities, parts):
        tagger = Tagger(crf)
        taggings = tagger.tag_batch([tagger.cut(text) for text in texts], probabilities=True)
        spans, sure = tagger._spans(texts, True, None, threads=1)
        assert spans == tagger.tag_texts(texts)
        assert sure == pytest.approx([tagging.log_probability for tagging in taggings], abs=1e-12)
        assert tagger._spans(texts, False, None, threads=1)[1] is None


def test_other_schemes_have_the_same_spans(entities):
    crf = ChainCRF(template=TEMPLATE, tokenizer="words").fit(X[1:2], [[IOBES[y] for y in row] for row in Y[1:2]])
    assert {span.label for span in Tagger(crf).tag_text("Babbage lived in London, not in Paris.")} <= {"PER", "LOC"}
    assert "LOC" in {span.label for span in Tagger(crf).tag_text("lived in London")}


@pytest.mark.parametrize("scheme", ["IOB", "IOBES"])
def test_chunks_of_lists_are_those_of_the_labels(scheme):
    y = [[IOBES[label] for label in row] for row in Y] if scheme == "IOBES" else Y
    tagger = Tagger(ChainCRF(template=TEMPLATE, l2=0.1).fit(X, y))
    draw = random.Random(1)
    words = sorted({word for row in X for word in row})
    sentences = [draw.choices(words, k=draw.randrange(12)) for _ in range(200)]
    expected = [
        (number, *chunk)
        for number, labels in enumerate(tagger.tag_batch(sentences))
        for chunk in sorted(chunks(labels, scheme), key=lambda chunk: chunk[1])
    ]
    assert len(expected) > 100
    assert [tagger._chunks(sentences, threads=threads) for threads in (1, 2)] == [expected] * 2


def test_labels_keep_their_type():
    crf = ChainCRF(template=TEMPLATE, tokenizer="words").fit([["a", "b"], ["b", "a"]], [[1, 2], [2, 1]])
    assert [span.label for span in Tagger(crf).tag_text("a b a")] == [1, 2, 1]


def test_the_tokenizer_is_kept_by_files_and_pickles(entities, tmp_path):
    path, spans = tmp_path / "model", Tagger(entities).tag_text(TEXT)
    entities.save(path)
    loaded = ChainCRF.load(path)
    assert loaded.tokenizer == "words" == json.loads(loaded.model_.settings)["tokenizer"]
    for tagger in (Tagger(path), Tagger(loaded), pickle.loads(pickle.dumps(Tagger(path)))):
        assert tagger.tokenizer == Tokenizer("words")
        assert tagger.tag_text(TEXT) == spans
    assert Tagger(pickle.loads(pickle.dumps(entities))).tag_text(TEXT) == spans
    with pytest.warns(DataWarning, match=r"the tokenizer '.+w\+' replaces 'words', with which the model was trained"):
        other = pickle.loads(pickle.dumps(Tagger(path, tokenizer=r"\w+")))
    assert Tagger(path, tokenizer=Tokenizer("words").expression).tag_text(TEXT) == spans
    assert other.tokenizer == Tokenizer(r"\w+")
    assert other.cut("a,b") == ["a", "b"]


def test_a_tokenizer_may_be_set_after_training(tmp_path):
    crf = ChainCRF(template=TEMPLATE).fit(X, Y)
    path = tmp_path / "model"
    crf.save(path)
    with pytest.raises(OptionError, match=r"how to cut text.*tokenizer='words'"):
        Tagger(path).tag_text("Ada")
    crf.set_params(tokenizer="characters").save(path)
    assert Tagger(path).tokenizer == Tagger(crf).tokenizer == Tokenizer("characters")
    with pytest.raises(OptionError, match="not a valid regular expression"):
        crf.set_params(tokenizer="(").save(path)


def test_training_from_a_model_keeps_its_tokenizer(entities):
    for how in ({"start": entities}, {"prior": entities}):
        crf = ChainCRF().fit(X, Y, **how)
        assert json.loads(crf.model_.settings)["tokenizer"] == "words"
        assert Tagger(crf).tag_text("Ada")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = ChainCRF(template="U:%x[0,0]/%x[1,0]\nB\n").fit(X, Y, start=entities)
    assert "tokenizer" not in json.loads(other.model_.settings)


@pytest.mark.parametrize("value", ["a(", "a*", 7, ["words"], "word"])
def test_a_file_with_another_tokenizer_is_refused(entities, tmp_path, value):
    model, path = entities.model_, tmp_path / "model"
    model.rewritten(json.dumps(json.loads(model.settings) | {"tokenizer": value})).save(path)
    for opening in (Tagger, ChainCRF.load):
        with pytest.raises(ModelFileError, match="setting tokenizer"):
            opening(path)


def test_models_that_cannot_label_text_say_why(entities):
    attributes = ChainCRF().fit([[["a"], ["b"]]], [["A", "B"]])
    with pytest.raises(OptionError, match=r"no template.*--preset"):
        Tagger(attributes, tokenizer="words").tag_text("a b")
    two = ChainCRF(template="U:%x[0,0]/%x[0,1]\n").fit([[("a", "x"), ("b", "y")]], [["A", "B"]])
    with pytest.raises(OptionError, match="looks at 2 columns"):
        Tagger(two, tokenizer="words").tag_texts(["a b"])
    with pytest.raises(OptionError, match=r"needs a template"):
        ChainCRF(tokenizer="words").fit([[["a"], ["b"]]], [["A", "B"]])
    with pytest.raises(OptionError, match=r"looks at 2 columns.*presets ner and pos"):
        ChainCRF(tokenizer="words", template="chunking").fit([[("a", "x")]], [["A"]])
    with pytest.raises(OptionError, match=r"^tokenizer='a\*' can match the empty string"):
        ChainCRF(tokenizer="a*", template="pos").fit(X, Y)
    with pytest.raises(OptionError, match=r"^tokenizer='wordz' is not one of .*did you mean words"):
        ChainCRF(tokenizer="wordz", template="C lower=%X[0,0]\nU:%x[0,lower]\n").fit(X, Y)


def test_what_is_no_text_is_refused(entities):
    tagger = Tagger(entities)
    for text in (None, 7, b"Ada", ["Ada"]):
        with pytest.raises(DataError, match="a text must be a str, not"):
            tagger.tag_text(text)
    with pytest.raises(DataError, match=r"give a list of texts"):
        tagger.tag_texts("Ada")
    with pytest.raises(DataError, match=r"^text 1: a text must be a str, not int"):
        tagger.tag_texts(["Ada", 7])
    with pytest.raises(DataError, match=r"^text 1: .*not valid Unicode: it has half of a character; repair"):
        tagger.tag_texts(["Ada", "a\ud800"])


def test_a_text_that_is_too_large_is_refused(entities):
    set_max_sentence(1)
    try:
        with pytest.raises(DataError, match=r"^text 1 has more than 1 MiB; split it"):
            Tagger(entities).tag_texts(["Ada", "a " * (1 << 19) + "b"])
    finally:
        set_max_sentence()


def test_without_an_allowed_labelling_there_are_no_spans(parts):
    labels = parts.classes_
    pairs = [(None, label) for label in labels]
    crf = pickle.loads(pickle.dumps(parts)).set_params(constraints=pairs)
    for sure in (True, False):
        assert Tagger(crf).tag_text("Ada wrote", probabilities=sure) == []


def test_spans_show_in_a_notebook(entities):
    text = "<Ada> &\tLovelace"
    html = spans_html(text, Tagger(entities).tag_text(text))
    assert "&lt;" in html
    assert "&amp;" in html
    assert "PER" in html
    assert "\\t" not in html


MISFITS = [
    ("whitespace", [["New York", "is", "big"]], "cuts 33 %.*'New York' into 'New', 'York'"),
    ("words", [["Main", "St.,", "Rd,"]], "cuts 67 %.*'Rd,' into 'Rd', ','"),
    (r"\d+", [["Ada", "wrote"]], "into nothing"),
    ("whitespace", [["Ada", "wrote", ",", "and", "left", "."]] * 3, "leaves 'wrote,' together.*such as words"),
    ("characters", [["Ada", "left"]], "cuts 100 %"),
    ("words", [["Ada", "wrote", ",", "and", "left", "."]], None),
    ("whitespace", [["Main", "St.,", "York"]], None),
    ("characters", [["猫", "は", "。"]], None),
    ("words", [], None),
    ("words", [[]], None),
]


@pytest.mark.parametrize(("tokenizer", "sentences", "reason"), MISFITS)
def test_training_data_that_a_tokenizer_would_cut_otherwise_are_noticed(tokenizer, sentences, reason):
    found = misfit_of(tokenizer, sentences)
    assert (found is None) == (reason is None)
    if reason is not None:
        labels = [[word[:1] for word in sentence] for sentence in sentences]
        with pytest.warns(DataWarning, match=reason):
            ChainCRF(template="U:%x[0,0]\n", tokenizer=tokenizer, max_iterations=5).fit(sentences, labels)


@pytest.mark.parametrize("enabled", [True, False])
def test_results_are_made_without_collections_of_cycles_which_go_on_as_before(entities, enabled):
    tagger, collections = Tagger(entities), []
    labellings = [
        (tagger.tag_texts, ["Ada met Babbage"] * 3_000),
        (tagger.tag_batch, [["Ada", "met"]] * 3_000),
    ]
    was_enabled = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        for label, sentences in labellings:
            gc.collect()
            gc.callbacks.append(lambda phase, details: collections.append(phase))
            answers = label(sentences)
            gc.callbacks.clear()
            assert len(answers) == 3_000
            assert gc.isenabled() == enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()
    # Some may run before the objects are made; one for every 700 new objects took 17 and 4.
    assert collections.count("start") < 4
