"""The choice of strengths of penalties on the command line."""

from __future__ import annotations

import pytest

from loglinear import ChainCRF, Corpus, MaxEnt
from loglinear.data.column_layout import ColumnLayout
from loglinear.data.documents import documents_of

SENTENCES = ["Ada B-P\nsang O\n", "Bob B-P\nLee I-P\nran O\n", "he O\nmet O\nAda B-P\n"]


def written(path, n_documents=4, mark="-DOCSTART- O\n\n"):
    """Write documents of three sentences each; return the path."""
    document = mark + "\n".join(SENTENCES) + "\n"
    path.write_text(document * n_documents)
    return path


@pytest.fixture
def train(tmp_path):
    return written(tmp_path / "train.txt")


def test_train_chooses_a_strength_with_documents_in_one_fold_and_plots_the_scores(done, train, tmp_path):
    model, plot = tmp_path / "m", tmp_path / "p.svg"
    words = ["--preset", "ner", "--skip-comments", "--l1", "cv", "--folds", "2", "--plot", plot, "--threads", "1"]
    told = done("train", train, "-m", model, *words).stderr
    assert "4 documents; the sentences of a document are in one fold" in told
    assert "chosen by 2-fold cross-validation: F1 on held-out folds" in told
    assert "on held-out folds" in plot.read_text()
    corpus = Corpus.read(train, template="ner", skip_comments=True)
    crf = ChainCRF(l1="cv", folds=2).fit(corpus, groups=[0] * 3 + [1] * 3 + [2] * 3 + [3] * 3)
    assert ChainCRF.load(model).l1 == crf.l1_


def test_a_classifier_of_tokens_keeps_documents_together(done, train, tmp_path):
    model = tmp_path / "m"
    words = ["--preset", "ner", "--skip-comments", "--model-type", "maxent", "--l2", "cv", "--folds", "2"]
    done("train", train, "-m", model, *words, "--threads", "1")
    corpus = Corpus.read(train, template="ner", skip_comments=True)
    groups = [document for document in range(4) for _ in range(8)]
    with pytest.warns(UserWarning, match="chose the last strength"):
        chosen = MaxEnt(l2="cv", folds=2).fit(corpus, groups=groups).l2_
    assert MaxEnt.load(model).l2 == chosen


def test_documents_begin_at_their_marks(tmp_path):
    columns = ColumnLayout(skip_comments=True)
    path = str(written(tmp_path / "a.txt", 2))
    other = str(written(tmp_path / "b.txt", 3, "# newdoc id = x\n"))
    assert documents_of([path], "columns", columns) == [0, 0, 0, 1, 1, 1]
    assert documents_of([path, other], "columns", columns) == [at for at in range(5) for _ in range(3)]
    assert documents_of([str(written(tmp_path / "c.txt", 2, ""))], "columns", columns) is None
    assert documents_of([path], "crfsuite", columns) is None
    assert documents_of(["-"], "columns", columns) is None
    conllu = tmp_path / "d.conllu"
    rows = "# newdoc\n# sent_id = 1\n1\tAda\t_\tPROPN\t_\t_\t_\t_\t_\t_\n\n"
    conllu.write_text(rows * 2)
    assert documents_of([str(conllu)], "conllu", ColumnLayout()) == [0, 1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--l1 cv --folds 1", "--folds 1 is not a whole number from 2 to 1000"),
        (
            "--l1 cv --metric nll",
            "--metric nll is not one of f1, accuracy, log_likelihood (did you mean log_likelihood?)",
        ),
        ("--folds 3", "--folds 3 needs a strength to choose; add --l1 cv or --l2 cv"),
        ("--plot x.png", "--plot shows the choice of a strength; add --l1 cv or --l2 cv"),
        ("--l1 cv --plot x.gif", "x.gif: unknown figure format"),
        ("--l1 cv --solver lbfgs", "lbfgs does not support an L1 penalty, and --l1 cv chooses one; leave out --solver"),
        ("--l2 cv --dev x", "--l2 cv is not available with --dev; give a number"),
        ("--l1 cv --l2 cv --checkpoint x", "--l1 cv and --l2 cv is not available with --checkpoint; give a number"),
        ("--l2 cv --workers 2", "--l2 cv is not available with --workers; give a number"),
    ],
)
def test_misuse_is_refused_before_data_are_read(misuse, tmp_path, words, message):
    assert misuse("train", tmp_path / "missing", "-m", tmp_path / "m", *words.split()).startswith(message)


def test_fewer_sentences_than_folds_are_refused(misuse, tiny, tmp_path):
    message = misuse("train", tiny, "--preset", "pos", "-m", tmp_path / "m", "--l1", "cv", "-q")
    told = "--l1 cv: 2 sentences with a weight above 0 cannot be divided into 5 folds; give --folds 2, or give a number"
    assert message == f"{tiny}: {told}"
