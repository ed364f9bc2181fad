"""
Minimise an objective of your own
=================================

``minimize`` trains whatever you bring: any object that gives a value and a gradient. It
adds the library's solvers, penalties, limits and traces, and it measures how far from
an optimum the weights are at the end.

The model here is one that the library does not have: Poisson regression, for counts. A
city wants to know how many bicycles are hired in an hour, and which of forty things
that it measures make a difference.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import check_grad

from loglinear import OWLQN, ElasticNet, Problem, Stop, minimize, path

# %%
# Hours and hires
# ---------------
#
# The logarithm of the mean number of hires is a sum of effects. Six of the forty
# measurements have one. There are 300 hours to learn from, and 1,000 to see how good
# the model is.

rng = np.random.default_rng(0)
effects = {
    "warmth": 0.3,
    "rain": -0.45,
    "weekend": 0.15,
    "rush hour": 0.4,
    "wind": -0.2,
    "holiday": -0.15,
}
names = [*effects, *(f"sensor {k}" for k in range(1, 35))]
measured = rng.standard_normal((1300, len(names)))
hires = rng.poisson(np.exp(0.7 + measured[:, : len(effects)] @ list(effects.values())))
# The last column is 1 in all hours: its weight says how many hires are usual.
X = np.column_stack([measured, np.ones(len(hires))])
learn, check = slice(0, 300), slice(300, None)
print(f"{hires.mean():.1f} hires in an hour on average, {hires.max()} at most")

# %%
# The objective
# -------------
#
# For hours t with measurements x and counts y, the negative log-likelihood is, up to a
# constant, the sum over hours of ``exp(w @ x[t]) - y[t] * (w @ x[t])``. A class needs
# three names: the numbers of features and of samples, and a method that returns the
# value and the gradient.


class Poisson:
    """The negative log-likelihood of counts, in nats, summed over samples."""

    def __init__(self, X, y):
        self.X, self.y = X, y
        self.n_samples, self.n_features = X.shape

    def value_and_gradient(self, w, out=None):
        """Return the value at w and the gradient, written to out if it is given."""
        scores = self.X @ w
        means = np.exp(scores)
        gradient = np.matmul(self.X.T, means - self.y, out=out)
        return float(means.sum() - self.y @ scores), gradient


objective, held_out = Poisson(X[learn], hires[learn]), Poisson(X[check], hires[check])

# %%
# A wrong gradient is the usual mistake. Finite differences find it.


def value(w):
    return objective.value_and_gradient(w)[0]


def gradient(w):
    return objective.value_and_gradient(w)[1]


w = 0.1 * rng.standard_normal(objective.n_features)
difference, size = check_grad(value, gradient, w), np.linalg.norm(gradient(w))
print(f"the gradient is right to {difference / size:.0e} of its size")

# %%
# Minimise it
# -----------
#
# An L1 penalty makes weights exactly 0; the last weight, of the usual number of hires,
# bears none. ``violation`` is how far the slopes at the end are from those of an
# optimum, where it is 0.

problem = Problem(objective, ElasticNet(l1=20.0, unpenalised=1))
result = minimize(problem, OWLQN(tolerance=0.0), stop=Stop(violation=1e-6))
print(f"{result.iterations} steps to a violation of {result.violation:.0e}")
for name, weight in zip(names, result.w[:-1], strict=True):
    if weight:
        print(f"{name:10s} {weight:+.2f}")

# %%
# How strong a penalty
# --------------------
#
# ``path`` trains at falling strengths, each from the weights of the one before, and
# goes on until the score on other data has turned. Here the score is the log-likelihood
# of the held-out hours.


def score(w):
    return -held_out.value_and_gradient(w)[0] / held_out.n_samples


followed = path(problem, 20, score=score)
best = max(followed.points, key=lambda point: point.score)
print(f"best at l1 = {best.l1:.3g}, with {best.n_active} measurements of 40")

# %%
# Weak penalties leave in sensors that only fit the noise of the 300 hours; strong ones
# make the effects too small.

strengths = [point.l1 for point in followed.points]
weights = np.array([point.result.w[:-1] for point in followed.points])
figure, axes = plt.subplots(2, figsize=(7, 5.4), sharex=True, layout="constrained")
above, below = axes
above.plot(strengths, weights[:, len(effects) :], color="#bbbbbb", linewidth=0.8)
for name, line in zip(effects, weights.T, strict=False):
    above.plot(strengths, line, label=name)
above.legend(loc="upper right", fontsize="small")
above.set(ylabel="weight", xscale="log")
below.plot(strengths, [point.score for point in followed.points], "o-", color="black")
below.set(ylabel="score of held-out hours", xlabel="l1, falling from left to right")
below.invert_xaxis()
for each in axes:
    each.axvline(best.l1, color="#d55e00", linestyle=":")
plt.show()
