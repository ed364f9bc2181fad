"""Exports that cannot be used: each is refused with file, line or task, and what to do."""

from __future__ import annotations

import json

import pytest

from loglinear import (
    AnnotatedText,
    DataError,
    DataWarning,
    TextSpan,
    labelled_tokens,
    read_annotations,
    write_annotations,
)

SCORE = '{"text": "Ada", "spans": [{"start": 0, "end": 3, "label": "P", "score": %s}]}'
DOCCANO = '{"text": "Ada wrote", "label": [[0, 3, "PER"]]}\n'
HEADER = (
    "#FORMAT=WebAnno TSV 3.3\n#T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|value\n\n\n#Text=Ada wrote\n"
)
TWO_LAYERS = HEADER.replace("de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity", "custom.A").replace(
    "\n\n\n", "\n#T_SP=custom.B|value\n\n\n"
)


def task(value, **fields):
    return json.dumps(
        [{"id": 17, "data": {"text": "Ada wrote"}, "annotations": [{"result": [{"value": value}]}]} | fields]
    )


BAD = {
    "doccano": [
        (DOCCANO + "{", "line 2: invalid JSON: "),
        (DOCCANO + "[1]", "line 2: expected an object"),
        (DOCCANO + "[" * 100_000, "line 2: the JSON is nested too deeply"),
        (DOCCANO + "9" * 5000, "line 2: "),
        ('{"label": []}', "line 1: the field 'text' is missing; the object has 'label'"),
        ('{"text": 1, "label": []}', "line 1: the field 'text' is 1, not a text"),
        ('{"text": "a"}', "line 1: no field 'label', 'labels', 'entities', 'annotations'; export"),
        ('{"text": "a", "label": "PER"}', """line 1: the field 'label' is "PER", not a list"""),
        ('{"text": "a", "label": ["sport"]}', "this looks like a project of text classification"),
        ('{"text": "a", "label": [[0, 1]]}', "each span must be [start, end, label]"),
        ('{"text": "a", "label": [["0", 1, "X"]]}', "the field 'start_offset' is \"0\", not a whole number"),
        ('{"text": "a", "label": [[true, 1, "X"]]}', "the field 'start_offset' is true, not a whole number"),
        ('{"text": "a", "label": [[0.5, 1, "X"]]}', "the field 'start_offset' is 0.5, not a whole number"),
        ('{"text": "a", "label": [[0, 1, 7]]}', "the field 'label' is 7, not a text"),
        ('{"text": "a", "label": [[0, 9, "X"]]}', "line 1: the span 0 to 9 (X) is outside the text; "),
        ('{"text": "a", "label": [], "relations": 7}', "line 1: the field 'relations' is 7, not a list"),
        ('{"text": "a", "label": [[0, 1e400, "X"]]}', "the field 'end_offset' is Infinity, not a whole number"),
        ('{"text": "a\\ud800", "label": []}', "line 1: the field 'text' has half of a character"),
        (b'{"text": "\xff", "label": []}', "line 1: invalid UTF-8"),
        ('{"text": "a", "label": [], "relations": 5}', "line 1: the field 'relations' is 5, not a list"),
        ('{"text": "a", "label": [], "id": "\\udc00"}', "line 1: the field 'id' has half of a character, \\udc00"),
    ],
    "prodigy": [
        ('{"text": "Ada", "spans": [{"start": 0, "end": 3}]}', "line 1: the field 'label' is missing"),
        ('{"text": "Ada", "spans": [7]}', "line 1: spans 0 is 7, not an object"),
        ('{"text": "Ada", "spans": [], "answer": "maybe"}', "the answer is 'maybe'; expected accept, reject or ignore"),
        (
            '{"text": "Ada", "spans": [], "tokens": [{"text": "Bob", "start": 0, "end": 3}]}',
            "token 0, 'Bob', is not at 0 to 3 of the text",
        ),
        ('{"text": "Ada", "spans": [{"start": 0, "end": 3, "label": "P", "text": "Bob"}]}', "the file says 'Bob'"),
        (SCORE % ("9" * 400), "line 1: the field 'score' is 999"),
        (SCORE % "NaN", "line 1: the field 'score' is NaN, not a number"),
    ],
    "label-studio": [
        ("{}", "expected a list of tasks, found {}"),
        ("[", "invalid JSON: "),
        ("[7]", "task 1 is 7, not an object"),
        (task({"start": 0, "end": 3, "labels": ["\ud800"]}), "task 17: a label has half of a character, \\ud800"),
        (task({"start": 0, "end": 3, "labels": []}), "task 17: the span 0 to 3 has the labels []; choose"),
        (task({"start": 0, "end": 30, "labels": ["P"]}), "task 17: the span 0 to 30 (P) is outside the text"),
        (
            task({"start": 0, "end": 3, "labels": ["P"], "text": "Bob"}),
            "task 17: the span 0 to 3 (P) covers 'Ada', but",
        ),
        (task({"start": "/p[1]/text()[1]", "end": 3, "labels": ["P"]}), "task 17: a span is a part of HTML"),
        (task({"end": 3, "labels": ["P"]}), "task 17: the field 'start' is missing"),
        (
            task({}, data={"a": "x", "b": "y"}),
            "task 17: several fields are texts: 'a', 'b'; name the annotated one 'text'",
        ),
        (task({}, data={"image": 3}), "task 17: the field 'text' is missing"),
        (task({}, annotations={}), "task 17: the field 'annotations' is {}, not a list"),
    ],
    "webanno": [
        ("", "line 1: the first line is '', not #FORMAT=WebAnno TSV 3.x"),
        ("#FORMAT=WebAnno TSV 2\n", "export as WebAnno TSV v3.x"),
        (HEADER + "1-1 0-3 Ada\n", "line 6: '1-1 0-3 Ada' is not a token such as"),
        (HEADER + "1-1\t0-3\tBob\t_\n", "line 6: 'Bob' is not at 0-3 of the text"),
        (HEADER + "1-1\t0-" + "9" * 5000 + "\tAda\t_\n", "line 6: '1-1\\t0-999"),
        (HEADER + "1-1\t0-3\tAda\tPER[x]\n", "line 6: 'PER[x]' has no annotations such as PER or PER[1]"),
        (
            HEADER + "1-1\t0-3\tAda\t_\n\n#Text=b\n2-1\t9999999999-10000000000\tb\t_\n",
            "line 9: the sentence begins 9,999,999,990 characters after the one before",
        ),
        (HEADER + "1-1\t0-3\tAda\t*\n", "line 6: the span of 'Ada' has no value; choose one"),
        (
            HEADER.replace("|value", "|identifier|value") + "1-1\t0-3\tAda\t_\n",
            "line 6: 1 cell of annotations, but the header",
        ),
        (
            HEADER.replace("ner.type.NamedEntity", "lexmorph.type.pos.POS"),
            "no layer has labelled spans; export the layer",
        ),
        (TWO_LAYERS, "several layers have spans (custom.A, custom.B); export"),
    ],
    "brat": [
        ("T1\tPER 0 3\n", None),
        ("T1 PER 0 3\tAda\n", "line 1: 'T1 PER 0 3\\tAda' is not a span such as"),
        ("T1\tPER 0 3\tBob\n", "line 1: the span 0 to 3 (PER) covers 'Ada', but the file says 'Bob'"),
        ("\nT1\tPER 0 30\tAda\n", "line 2: the span 0 to 30 (PER) is outside the text"),
        ("T1\tPER 0 " + "9" * 5000 + "\tAda\n", "line 1: 'T1\\tPER 0 999"),
        ("hello\n", "line 1: 'hello' is not an annotation of brat"),
    ],
}


