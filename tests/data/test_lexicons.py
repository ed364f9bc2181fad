"""Lexicons of templates: what tokens are in them, by a description in Python; files; whatever carries a template."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from loglinear import ChainCRF, Corpus, CorpusFile, Tagger, with_lexicons
from loglinear.data.lexicons import lexicons_of, without_lexicons
from loglinear.data.templates import template_text
from loglinear.errors import DataError, DataWarning, ModelFileError, OptionError, TemplateError
from loglinear.models.training.checkpoint import Checkpoint

WORD = st.sampled_from(["a", "b", "A", "ß", "Σ"])
TOWNS = 'U0:%x[0,0]\nU1:%in[0,0,"towns.txt"]\nB\n'


def looked_up(entries, sentence, *, lower):
    """The longest entry from the left, in the words of the guide; `entries` are tuples of words with sets of types."""
    fold = str.lower if lower else str
    types = {}
    for words, kind in entries:
        types.setdefault(tuple(map(fold, words)), set()).add(kind)
    words, values = [*map(fold, sentence)], []
    while len(values) < len(words):
        start = len(values)
        end = next((end for end in range(len(words), start, -1) if tuple(words[start:end]) in types), start)
        kind = "|".join(sorted(types.get(tuple(words[start:end]), set()) - {""}))
        values += [f"{'BI'[at > start]}{'-' * bool(kind)}{kind}" for at in range(start, end)] or ["O"]
    return values


def attributes(corpus):
    """The attributes of each token."""
    names, (ends, ids, _) = corpus.core.names(), corpus.core.rows()
    return [[names[at] for at in ids[start:end]] for start, end in zip([0, *ends], ends, strict=False)]


@given(
    st.lists(st.tuples(st.lists(WORD, min_size=1, max_size=4), st.sampled_from(["", "X", "Y"])), max_size=8),
    st.lists(st.lists(WORD, min_size=1, max_size=9), min_size=1, max_size=3),
)
@examples(200, deadline=None)
def test_tokens_have_what_the_guide_says_in_training_and_in_tagging(tmp_path_factory, entries, sentences):
    path = tmp_path_factory.getbasetemp() / "lexicon.txt"
    path.write_text("".join(f"{' '.join(words)}{kind and chr(9)}{kind}\n" for words, kind in entries) + "# end\n\n")
    template = 'U0:%in[0,0,"lexicon.txt"]\nC low=%X[0,0]\nU1:%IN[1,low,"lexicon.txt"]\n'
    if entries:
        template = with_lexicons(template, folder=path.parent)
    else:
        with pytest.warns(DataWarning, match="no entries"):
            template = with_lexicons(template, folder=path.parent)
    expected = []
    for sentence in sentences:
        exact, lower = (looked_up(entries, sentence, lower=lower) for lower in (False, True))
        expected += [[f"U0:{a}", f"U1:{b}"] for a, b in zip(exact, [*lower[1:], "_B+1"], strict=True)]
    corpora = [
        Corpus.encode(sentences, template=template),
        Corpus.encode([[[w] for w in s] for s in sentences], template=template),
    ]
    data = path.with_name("data.txt")
    data.write_text("\n".join("".join(f"{word} O\n" for word in sentence) for sentence in sentences))
    corpora += [Corpus.read(data, template=template, threads=threads) for threads in (1, 2, 3)]
    for corpus in corpora:
        assert attributes(corpus) == expected


def test_a_model_labels_with_its_own_copy_and_every_way_to_tag_agrees(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "towns.txt"
    file.write_text("Paris\nNew York\n")
    X = [["in", "Paris"], ["to", "New", "York"], ["or", "Anna"]]
    y = [["O", "T"], ["O", "T", "T"], ["O", "P"]]
    crf = ChainCRF(template=TOWNS, l2=0.1).fit(X, y)
    file.write_text("Anna\n")
    crf.save(tmp_path / "m")
    file.unlink()
    loaded, new = ChainCRF.load(tmp_path / "m"), ["or", "New", "York"]
    assert crf.predict([new]) == loaded.predict([new]) == [["O", "T", "T"]] == [loaded.predict_single(new)]
    assert Tagger(tmp_path / "m").tag(new) == ["O", "T", "T"]
    assert loaded.score([new], [["O", "T", "T"]]) == 1.0
    assert pickle.loads(pickle.dumps(crf)).predict([new]) == [["O", "T", "T"]]
    assert loaded.template == loaded.model_.template
    assert loaded.model_.has_template
    assert repr(loaded.template) == repr(without_lexicons(loaded.template)) == repr(TOWNS)
    with pytest.raises(TemplateError, match=r"line 2: cannot read the lexicon towns\.txt: No such file"):
        crf.fit(X, y)
    # An older model's template has its lexicons, and another lexicon is another template.
    assert ChainCRF().fit(X, y, start=loaded).model_.template == loaded.template
    file.write_text("Anna\n")
    with pytest.warns(UserWarning, match="has another template"):
        ChainCRF(template=TOWNS).fit(X, y, start=loaded)
    with pytest.raises(OptionError, match="has another template"):
        ChainCRF(template=TOWNS).fit(X, y, prior=loaded)


def test_a_lexicon_that_has_changed_is_changed_training_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file, crf = tmp_path / "towns.txt", ChainCRF(template=TOWNS, l2=0.1)
    X, y = [["in", "Paris"], ["or", "Anna"]] * 4, [["O", "T"], ["O", "P"]] * 4
    file.write_text("Paris\n")
    crf.fit(X, y, checkpoint=Checkpoint(tmp_path / "c"))
    file.write_text("# the same entries\nParis\nParis\n")
    crf.fit(X, y, checkpoint=Checkpoint(tmp_path / "c", resume=True))
    file.write_text("Paris\nAnna\n")
    with pytest.raises(OptionError, match="the training data have changed"):
        crf.fit(X, y, checkpoint=Checkpoint(tmp_path / "c", resume=True))


def test_an_encoded_corpus_carries_its_lexicons(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "towns.txt").write_text("Paris\n")
    (tmp_path / "data.txt").write_text("in O\nParis T\n\nin O\n")
    with CorpusFile(tmp_path / "corpus", template=TOWNS) as corpus:
        corpus.add(tmp_path / "data.txt")
    (tmp_path / "towns.txt").unlink()
    opened = Corpus.open(tmp_path / "corpus")
    assert attributes(opened) == [["U0:in", "U1:O"], ["U0:Paris", "U1:B"], ["U0:in", "U1:O"]]
    assert ChainCRF().fit(opened).predict([["Paris"]]) == [["T"]]
    with CorpusFile(tmp_path / "corpus", append=True) as corpus:
        corpus.add(tmp_path / "data.txt")
    assert len(Corpus.open(tmp_path / "corpus")) == 4


def test_entries_may_come_from_python():
    template = with_lexicons('U:%IN[0,0,"a"]%in[0,0,"b"]', {"a": {"New York": "T", "York": "U"}, "b": ["york", "#1"]})
    assert attributes(Corpus.encode([["new", "york", "#1"]], template=template)) == [["U:B-TO"], ["U:I-TB"], ["U:OB"]]
    facts = lexicons_of(template)
    assert [(lexicon.name, lexicon.lower_case, lexicon.n_entries) for lexicon in facts] == [
        ("a", True, 2),
        ("b", False, 2),
    ]
    assert str(facts[0]).startswith("a: 2 entries, lower case, 0.")
    assert template_text(template) is template
    assert template_text(str(template)) == template == with_lexicons(template)


@pytest.mark.parametrize(
    ("lexicons", "error", "said"),
    [
        ({"town": ["a"]}, OptionError, r'no %in\[0,0,"town"\] \(did you mean towns'),
        ({"towns.txt": "a"}, OptionError, "towns.txt is str; give a list"),
        ({"towns.txt": 1}, OptionError, "towns.txt is int; give a list"),
        ({"towns.txt": ["a", 1]}, DataError, "lexicon towns.txt, entry 1: 1 is not a string"),
        ({"towns.txt": [["a"]]}, DataError, "entry 0: .* is not a string"),
        ({"towns.txt": ["a\tX"]}, DataError, "entry 0: .* without tabs"),
        ({"towns.txt": ["a", " "]}, DataError, "entry 1: the entry is empty"),
        ({"towns.txt": {"a": "X Y"}}, DataError, "lexicon towns.txt, line 1: the type 'X Y' has a blank"),
        ({"towns.txt": ["a", "x " * 65]}, DataError, "lexicon towns.txt, line 2: an entry of more than 64 words"),
        ({"towns.txt": ["\ud800"]}, DataError, "not valid Unicode"),
        ([], OptionError, "lexicons"),
        (
            None,
            TemplateError,
            r"template line 2: cannot read the lexicon towns.txt: No such file .*did you mean towns.text\?\); correct",
        ),
    ],
)
def test_wrong_entries_are_refused_by_name(lexicons, error, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "towns.text").write_text("a\n")
    with pytest.raises(error, match=said):
        with_lexicons(TOWNS, lexicons)


@pytest.mark.parametrize("format", ["crfsuite", "wapiti", "crf++", "crf++-text"])
def test_a_model_with_a_lexicon_is_not_converted(format):
    crf = ChainCRF(template=with_lexicons(TOWNS, {"towns.txt": ["a"]})).fit([["a", "b"]], [["X", "Y"]])
    with pytest.raises(ModelFileError, match=r"has no lexicons, and the template looks words up in towns\.txt"):
        crf.model_.export(format)


def test_entries_replace_those_that_a_template_carries():
    first = with_lexicons(TOWNS, {"towns.txt": ["a"]})
    assert with_lexicons(first, {"towns.txt": ["b"]}) == with_lexicons(TOWNS, {"towns.txt": ["b"]}) != first
    assert with_lexicons(first) == first


@pytest.mark.parametrize("change", [str, str.rstrip, lambda text: text.replace("\n", "\r\n")])
def test_entries_are_replaced_whatever_ends_the_lines(change):
    carrying = change(with_lexicons('U:%in[0,0,"my towns"]\n', {"my towns": ["a"]}))
    assert lexicons_of(with_lexicons(carrying, {"my towns": ["a", "b"]}))[0].n_entries == 2


def test_a_lexicon_in_which_no_token_is_is_told():
    X, y = [["in", "Paris"], ["or", "Anna"]], [["O", "T"], ["O", "P"]]
    template = with_lexicons(TOWNS + 'U2:%IN[-1,0,"b"]  # before\n', {"towns.txt": ["PARIS", "New York"], "b": ["IN"]})
    with pytest.warns(
        DataWarning, match=r"^no token is in the lexicon towns\.txt; write its entries.* with a tab before a type$"
    ):
        ChainCRF(template=template).fit(X, y)
    both = with_lexicons('U:%in[0,0,"a"]/%in[0,0,"a"]\n', {"a": ["x"]})
    ChainCRF(template=both).fit(X, y)
