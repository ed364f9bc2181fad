"""Laws of reading: separators, escapes, compression; and every road leads to the same corpus."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import random
import subprocess
import sys

import numpy as np
import pytest

from loglinear import ChainCRF, ChainFeatures, ChainObjective, Corpus, DataError, OptionError, TemplateError, _core
from loglinear.datasets import demo_paths
from oracles.packing import PACKED

TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,1]\nB\n"

# Three sentences: word, part of speech, label.
DATA = [
    [["the", "DT", "D"], ["dog", "NN", "N"]],
    [["it", "PRP", "N"], ["barks", "VBZ", "V"], ["a:b\\c", ":", "X"]],
    [["#", "SYM", "X"]],
]


def columns(separator="\t", end="\n", blank="", last=True):
    blocks = [end.join(separator.join(row) for row in sentence) for sentence in DATA]
    return (end + blank + end).join(blocks) + (end + blank + end if last else "")


def facts(corpus):
    """Everything that can be seen of an encoded corpus; the order of a model's features shows the ids."""
    core = getattr(corpus, "core", corpus)
    gold = core.gold()
    if gold is None:
        return core.lengths(), core.n_attributes
    objective = ChainObjective(Corpus(core, None, "python"), ChainFeatures(all_transitions=True))
    w = np.sin(np.arange(1.0, objective.n_features + 1.0))
    value, gradient = objective.value_and_gradient(w)
    model = objective.model(w, "{}")
    features = (model.state_features(), model.transition_features(), model.bigram_features())
    return core.lengths(), core.labels, gold, core.n_attributes, value, gradient.tobytes(), features


def attributes(corpus, label="A"):
    """{attribute: value} over a corpus of one sentence whose tokens all have this label, and one labelled B."""
    objective = ChainObjective(corpus, ChainFeatures(all_states=True))
    _, gradient = objective.value_and_gradient(np.zeros(objective.n_features))
    # At w = 0 the gradient of an attribute with a label is (expected - observed) times its values.
    model = objective.model(np.where(gradient == 0.0, 1e-300, gradient), "{}")
    return {name: -2.0 * weight for name, given, weight in model.state_features() if given == label}


@pytest.fixture
def read(tmp_path):
    """Read content as a file."""

    def reading(content, format="columns", template=TEMPLATE, name="data", **options):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return Corpus.read(path, format=format, template=template if format == "columns" else None, **options)

    return reading


@pytest.fixture
def expected():
    return facts(
        Corpus.encode([[row[:2] for row in s] for s in DATA], [[row[2] for row in s] for s in DATA], template=TEMPLATE)
    )


VARIANTS = {
    "tabs": columns(),
    "spaces": columns(" "),
    "runs": columns(" \t  \t"),
    "CRLF": columns(end="\r\n"),
    "trailing blanks": columns(end=" \t \n"),
    "leading blanks": " " + columns(end="\n  ", last=False),
    "blank lines of blanks": columns(blank=" \t "),
    "CRLF and blanks": columns(" ", end=" \r\n", blank="\t"),
    "many blank lines": "\n\n" + columns(blank="\n\n\n") + "\n\n",
    "no newline at the end": columns(last=False),
    "CR without LF at the end": columns(end="\r\n", last=False) + "\r",
    "byte order mark": "\ufeff" + columns(),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_layout_does_not_change_the_corpus(read, expected, name):
    assert facts(read(VARIANTS[name])) == expected


@pytest.mark.parametrize("name", ["data.gz", "data.xz", "data.txt", "data"])
@pytest.mark.parametrize("pack", PACKED.values(), ids=PACKED)
def test_compression_is_recognised_by_content_whatever_the_name(read, expected, pack, name):
    assert facts(read(pack(columns().encode()), name=name)) == expected


@pytest.mark.parametrize("pack", PACKED.values(), ids=PACKED)
def test_concatenated_members_are_one_text(read, expected, pack):
    text = columns().encode()
    parts = [text[:7], text[7:], b""]
    assert facts(read(b"".join(map(pack, parts)))) == expected
    assert facts(read(pack(b"\xef\xbb\xbf") + pack(text))) == expected


@pytest.mark.parametrize("pack", PACKED.values(), ids=PACKED)
def test_compressed_file_cut_short_anywhere_is_an_error(read, pack):
    packed = pack((columns() * 3).encode())
    for length in range(len(packed)):
        with pytest.raises((DataError, TemplateError), match="data"):
            read(packed[:length])
    for length in range(10, len(packed)):
        with pytest.raises(DataError, match="data: the compressed data is damaged or cut short"):
            read(packed[:length])
    with pytest.raises(DataError, match="damaged or cut short"):
        read(packed + b"more")


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress], ids=["gzip", "xz", "bzip2"])
def test_damaged_compressed_content_is_an_error(read, pack):
    packed = bytearray(pack(random.Random(0).randbytes(600).hex().encode()))
    for at in range(30, len(packed), 7):
        packed[at] ^= 0x55
        with pytest.raises(DataError, match="damaged or cut short"):
            read(bytes(packed))
        packed[at] ^= 0x55