@pytest.mark.parametrize(
    ("format", "content", "said"), [(name, *case) for name, cases in BAD.items() for case in cases]
)
def test_a_bad_export_is_named_with_its_place_and_a_remedy(format, content, said, tmp_path):
    path = tmp_path / ("export.ann" if format == "brat" else "export")
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (tmp_path / "export.txt").write_text("Ada wrote")
    if said is None:
        assert read_annotations(path, format)[0].spans[0].text == "Ada"
        return
    with pytest.raises(DataError) as failure:
        read_annotations(path, format)
    assert str(failure.value).startswith(str(path))
    assert said in str(failure.value)
    assert len(str(failure.value)) < 500


def test_files_of_brat_come_in_pairs(tmp_path):
    (tmp_path / "a.ann").write_text("")
    with pytest.raises(DataError, match=r"a\.ann: a\.txt is missing in the same folder"):
        read_annotations(tmp_path)
    (tmp_path / "b.txt").write_text("Ada")
    with pytest.raises(DataError, match=r"b\.ann: this file is missing"):
        read_annotations(tmp_path / "b.txt", "brat")
    with pytest.raises(DataError, match=r"not a file of brat"):
        read_annotations(tmp_path / "c.json", "brat")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"no \.ann file in this folder"):
        read_annotations(tmp_path / "empty", "brat")


