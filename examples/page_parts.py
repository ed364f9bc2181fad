"""
The parts of a page, by its tree
================================

An XML document, or a web page, is a tree. What an element is (a title, a price, a name)
shows in its tag and its text, but also in what stands around it: a price stands in an
offer, and an offer has one title. A conditional random field on the tree's edges learns
both, and on trees its inference is exact.
"""

import xml.etree.ElementTree as ElementTree

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse

from loglinear import GraphCRF, MaxEnt

# %%
# Pages
# -----
#
# Catalogues of a made-up shop. Sellers do not agree on tags: most are ``div`` or
# ``span``, and the same class can mean two things. The role of each element is known.

rng = np.random.default_rng(0)
WORDS = "lamp chair table shelf clock vase mirror rug desk bench".split()
NAMES = "Mira Jonas Ines Pavel Aiko Lena".split()


def element(role, text="", children=()):
    """An element with a role, its tag and class chosen as a careless author would."""
    usual = {
        "offer": ("div", "box"),
        "title": ("span", "main"),
        "price": ("span", "info"),
        "seller": ("span", "info"),
        "review": ("div", "box"),
        "author": ("span", "main"),
        "remark": ("span", "info"),
    }
    tag, kind = usual[role]
    if rng.random() < 0.3:
        tag = rng.choice(["div", "span", "p"])
    attributes = {"class": kind} if rng.random() < 0.7 else {}
    made = ElementTree.Element(tag, attributes)
    made.text = text
    made.extend(child for child, _ in children)
    return made, [role, *(role for _, roles in children for role in roles)]


def offer():
    """An offer with its parts, and perhaps reviews."""
    thing = f"{rng.choice(WORDS)} {rng.choice(WORDS)}"
    parts = [element("title", thing)]
    if rng.random() < 0.9:
        parts.append(element("price", f"{rng.integers(5, 300)}"))
    parts.append(element("seller", rng.choice(NAMES)))
    for _ in range(rng.integers(0, 3)):
        inner = [element("author", rng.choice(NAMES))]
        inner.append(
            element(
                "remark",
                f"{rng.choice(WORDS)} {rng.choice(['3', 'good', 'bad'])}",
            )
        )
        parts.append(element("review", "", inner))
    return element("offer", "", parts)


pages = []
for _ in range(80):
    offers = [offer() for _ in range(rng.integers(1, 4))]
    root, roles = element("offer", "", offers)
    root.tag = "body"
    pages.append((root, ["page", *roles[1:]]))
print(ElementTree.tostring(pages[0][0], encoding="unicode")[:300])

# %%
# Features of elements, and edges from parents to children
# --------------------------------------------------------
#
# Each name of a feature has a column; the matrix is sparse. The node that an edge names
# first is the parent, so that the weights of pairs tell parent from child.


def named(node):
    """Names of an element's features."""
    text = node.text or ""
    yield "any"
    yield f"tag={node.tag}"
    yield f"class={node.get('class', '')}"
    yield f"words={min(len(text.split()), 3)}"
    yield f"digits={any(letter.isdigit() for letter in text)}"
    yield f"capital={text[:1].isupper()}"
    yield f"children={min(len(node), 4)}"


def order(root):
    """The elements, parents before children, and pairs of parent and child."""
    nodes, pairs = [root], []
    for at, node in enumerate(nodes):
        pairs += [(at, len(nodes) + k) for k in range(len(node))]
        nodes.extend(node)
    return nodes, pairs


column = {}


def graph(root):
    """Sparse features of the elements, and the edges."""
    nodes, pairs = order(root)
    cells = [
        (row, column.setdefault(name, len(column)))
        for row, node in enumerate(nodes)
        for name in named(node)
    ]
    where = tuple(np.array(cells).T)
    matrix = scipy.sparse.csr_array(
        (np.ones(len(cells)), where), shape=(len(nodes), 40)
    )
    return matrix, np.array(pairs, dtype=np.int64).reshape(-1, 2)


def roles_in_order(root, roles):
    """The roles, given in the document's order, in the order of the graph's nodes."""
    place = {id(node): role for node, role in zip(root.iter(), roles, strict=True)}
    return np.array([place[id(node)] for node in order(root)[0]])


X = [graph(root) for root, _ in pages]
y = [roles_in_order(root, roles) for root, roles in pages]
X_train, X_test, y_train, y_test = X[:50], X[50:], y[:50], y[50:]

# %%
# With the tree and without
# -------------------------
#
# ``info`` is the class of prices, sellers and remarks, and a name belongs to a seller
# or to an author: an element alone cannot tell. Its parent can.

alone = MaxEnt(l2=0.1).fit(
    scipy.sparse.vstack([x for x, _ in X_train]), np.concatenate(y_train)
)
tree = GraphCRF(l2=0.1).fit(X_train, y_train)
accuracy = {
    "each element alone": alone.score(
        scipy.sparse.vstack([x for x, _ in X_test]), np.concatenate(y_test)
    ),
    "with the tree": tree.score(X_test, y_test),
}
print({name: round(value, 3) for name, value in accuracy.items()}, tree.exact_)

# %%
# What goes with what
# -------------------
#
# The weights of a parent's role, in rows, with a child's, in columns. Reviews have
# authors and remarks, offers have titles, prices, sellers and reviews.

figure, axis = plt.subplots(figsize=(6, 5), layout="constrained")
weights = tree.edge_weights_[0]
most = abs(weights).max()
drawn = axis.imshow(weights, cmap="RdBu_r", vmin=-most, vmax=most)
names = tree.classes_.tolist()
axis.set_xticks(range(len(names)), names, rotation=45, ha="right")
axis.set_yticks(range(len(names)), names)
axis.set_xlabel("child")
axis.set_ylabel("parent")
figure.colorbar(drawn, label="weight")
plt.show()
