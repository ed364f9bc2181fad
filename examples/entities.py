"""
Named entities that keep the rules of their labels
==================================================

Entities of several words are labelled word by word: ``B-ORG`` begins an organisation,
``I-ORG`` continues it, ``O`` is no entity. Then ``O I-ORG`` has no meaning: something
continues that never began. A model that has seen few sentences gives such labels all
the same, and the program behind it has to guess what they mean. With
``constraints="BIO"`` a model cannot give them, and spends its training on the
labellings that remain.

This example trains on few sentences of made-up news, with the rule and without.
"""

import random

import matplotlib.pyplot as plt

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
            labels += (
                ["O"]
                if name == [part]
                else [f"B-{part}"] + [f"I-{part}"] * (len(name) - 1)
            )
        X.append(words)
        y.append(labels)
    return X, y


X_test, y_test = news(1000, seed=1)
for word, label in zip(X_test[0], y_test[0], strict=True):
    print(f"{word:12s} {label}")

# %%
# With the rule and without
# -------------------------
#
# The template ``ner`` looks at words, their neighbours, their parts and their shape. F
# counts whole entities: one is right if its kind, its first and its last word are
# right. The last number counts the words that continue something which never began.


def impossible(sentences):
    """The number of labels I-x behind neither B-x nor I-x."""
    return sum(
        label[0] == "I" and before[1:] != label[1:]
        for labels in sentences
        for before, label in zip(["O", *labels], labels, strict=False)
    )


sizes = [10, 20, 40, 80, 160]
f1 = {"without": [], "with the rule": []}
broken = {"without": [], "with the rule": []}
for size in sizes:
    X, y = news(size, seed=0)
    for name, rule in [("without", None), ("with the rule", "BIO")]:
        crf = ChainCRF(template="ner", l2=0.5, constraints=rule).fit(X, y)
        predicted = crf.predict(X_test)
        f, wrong = chunk_f1(y_test, predicted), impossible(predicted)
        print(
            f"{size:4d} sentences, {name:13s}  F {f:.3f}, {wrong:3d} impossible labels"
        )
        f1[name].append(f)
        broken[name].append(wrong)

# %%
# The rule helps most where there are few sentences, and costs nothing where there are
# many.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for name, style in [("without", "o--"), ("with the rule", "o-")]:
    left.plot(sizes, f1[name], style, label=name)
    right.plot(sizes, broken[name], style, label=name)
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
