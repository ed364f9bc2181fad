"""
Named entities that keep the rules of their labels
==================================================

Entities of several words are labelled word by word: ``B-ORG`` begins an organisation,
``I-ORG`` continues it, ``O`` is no entity. Then ``O I-ORG`` has no meaning: something
continues that never began. A model that has seen few sentences gives such labels all
the same, and the program behind it has to guess what they mean. With
``constraints="BIO"`` a model cannot give them.

The rule can hold in training already, or be set for a model that was trained without.
This example compares the two on made-up news.
"""

import random

import matplotlib.pyplot as plt
import numpy as np

from loglinear import ChainCRF
from loglinear.metrics import chunk_f1

# %%
# The data
# --------
#
# Many names are ambiguous: Jordan is a country, a first name and a part of the name of
# a bank. The words around them have to tell.

FIRST = """Jordan Austin Paris Florence Sydney Maria Chelsea Georgia Chen Amal Victoria
Lincoln""".split()
LAST = """Lincoln Washington Houston London Ito Mbeki Jordan Silva Brandt York Darwin
Okafor""".split()
PLACES = """Jordan|Austin|Paris|Florence|Sydney|Georgia|New York|Washington|Houston
London|Darwin|San Jose""".replace("\n", "|").split("|")
SECTORS = "Steel Water Foods Railways Insurance Energy Textiles Media".split()
SENTENCES = """PER , who works for ORG in LOC , declined to comment .
ORG said on Monday that it would leave LOC .
The office of ORG in LOC was closed .
PER joined ORG last year .
Shares of ORG fell after PER left .
PER was born in LOC and lives in LOC .
Flights from LOC to LOC were late .
In LOC , PER met the board of ORG .
PER and PER will speak in LOC .
ORG and ORG agreed to merge , PER wrote .""".split("\n")


def entity(kind, rng):
    """A name of a kind, as a list of words."""
    if kind == "PER":
        first = [rng.choice(FIRST)] if rng.random() < 0.7 else []
        return [*first, rng.choice(LAST)]
    if kind == "LOC":
        return rng.choice(PLACES).split()
    place = rng.choice(PLACES).split()
    sons = [rng.choice(LAST), "and", "Sons"]
    return rng.choice([["Bank", "of", *place], [*place, rng.choice(SECTORS)], sons])


def news(n, seed):
    """n sentences and their labels."""
    rng = random.Random(seed)
    X, y = [], []
    for _ in range(n):
        words, labels = [], []
        for part in rng.choice(SENTENCES).split():
            name = entity(part, rng) if part in {"PER", "ORG", "LOC"} else [part]
            words += name
            inside = [f"I-{part}"] * (len(name) - 1)
            labels += ["O"] if name == [part] else [f"B-{part}", *inside]
        X.append(words)
        y.append(labels)
    return X, y


X_test, y_test = news(500, seed=1000)
for word, label in zip(X_test[0], y_test[0], strict=True):
    print(f"{word:12s} {label}")

# %%
# With the rule and without
# -------------------------
#
# The template ``ner`` looks at words, their neighbours, their parts and their shape. F
# counts whole entities: one is right if its kind, its first and its last word are
# right. Beside it stands the number of words that continue something which never began.
# Both are means over four samples of sentences to learn from.


def impossible(sentences):
    """The number of labels I-x behind neither B-x nor I-x."""
    return sum(
        label[0] == "I" and before[1:] != label[1:]
        for labels in sentences
        for before, label in zip(["O", *labels], labels, strict=False)
    )


def scores(crf):
    """F of a model, and how many of its labels are impossible."""
    predicted = crf.predict(X_test)
    return chunk_f1(y_test, predicted), impossible(predicted)


sizes = [10, 20, 40, 80]
ways = ["no rule", "rule set afterwards", "rule in training"]
found = np.zeros((len(ways), len(sizes), 4, 2))
for at, size in enumerate(sizes):
    for sample in range(4):
        X, y = news(size, seed=sample)
        crf = ChainCRF(template="ner", l2=0.5).fit(X, y)
        found[0, at, sample] = scores(crf)
        crf.set_params(constraints="BIO")
        found[1, at, sample] = scores(crf)
        crf = ChainCRF(template="ner", l2=0.5, constraints="BIO").fit(X, y)
        found[2, at, sample] = scores(crf)
f1, broken = np.moveaxis(found.mean(axis=2), -1, 0)
for name, f_row, broken_row in zip(ways, f1, broken, strict=True):
    for size, f, wrong in zip(sizes, f_row, broken_row, strict=True):
        print(f"{name:19s} {size:3d} sentences  F {f:.3f}  {wrong:5.1f} impossible")

# %%
# With few sentences the rule is worth most in training: the model need not learn what
# it is told. With more, a model that learned without is as good once the rule is set,
# and then it is the cheaper way: the rule can be changed without training again.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for name, style, f_row, broken_row in zip(
    ways, ["o:", "o--", "o-"], f1, broken, strict=True
):
    left.plot(sizes, f_row, style, label=name)
    right.plot(sizes, broken_row, style, label=name)
for axes, title in [(left, "F of entities"), (right, "impossible labels")]:
    axes.set(xscale="log", xlabel="sentences to learn from", title=title)
    axes.set_xticks(sizes, labels=sizes)
    axes.minorticks_off()
left.legend()
plt.show()

# %%
# How sure, and why
# -----------------
#
# ``tag`` gives the probability of each entity as a whole, which tells what a person
# should look at first.

sentence = "Jordan Ito left the Bank of Florence in Paris".split()
(tagging,) = crf.tag([sentence])
for span in tagging.spans:
    name = " ".join(sentence[span.start : span.end])
    print(f"{name:20s} {span.type}  {span.probability:.2f}")

# %%
# ``explain`` says for each word what spoke for its label, and against the next best
# one: unfold a line.

crf.explain(sentence)