def test_offsets_of_brat_may_count_crlf_as_one_character_and_spans_may_have_gaps(tmp_path):
    (tmp_path / "a.txt").write_bytes("\ufeffAda\r\nwent to Rome.\r\n".encode())
    (tmp_path / "a.ann").write_bytes(b"T1\tPER 1 4\tAda\r\nT2\tLOC 14 18\tRome\r\n")
    assert [span.text for span in read_annotations(tmp_path)[0].spans] == ["Ada", "Rome"]
    (tmp_path / "a.ann").write_text("T1\tPER 1 4\tAda\nT2\tLOC 13 17\tRome\n")
    with pytest.warns(DataWarning, match="in 1 text the line end CRLF counts as one character; offsets were converted"):
        (text,) = read_annotations(tmp_path)
    assert [span.text for span in text.spans] == ["Ada", "Rome"]
    (tmp_path / "a.ann").write_text("T1\tX 6 10;14 18\twent Rome\n")
    with pytest.warns(DataWarning, match="1 discontinuous span read as one span"):
        assert [span.text for span in read_annotations(tmp_path)[0].spans] == ["went to Rome"]


def region(start, end, text, label="PER"):
    value = {"start": start, "end": end, "labels": [label]}
    return {"value": value if text is None else value | {"text": text}}


def test_older_exports_of_label_studio_count_units_of_utf16(tmp_path):
    data = {"text": "😊 Ada met 😊 Bob"}
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps([{"id": 1, "data": data, "annotations": [{"result": [region(3, 6, "Ada")]}]}]))
    with pytest.warns(DataWarning, match="the offsets of 1 task count units of UTF-16; they were converted"):
        assert read_annotations(path)[0].spans[0].text == "Ada"
    path.write_text(json.dumps([{"id": 1, "data": data, "annotations": [{"result": [region(2, 5, "Ada")]}]}]))
    assert read_annotations(path)[0].spans[0][:2] == (2, 5)


def test_label_studio_has_tasks_and_answers_that_are_left_out(tmp_path):
    data = {"text": "Ada met Bob"}
    first, second = [region(0, 3, None)], [region(8, 11, None)]
    relation = {"type": "relation", "from_id": "a", "to_id": "b"}
    tasks = [
        {"id": 1, "data": data, "annotations": [{"result": first, "was_cancelled": True}]},
        {"id": 2, "data": data, "annotations": []},
        {
            "id": 3,
            "data": data,
            "annotations": [{"result": first}, {"result": [*second, relation], "ground_truth": True}],
        },
        {"id": 4, "data": data, "predictions": [{"result": first}, {"result": second}]},
    ]
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(tasks))
    with pytest.warns(DataWarning) as caught:
        texts = read_annotations(path)
    assert [(text.id, text.spans[0].text) for text in texts] == [("3", "Bob"), ("4", "Bob")]
    said = [
        "2 tasks without an annotation",
        "1 annotation of tasks with several",
        "1 result of another type than spans",
    ]
    assert all(start in str(warning.message) for start, warning in zip(said, caught, strict=True))


