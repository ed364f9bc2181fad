"""Corpora on disk with right checksums and the wrong content: every use of one is refused by name, or works."""

from __future__ import annotations

import json
import pickle
import re
import shutil
import warnings

import numpy as np
import pytest

from examples import by_day
from loglinear import ChainCRF, Corpus, CorpusFile, DataError, LogLinearError, MaxEnt
from loglinear.data.corpus import read_to_score
from oracles.corpus_folder import CorpusFolder
from oracles.hostile import CHANGES, changed, places

TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nB\nB1:%x[0,0]\n"
SENTENCES = 64


def made(path, *, template: bool) -> Corpus:
    """A corpus that has every array, of more than 480 bytes each: half of one still has more than 240."""
    rng = np.random.default_rng(7)
    X, y = [], []
    for number in range(SENTENCES):
        words = [f"word{word}" for word in rng.integers(0, 40, 1 + number % 6)]
        X.append(words if template else [{word: 2.0, f"{word}!": 1.0} for word in words])
        labels = ["A", "B", "C", "A", {"A": 0.25, "C": 0.75}, *([{"A", "B"}, None] if template else ["A"])]
        y.append([labels[int(word[4:]) % len(labels)] for word in words])
    options = {"sample_weight": [1.0 + number % 2 for number in range(SENTENCES)]}
    options["token_weight"] = [[1.0] * len(labels) for labels in y]
    Corpus.encode(X, y, template=TEMPLATE if template else None, **options).save(path)
    return Corpus.open(path)


