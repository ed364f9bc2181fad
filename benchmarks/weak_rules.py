"""What a model learns from weak rules: parts of speech without a labelled sentence.

    LOGLINEAR_DATA=/path/to/data python benchmarks/weak_rules.py [--json weak_rules.json]

Lists of function words, endings, digits and capitals vote for parts of speech of the English web treebank. Two models
learn 3,000 sentences without their labels: a chain, for which the labels with a vote are the possible ones, and a
classifier of the words with a vote, from the shares of the votes; a last chain learns 100 sentences with their labels.
Accuracy on the development part, of words with a vote and of all. Three seeds, which draw the sentences: mean, and
lowest to highest.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bands import Rows, cell, markdown, options
from loglinear import ChainCRF, MaxEnt
from loglinear.data.soft_labels import votes

SENTENCES, LABELLED, SEEDS = 3000, 100, (0, 1, 2)

WORDS = {
    "DET": "the a an this that these those every each some any no all",
    "PRON": "i you he she it we they me him her us them my your his its our their this that who what",
    "ADP": "of in for on with at by from about into to over after as like through",
    "AUX": "is are was were be been am 's have has had do does did will would can could should may might",
    "CCONJ": "and or but",
    "SCONJ": "that if because as while since although when",
    "PART": "to not n't 's",
    "ADV": "so very just also when then now there here",
}
ENDINGS = {"ADV": "ly", "VERB": "ing ed ize", "NOUN": "tion ness ment ity er s", "ADJ": "ous ful able ive al ic"}

Sentences = list[list[Any]]


def read(path: Path) -> tuple[Sentences, Sentences]:
    """Return the words of a CoNLL-U file and their parts of speech."""
    blocks = [block.splitlines() for block in path.read_text("utf-8").split("\n\n") if block.strip()]
    rows = [[line.split("\t") for line in block if line[0] != "#"] for block in blocks]
    rows = [[row for row in sentence if row[0].isdigit()] for sentence in rows]  # no 2-3 or 2.1
    return [[row[1] for row in sentence] for sentence in rows], [[row[3] for row in sentence] for sentence in rows]


def rules(X: Sentences) -> list[list[list[str | None]]]:
    """Return the labels of each rule, None where it has none; a rule is a list of words or endings, or a form."""
    annotators: list[list[list[str | None]]] = []
    for label, text in WORDS.items():
        listed = set(text.split())
        annotators.append([[label if word.lower() in listed else None for word in row] for row in X])
    for label, text in ENDINGS.items():
        ends = tuple(text.split())
        annotators.append([[label if len(w) > 4 and w.endswith(ends) else None for w in row] for row in X])
    annotators.append([["NUM" if word[0].isdigit() else None for word in row] for row in X])
    annotators.append([[None if any(map(str.isalnum, word)) else "PUNCT" for word in row] for row in X])
    capital = [[at > 0 and w[0].isupper() and w != "I" for at, w in enumerate(row)] for row in X]
    annotators.append([["PROPN" if is_capital else None for is_capital in row] for row in capital])
    return annotators


def attributes(sentence: list[Any]) -> list[list[str]]:
    """Return attributes of each word: itself, its neighbours, its ending and whether it has a capital."""
    words = ["", *sentence, ""]
    return [
        [
            f"w={w.lower()}",
            f"before={before.lower()}",
            f"after={after.lower()}",
            f"end={w[-3:]}",
            f"up={w[0].isupper()}",
        ]
        for before, w, after in zip(words, words[1:], words[2:], strict=False)
    ]


def accuracy(
    gold: Iterable[Sequence[str]], predicted: Iterable[Sequence[Any]], voted: Sentences
) -> tuple[float, float]:
    """Return the share of right labels among words with a vote, and among all."""
    right = [
        (guess == label, vote is not None)
        for labels, guesses, row in zip(gold, predicted, voted, strict=True)
        for label, guess, vote in zip(labels, guesses, row, strict=True)
    ]
    among = [is_right for is_right, has_vote in right if has_vote]
    return 100.0 * sum(among) / len(among), 100.0 * sum(is_right for is_right, _ in right) / len(right)


def best(vote: Any) -> str:
    """Return the label with most votes, NOUN without any."""
    return "NOUN" if vote is None else max(vote, key=vote.get) if isinstance(vote, dict) else vote


def learned(train: tuple[Sentences, Sentences], dev: tuple[Sentences, Sentences], seed: int) -> dict[str, Any]:
    """Return the share of words with a vote, and the accuracy of the rules and of what learns from them."""
    drawn = random.Random(seed).sample(range(len(train[0])), SENTENCES)
    X, y = ([part[at] for at in drawn] for part in train)
    shares, of_dev = votes(rules(X)), votes(rules(dev[0]))
    sentences, asked = [attributes(row) for row in X], [attributes(row) for row in dev[0]]
    labelled = [at for at, row in enumerate(shares) if any(vote is not None for vote in row)]
    possible = [[set(vote) if isinstance(vote, dict) else vote for vote in shares[at]] for at in labelled]
    chain = ChainCRF(l2=1.0).fit([sentences[at] for at in labelled], possible)
    voted = [
        (token, vote)
        for row, tokens in zip(shares, sentences, strict=True)
        for token, vote in zip(tokens, row, strict=True)
        if vote is not None
    ]
    classifier = MaxEnt(l2=1.0).fit([token for token, _ in voted], [vote for _, vote in voted])
    few = ChainCRF(l2=1.0).fit(sentences[:LABELLED], y[:LABELLED])
    flat = iter(classifier.predict([token for row in asked for token in row]))
    predicted = {
        "rules alone, `NOUN` for the rest": [[best(vote) for vote in row] for row in of_dev],
        "chain, possible labels": chain.predict(asked),
        "classifier, shares of votes": [[next(flat) for _ in row] for row in asked],
        f"chain, {LABELLED} labelled sentences instead": few.predict(asked),
    }
    scores = {name: accuracy(dev[1], labels, of_dev) for name, labels in predicted.items()}
    return {"scores": scores, "voted": 100.0 * len(voted) / sum(map(len, X))}


def main() -> None:
    """Print the accuracy of the rules and of what learns from them."""
    parser = options(__doc__, figure=False)
    kept = Rows(parser.parse_args().json)
    folder = Path(os.environ["LOGLINEAR_DATA"]) / "ud-english-ewt"
    train, dev = (read(folder / f"en_ewt-ud-{name}.conllu") for name in ("train", "dev"))
    rows = [kept.made({"seed": seed}, partial(learned, train, dev, seed)) for seed in SEEDS]
    print(f"{cell([row['voted'] for row in rows], 1)} % of the words have a vote")
    lines = [
        [name, *(cell([row["scores"][name][among] for row in rows], 1) for among in (0, 1))]
        for name in rows[0]["scores"]
    ]
    print(markdown(["", "words with a vote", "all words"], lines))


if __name__ == "__main__":
    main()