def test_a_layer_of_ones_own_and_parts_of_tokens_are_read(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text(
        "#FORMAT=WebAnno TSV 3.2\n#T_SP=de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS|PosValue\n"
        "#T_SP=webanno.custom.Thing|other|value\n\n\n#Text=a\\\\b\\tcd \\[e\n"
        "1-1\t0-3\ta\\\\b\tNN\t_\t_\t\n1-2\t4-6\tcd\tNN\t*[1]|*[2]\tX\\_\\|[1]|Y[2]\t\n1-2.1\t5-6\td\t_\t*\tZ\t\n"
        "1-3\t7-9\t\\[e\tNN\t*[2]\tY[2]\t\n"
    )
    (text,) = read_annotations(path)
    assert text.text == "a\\b\tcd [e"
    assert [(span.text, span.label) for span in text.spans] == [("cd [e", "Y"), ("cd", "X_|"), ("d", "Z")]
    assert [text.text[start:end] for start, end in text.tokens] == ["a\\b", "cd", "[e"]
    path.write_text(path.read_text().replace("Thing|other|value", "Thing|"))
    assert {span.label for span in read_annotations(path)[0].spans} == {"Thing"}


@pytest.mark.parametrize("field", ["text", "id", "label"])
def test_half_of_a_character_is_written_to_no_file(field, tmp_path):
    parts = dict.fromkeys(("text", "id", "label"), "Ada") | {field: "Ada\ud800"}
    text = AnnotatedText(parts["text"], (TextSpan(0, 3, parts["label"], "Ada"),), parts["id"])
    with pytest.raises(DataError, match=r"text 0: .*half of a character, \\ud800; repair the text"):
        write_annotations([text], tmp_path / "export.jsonl", "doccano")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("format", ["doccano", "label-studio", "prodigy"])
@pytest.mark.parametrize("id", ["7", "-7", "0", "007", "\u0663", "\u00b2", "9" * 5000, ""])
def test_identifiers_are_numbers_only_if_they_stay_the_same(format, id, tmp_path):
    path = tmp_path / "export"
    write_annotations([AnnotatedText("Ada", id=id, tokens=())], path, format)
    (text,) = read_annotations(path, format)
    assert text.id == (id if format != "prodigy" or id in ("7", "-7", "0") else "")
    value = json.loads(path.read_text()).get("id") if format == "doccano" else None
    assert format != "doccano" or value == {"7": 7, "-7": -7, "0": 0, "": None}.get(id, id)


ADA = TextSpan(0, 3, "PER", "Ada")
NO_TEXTS = {
    "a number": (AnnotatedText(5), "its text is 5, not a text"),
    "a numeric id": (AnnotatedText("Ada", id=5), "its id is 5, not a text"),
    "a tuple": (AnnotatedText("Ada", ((0, 3, "PER"),)), "whole numbers: give a TextSpan"),
    "no label": (AnnotatedText("Ada", (ADA._replace(label=None),)), "the label of the span 0 to 3 is None"),
    "no probability": (
        AnnotatedText("Ada", (ADA._replace(probability=float("nan")),)),
        "0 to 3 is nan; give a probability",
    ),
    "a long token": (AnnotatedText("Ada", tokens=((0, 4),)), "the token 0 to 4 is outside the text"),
    "a negative token": (AnnotatedText("Ada", tokens=((-1, 3),)), "the token -1 to 3 is outside the text"),
    "tokens that overlap": (AnnotatedText("Ada", tokens=((0, 2), (1, 3))), "begins before the end of the one before"),
    "a number as a token": (AnnotatedText("Ada", tokens=(5,)), "5 is not a token; give a tuple"),
}


@pytest.mark.parametrize("case", NO_TEXTS)
def test_texts_that_are_none_are_refused(case):
    text, said = NO_TEXTS[case]
    with pytest.raises(DataError, match="text 0: ") as failure:
        labelled_tokens([text])
    assert said in str(failure.value)


@pytest.mark.parametrize("label", ["B-PER", "I-GEO_2", "O"])
def test_labels_of_spans_that_are_tags_of_tokens_give_a_warning(label, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(DOCCANO.replace("PER", label) + DOCCANO.replace("PER", "B-cell"), encoding="utf-8")
    with pytest.warns(
        DataWarning, match=rf"a\.jsonl: labels of spans look like tags of tokens \('{label}'\); tags such"
    ):
        texts = read_annotations(path)
    assert [text.spans[0].label for text in texts] == [label, "B-cell"]
