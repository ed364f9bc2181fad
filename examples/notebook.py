"""
What a notebook shows
=====================

Models, data and results display themselves in Jupyter: a cell that ends with one of
them shows it, in the light or dark colours of the notebook. Most of them also have
``to_frame()``, which returns a table of pandas, and ``print`` shows a short text.

Download this page as a notebook to try it.
"""

import matplotlib.pyplot as plt
import numpy as np

from loglinear import ChainCRF, Corpus, PairwiseMRF, evaluate
from loglinear.datasets import load_demo

# %%
# Data
# ----
#
# A corpus shows its size, its labels and its first sentences. ``corpus[0]`` is a corpus
# of one sentence; printed, it has a line for each word.

(X, y), (X_test, y_test) = load_demo()
corpus = Corpus.encode(X[:400], y[:400], template="pos")
print(corpus[0])
corpus

# %%
# Training
# --------
#
# A model that is not fitted shows its parameters. A fitted one also shows its labels,
# its size and how the training ended, and ``crf.result_`` the course of the training.
# They are left out here, because they contain running times. With ``verbose=True`` the
# training shows one line, which it rewrites.

crf = ChainCRF(template="pos", l1=0.5, tolerance=0.002)
crf

# %%
# The result as a table is easy to plot.

crf.fit(corpus)
trace = crf.result_.to_frame()
fig, axes = plt.subplots(figsize=(6.5, 3))
axes.plot(trace.index, trace["objective"])
axes.set(xlabel="iteration", ylabel="objective (nats)", ylim=(0, None))
fig.tight_layout()
plt.show()

# %%
# Evaluation
# ----------
#
# An evaluation shows the scores of labels, or of entities if the labels have the form
# of ``B-PER``, and the most frequent confusions.

scores = evaluate(y_test, crf.predict(X_test))
scores

# %%
# The labels that the model misses most often:

frame = scores.to_frame().sort_values("recall")
frame.head()

# %%
# Entities
# --------
#
# What ``tag`` and ``explain`` return has the colours of the entities. Choose a line to
# see the features for and against a label.

sentences = [
    "Ada Lovelace lives in London",
    "Maria Silva left Paris",
    "London is large",
    "Ada left",
]
labels = ["B-PER I-PER O O B-LOC", "B-PER I-PER O B-LOC", "B-LOC O O", "B-PER O"]
names = ChainCRF(template="ner", l2=0.05).fit(
    [text.split() for text in sentences], [row.split() for row in labels]
)
sentence = "Ada Silva lives in Paris".split()
taggings = names.tag([sentence])
taggings

# %%

explanation = names.explain(sentence)
explanation

# %%
# All contributions as a table:

contributions = explanation.to_frame()
contributions[["text", "label", "other", "name", "contribution"]].head()

# %%
# Networks
# --------
#
# The edges of a network have the names of its variables.

rng = np.random.default_rng(0)
rain = rng.random(400) < 0.4
wet = np.where(rng.random(400) < 0.9, rain, ~rain)
mood = np.where(rng.random(400) < 0.7, np.where(rain, "bad", "good"), "neither")
weather = [
    {"rain": a, "street is wet": b, "mood": c}
    for a, b, c in zip(rain, wet, mood, strict=True)
]
network = PairwiseMRF(l1="ebic").fit(weather)
edges = network.named_edges()
edges

# %%
# How often samples of the data, drawn with replacement, have each edge:

confidence = network.edge_confidence(weather, 20)
confidence.to_frame()
