"""Laws of `loglinear tag --layout`: what the taggers of Wapiti, CRF++ and CRFsuite write."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import loglinear

CRFPP = Path(__file__).parents[2] / "models" / "crfpp"
TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]\nB\nB1:%x[0,0]\n"
TEXT = "the  DT \ndog\tNN\n\n \t\nit PRP\n"
SENTENCES = [["the", "dog"], ["it"]]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model with features of pairs of labels, its path, and what Python says of the sentences."""
    path = tmp_path_factory.mktemp("layouts") / "m"
    X = [["the", "dog", "barks"], ["it", "barks"], ["dogs", "bark"]]
    crf = loglinear.ChainCRF(template=TEMPLATE, l2=0.05).fit(X, [["D", "N", "V"], ["N", "V"], ["N", "V"]])
    crf.save(path)
    return path, crf


def scores_of(crf, tokens, labels):
    """The weights of a labelling, summed up by token."""
    found = []
    for at, (token, label) in enumerate(zip(tokens, labels, strict=True)):
        states = (f"U0:{token}", f"U1:{tokens[at - 1] if at else '_B-1'}")
        score = sum(crf.state_features_.get((name, label), 0.0) for name in states)
        if at:
            score += crf.transition_features_.get((labels[at - 1], label), 0.0)
            score += crf.bigram_features_.get((f"B1:{token}", labels[at - 1], label), 0.0)
        found.append(score)
    return found


def tagged(done, model, *options, text=TEXT):
    return done("tag", "-m", model[0], "-f", "columns", *options, input=text).stdout


@pytest.mark.parametrize("name", ["model", "model.txt"])
def test_crfpps_own_output_is_printed_byte_for_byte(done, name):
    """`crf_test -v2` and `-n3` wrote the files; see tests/models/test_foreign.py."""
    command = ["tag", "--model", CRFPP / name, CRFPP / "test.txt", "--layout", "crf++"]
    assert done(*command, "-v", "2").stdout == (CRFPP / "posteriors.txt").read_text(encoding="utf-8")
    assert done(*command, "--n-best", "3").stdout == (CRFPP / "best.txt").read_text(encoding="utf-8")


def test_wapiti_keeps_each_line_as_it_is(done, model):
    (first, second), (third,) = model[1].predict(SENTENCES)
    expected = f"the  DT \t{first}\ndog\tNN\t{second}\n\nit PRP\t{third}\n\n"
    assert tagged(done, model, "--layout", "wapiti") == expected
    assert tagged(done, model, "--layout", "wapiti", "-v", "0") == expected


def test_wapiti_scores_are_sums_of_weights(done, model):
    printed = tagged(done, model, "--layout", "wapiti", "-v", "1")
    expected = ""
    lines = iter(["the  DT ", "dog\tNN", "it PRP"])
    for tokens, labels in zip(SENTENCES, model[1].predict(SENTENCES), strict=True):
        scores = scores_of(model[1], tokens, labels)
        expected += f"# 0 {sum(scores):.6f}\n"
        rows = zip(labels, scores, strict=True)
        expected += "".join(f"{next(lines)}\t{label}\t{label}/{score:.6f}\n" for label, score in rows) + "\n"
    assert printed == expected


def test_wapiti_posterior_takes_the_most_probable_label_of_each_token(done, model):
    printed = tagged(done, model, "--layout", "wapiti", "-v", "2").split("\n\n")
    for block, tokens in zip(printed, SENTENCES, strict=False):
        head, *rows = block.split("\n")
        best = [max(token.items(), key=lambda each: each[1]) for token in model[1].predict_marginals([tokens])[0]]
        assert head == f"# 0 {math.prod(p for _, p in best):.6f}"
        assert [row.split("\t")[-2:] for row in rows] == [[label, f"{label}/{p:.6f}"] for label, p in best]


def test_wapiti_n_best(done, model):
    found = model[1].predict(SENTENCES, n_best=2)
    blocks = tagged(done, model, "--layout", "wapiti", "--n-best", "2").removesuffix("\n\n").split("\n\n")
    labels = [[row.split("\t")[-1] for row in block.split("\n")] for block in blocks]
    assert labels == [labels for each in found for labels, _ in each]
    scored = tagged(done, model, "--layout", "wapiti", "--n-best", "2", "-v", "1").removesuffix("\n\n").split("\n\n")
    totals = [
        f"# {rank} {sum(scores_of(model[1], tokens, labels)):.6f}"
        for tokens, each in zip(SENTENCES, found, strict=True)
        for rank, (labels, _) in enumerate(each)
    ]
    assert [block.split("\n")[0] for block in scored] == totals


def test_crfpp_in_all_its_details(done, model):
    _, crf = model
    cells = [["the\tDT", "dog\tNN"], ["it\tPRP"]]
    tags, marginals = crf.tag(SENTENCES), crf.predict_marginals(SENTENCES)
    for detail in (0, 1, 2):
        expected = ""
        for rows, tag, of_tokens in zip(cells, tags, marginals, strict=True):
            expected += f"# {tag.probability:.6f}\n" if detail else ""
            for row, label, p, others in zip(rows, tag.labels, tag.probabilities, of_tokens, strict=True):
                every = "".join(f"\t{other}/{q:.6f}" for other, q in others.items())
                expected += f"{row}\t{label}{f'/{p:.6f}' if detail else ''}{every if detail == 2 else ''}\n"
            expected += "\n"
        assert tagged(done, model, "--layout", "crf++", "-v", str(detail)) == expected


