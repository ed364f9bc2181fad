import re
from pathlib import Path

import pytest

from loglinear import ChainCRF, Corpus, Tagger
from loglinear.data import templates as features
from loglinear.data.templates import PRESETS, preset
from loglinear.errors import DataError, OptionError, TemplateError

MACRO = re.compile(r"""%(shape|normal|substrings|[xtmXTM])\[([+-]?\d+),(\d+)(?:,("[^"]*"|\d+))?\]""")


# Lines without macros: the label alone, pairs and triples of labels.
PLAIN = ("U", "B", "T")


def patterns(name):
    lines = preset(name).split("\n")
    return [line for line in lines if line and not line.startswith("#")]


def macros(name):
    return [match for line in patterns(name) for match in MACRO.finditer(line)]


def states(name):
    """The state templates without their identifiers, macros short: w for column 0, t for 1, c for 2."""
    short = MACRO.sub(lambda m: "wtc"[int(m[3])] + m[2] if m[1] == "x" else m[0], "\n".join(patterns(name)))
    return [line.partition(":")[2] for line in short.split("\n") if line not in PLAIN]


WORDS = ["w-2", "w-1", "w0", "w1", "w2", "w-1/w0", "w0/w1"]
TAGS = ["t-2", "t-1", "t0", "t1", "t2"]
TAG_BIGRAMS = ["t-2/t-1", "t-1/t0", "t0/t1", "t1/t2"]
TAG_TRIGRAMS = ["t-2/t-1/t0", "t-1/t0/t1", "t0/t1/t2"]
CHUNKING = WORDS + TAGS + TAG_BIGRAMS + TAG_TRIGRAMS
FORM = ["%substrings[0,0,9]", "%shape[0,0]"]


def test_every_file_is_a_preset_and_every_preset_a_file():
    folder = Path(features.__file__).parent / "presets"
    assert {path.stem for path in folder.iterdir()} == set(PRESETS)
    assert all(key == value.name for key, value in PRESETS.items())


@pytest.mark.parametrize("name", PRESETS)
def test_the_head_cites_the_source(name):
    citation = "\n".join(line for line in preset(name).split("\n") if line.startswith("#"))
    assert PRESETS[name].source in citation


@pytest.mark.parametrize("name", PRESETS)
def test_every_pattern_is_well_formed(name):
    for line in patterns(name):
        assert line in PLAIN or re.match(r"[UB*]\d\d:%", line)
        assert "%" not in MACRO.sub("", line)
        assert "#" not in line


@pytest.mark.parametrize("name", PRESETS)
def test_identifiers_are_unique_and_ordered(name):
    identifiers = [line.partition(":")[0] for line in patterns(name) if line not in PLAIN]
    assert identifiers == sorted(set(identifiers))


@pytest.mark.parametrize("name", PRESETS)
def test_every_model_has_transitions_once_and_last(name):
    transitions = ["B", "T"] if name == "np-chunking" else ["B"]
    assert patterns(name)[-len(transitions) :] == transitions
    assert patterns(name).count("B") == 1


@pytest.mark.parametrize("name", PRESETS)
def test_columns_are_those_the_macros_read(name):
    assert {int(match[3]) for match in macros(name)} == set(range(PRESETS[name].columns))


@pytest.mark.parametrize("name", PRESETS)
def test_data_with_too_few_columns_are_refused(name):
    columns = PRESETS[name].columns
    assert preset(name, columns) == preset(name, columns + 1) == PRESETS[name].text
    with pytest.raises(OptionError, match=f"reads {columns} columns plus the label, but the data have {columns - 1}"):
        preset(name, columns - 1)


def test_an_unknown_name_lists_the_names():
    with pytest.raises(
        OptionError, match=r"unknown preset 'chunk' \(did you mean chunking\?\); choose from chunking, np-"
    ):
        preset("chunk")


def test_chunking_has_the_19_state_templates_of_the_paper():
    assert len(CHUNKING) == 19
    assert states("chunking") == CHUNKING


def test_np_chunking_has_each_predicate_with_labels_and_pairs():
    assert states("np-chunking") == CHUNKING
    assert all(line.startswith("*") for line in patterns("np-chunking") if line not in PLAIN)


def test_ner_is_words_substrings_and_shape():
    assert states("ner") == WORDS + FORM


def test_ner_pos_chunk_adds_to_chunking():
    assert states("ner-pos-chunk") == [*CHUNKING, "c-2", "c-1", "c0", "c1", "c2", *FORM]


def test_pos_has_words_affixes_and_characteristics():
    found = states("pos")
    assert found[:7] == WORDS
    assert found[-7:] == ["%normal[0,0]", *found[-6:-1], "%shape[0,0]"]
    expressions = [match[4].strip('"') for match in macros("pos") if match[1] == "m"]
    affixes = [[m[0] if (m := re.search(e, word)) else "" for e in expressions] for word in ("loglinear", "to")]
    assert affixes == [["l", "lo", "log", "logl", "r", "ar", "ear", "near"], ["t", "to", "", "", "o", "to", "", ""]]