@pytest.fixture(scope="module", params=[True, False], ids=["template", "attributes"])
def sound(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("sound") / "corpus"
    made(path, template=request.param)
    content = CorpusFolder.of(path)
    again = path.with_name("again")
    content.write(again)
    for name, use in USES.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                use(again)
            except DataError as error:  # the labels are partial
                assert re.search("partial|one of several|is unknown", str(error)), name  # noqa: PT017
    assert all(array.nbytes > 480 for array in content.arrays.values())
    return content


def sliced(path, index):
    part = Corpus.open(path)[index]
    return part.gold(), part.labels, part.n_tokens, repr(part), part.core.names(), part.core.rows(), part.core.n_bytes


def opened(path):
    corpus = Corpus.open(path)
    return len(corpus), list(range(len(corpus))), corpus.labels, corpus.n_tokens, corpus.n_attributes, repr(corpus)


def read(path):
    corpus = Corpus.open(path)
    core = corpus.core
    assert core.is_mapped
    assert len(core.checksum) == 32
    return corpus.gold(), core.lengths(), core.weights(), core.targets(), core.costs(), core.is_repetitive, core.notes


def appended(path):
    copy = f"{path}.copy"
    shutil.copytree(path, copy, dirs_exist_ok=True)
    more = Corpus.encode([["new"]], [["D"]], template=TEMPLATE), Corpus.encode([[["new"]]] * 99, [["D"]] * 99)
    try:
        with CorpusFile(copy, append=True) as corpus:
            corpus.add(more[Corpus.open(path).template is None])
        read(copy)
    except LogLinearError as error:
        raise type(error)(str(error).replace(copy, str(path))) from error
    finally:
        shutil.rmtree(copy)


def trained(path):
    crf = ChainCRF(max_iterations=2).fit(Corpus.open(path))
    crf.save(f"{path}.model")
    ChainCRF.load(f"{path}.model").predict(Corpus.open(path)[:1])
    return crf.predict(Corpus.open(path)[:1])


# Everything that a user can do with the path of a corpus.
USES = {
    "open": opened,
    "first": lambda path: sliced(path, slice(0, 2)),
    "middle": lambda path: sliced(path, slice(20, 40)),
    "last": lambda path: sliced(path, -1),
    "chosen": lambda path: sliced(path, [5, 3, 60]),
    "mask": lambda path: sliced(path, np.arange(len(Corpus.open(path))) % 3 == 0),
    "read": read,
    "names": lambda path: Corpus.open(path).core.names(),
    "bigrams": lambda path: Corpus.open(path).core.rows(bigrams=True),
    "partial": lambda path: Corpus.open(path).core.first_partial(),
    "counts": lambda path: Corpus.open(path).core.label_counts(),
    "true labels": lambda path: Corpus.open(path).true_labels(),
    "known labels": lambda path: Corpus.open(path).known_labels(),
    "concatenate": lambda path: Corpus.concat([Corpus.open(path)] * 2).gold(),
    "save": lambda path: Corpus.open(path).save(f"{path}.saved"),
    "pickle": lambda path: len(pickle.loads(pickle.dumps(Corpus.open(path)))),
    "append": appended,
    "score": lambda path: read_to_score(str(path), "columns", None, Corpus.open(path).columns, 1).gold(),
    "chain": trained,
    "classifier": lambda path: MaxEnt(max_iterations=2).fit(Corpus.open(path)),
}
# Uses that say what is wrong with the values of sound data, too.
OF_VALUES = {"true labels", "known labels", "chain", "classifier"}


def check(path, rng, count: int) -> bool:
    """Make some uses of a corpus; return whether one was refused."""
    refused = False
    for name in ["first", *rng.choice([*USES], count, replace=False)]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                USES[name](path)
                continue
            except LogLinearError as error:
                message = str(error)
            except IndexError as error:
                message = str(error)
                assert "out of range" in message, (name, message)
                continue
        refused = True
        is_named = str(path) in message
        assert is_named or name in OF_VALUES, (name, message)
        assert not is_named or re.search("encode .*again|another (template|type)|same columns", message), (
            name,
            message,
        )
    return refused


NUMBERS = {
    "u": (0, 1, 2, 63, 64, 2**24 - 1, 2**24, 2**24 + 9, 2**31, 2**32 - 1, 2**63, 2**64 - 1),
    "f": (0.0, -1.0, 1e308, np.nan, np.inf),
}


def mutant(array, rng):
    """An array with another number, order or length."""
    array = array.copy()
    at, other = rng.integers(0, array.size, 2)
    match rng.integers(8):
        case 0:
            return array[:-1]
        case 1:
            return array[: array.size // 2 + 1]
        case 2:
            return np.append(array, array[at])
        case 3:
            return array[::-1]
        case 4:
            return array[:0]
        case 5:
            array[[at, other]] = array[[other, at]]
        case 6:
            array[min(at, other) : max(at, other) + 1] = 0
        case _:
            number = rng.choice(np.array(NUMBERS[array.dtype.kind], dtype=object))
            array[at] = number if array.dtype.kind == "f" else number % 2 ** (8 * array.itemsize)
    return array


@pytest.mark.parametrize("part", by_day(range(6), lambda part: part < 3))
def test_any_other_array_is_refused_or_works(sound, tmp_path, part):
    rng, refused, n = np.random.default_rng(part), 0, 40
    for _ in range(n):
        content = sound
        for _ in range(rng.integers(1, 3)):
            file = rng.choice([*content.arrays])
            if content.arrays[file].size:
                array = mutant(content.arrays[file], rng)
                content = content if 0 < array.nbytes <= 240 else content.changed(file, array)
        content.write(tmp_path / "c")
        refused += check(tmp_path / "c", rng, 3)
    assert refused > n // 4


@pytest.mark.parametrize("part", range(3))
def test_any_other_summary_is_refused_or_works(sound, tmp_path, part):
    rng = np.random.default_rng(part)
    ways = [*places(sound.summary)]
    # Settings are read by Python, and other fields by the native half.
    ways = [way for way in ways if way[:1] == ("settings",)] * 3 + ways
    for _ in range(40):
        way, change = ways[rng.integers(len(ways))], CHANGES[rng.integers(len(CHANGES))]
        summary = changed(sound.summary, way, change)
        if way[-1:] != ("settings",) or isinstance(summary.get("settings"), dict):
            CorpusFolder(summary, sound.arrays).write(tmp_path / "c")
            check(tmp_path / "c", rng, 3)


DEEP = "[" * 1000 + "]" * 1000


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ("5", "the text of its settings"),
        ("[]", "the text of its settings"),
        ('"x"', "the text of its settings"),
        ("NaN", "the file is damaged"),
        (DEEP, "the file is damaged"),
        ('{"format": ' + "9" * 5000 + "}", "the file is damaged"),
        ('{"format": ' + "[" * 100 + "]" * 100 + "}", "levels deep"),
        ('{"format": null}', "setting format=None is not a format"),
        ('{"format": ["columns"]}', "setting format="),
        ('{"format": "columns", "format": 7}', "setting format=7"),
        ('{"format": "\\ud800"}', "the file is damaged"),
        ('{"label_type": {}}', "setting label_type={}"),
        ('{"label_type": "int"}', "the label is '.*', not of the type int"),
        ('{"label_type": "bool"}', "the label is '.*', not of the type bool"),
        ('{"template": 5}', "setting template=5"),
        ('{"template": "X:%x[0,0]"}', "template line 1"),
        ('{"columns": []}', r"setting columns=\[\] is not a JSON object"),
        ('{"columns": {"n": -1}}', "setting columns.n=-1"),
        ('{"columns": {"n": 1e999}}', "the file is damaged"),
        ('{"columns": {"n": 99999999999999999999}}', "setting columns.n"),
        ('{"columns": {"separator": "x"}}', "setting columns.separator"),
        ('{"columns": {"label": 0.5}}', "setting columns.label"),
    ],
)
def test_settings_are_checked_and_named(sound, tmp_path, settings, named):
    text = json.dumps(sound.summary, indent=1)
    start = text.index('"settings": ') + len('"settings": ')
    _, length = json.JSONDecoder().raw_decode(text[start:])
    sound.write(tmp_path / "c", text[:start] + settings + text[start + length :])
    for use in (Corpus.open, lambda path: CorpusFile(path, append=True)):
        with pytest.raises(
            DataError, match=f"{re.escape(str(tmp_path / 'c'))}.*{named}.*; encode (it|the corpus) again"
        ):
            use(tmp_path / "c")