def test_other_compression_is_an_error(read):
    with pytest.raises(DataError, match="the file is lzma-compressed; decompress it first"):
        read(lzma.compress(columns().encode(), format=lzma.FORMAT_ALONE))


def test_what_was_compressed_is_named_if_it_is_no_text(read):
    for content, said in (
        (bytes(257) + b"ustar", "a tar archive; unpack"),
        (gzip.compress(b"a"), "gzip-compressed; dec"),
    ):
        for pack in PACKED.values():
            with pytest.raises(DataError, match=f"data: the file, decompressed, is {said}"):
                read(pack(content))


@pytest.mark.parametrize("pack", [bytes, *PACKED.values()], ids=["plain", *PACKED])
def test_dash_is_standard_input(expected, pack):
    code = (
        "import sys; from loglinear import Corpus;"
        f"c = Corpus.read('-', template={TEMPLATE!r}); print(c.gold(), c.core.n_attributes)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], input=pack(columns().encode()), capture_output=True, timeout=20
    )
    assert shown.stdout.decode().strip() == f"{expected[2]} {expected[3]}"
    if pack is bytes:
        wrong = subprocess.run([sys.executable, "-c", code], input=b"a b c\nd\n", capture_output=True, timeout=20)
        assert b"DataError: <stdin>, line 2: " in wrong.stderr


# The same data by three roads.


def expanded(sentence):
    """What TEMPLATE makes of a sentence, by the definition of the pattern language."""
    words = ["_B-1", *(row[0] for row in sentence)]
    return [[f"U0:{row[0]}", f"U1:{words[at]}/{row[1]}"] for at, row in enumerate(sentence)]


def escape(name):
    return name.replace("\\", "\\\\").replace(":", "\\:")


def as_crfsuite(data):
    return "".join(
        "".join("\t".join([row[2], *map(escape, names)]) + "\n" for row, names in zip(s, expanded(s), strict=True))
        + "\n"
        for s in data
    )


def as_json(data, tokens):
    return "".join(json.dumps({"tokens": tokens(s), "labels": [row[2] for row in s]}) + "\n" for s in data)


def test_columns_attributes_and_json_lines_give_the_same_corpus(read, expected):
    assert facts(read(as_crfsuite(DATA), "crfsuite")) == expected
    assert facts(read(as_json(DATA, expanded), "jsonl")) == expected
    dictionaries = as_json(DATA, lambda s: [dict(name.split(":", 1) for name in names) for names in expanded(s)])
    assert facts(read(dictionaries, "jsonl")) == expected
    collections = as_json(
        DATA, lambda s: [{k: [v] for k, v in (name.split(":", 1) for name in names)} for names in expanded(s)]
    )
    assert facts(read(collections, "jsonl")) == expected
    encoded = Corpus.encode([expanded(s) for s in DATA], [[row[2] for row in s] for s in DATA])
    assert facts(encoded) == expected


def test_json_lines_of_raw_tokens_are_expanded_by_a_template(tmp_path, expected):
    path = tmp_path / "data"
    path.write_text(as_json(DATA, lambda s: [row[:2] for row in s]))
    assert facts(Corpus.read(path, format="jsonl", template=TEMPLATE)) == expected
    assert facts(_core.Corpus.read(str(path), "jsonl", TEMPLATE)) == expected
    path.write_text(as_json(DATA, lambda s: [row[0] for row in s]))
    words = "U0:%x[0,0]\nB\n"
    plain = Corpus.encode([[row[0] for row in s] for s in DATA], [[row[2] for row in s] for s in DATA], template=words)
    assert facts(Corpus.read(path, format="jsonl", template=words)) == facts(plain)