@pytest.mark.parametrize(
    ("word", "answers"),
    [
        ("IL-2", [True, True, True, True, False]),
        ("USA", [False, False, True, True, True]),
        ("iPod", [False, False, True, False, False]),
        ("well-known", [False, True, False, False, False]),
        ("to", [False] * 5),
    ],
)
def test_characteristics_are_digit_hyphen_capital_first_capital_all_capitals(word, answers):
    expressions = [match[4].strip('"').replace(r"\p{Lu}", "[A-Z]") for match in macros("pos") if match[1] == "t"]
    assert [bool(re.search(e, word)) for e in expressions] == answers


def test_segmentation_is_table_1():
    assert states("segmentation") == ["w-1", "w0", "w1", "w-1/w0", "w0/w1", "w-1/w1"]


def test_ner_characters_is_table_4():
    assert states("ner-characters") == WORDS


@pytest.mark.parametrize("name", PRESETS)
def test_every_line_of_a_preset_has_a_name_that_people_read(name):
    labels = [line.partition("%")[0] for line in patterns(name) if "%" in line]
    called_by = features.attribute_names(preset(name), [f"{label}x" for label in labels])
    assert {"previous word = x", "previous character = x"} & set(called_by.values())
    assert not [
        text for text in called_by.values() if text.startswith(("U", "*", "column")) or not text.endswith(" = x")
    ]


def test_names_come_from_the_line_the_macros_or_the_attribute_itself():
    template = '# Columns: word, tag\nU0:%x[-1,1]\nending=%m[0,0,"..$"]\n'
    attributes = ["U0:NN", "ending=ng", "w=dog", None]
    names = {"U0:NN": "previous tag = NN", "ending=ng": "ending = ng", "w=dog": "w=dog"}
    assert features.attribute_names(template, attributes) == names
    assert features.attribute_names(None, ["U0:NN"]) == {"U0:NN": "U0:NN"}


def test_an_empty_value_has_a_name():
    names = features.attribute_names("prefix:%x[0,0]\nU01:%x[-1,0]", ["prefix:", "U01:La", "other:"])
    assert names["U01:La"] == "previous word = La"
    assert names["prefix:"] == "prefix = (none)"
    assert names["other:"] == "other:"


def test_cells_too_long_for_a_template_of_many_copies_are_named(tmp_path):
    text, lines = tmp_path / "text.txt", ["U:" + "%x[0,0]" * 4_000] * 2
    text.write_text(f"the A\n\nthe A\n{'ab' * 5_000} B\n\n")
    what = "token 1: its cells are too long for the template, whose attributes would have more than 64 MiB of text"
    with pytest.raises(DataError, match=f"text.txt, line 5: in the sentence before, {what}"):
        Corpus.read(text, template="\n".join(lines))
    assert Corpus.read(text, template="\n".join(lines[:1])).n_tokens == 3


def test_messages_quote_long_lines_in_part():
    for line in ("U:" + "%x[0,0]" * 100_000, f'U:%t[0,0,"{"(" * 5_000}"]', "C " + "a" * 5_000 + "%", "x" * 10**6 + "%"):
        with pytest.raises(TemplateError, match="template line 1: ") as raised:
            ChainCRF(template=line).fit([[("a",)]], [["A"]])
        assert len(str(raised.value)) < 1_500
    with pytest.raises(OptionError) as raised:
        ChainCRF(template="x" * 10**6).fit([[("a",)]], [["A"]])
    assert len(str(raised.value)) < 1_500


def test_a_first_line_longer_than_what_is_looked_at_is_whole(tmp_path):
    text, long = tmp_path / "text.txt", "a" * (1 << 20)
    for content in (f"{long} A\nb B\n", f"{long} A"):
        text.write_text(content)
        assert {*Corpus.read(text, template="U:%x[0,0]").labels} <= {"A", "B"}


def test_a_cell_too_long_for_the_substrings_of_a_line_is_named(tmp_path):
    long, template = "ab" * 2_000, "U0:%x[0,0]\nU:%x[0,0]%substrings[0,0,9]\nB\n"
    fitted = ChainCRF(l2=1, template=template).fit([[("the",), ("dog",)]], [["A", "B"]])
    before = fitted.predict([["the", "dog"]])
    text = tmp_path / "text.txt"
    text.write_text(f"the A\n\nthe A\n{long} B\n\n")
    what = "token 1: a cell of 4000 characters is too long for %substrings"
    with pytest.raises(DataError, match=f"text.txt, line 5: in the sentence before, {what}"):
        Corpus.read(text, template=template)
    with pytest.raises(DataError, match=f"sentence 1.*{what}"):
        fitted.fit([["the"], ["the", long]], [["A"], ["A", "B"]])
    with pytest.raises(DataError, match=what):
        fitted.predict([["the"], ["the", long]])
    fitted.save(tmp_path / "model")
    tagger = Tagger(tmp_path / "model")
    with pytest.raises(DataError, match=what):
        tagger.tag(["the", long])
    assert tagger.tag(["the", "dog"]) == before[0]
    assert fitted.predict([["the", "dog"]]) == before