def test_a_summary_that_is_not_utf8_is_refused(sound, tmp_path):
    sound.write(tmp_path / "c", json.dumps(sound.summary, indent=1).encode().replace(b"settings", b"set\xfftings"))
    with pytest.raises(DataError, match="the file is damaged; encode the corpus again"):
        Corpus.open(tmp_path / "c")


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("labels", [["A", 1], ["A", 1], ["B", 1]], "two labels have the same name"),
        ("labels", [["A", 2**64 - 1], ["B", 2**64 - 1], ["C", 1]], "more tokens than the corpus"),
        ("labels", [["A", 10**6], ["B", 0], ["C", 0]], "more tokens than the corpus"),
        ("label_sets", [[0], [0, 1]], "sets of labels"),
        ("label_sets", [[1, 0], [0, 2]], "sets of labels"),
        ("label_sets", [[0, 1], [0, 2], [0, 2], [0, 1], [0, 1]], "sets of labels"),
        ("label_sets", [[0, 99], [0, 1]], "sets of labels"),
        ("label_shares", [[], [], [1]], "sets of labels"),
        ("labelled", False, "sizes of its arrays"),
    ],
)
def test_what_contradicts_itself_is_named(sound, tmp_path, field, value, named):
    CorpusFolder(sound.summary | {field: value}, sound.arrays).write(tmp_path / "c")
    for use in (Corpus.open, lambda path: CorpusFile(path, append=True)):
        with pytest.raises(DataError, match=f"corpus.json: .*{named}.*; encode the corpus again"):
            use(tmp_path / "c")


@pytest.mark.parametrize("name", ["corpus.json", "lock", "state_ends.u64", "../x", "gold-x.u32"])
def test_an_array_is_in_a_file_of_its_own(sound, tmp_path, name):
    entry = sound.summary["arrays"]["state_ids.u32"] | {"file": name}
    summary = sound.summary | {"arrays": sound.summary["arrays"] | {"state_ids.u32": entry}}
    CorpusFolder(summary, sound.arrays).write(tmp_path / "c")
    with pytest.raises(DataError, match="a field is missing or has the wrong type"):
        CorpusFile(tmp_path / "c", append=True)


@pytest.mark.parametrize(
    ("file", "at", "value"),
    [
        ("sentence_ends.u64", 1, 2**40),
        ("sentence_ends.u64", 1, 0),
        ("state_ends.u64", 1, 2**63),
        ("state_ends.u64", 2, 0),
        ("bigram_ends.u64", 1, 2**40),
        ("state_ids.u32", 1, 2**31),
        ("bigram_ids.u32", 0, 2**31),
        ("gold.u32", 1, 77),
        ("gold.u32", 1, 2**24 + 77),
    ],
)
def test_a_slice_of_a_forged_corpus_is_refused(sound, tmp_path, file, at, value):
    file = next((name for name in sound.arrays if name.startswith(file[:4]) and name[4:] in ("-2.u32", file[4:])), file)
    if file not in sound.arrays:
        return
    array = sound.arrays[file].copy()
    array[at] = value
    sound.changed(file, array).write(tmp_path / "c")
    with pytest.raises(DataError, match=r"/c: .*; encode (it|the corpus) again"):
        Corpus.open(tmp_path / "c")[0:4]
