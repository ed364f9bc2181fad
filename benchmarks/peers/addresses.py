"""Addresses a second: usaddress and python-crfsuite, and loglinear with the same model, in one run on one core.

    python benchmarks/peers/addresses.py                # --addresses N, --rounds N

- `tag`: `Tagger.tag` of both on the same lists of features (nested dictionaries), one address after the other.
- `call`: what a call costs, on an empty model and on 8 tokens of 20 attributes.
- `end to end`: tokens in, labels and confidences out. usaddress forms features in Python and asks python-crfsuite for
  labels and the marginal of each; loglinear has a template that forms the same features natively, and labels all
  addresses in a batch.

Labels are compared on all addresses. Needs `pip install usaddress python-crfsuite`. Data: the folder named by the
environment variable LOGLINEAR_DATA (it holds usaddress/).
"""

from __future__ import annotations

import argparse
import csv
import gc
import os
import re
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pycrfsuite
import usaddress
from comparison import Goal, Row, compare, markdown

from loglinear import ChainCRF, Tagger
from loglinear.compat.pycrfsuite import Tagger as CompatTagger

DATA = Path(os.environ["LOGLINEAR_DATA"]) / "usaddress"
FILES = ("allegheny.csv", "cook.csv", "nyc.csv", "us_addrs_cases.csv")
DIGITS = r'"^\p{Nd}+$"'


def any_of(words: Any) -> str:
    """An expression for whole cells that are one of these words."""
    return '"^(?:' + "|".join(re.escape(word).replace('"', r"\"") for word in sorted(words)) + ')$"'


# Each feature of a token: usaddress's name, its macros, and the name of usaddress for what the macros give.
TOKEN: dict[str, tuple[str, Callable[[str], str]]] = {
    "word:": ("%x[0,word]", lambda value: value),
    "abbrev": (r'%t[0,clean,"\.$"]', lambda value: "true"),
    "digits:": (
        f'%t[0,clean,{DIGITS}]/%t[0,clean,"[0-9]"]',
        lambda value: {"all_digits": "true/true", "some_digits": "false/true", "no_digits": "false/false"}[value],
    ),
    "trailing.zeros:": (f"%t[0,word,{DIGITS}]%x[0,zeros]", lambda value: f"true{value}"),
    "length:": (
        f"%t[0,word,{DIGITS}]%length[0,word]",
        lambda value: {"d": "true", "w": "false"}[value[0]] + value[2:],
    ),
    "endsinpunc:": (r'%t[0,0,".[^.\p{L}\p{N}_]"]%m[0,0,"(?s).$"]', lambda value: f"true{value}"),
    "directional": (f"%t[0,word,{any_of(usaddress.DIRECTIONS)}]", lambda value: "true"),
    "street_name": (f"%t[0,word,{any_of(usaddress.STREET_NAMES)}]", lambda value: "true"),
    "has.vowels": ('%t[0,word,"^(?s:.)[^aeiou]*[aeiou]"]', lambda value: "true"),
}
# usaddress's prefixes, and the row that they name.
ROWS = {"": "0", "next:": "1", "previous:": "-1"}
# Features of the ends: a cell beyond the sentence is called _B-1 before it, _B+1 behind it.
ENDS = {
    "address.start": ('%t[-1,0,""]', "_B-1"),
    "address.end": ('%t[1,0,""]', "_B+1"),
    "previous:address.start": ('%t[-2,0,""]', "_B-1"),
    "next:address.end": ('%t[2,0,""]', "_B+1"),
}


def template() -> str:
    """Usaddress's features, one line each."""
    lines = [
        r'C clean=%drop[0,0,"^[(]+|[^.\p{L}\p{N}_&#]+$"]',
        'C word=%DROP[0,clean,"[.]"]',
        r'C number=%drop[0,word,"^.*\P{Nd}.*$"]',
        'C zeros=%m[0,number,"0+$"]',
    ]
    for prefix, row in ROWS.items():
        lines += [f"U{prefix}{name}" + macro.replace("[0,", f"[{row},") for name, (macro, _) in TOKEN.items()]
    return "\n".join([*lines, *(f"U{name}{macro}" for name, (macro, _) in ENDS.items()), "B"])


def renamed(attribute: str) -> str:
    """The name that the template gives to an attribute of usaddress."""
    if attribute in ENDS:
        return f"U{attribute}{ENDS[attribute][1]}"
    prefix = next((prefix for prefix in ("next:", "previous:") if attribute.startswith(prefix)), "")
    rest = attribute[len(prefix) :]
    name = next(name for name in TOKEN if rest.startswith(name))
    return f"U{prefix}{name}{TOKEN[name][1](rest[len(name) :])}"