def test_three_roads_lead_to_the_same_model(read):
    blocks = lzma.open(demo_paths()[0], "rt", encoding="utf-8").read().split("\n\n")[:150]
    data = [[line.split("\t") for line in block.split("\n")] for block in blocks]
    by_columns = read("\n\n".join(blocks))
    by_attributes = read(as_crfsuite(data), "crfsuite", name="attributes")
    by_json = read(as_json(data, expanded), "jsonl", name="json")
    models = [ChainCRF(l1=0.3, tolerance=1e-3).fit(each) for each in (by_columns, by_attributes, by_json)]
    assert len(models[0].state_features_) > 300
    for model in models[1:]:
        assert model.state_features_ == models[0].state_features_
        assert model.transition_features_ == models[0].transition_features_
    predicted = [
        model.predict(corpus) for model, corpus in zip(models, (by_columns, by_attributes, by_json), strict=True)
    ]
    assert predicted[0] == predicted[1] == predicted[2]


# Attribute files.


@pytest.mark.parametrize(
    ("field", "names"),
    [
        ("w", {"w": 1.0}),
        ("w:2.5", {"w": 2.5}),
        ("w:-1e-3", {"w": -1e-3}),
        ("w:+7", {"w": 7.0}),
        ("w:", {"w": 1.0}),
        ("w:0", {"w": 0.0}),
        (r"a\:b", {"a:b": 1.0}),
        (r"a\:b:2", {"a:b": 2.0}),
        (r"\:", {":": 1.0}),
        (r"a\\", {"a\\": 1.0}),
        (r"a\\:3", {"a\\": 3.0}),
        (r"a\\\:b:3", {r"a\:b": 3.0}),
        (r"a\b", {r"a\b": 1.0}),
        (r"a\n:2", {r"a\n": 2.0}),
        ("a\\", {"a\\": 1.0}),
        ("a b:2", {"a b": 2.0}),
        ("#x", {"#x": 1.0}),
        ("@x", {"@x": 1.0}),
        ("a:3:2", {"a": 3.0, "": 2.0}),
        (":2", {"": 2.0}),
        ("w\tw", {"w": 2.0}),
        ("w:2\tw:-0.5", {"w": 1.5}),
        ("w\t\t\tv", {"w": 1.0, "v": 1.0}),
        ("naïve=😀:2", {"naïve=😀": 2.0}),
    ],
)
def test_escapes_and_values_of_attribute_files(read, field, names):
    corpus = read(f"A\t{field}\n\nB\tother\n", "crfsuite")
    found = attributes(corpus)
    del found["other"]
    assert found == pytest.approx(names, abs=1e-299)


def test_attribute_files_agree_with_crfsuite_on_escapes(read, tmp_path):
    # CRFsuite leaves out features whose values sum to less than 0, so there are none of these here.
    pycrfsuite = pytest.importorskip("pycrfsuite")
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.append([{"a:b": 2.0, "c\\": 1.0}, {"x": 0.5}], ["A", "B"])
    trainer.append([{"x": 1.0}], ["A"])
    trainer.set_params({"c2": 0.5, "epsilon": 1e-9, "delta": 1e-12})
    trainer.train(str(tmp_path / "peer"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "peer"))
    theirs = tagger.info().state_features
    tagger.close()
    corpus = read("A\ta\\:b:2\tc\\\\\nB\tx:0.5\n\nA\tx\n", "crfsuite")
    ours = ChainCRF(l2=1.0, tolerance=1e-12).fit(corpus).state_features_
    assert ours == pytest.approx(theirs, abs=2e-4)


def test_weight_lines(read):
    def weighted(text):
        return facts(read(text, "crfsuite"))

    body, other = "A\tx\nB\ty\n", "B\tx\nA\tz\n"
    plain = Corpus.encode([[["x"], ["y"]], [["x"], ["z"]]], [["A", "B"], ["B", "A"]], sample_weight=[2.5, 1.0])
    assert weighted(f"@weight:2.5\n{body}\n{other}") == facts(plain)
    assert weighted(f"@weight:2.5\t{body}\n{other}") == facts(plain)
    assert weighted(f"\n\n@weight:2.5\r\n{body}\n\n\n{other}\n\n") == facts(plain)
    # A weight counts as often as the sequence would have to be repeated.
    twice = weighted(f"@weight:2\n{body}\n{other}")
    repeated = weighted(f"{body}\n{body}\n{other}")
    assert twice[4] == pytest.approx(repeated[4])
    assert np.frombuffer(twice[5]) == pytest.approx(np.frombuffer(repeated[5]))
    without = weighted(f"@weight:0\n{body}\n{other}")
    assert 0.0 < without[4] < weighted(f"{body}\n{other}")[4]
    in_json = (
        '{"tokens": ["x", "y"], "labels": ["A", "B"], "weight": 2.5}\n{"tokens": ["x", "z"], "labels": ["B", "A"]}\n'
    )
    assert facts(read(in_json, "jsonl")) == facts(plain)


