"""Laws of `loglinear inspect --card`: every kind of model has a card, of what its file says; data are no markup."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from cli.test_kinds import MAKERS
from loglinear import ChainCRF, PairwiseMRF, TextClassifier
from loglinear.models.explain.markdown import code, code_block, plain, table
from loglinear.models.explain.model_card import ModelCard
from loglinear.visible import CONTROLS, visible_name

SECTIONS = ["Training data", "Scores", "Use", "Settings", "Limits", "Version and licence"]
HOSTILE = [
    "<script>alert(1)</script>", "*a* _b_ __c__", "[x](http://y.example)", "a|b", "`x`", "``", "# h", "www.y.example",
    "\x1b[31m\x9b", "a\nb\n\n# c", "![i](j)", "<http://z>", "&lt;", "\\", " ", "```\n</pre>", "http://y.example",
    "~~s~~",
]  # fmt: skip


def rendered(markdown):
    """HTML of Markdown with tables, without the metadata."""
    parser = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table").enable("strikethrough")
    return parser.render(re.sub(r"\A---\n.*?\n---\n", "", markdown, flags=re.DOTALL))


def text_of(html):
    """Texts of the elements of a page, and the names of the elements."""
    import html as entities

    return entities.unescape(re.sub(r"<[^>]*>", "", html)), {*re.findall(r"<(\w+)", html)}


@pytest.mark.parametrize("kind", MAKERS)
def test_every_kind_of_model_has_a_card_that_says_what_was_not_measured(done, tmp_path, kind):
    path, _ = MAKERS[kind](tmp_path)
    finished = done("inspect", path, "--card")
    card, report = finished.stdout, json.loads(done("inspect", path, "--json").stdout)
    assert finished.stderr == ""
    assert card.startswith("---\nlibrary_name: loglinear\n")
    assert [line[3:] for line in card.splitlines() if line.startswith("## ")][1:] == SECTIONS
    for label in report.get("labels") or [variable["name"] for variable in report["variables"]]:
        assert code(label) in card
    assert "Licence: not stated" in card
    assert "Not measured: the model file has no scores on development data." in card
    assert f"| size of the file | {path.stat().st_size:,} bytes |" in card
    is_foreign = kind.startswith(("crf", "wapiti"))
    assert ("Written by another program" in card) == is_foreign
    compile("\n".join(re.findall(r"```python\n(.*?)```", card, re.DOTALL)), "card", "exec")


def test_scores_counts_and_settings_are_those_of_the_file(done, chunker, tmp_path):
    model = tmp_path / "m"
    options = ("--preset", "ner", "--l1", "2", "--dev", chunker.test, "--keep", "best", "--max-iterations", "3", "-q")
    done("train", chunker.train, "-m", model, *options)
    card, report = done("inspect", model, "--card").stdout, json.loads(done("inspect", model, "--json").stdout)
    for name, score in report["dev"].items():
        assert f"| {name.replace('_', ' ').replace('f1', 'F1')} | {100 * score:.2f} % |" in card
    assert "The weights were chosen by these scores" in card
    assert f"{report['n_sentences']:,} sentences, {report['n_tokens']:,} tokens" in card
    assert "The labels encode spans of these types: `NP`, `VP`." in card
    assert "The training did not converge: stopped at the iteration limit" in card
    assert f"| training file | {plain(str(chunker.train))} |" in card
    assert f"| development file | {plain(str(chunker.test))} |" in card
    command = re.search(r"```sh\n(loglinear train .*)\n```", card)[1]
    assert command.startswith(f"loglinear train {chunker.train} --model m --preset ner --dev {chunker.test} --l1 2")


def test_code_of_a_card_runs(done, sample, tmp_path):
    card = done("inspect", sample.model, "--card").stdout
    script = re.search(r"```python\n(.*?)```", card, re.DOTALL)[1]
    finished = subprocess.run(
        [sys.executable, "-c", script], cwd=sample.model.parent, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr


@pytest.mark.parametrize("kind", ["chain", "texts", "network"])
def test_names_of_labels_are_text_whatever_is_in_them(done, tmp_path, kind):
    path = tmp_path / "a*b*`[x](y)`"
    if kind == "chain":
        ChainCRF(template="U:%x[0,0]").fit([[f"w{at}" for at in range(len(HOSTILE))]] * 2, [HOSTILE] * 2).save(path)
    elif kind == "texts":
        texts = [f"some words of a text number{number}" for number in range(2 * len(HOSTILE))]
        TextClassifier(class_weight={HOSTILE[15]: 2.0}).fit(texts, HOSTILE * 2).save(path)
    else:
        columns = [[name, at % 2] for at, name in enumerate(HOSTILE[:6] * 3)]
        PairwiseMRF(l1=0.1).fit(columns).save(path)
    card = done("inspect", path, "--card").stdout
    assert not {ord(character) for character in card} & {*CONTROLS} - {10}
    html = rendered(card)
    text, elements = text_of(html)
    names = {"h1", "h2", "p", "ul", "li", "code", "pre", "table", "thead", "tbody", "tr", "th", "td"}
    assert elements <= names, elements - names
    assert "a*b*`[x](y)`" in text
    for name in HOSTILE[: 6 if kind == "network" else None]:
        assert visible_name(name) in text, name


def test_escapes_render_as_the_text_itself():
    for name in HOSTILE:
        shown = visible_name(name)
        for markdown in (plain(shown), code(name), table("a", "b", {name: name})):
            text, elements = text_of(rendered(f"x {markdown}" if "\n" not in markdown else markdown))
            assert shown.strip() in text, (name, markdown)
            assert elements <= {"p", "code", "table", "thead", "tbody", "tr", "th", "td"}, (name, markdown)
        assert text_of(rendered(code_block(f"x{name}y")))[1] == {"pre", "code"}, name


def test_many_labels_are_listed_in_part():
    labels = {f"l{number}": () for number in range(250)}
    card = ModelCard(
        path="m", task="", tags=(), does="A model.", label_noun="labels", labels=labels, data={}, settings={}
    ).markdown()
    assert "250: `l0`, " in card
    assert card.count("`l") == 200
    assert "and 50 more" in card


def test_misuse_is_named(misuse, sample, tmp_path):
    assert "not allowed with argument" in misuse("inspect", sample.model, "--card", "--json", usage=True)
