"""
Train a structured support vector machine
=========================================

A conditional random field makes the right labelling probable. A structured support
vector machine asks for something else: the right labelling must score higher than every
other, and the more labels another one has wrong, the higher. Its loss, the structured
hinge, has corners. Smoothed, it is an objective like any other, and ``GraftingLight``
selects the features that it needs.

The task is to tell the parts of speech of words in the sample that the library brings.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import check_grad
from scipy.sparse import csr_array

from loglinear import ElasticNet, Problem, minimize
from loglinear.datasets import load_demo
from loglinear.solvers import GraftingLight

# %%
# Words and labels
# ----------------
#
# 300 sentences to learn from, and 300 to see how good the models are. A word is
# described by itself, by its last two letters, by whether it begins with a capital, and
# by the word before it. Attributes that occur once are left out.


def attributes(words):
    """The attributes of each word of a sentence."""
    before = ["", *words[:-1]]
    for word, last in zip(words, before, strict=True):
        capital = f"capital={word[0].isupper()}"
        yield [f"w={word.lower()}", f"end={word[-2:]}", f"before={last}", capital]


train, test = ((words[:300], labels[:300]) for words, labels in load_demo())
described = [[list(attributes(words)) for words in part[0]] for part in (train, test)]
known, counts = np.unique(
    [a for sentence in described[0] for token in sentence for a in token],
    return_counts=True,
)
columns = {name: k for k, name in enumerate(known[counts > 1])}
labels = sorted({label for sentence in train[1] for label in sentence})
print(f"{len(columns)} attributes and {len(labels)} labels")

# %%
# The objective
# -------------
#
# Let s(y) be the score of a labelling, and d(y) the number of its wrong labels. The
# structured hinge of a sentence is the maximum of s(y) + d(y) over all labellings, less
# the score of the right one. The class replaces the maximum by the soft maximum
#
#     T log sum exp((s(y) + d(y)) / T),
#
# which is larger by at most T times the logarithm of the number of labellings: the
# lower the temperature T, the closer the two. The gradient consists of expected
# features, as for a conditional random field, which is the case of T = 1 without d.
#
# The sums over labellings go forward and backward through all sentences side by side,
# the longest first.


class SmoothedHinge:
    """The structured hinge of chains, smoothed; d(y) is ``cost`` times its mistakes."""

    def __init__(self, described, sequences, temperature, cost=1.0):
        order = sorted(range(len(described)), key=lambda k: -len(described[k]))
        tokens = [token for k in order for token in described[k]]
        ids = [[columns[a] for a in token if a in columns] for token in tokens]
        ends = np.cumsum([0, *map(len, ids)])
        shape = len(ids), len(columns)
        self.X = csr_array((np.ones(ends[-1]), np.concatenate(ids), ends), shape=shape)
        self.y = np.array(
            [labels.index(label) for k in order for label in sequences[k]]
        )
        lengths = np.array([len(described[k]) for k in order])
        starts = np.cumsum(lengths) - lengths
        # The tokens at each place, of all sentences that are so long.
        self.places = [starts[lengths > t] + t for t in range(lengths[0])]
        self.T, self.cost = temperature, cost
        self.gold = np.eye(len(labels))[self.y]
        self.gold_pairs = sum(
            self.gold[one[: len(next)]].T @ self.gold[next]
            for one, next in pairwise(self.places)
        )
        self.n_samples = len(lengths)
        self.n_features = (len(columns) + len(labels)) * len(labels)

    def split(self, w):
        """The weights of attributes and labels, and those of pairs of labels."""
        weights = w.reshape(-1, len(labels))
        return weights[: len(columns)], weights[len(columns) :]

    def value_and_gradient(self, w, out=None):
        """Return the value at w and the gradient, written to out if it is given."""
        states, pairs = self.split(w)
        scores = self.X @ states
        raised = (scores + self.cost * (1.0 - self.gold)) / self.T
        highest = raised.max(axis=1, keepdims=True)
        node, edge = np.exp(raised - highest), np.exp(pairs / self.T)
        forward, backward = np.empty_like(node), np.ones_like(node)
        sums = np.empty((len(node), 1))
        for t, now in enumerate(self.places):
            before = forward[self.places[t - 1][: len(now)]] @ edge if t else 1.0
            forward[now] = node[now] * before
            sums[now] = forward[now].sum(axis=1, keepdims=True)
            forward[now] /= sums[now]
        expected_pairs = np.zeros_like(edge)
        for one, later in reversed(list(pairwise(self.places))):
            one, after = one[: len(later)], node[later] * backward[later] / sums[later]
            backward[one] = after @ edge.T
            expected_pairs += edge * (forward[one].T @ after)
        value = self.T * (np.log(sums) + highest).sum()
        value -= (scores * self.gold).sum() + (pairs * self.gold_pairs).sum()
        of_states = self.X.T @ (forward * backward - self.gold)
        of_pairs = expected_pairs - self.gold_pairs
        return float(value), np.concatenate([of_states, of_pairs], out=out, axis=None)

    def accuracy(self, w):
        """The share of labels that the best labellings have right."""
        states, pairs = self.split(w)
        best, choices = self.X @ states, []
        for one, later in pairwise(self.places):
            reached = best[one[: len(later)], :, None] + pairs
            choices.append(reached.argmax(axis=1))
            best[later] += reached.max(axis=1)
        found = best.argmax(axis=1)
        for (one, later), choice in reversed(
            list(zip(pairwise(self.places), choices, strict=True))
        ):
            found[one[: len(later)]] = choice[np.arange(len(later)), found[later]]
        return float((found == self.y).mean())


# %%
# Two checks
# ----------
#
# The gradient is that of finite differences, here along a random direction.

T = 0.25
hinge = SmoothedHinge(described[0], train[1], temperature=T)
rng = np.random.default_rng(0)
point, along = 0.1 * rng.standard_normal((2, hinge.n_features))


def value(step):
    """The value, some steps along the direction."""
    return hinge.value_and_gradient(point + step[0] * along)[0]


def slope(step):
    """The derivative by the step."""
    return along[None, :] @ hinge.value_and_gradient(point + step[0] * along)[1]


difference, size = check_grad(value, slope, np.zeros(1)), abs(slope([0.0])[0])
print(f"the gradient is right to {difference / size:.0e} of its size")

# %%
# And the value lies above the hinge, but by no more than it may. Two words have so few
# labellings that we can try them all.

short = next(k for k, words in enumerate(described[0]) if len(words) == 2)
pair = SmoothedHinge(described[0][short : short + 1], train[1][short : short + 1], T)
states, pairs = pair.split(point)
scores = (pair.X @ states)[0][:, None] + (pair.X @ states)[1] + pairs
wrong = (1.0 - pair.gold[0])[:, None] + (1.0 - pair.gold[1])
exact = (scores + wrong).max() - scores[tuple(pair.y)]
above = pair.value_and_gradient(point)[0] - exact
print(f"{above:.3f} above a hinge of {exact:.3f}; at most {T * np.log(wrong.size):.3f}")

# %%
# Feature selection
# -----------------
#
# ``GraftingLight`` adds 500 features at a time, those with the steepest slopes, and
# makes some steps of OWL-QN in between. The strength of the L1 penalty decides how many
# remain. Next to the hinge stands the likelihood: the same class without d(y), and with
# T = 1.

losses = {
    "likelihood": SmoothedHinge(described[0], train[1], 1.0, cost=0.0),
    "smoothed hinge": hinge,
}
held_out = SmoothedHinge(described[1], test[1], 1.0)
curves = {}
for name, loss in losses.items():
    for l1 in (8.0, 4.0, 2.0, 1.0, 0.5):
        problem = Problem(loss, ElasticNet(l1=l1))
        result = minimize(problem, GraftingLight(select=500))
        kept, accuracy = np.count_nonzero(result.w), held_out.accuracy(result.w)
        curves.setdefault(name, []).append((kept, accuracy))
        print(
            f"{name:15s} l1 {l1:<4g} {kept:5d} of {result.w.size} weights,"
            f" {accuracy:.1%} of held-out labels right"
        )

# %%
# At the same strength the hinge keeps more features and makes fewer mistakes. With the
# same number of features, from 400 on, the two are about equally good here. The
# likelihood gives probabilities as well.

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, points), style in zip(curves.items(), ("o-", "s--"), strict=True):
    axes.plot(*np.transpose(points), style, label=name)
axes.set(xlabel="weights that are not 0", ylabel="share of held-out labels right")
axes.legend(loc="lower right")
plt.show()