def test_stray_tabs_and_blanks_of_attribute_files(read):
    expected = facts(read("A\tx\nB\ty\n\nA\tz\n", "crfsuite"))
    assert facts(read("\tA\t\tx\t\n\t\nB\ty\n\n\n\nA\tz", "crfsuite")) == expected
    assert facts(read("A\tx\r\nB\ty\r\n\r\nA\tz\r\n", "crfsuite")) == expected
    assert facts(read("\ufeffA\tx\nB\ty\n\nA\tz\n", "crfsuite")) == expected
    assert facts(read(gzip.compress(b"A\tx\nB\ty\n\nA\tz\n"), "crfsuite")) == expected
    # Blanks are part of a name there, and a line of blanks does not end a sequence.
    assert read("A B\tx y\nC\tz", "crfsuite").labels == ["A B", "C"]


def test_unlabelled_data(read, tmp_path):
    for content, format in (
        ("the DT\ndog NN\n", "columns"),
        ("?\tx\n?\ty\n", "crfsuite"),
        ('{"tokens": ["a", "b"]}', "jsonl"),
    ):
        corpus = read(content, format, labelled=False)
        assert (len(corpus), corpus.core.lengths(), corpus.labels) == (1, [2], [])
        with pytest.raises(DataError, match="no labels"):
            corpus.gold()


# JSON lines.


@pytest.mark.parametrize(
    ("token", "names"),
    [
        ("dog", {"dog": 1.0}),
        (["a", "b"], {"a": 1.0, "b": 1.0}),
        (["a", "a"], {"a": 2.0}),
        ([], {}),
        ({}, {}),
        ({"w": "dog"}, {"w:dog": 1.0}),
        ({"n": 3}, {"n": 3.0}),
        ({"n": -2.5e-3}, {"n": -2.5e-3}),
        ({"yes": True, "no": False}, {"yes": 1.0, "no": 0.0}),
        ({"bag": ["a", "b"]}, {"bag:a": 1.0, "bag:b": 1.0}),
        ({"outer": {"inner": {"w": "x", "n": 2}}}, {"outer:inner:w:x": 1.0, "outer:inner:n": 2.0}),
        ({"": "", "é": "😀"}, {":": 1.0, "é:😀": 1.0}),
        ("a:b\\c\t\u0000\n", {"a:b\\c\t\u0000\n": 1.0}),
        ("😀", {"😀": 1.0}),
    ],
)
def test_tokens_of_json_lines_are_named_as_in_python(read, token, names):
    sentences = [[token], ["other"]]
    text = "".join(json.dumps({"tokens": s, "labels": [y]}) + "\n" for s, y in zip(sentences, "AB", strict=True))
    for corpus in (read(text, "jsonl"), Corpus.encode(sentences, [["A"], ["B"]])):
        found = attributes(corpus)
        del found["other"]
        assert found == pytest.approx(names, abs=1e-299)


def test_order_of_fields_and_other_fields_do_not_matter(read):
    expected = facts(read('{"tokens": ["a", "b"], "labels": ["X", "Y"]}\n', "jsonl"))
    assert (
        facts(read(' {"id": [1], "labels":["X","Y"] , "tokens" :["a","b"], "weight": 1}\r\n\r\n \n', "jsonl"))
        == expected
    )
    assert facts(read('\ufeff{"labels": ["X", "Y"], "tokens": ["\\u0061", "b"]}', "jsonl")) == expected


# Large files are read in pieces.


@pytest.fixture(scope="module")
def large():
    """Sentences that take more than a megabyte, with words that appear for the first time all along."""
    random.seed(7)
    data = []
    for number in range(9000):
        length = random.randrange(1, 12)
        words = [random.choice(["the", "dog", f"new{number}", f"w{random.randrange(999)}"]) for _ in range(length)]
        data.append([[word, f"P{len(word)}", f"L{(len(word) + at) % 5}"] for at, word in enumerate(words)])
    return data


