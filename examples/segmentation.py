"""
What is where in an image
=========================

A camera sees each pixel through noise. By itself a pixel says little of whether it
shows water, sand or wood; but its neighbours mostly show the same. A conditional random
field on the grid of pixels learns from labelled images both how a pixel looks and how
its neighbours hold together, and labels an image as a whole.
"""

import matplotlib.pyplot as plt
import numpy as np

from loglinear import GraphCRF, MaxEnt, grid_edges

# %%
# Images
# ------
#
# Each image has 16 x 16 pixels: water, in it an island of sand, on it a wood. A pixel's
# three colours are those of its kind, with much noise. The neighbours of a pixel are
# those beside, above and below it.

SIDE = 16
KINDS = np.array(["water", "sand", "wood"])
COLOURS = np.array([[0.2, 0.4, 0.8], [0.8, 0.7, 0.4], [0.2, 0.6, 0.2]])
rng = np.random.default_rng(0)
rows, columns = np.indices((SIDE, SIDE))
edges = grid_edges(SIDE, SIDE)


def landscape():
    """The kind of each pixel: an island, and a wood in it."""
    kinds = np.zeros((SIDE, SIDE), int)
    middle = rng.uniform(6, 10, size=2)
    for kind, size in ((1, rng.uniform(4, 6)), (2, rng.uniform(2, 3.5))):
        y, x = middle + rng.uniform(-1, 1, size=2)
        stretch = rng.uniform(0.7, 1.4)
        kinds[(rows - y) ** 2 * stretch + (columns - x) ** 2 / stretch < size**2] = kind
    return kinds


kinds = [landscape() for _ in range(14)]
images = [COLOURS[each] + 0.5 * rng.normal(size=(SIDE, SIDE, 3)) for each in kinds]

# %%
# A graph for each image
# ----------------------
#
# A graph is a tuple: features of the nodes, and pairs of nodes. A constant 1 among the
# features gives each kind a weight of its own.


def features(image):
    """Colours of all pixels, and a 1."""
    return np.hstack([image.reshape(-1, 3), np.ones((SIDE * SIDE, 1))])


X = [(features(image), edges) for image in images]
y = [KINDS[each].ravel() for each in kinds]
X_train, X_test, y_train, y_test = X[:8], X[8:], y[:8], y[8:]

# %%
# With neighbours and without
# ---------------------------
#
# The grid is too wide for exact inference. Tree-reweighted belief propagation gives a
# convex objective, which has one minimum. What is beside has no direction, so that the
# weights of pairs of kinds are symmetric.

alone = MaxEnt(l2=1.0).fit(np.vstack([x for x, _ in X_train]), np.concatenate(y_train))
field = GraphCRF(inference="trw", symmetric=True, l2=1.0, tolerance=1e-4).fit(
    X_train, y_train
)

accuracy = {
    "each pixel alone": alone.score(
        np.vstack([x for x, _ in X_test]), np.concatenate(y_test)
    ),
    "with neighbours": field.score(X_test, y_test),
}
print({name: round(value, 3) for name, value in accuracy.items()})
print(field.classes_, field.edge_weights_[0].round(2), sep="\n")

# %%
# Pixels that hold together
# -------------------------
#
# Left the image, then what is there, then the labels of pixels by themselves and of the
# field. The largest weights are those of two neighbours of the same kind.

shown = 0
image = np.clip(images[8 + shown], 0.0, 1.0)
single = alone.predict(X_test[shown][0]).reshape(SIDE, SIDE)
joint = field.predict(X_test)[shown].reshape(SIDE, SIDE)


def painted(labels):
    """An image in the colours of the kinds."""
    return COLOURS[(labels[..., None] == KINDS).argmax(axis=-1)]


panels = {
    "image": image,
    "kinds": painted(y_test[shown].reshape(SIDE, SIDE)),
    "each pixel alone": painted(single),
    "with neighbours": painted(joint),
}
figure, axes = plt.subplots(1, 4, figsize=(9, 2.6), layout="constrained")
for axis, (title, panel) in zip(axes, panels.items(), strict=True):
    axis.imshow(panel)
    axis.set_title(title, fontsize=10)
    axis.set_axis_off()
plt.show()
