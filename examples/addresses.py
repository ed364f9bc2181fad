"""
Addresses in parts, and which of them a person should see
=========================================================

Orders, forms and old lists hold addresses as one line: "12b Mill Lane Flat 3 York YO1
7HU". To sort or to match them, street, number and town have to be apart. Rules break at
the third exception. A model learns from eighty addresses that a person has labelled,
and it knows when it is unsure: a person then looks at these lines alone.
"""

import random
from itertools import groupby

import matplotlib.pyplot as plt
import numpy as np

from loglinear import ChainCRF, Tagger, evaluate

# %%
# Addresses
# ---------
#
# Made-up ones, as people write them: parts in different order, abbreviations, slips of
# the keyboard, capitals or none, and the same names for towns, houses and streets. "St"
# is a saint or a street, "York" a town or the beginning of one.

rng = random.Random(0)
NAMES = """Mill Church Victoria York Park London Station High Queen Albert King Green
Windsor Lincoln Chester Bath""".split()
KINDS = "Street Road Lane Avenue Close Way St Rd Ave".split()
TOWNS = """York|London|Bath|Lincoln|Chester|Leeds|St Albans|Milton Keynes|King's Lynn
High Wycombe|Hull|Ely""".replace("\n", "|").split("|")
HOUSES = "Rose Cottage|The Old Mill|Victoria House|Park View|Church Farm".split("|")


def slip(word):
    """The word, in one of ten longer words with two letters swapped."""
    if len(word) < 4 or rng.random() > 0.1:
        return word
    at = rng.randrange(len(word) - 1)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def labelled(text, label):
    """The words of a text, each with the label."""
    return [(word, label) for word in text.split()]


def address():
    """An address, and the labels of its words."""
    number = labelled(
        f"{rng.randint(1, 250)}{rng.choice(['', '', '', 'a', 'b'])}", "number"
    )
    name = rng.choice([rng.choice(NAMES), rng.choice(TOWNS)])
    street = labelled(f"{name} {rng.choice(KINDS)}", "street")
    if rng.random() < 0.15:
        street = labelled(rng.choice(["The Green", "The Mews", "The View"]), "street")
    flat = labelled(
        f"{rng.choice(['Flat', 'Apt', 'Unit'])} {rng.randint(1, 30)}", "unit"
    )
    town = labelled(rng.choice(TOWNS), "town")
    area = rng.choice(["YO", "LS", "B", "SW", "CH"])
    letters = "".join(rng.choices("ABDEFGHJLNPQRSTUWXYZ", k=2))
    code = f"{area}{rng.randint(1, 29)} {rng.randint(1, 9)}{letters}"
    front = number + street
    if rng.random() < 0.3:
        front = rng.choice([flat + front, front + flat])
    elif rng.random() < 0.2:
        house = labelled(rng.choice(HOUSES), "house")
        front = house + (front if rng.random() < 0.4 else street)
    parts = front + town
    if rng.random() < 0.85:
        parts += labelled(code, "postcode")
    how = rng.choice([str, str, str.lower, str.upper])
    words = [how(slip(word)) for word, _ in parts]
    return " ".join(words), [label for _, label in parts]


# %%
# What the model looks at
# -----------------------
#
# A template says what the model looks at: the word in lower case, its shape and its
# ending, its neighbours, and how far it stands from both ends, where there is no word.
# It is stored in the model, as is the tokenizer, which cuts an address at its blanks.

TEMPLATE = """
C small=%X[0,0]
word:%x[0,small]
shape:%shape[0,small]
before:%x[-1,small]
after:%x[1,small]
shape after:%shape[1,small]
end:%m[0,small,".{1,3}$"]
front:%t[-1,0,""] %t[-2,0,""] %t[-3,0,""]
back:%t[1,0,""] %t[2,0,""] %t[3,0,""]
B
"""
texts, y = zip(*(address() for _ in range(1080)), strict=True)
X = [text.split() for text in texts]
crf = ChainCRF(template=TEMPLATE, tokenizer="whitespace", l1=0.1, l2=0.1)
crf.fit(X[:80], y[:80])

# %%
# Text in, parts out
# ------------------
#
# That is all that a program needs to take addresses apart: a span for each word, with
# its label, its place in the text and a probability. Words in a row with the same label
# are a part.


def parts(text):
    """The parts of an address, each with its label."""
    spans = tagger.tag_text(text)
    for label, group in groupby(spans, key=lambda span: span.label):
        words = list(group)
        yield label, text[words[0].start : words[-1].end]


tagger = Tagger(crf)
for label, part in parts("12b Mill Lane  Flat 3 York YO1 7HU"):
    print(f"{label:10s} {part}")

# %%
# How good it is
# --------------
#
# On a thousand addresses that it has not seen, label by label.

predicted = crf.predict(X[80:])
scores = evaluate(y[80:], predicted)
for label, score in scores.per_label.items():
    print(
        f"{label:10s} precision {score['precision']:.3f}  recall {score['recall']:.3f}"
    )
print(f"{scores.sentence_accuracy:.1%} of the addresses are right as a whole")

# %%
# Who looks at what
# -----------------
#
# ``tag`` gives the probability that an address is labelled right as a whole. Sorted by
# it, the addresses that a person has to correct stand at the front.

taggings = crf.tag(X[80:])
wrong = np.array(
    [tagging.labels != labels for tagging, labels in zip(taggings, y[80:], strict=True)]
)
sure = np.array([tagging.probability for tagging in taggings])
order = np.argsort(sure)
for at in order[:4]:
    print(f"{sure[at]:.2f}  {texts[80 + at]}")
    print("     ", " ".join(taggings[at].labels))

# %%

looked_at = np.arange(len(order) + 1) / len(order)
left = np.concatenate([[wrong.sum()], wrong.sum() - np.cumsum(wrong[order])])
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
axes.plot(looked_at, left, label="the least sure first")
axes.plot([0, 1], [wrong.sum(), 0], ":", color="#777777", label="in any order")
axes.set(
    xlabel="share of the addresses that a person looks at",
    ylabel="wrong addresses that are left",
)
axes.xaxis.set_major_formatter("{x:.0%}")
axes.legend()
plt.show()

tenth = len(order) // 10
print(f"The tenth that the model is least sure of has {wrong[order[:tenth]].sum()}")
print(f"of {wrong.sum()} mistakes.")