@pytest.mark.parametrize("format", ["columns", "crfsuite", "jsonl"])
def test_ids_and_weights_do_not_depend_on_pieces_and_threads(read, large, format):
    text = {
        "columns": lambda: "".join("".join(" ".join(row) + "\n" for row in s) + "\n" for s in large),
        "crfsuite": lambda: as_crfsuite(large),
        "jsonl": lambda: as_json(large, expanded),
    }[format]()
    if format == "columns":
        text = text.replace("\n", " " * 18 + "\r\n")
    assert len(text) > 1_000_000
    one, two = (facts(read(text, format, threads=n)) for n in (1, 2))
    assert one == two
    # Python objects are encoded in one piece: the ids are those of the order of appearance.
    encoded = Corpus.encode([expanded(s) for s in large], [[row[2] for row in s] for s in large])
    assert facts(encoded) == one
    objective = [ChainObjective(encoded, ChainFeatures(all_transitions=True), threads=n) for n in (1, 2)]
    w = np.cos(np.arange(float(objective[0].n_features)))
    (value_one, gradient_one), (value_two, gradient_two) = (each.value_and_gradient(w) for each in objective)
    assert value_one == value_two
    assert gradient_one.tobytes() == gradient_two.tobytes()


def test_line_numbers_are_right_in_every_piece(read, large):
    text = "".join("".join(" ".join(row) + " " * 20 + "\n" for row in s) + "\n" for s in large)
    lines = text.split("\n")
    for at in (0, len(lines) // 3, len(lines) - 4):
        place = next(n for n in range(at, len(lines)) if lines[n]) + (at == 0)
        damaged = lines.copy()
        damaged[place] = "broken"
        with pytest.raises(DataError, match=rf"data, line {place + 1}: expected "):
            read("\n".join(damaged), threads=2)


def test_files_of_many_megabytes_are_read_as_small_ones_are(read, large):
    """Padded with blanks beyond the 16 MB that are held at a time, plain and compressed."""
    text = "".join("".join(" ".join(row) + "\n" for row in s) + "\n" for s in large)
    expected = facts(read(text))
    padded = text.replace("\n", " " * 330 + "\r\n").encode()
    assert len(padded) > 18 << 20
    assert facts(read(padded)) == expected
    packed = gzip.compress(padded, 1)
    assert facts(read(packed)) == expected
    with pytest.raises(DataError, match="damaged or cut short"):
        read(packed[:-9])
    n_lines = text.count("\n")
    with pytest.raises(DataError, match=rf"data, line {n_lines + 1}: expected "):
        read(padded + b"broken\r\n")
    with pytest.raises(DataError, match=rf"data, line {n_lines + 2}: invalid UTF-8"):
        read(padded + b"a B L\r\n\xff B L\r\n")


@pytest.mark.filterwarnings("ignore:.*one sentence has 150,000 tokens")
def test_sentence_longer_than_a_piece_stays_whole(read):
    text = "".join(f"w{at % 100} P {'AB'[at % 2]}\n" for at in range(150_000))
    corpus = read(text + "\nlast P A\n")
    assert corpus.core.lengths() == [150_000, 1]


# Misuse from Python.


def test_errors_are_of_the_library_and_name_the_place(tmp_path):
    path = tmp_path / "data"
    path.write_text("a b\nc\n")
    with pytest.raises(DataError, match=r"data, line 2: expected "):
        Corpus.read(path, template="U:%x[0,0]\n")
    with pytest.raises(DataError, match=r"data, line 2: expected "):
        _core.Corpus.read(str(path), "columns", "U:%x[0,0]")
    with pytest.raises(OptionError, match="template"):
        Corpus.read(path)
    with pytest.raises(OptionError, match=r"'nope' is unknown; choose columns, conllu"):
        Corpus.read(path, format="nope")
    with pytest.raises(OptionError, match="neither a preset"):
        Corpus.read(path, template="nope")
    with pytest.raises(TemplateError, match="column 7"):
        Corpus.read(path, template="U:%x[0,7]\n")
    with pytest.raises(FileNotFoundError, match="missing"):
        Corpus.read(tmp_path / "missing", template="pos")
    with pytest.raises(DataError, match="a folder, not a file"):
        Corpus.read(tmp_path, template="pos")


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_file_that_may_not_be_read_is_named(tmp_path):
    path = tmp_path / "data"
    path.write_text("a b\n")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("root may read everything")
    with pytest.raises(PermissionError, match="data"):
        Corpus.read(path, template="pos")
