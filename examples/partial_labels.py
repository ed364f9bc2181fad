"""
Half the labels, from a dictionary
==================================

To label a sentence in full takes a person minutes. A dictionary is there at once, but
it says only which labels a word *can* have: "light" is a noun, a verb or an adjective,
and of a new word it says nothing. Training takes such labels as they are: ``{"NOUN",
"VERB", "ADJ"}`` is one of these, ``None`` is any label.

This example labels parts of speech. It has a few sentences labelled in full and many
with a dictionary alone.
"""

from collections import defaultdict

import matplotlib.pyplot as plt

from loglinear import ChainCRF
from loglinear.datasets import load_demo

# %%
# The data
# --------
#
# The library brings a part of the English Web Treebank, words and their parts of
# speech. The dictionary comes from the sentences of the second half, as if someone had
# written it by hand: all words that occur there at least twice, with all their tags.

(X, y), (X_test, y_test) = load_demo()
half = len(X) // 2

seen = defaultdict(list)
for words, labels in zip(X[half:], y[half:], strict=True):
    for word, label in zip(words, labels, strict=True):
        seen[word.lower()].append(label)
dictionary = {word: set(labels) for word, labels in seen.items() if len(labels) > 1}
for word in ["the", "light", "that", "quickly"]:
    print(word, sorted(dictionary[word]))

# %%
# What is known of a sentence without labels
# ------------------------------------------

text, known = [], []
for words in X[60:560]:
    labels = [dictionary.get(word.lower()) for word in words]
    # A sentence of which nothing is known teaches nothing.
    if any(labels):
        text.append(words)
        known.append(labels)
counts = [
    0 if labels is None else len(labels) for sentence in known for labels in sentence
]
for name, share in [
    ("one label is possible", sum(count == 1 for count in counts)),
    ("several are", sum(count > 1 for count in counts)),
    ("nothing is known", sum(count == 0 for count in counts)),
]:
    print(f"{name:22s} {share / len(counts):.0%} of the words")
for word, labels in zip(text[8], known[8], strict=True):
    print(f"{word:12s} {'anything' if labels is None else ' or '.join(sorted(labels))}")

# %%
# Train
# -----
#
# Three models: of 60 sentences that are labelled in full; of these and five hundred
# sentences with the dictionary's labels; and, to see how much there is to gain, of all
# of them labelled in full. Where labels are known in part, the objective is not convex,
# and training has no single end: a looser tolerance stops it earlier.

few = X[:60], y[:60]
models = {
    "60 sentences": few,
    "and the dictionary": (few[0] + text, few[1] + known),
    "all in full": (X[:560], y[:560]),
}
accuracy = {}
for name, (sentences, labels) in models.items():
    crf = ChainCRF(template="pos", l2=1.0, tolerance=1e-3).fit(sentences, labels)
    accuracy[name] = crf.score(X_test[:500], y_test[:500])
    print(f"{name:20s} {accuracy[name]:.1%} of the words of new sentences are right")

# %%

figure, axes = plt.subplots(figsize=(7, 2.4), layout="constrained")
bars = axes.barh(
    list(accuracy), list(accuracy.values()), color=["#999999", "#0072b2", "#999999"]
)
axes.bar_label(bars, fmt="{:.1%}", padding=3)
axes.set(xlim=(0.5, 1.0), xlabel="share of words labelled right")
axes.invert_yaxis()
plt.show()
