"""Raw addresses a second, text in and labelled parts out: usaddress, and loglinear with a model of the same features.

    python benchmarks/peers/address_texts.py            # --addresses N, --rounds N

- `parse`: `usaddress.parse`, which cuts one address into tokens and labels them, for all addresses in turn.
- `labels`: `Tagger.tag_texts(..., probabilities=False)` on all addresses: tokens, features, labels, and a `TextSpan` of
  each token with its place in the text.
- `probabilities`: the same with the probability of each label, which usaddress does not give.
- `one by one`: `Tagger.tag_text(..., probabilities=False)`, an address a call, as `usaddress.parse`.

loglinear's model is trained here on usaddress's training data, labeled.xml, with a template of usaddress's features and
its tokenizer as an expression. usaddress has its own model, trained on more data, so labels are compared on
labeled-test.xml with the right ones. Needs `pip install usaddress python-crfsuite`. Data: the folder named by the
environment variable LOGLINEAR_DATA (it holds usaddress/).
"""

from __future__ import annotations

import argparse
import csv
import gc
import html
import re
from functools import partial

import usaddress
from comparison import Goal, compare, markdown

from addresses import DATA, FILES, alternated, template
from loglinear import ChainCRF, Tagger, Tokenizer

TOKENIZER = r"\(*\b[^\s,;#&()]+[.,;)\n]*|[#&]"
"""usaddress's rule."""
Labelled = tuple[list[list[str]], list[list[str]]]


def texts(limit: int) -> list[str]:
    """The addresses in all files, as they are written."""
    found = []
    for name in FILES:
        with open(DATA / name, encoding="utf-8", newline="") as file:
            found += [row["raw_address"] for row in csv.DictReader(file)]
    return [text for text in found if usaddress.tokenize(text)][:limit]


def labelled(name: str) -> Labelled:
    """Tokens and labels of the addresses in an XML file, cut as usaddress cuts them."""
    X, y = [], []
    for address in re.findall("<AddressString>(.*?)</AddressString>", (DATA / name).read_text("utf-8"), re.DOTALL):
        parts = re.findall(r"<(\w+)>(.*?)</\1>", address, re.DOTALL)
        pairs = [(token, label) for label, part in parts for token in TOKENS.tokens(html.unescape(part))]
        if pairs:
            X.append([token for token, _ in pairs])
            y.append([label for _, label in pairs])
    return X, y


TOKENS = Tokenizer(TOKENIZER)


def right(answers: list[list[str]], gold: list[list[str]]) -> str:
    """The share of addresses that have all their labels right."""
    return f"{sum(map(list.__eq__, answers, gold)) / len(gold):.1%}"


def main() -> None:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--addresses", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    X, y = labelled("labeled.xml")
    crf = ChainCRF(template=template(), tokenizer=TOKENIZER, l1=0.1, l2=0.01).fit(X, y)
    tagger, given = Tagger(crf), texts(arguments.addresses)
    other = sum(tagger.cut(text) != usaddress.tokenize(text) for text in given)
    print(f"{len(given)} addresses, of which {other} are cut otherwise")
    X_test, y_test = labelled("labeled-test.xml")
    theirs = right([usaddress.TAGGER.tag(usaddress.tokens2features(tokens)) for tokens in X_test], y_test)
    print(f"wholly right in labeled-test.xml: {theirs} by usaddress, {right(tagger.tag_batch(X_test), y_test)} here\n")

    n = len(given)
    gc.collect()
    gc.freeze()
    works = [lambda: [usaddress.parse(text) for text in given]]
    for sure in (False, True):
        works += [partial(tagger.tag_texts, given, probabilities=sure, threads=threads) for threads in (1, 2)]
    works.append(lambda: [tagger.tag_text(text, probabilities=False) for text in given])
    names = ["labels, one thread", "labels, two threads", "probabilities, one thread", "probabilities, two threads"]
    parse, *ours = [[n / each for each in times] for times in alternated(arguments.rounds, *works)]
    goals = {"labels, two threads": Goal(100_000, of="ours")}
    rows = [
        compare(name, "addresses/s", parse, times, more_is_better=True, goal=goals.get(name))
        for name, times in zip([*names, "labels, one by one"], ours, strict=True)
    ]
    print(markdown(rows, peer="usaddress.parse"))


if __name__ == "__main__":
    main()