def model_with_template(path: Path) -> ChainCRF:
    """Usaddress's model, whose attributes a template forms."""
    crf = ChainCRF.load(path)
    states = {(renamed(attribute), label): weight for (attribute, label), weight in crf.state_features_.items()}
    return ChainCRF.of_weights(crf.classes_, states, crf.transition_features_, template=template())


def addresses(limit: int) -> list[list[str]]:
    """The tokens of the addresses in all files."""
    texts = []
    for name in FILES:
        with open(DATA / name, encoding="utf-8", newline="") as file:
            texts += [row["raw_address"] for row in csv.DictReader(file)]
    tokens = [usaddress.tokenize(text) for text in texts]
    return [each for each in tokens if each][:limit]


def seconds(work: Callable[[], Any]) -> float:
    """Seconds of a call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def alternated(rounds: int, *works: Callable[[], Any]) -> list[list[float]]:
    """Seconds of each of some works, which alternate."""
    found: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for times, work in zip(found, works, strict=True):
            times.append(seconds(work))
    return found


def with_confidences(tagger: Any, sentences: list[list[str]]) -> list[Any]:
    """Labels and marginals as a user of usaddress gets them."""
    answers = []
    for tokens in sentences:
        labels = tagger.tag(usaddress.tokens2features(tokens))
        answers.append((labels, [tagger.marginal(label, at) for at, label in enumerate(labels)]))
    return answers


def repeated(tagger: Any, sentence: list[Any]) -> None:
    """Labels a sentence 2,000 times."""
    for _ in range(2000):
        tagger.tag(sentence)


def calls(rounds: int) -> list[Row]:
    """What a call costs on a model without features, and on eight tokens of twenty attributes."""
    rows = []
    sentence = [[f"attribute {at} of {token}" for at in range(20)] for token in range(8)]
    for title, trained, given, goal in (
        ("empty model, empty sequence", [["x"]], [], 3.0),
        ("8 tokens of 20 attributes", sentence, sentence, 15.0),
    ):
        with tempfile.TemporaryDirectory() as folder:
            trainer = pycrfsuite.Trainer(verbose=False, params={"max_iterations": 5})
            trainer.append(trained, ["A", "B", "A", "B", "A", "B", "A", "B"][: len(trained)])
            trainer.train(f"{folder}/model")
            taggers = [pycrfsuite.Tagger(), CompatTagger()]
            for tagger in taggers:
                tagger.open(f"{folder}/model")
            theirs, ours = alternated(rounds, *(partial(repeated, tagger, given) for tagger in taggers))
        micro = [[time / 2000 * 1e6 for time in times] for times in (theirs, ours)]
        rows.append(compare(f"a call: {title}", "µs", *micro, goal=Goal(goal, of="ours", at_least=False)))
    return rows


def main() -> None:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--addresses", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    path = DATA / "usaddr.crfsuite"
    sentences = addresses(arguments.addresses)
    features = [usaddress.tokens2features(tokens) for tokens in sentences]
    theirs, ours = pycrfsuite.Tagger(), CompatTagger()
    theirs.open(str(path))
    ours.open(str(path))
    native = Tagger(model_with_template(path))

    expected = [theirs.tag(each) for each in features]
    assert [ours.tag(each) for each in features] == expected
    answers = native.tag_batch(sentences, probabilities=True)
    different = sum(answer.labels != labels for answer, labels in zip(answers, expected, strict=True))
    print(f"{len(sentences)} addresses; native features: other labels on {different}\n")

    n = len(sentences)
    rounds = arguments.rounds
    # Neither program's garbage collection goes through the features that stand ready here.
    gc.collect()
    gc.freeze()
    tagged = alternated(rounds, lambda: [theirs.tag(x) for x in features], lambda: [ours.tag(x) for x in features])
    batch = [partial(native.tag_batch, sentences, probabilities=True, threads=threads) for threads in (1, 2)]
    whole = alternated(rounds, lambda: with_confidences(theirs, sentences), *batch)
    per_second = [[n / each for each in times] for times in (*tagged, *whole)]
    more = {"unit": "addresses/s", "more_is_better": True}
    rows = [
        compare("tag, same features", peer=per_second[0], ours=per_second[1], goal=Goal(3), **more),
        compare("end to end, one thread", peer=per_second[2], ours=per_second[3], goal=Goal(10), **more),
        compare("end to end, two threads", peer=per_second[2], ours=per_second[4], **more),
        *calls(rounds),
    ]
    print(markdown(rows, peer="usaddress, python-crfsuite"))
    print(f"\nmedian address: {statistics.median(len(each) for each in sentences)} tokens")


if __name__ == "__main__":
    main()
