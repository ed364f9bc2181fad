"""
Sort messages by words that a person can read
=============================================

A shop wants its messages sorted: orders and deliveries, payments, returns, accounts.
``MaxEnt`` is a classifier with scikit-learn's interface, so it goes into a pipeline
behind a vectorizer, and into a search. An L1 penalty leaves most words out of the
model: it becomes small, and a person can read what it looks at.
"""

import random

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from loglinear import MaxEnt

# %%
# The messages
# ------------
#
# Made up of phrases. A customer often writes of several things before the message comes
# to the point, some words of which are left out or mistyped.

POINTS = {
    "delivery": """where is my parcel|the tracking number does not work
my order has not arrived|the courier left the package at the wrong door
when will you ship it|the delivery is three days late""",
    "payment": """you charged my card twice|the invoice has the wrong amount
my payment was declined|please send a receipt for the accounts department
the discount code was not taken off|can i pay by bank transfer""",
    "returns": """i want to send it back|the zip is broken|when do i get my refund
it does not fit please exchange it for a larger size
the colour is not as in the picture|how do i print the return label""",
    "account": """i cannot log in|please change my email address
the password link has expired|delete all my data please
how do i stop the newsletter|my name is spelt wrong in my profile""",
}
AROUND = """hello|good morning|kind regards|please answer soon|thank you for your help
i bought a pair of shoes last week|i ordered a jacket as a present for my mother
i have been a customer for years|this is the second time that i write
i am rather disappointed|the order number is in the subject
the shirt that i bought is lovely|i had to log in twice to write this
i paid by card and the parcel came on time"""


def phrases(text):
    """The phrases of a text, one behind each | or end of a line."""
    return text.replace("\n", "|").split("|")


def message(rng):
    """A message and what it is about."""
    topic = rng.choice(list(POINTS))
    parts = rng.sample(phrases(AROUND), rng.randint(2, 5))
    parts.insert(rng.randint(0, len(parts)), rng.choice(phrases(POINTS[topic])))
    words = [word for word in " ".join(parts).split() if rng.random() > 0.15]
    return " ".join(word[:-1] if rng.random() < 0.05 else word for word in words), topic


rng = random.Random(0)
texts, topics = map(np.array, zip(*(message(rng) for _ in range(1000)), strict=True))
train, test = slice(0, 400), slice(400, None)
for text, topic in zip(texts[:3], topics[:3], strict=True):
    print(f"{topic}: {text}")

# %%
# How strong a penalty
# --------------------
#
# The stronger ``l1``, the fewer words are left, and in the end too few.

strengths = [3.0, 2.0, 1.0, 0.5, 0.2, 0.1]
accuracy, n_words = [], []
for l1 in strengths:
    model = make_pipeline(TfidfVectorizer(), MaxEnt(l1=l1)).fit(
        texts[train], topics[train]
    )
    n_words.append(int(np.any(model[-1].coef_ != 0, axis=0).sum()))
    accuracy.append(model.score(texts[test], topics[test]))
    print(f"l1 = {l1:<5g} {n_words[-1]:4d} words, {accuracy[-1]:.1%} sorted right")

# %%

figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
axes.plot(n_words, accuracy, "o-")
for l1, x, y in zip(strengths[:4], n_words, accuracy, strict=False):
    axes.annotate(f"l1 = {l1:g}", (x, y), xytext=(8, -10), textcoords="offset points")
axes.set(xlabel="words in the model", ylabel="new messages sorted right")
axes.yaxis.set_major_formatter("{x:.0%}")
plt.show()

# %%
# What it looks at
# ----------------
#
# The strongest words of each topic. None of the small talk is among them.

model = make_pipeline(TfidfVectorizer(), MaxEnt(l1=1.0)).fit(
    texts[train], topics[train]
)
vectorizer, classifier = model
words = vectorizer.get_feature_names_out()
for topic, weights in zip(classifier.classes_, classifier.coef_, strict=True):
    strongest = np.argsort(-weights)[:6]
    print(f"{topic:9s}", ", ".join(f"{words[k]} {weights[k]:+.1f}" for k in strongest))

# %%
# A new message
# -------------
#
# Its topics by probability: a message that is about two things shows it.

new = "hello, my card was charged twice, and where is the tracking number"
for topic, p in sorted(
    zip(model.classes_, model.predict_proba([new])[0], strict=True),
    key=lambda each: -each[1],
):
    print(f"{topic:9s} {p:.2f}")