def test_crfpp_n_best(done, model):
    found = model[1].predict(SENTENCES, n_best=3)
    marginals = model[1].predict_marginals(SENTENCES)
    for detail in ("0", "1"):
        printed = tagged(done, model, "--layout", "crf++", "--n-best", "3", "-v", detail)
        blocks = iter(printed.removesuffix("\n\n").split("\n\n"))
        for each, of_tokens in zip(found, marginals, strict=True):
            for rank, (labels, log_p) in enumerate(each):
                head, *rows = next(blocks).split("\n")
                assert head == f"# {rank} {math.exp(log_p):.6f}"
                wanted = [
                    f"{label}/{of_token[label]:.6f}" if detail == "1" else label
                    for label, of_token in zip(labels, of_tokens, strict=True)
                ]
                assert [row.split("\t")[-1] for row in rows] == wanted
        assert next(blocks, None) is None


def test_crfsuite_writes_labels_alone_and_what_its_flags_ask_for(done, model, sample):
    _, crf = model
    tags, marginals = crf.tag(SENTENCES), crf.predict_marginals(SENTENCES)
    flags = {
        (): "",
        ("--probabilities", "sequence"): "p",
        ("--probabilities", "token"): "i",
        ("--marginals",): "l",
        ("--marginals", "--probabilities", "token"): "il",
        ("-v", "1"): "pi",
        ("-v", "2"): "pil",
    }
    for options, flag in flags.items():
        expected = ""
        for tokens, tag, of_tokens in zip(SENTENCES, tags, marginals, strict=True):
            score = sum(scores_of(crf, tokens, tag.labels))
            head = f"@score\t{score:.6f}\t{score - tag.log_probability:.6f}\n@probability\t{tag.probability:.6f}\n"
            expected += head if "p" in flag else ""
            for label, p, others in zip(tag.labels, tag.probabilities, of_tokens, strict=True):
                every = "".join(f"\t{other}:{q:.6f}" for other, q in others.items())
                expected += f"{label}{f':{p:.6f}' if 'i' in flag else ''}{every if 'l' in flag else ''}\n"
            expected += "\n"
        assert tagged(done, model, "--layout", "crfsuite", *options) == expected
    # Attribute files, CRFsuite's own.
    tag = ("tag", "-m", sample.models["crfsuite"], sample.path("test", "crfsuite"))
    assert done(*tag, "--layout", "crfsuite").stdout == done(*tag).stdout


def test_layouts_are_the_same_from_a_file_in_pieces_and_threads(done, model, tmp_path):
    (tmp_path / "large").write_text((TEXT + "\n") * 3000)
    for options in (["wapiti", "-v", "1"], ["crf++", "-v", "2"], ["crf++", "--n-best", "2"], ["crfsuite", "-v", "1"]):
        expected = tagged(done, model, "--layout", *options) * 3000
        assert (
            done("tag", "-m", model[0], "-f", "columns", tmp_path / "large", "-j", "2", "--layout", *options).stdout
            == expected
        )


def test_sentences_without_a_labelling_are_shown(done, tmp_path):
    crf = loglinear.ChainCRF(template="U:%x[0,0]\nB\n", constraints=[("A", "A"), ("B", "A"), ("B", "B")])
    crf.fit([["a", "b"]], [["A", "B"]]).save(tmp_path / "m")
    for options, expected in [
        (["wapiti", "-v", "1"], "# 0 -inf\na\t?\t?/-inf\na\t?\t?/-inf\na\t?\t?/-inf\n\n"),
        (["wapiti", "-v", "2"], "# 0 0.000000\na\t?\t?/0.000000\na\t?\t?/0.000000\na\t?\t?/0.000000\n\n"),
        (["crf++", "--n-best", "2"], "# 0 0.000000\na\t?\na\t?\na\t?\n\n"),
        (["crf++", "-v", "1"], "# 0.000000\na\t?/0.000000\na\t?/0.000000\na\t?/0.000000\n\n"),
        (["crfsuite", "--probabilities", "token"], "?:0.000000\n?:0.000000\n?:0.000000\n\n"),
    ]:
        assert (
            done("tag", "-m", tmp_path / "m", "-f", "columns", "--layout", *options, input="a\na\na\n").stdout
            == expected
        )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-v", "1"], "-v needs --layout"),
        (
            ["--layout", "crf++", "--marginals"],
            "--layout crf++: this layout prints probabilities with -v; leave out --marg",
        ),
        (["--layout", "wapiti", "--probabilities", "token"], "leave out --probabilities"),
        (["--layout", "crfsuite", "--n-best", "2"], "no n-best list; leave out --n-best"),
        (["--layout", "wapiti", "-v", "2", "--n-best", "2"], "leave out --n-best, or use -v 1"),
        (["--layout", "crf++", "-f", "jsonl"], "--layout works only with columns"),
        (["--layout", "crfsuite", "-f", "conllu"], "--layout crfsuite works only with columns and attribute files"),
    ],
)
def test_what_no_layout_has_is_refused(misuse, model, options, said):
    assert said in misuse(
        "tag", "-m", model[0], *([] if "-f" in options else ["-f", "columns"]), *options, input="the\n"
    )
