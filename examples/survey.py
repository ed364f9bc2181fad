"""
Which questions of a survey hang together
=========================================

In a survey one answer goes with many others: who works overtime sleeps badly, and is
ill more often. A correlation does not tell whether illness goes with overtime itself,
or only by way of sleep. A pairwise Markov random field does: it has an edge between two
questions only if they depend on each other *given all other answers*.

The answers here are made up by rules that we know, so that we can see whether the rules
are found.
"""

import matplotlib.pyplot as plt
import numpy as np

from loglinear import PairwiseMRF

# %%
# 1500 answers to nine questions
# ------------------------------
#
# An answer depends on one other answer: overtime makes stress likely, stress makes bad
# sleep likely, and so on. The last two questions have nothing to do with the rest. One
# answer in twenty is missing.

rng = np.random.default_rng(0)
n = 1500


def yes(chance):
    """Answers, each yes with its chance."""
    return rng.random(n) < chance


overtime = yes(0.4)
stress = yes(np.where(overtime, 0.7, 0.2))
sleeps_badly = yes(np.where(stress, 0.65, 0.2))
often_ill = yes(np.where(sleeps_badly, 0.45, 0.12))
support = yes(0.5)
satisfied = yes(np.where(support, 0.8, 0.35))
wants_to_leave = yes(np.where(satisfied, 0.1, 0.55))
cycles = yes(0.3)
canteen = yes(0.6)

questions = {
    "overtime": overtime,
    "stress": stress,
    "sleeps badly": sleeps_badly,
    "often ill": often_ill,
    "boss supports": support,
    "satisfied": satisfied,
    "wants to leave": wants_to_leave,
    "cycles to work": cycles,
    "eats in canteen": canteen,
}
names = list(questions)
rules = {(0, 1), (1, 2), (2, 3), (4, 5), (5, 6)}
given = np.column_stack(list(questions.values()))
answers = np.where(given, "yes", "no").astype(object)
answers[rng.random(answers.shape) < 0.05] = None
for name, column in zip(names, answers.T, strict=True):
    print(f"{name:15s}", *(f"{answer or '?':4s}" for answer in column[:10]))

# %%
# What correlations show
# ----------------------
#
# The correlation of two questions, over the people who answered both. Overtime is
# correlated with illness, and the support of the boss with the wish to leave, though no
# rule joins them.

numbers = np.where(answers == "yes", 1.0, np.where(answers == "no", 0.0, np.nan))
correlations = np.ma.corrcoef(np.ma.masked_invalid(numbers), rowvar=False).filled(0.0)
pairs = [(i, j) for i in range(len(names)) for j in range(i + 1, len(names))]
# Chance makes one correlation in a hundred larger than this.
significant = [(i, j) for i, j in pairs if abs(correlations[i, j]) > 2.58 / np.sqrt(n)]
print(f"{len(significant)} pairs are correlated, {len(rules)} rules made the answers")

# %%
# What the network shows
# ----------------------
#
# ``PairwiseMRF`` takes the answers as they are. The likelihood sums over what is
# missing: a person who did not answer a question is no reason to join its neighbours.
# How many edges the answers justify follows from a criterion (EBIC).

network = PairwiseMRF(objective="likelihood", inference="exact").fit(answers)
edges = [tuple(edge) for edge in network.edges_.tolist()]
for (i, j), table in zip(edges, network.weights_, strict=True):
    effect = "goes with" if table[1, 1] > 0 else "goes against"
    print(f"{names[i]:15s} {effect:12s} {names[j]:15s} weight {table[1, 1]:+.2f}")
print("these are the rules:", set(edges) == rules)

# %%
# A line is a dependence that is left when all other answers are known; its width is the
# weight's size. Where yes goes with no, the line is orange.

angles = np.linspace(0, 2 * np.pi, len(names), endpoint=False)
x, y = np.cos(angles), np.sin(angles)
weights = dict(zip(edges, (table[1, 1] for table in network.weights_), strict=True))
figure, both = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for axes, title, lines in [
    (both[0], "correlated", {pair: 5 * correlations[pair] for pair in significant}),
    (both[1], "dependent, given all other answers", weights),
]:
    for (i, j), size in lines.items():
        color = "#0072b2" if size > 0 else "#d55e00"
        axes.plot(x[[i, j]], y[[i, j]], color=color, linewidth=1.5 * abs(size))
    axes.scatter(x, y, color="black", zorder=2)
    for name, at, height in zip(names, x, y, strict=True):
        side = "center" if abs(at) < 0.2 else "left" if at > 0 else "right"
        axes.text(at * 1.1, height * 1.15, name, ha=side, va="center")
    axes.set(title=title, xlim=(-2.2, 2.2), ylim=(-1.4, 1.4))
    axes.set_axis_off()
plt.show()

# %%
# Ask the network
# ---------------
#
# The network is a model of all answers at once: of a person who answered a single
# question it says how likely the other answers are. Overtime does change how many are
# ill, by way of stress and sleep. The penalty that keeps false edges out also makes
# weights smaller than they are, so this second network has a weak one.

weak = PairwiseMRF(objective="likelihood", inference="exact", l1=5.0).fit(answers)
for answer in ["no", "yes"]:
    person = [[answer] + [None] * (len(names) - 1)]
    ill = weak.predict_proba(person)[names.index("often ill")][0, 1]
    print(f"overtime {answer:3s}: {ill:.0%} are often ill")
