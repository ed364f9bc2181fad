"""Problems of logistic regression: tables made by code or shipped with scikit-learn, texts, word boundaries.

Tables are dense. Those made by code have correlated columns, a fifth of which determine the class; those of
scikit-learn are breast cancer, iris, wine and digits, with columns of mean 0 and variance 1 except where the name says
"unscaled". Texts and word boundaries are sparse and come from the folder named by the environment variable
LOGLINEAR_DATA. Reuters-21578 (ModApte, 7,775 documents, 25,936 words) has words that occur or not: grain against the
rest; the first topic of each document, of 78; the ten most frequent of these, and all others as one more, one against
the rest. The same documents with real values, tf-idf of the counts of words, make: earn against the rest, and the 20
most frequent first topics. PFR 199801: word boundaries, 1,822,173 samples and 2,609,645 columns.

Most problems with sparse data also come without an intercept, so that all programs can solve them: liblinear and snapml
would penalise it, scikit-learn's sag and saga hardly move that of sparse data, celer has none.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import word_boundaries
from chunking_attributes import data_folder
from scipy.signal import lfilter
from scipy.sparse import csr_array
from sklearn import datasets
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import scale

from loglinear.objectives.classifier import ClassifierObjective

sys.path.append(str(Path(__file__).resolve().parents[1] / "papers"))

INFORMATIVE = 500
FREQUENT, MANY_TOPICS = 10, 20
CORRELATION, INFORMATIVE_SHARE = 0.7, 0.2


class Point(NamedTuple):
    """What a training has reached: seconds so far, F in nats, and the number of non-zero weights, if counted.

    F is infinite where a fit diverged, or did not end in its time.
    """

    seconds: float
    objective: float
    nonzero: int | None = None


@dataclass
class Case:
    """A problem: samples, classes from 0 on, penalty.

    kind is "binary", "softmax", or "ovr": as many binary problems as classes, whose objectives are summed. X is sparse
    or dense.
    """

    name: str
    X: Any
    y: np.ndarray
    l1: float = 0.0
    l2: float = 0.0
    kind: str = "binary"
    intercept: bool = False

    @property
    def is_dense(self) -> bool:
        """Whether X is a table, all of whose cells are in memory."""
        return isinstance(self.X, np.ndarray)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.y.max()) + 1

    @property
    def strength(self) -> float:
        """Sum of both strengths."""
        return self.l1 + self.l2

    @property
    def l1_ratio(self) -> float:
        """Share of the L1 penalty in the sum of both strengths."""
        return self.l1 / self.strength

    @cached_property
    def likelihoods(self) -> list[ClassifierObjective]:
        """The negative log-likelihood, or those of the classes against the rest."""
        objective = ClassifierObjective(self.X, self.y, n_classes=self.n_classes, intercept=self.intercept)
        apart = self.kind == "ovr"
        return [objective.one_against_rest(target) for target in range(self.n_classes)] if apart else [objective]

    def nll(self, coef: np.ndarray, intercept: Any) -> float:
        """The negative log-likelihood of a trained model, shapes as scikit-learn has them, in nats."""
        coef = np.reshape(coef, (-1, self.X.shape[1]))
        w = np.vstack([coef.T, np.reshape(intercept, (1, -1))]) if self.intercept else coef.T
        parts = w.T if self.kind == "ovr" else [w]
        pairs = zip(self.likelihoods, parts, strict=True)
        return float(sum(nll.value_and_gradient(np.ascontiguousarray(part).ravel())[0] for nll, part in pairs))

    def point(self, seconds: float, coef: np.ndarray, intercept: Any) -> Point:
        """A point with the objective of a trained model, shapes as scikit-learn has them."""
        coef = np.asarray(coef, dtype=np.float64)
        penalty = self.l1 * np.abs(coef).sum() + 0.5 * self.l2 * np.square(coef).sum()
        objective = self.nll(coef, intercept) + float(penalty)
        return Point(seconds, objective if math.isfinite(objective) else math.inf, int(np.count_nonzero(coef)))


@dataclass(frozen=True)
class Data:
    """Samples and classes, and the problems that are made of them.

    Args:
        name: with which the names of the problems begin.
        load: returns X and y; called only if one of the problems was chosen.
        kind: see `Case`.
        settings: a word for each problem: its penalties, of strength 1 or as after =, and a + for an intercept.
    """

    name: str
    load: Callable[[], tuple[Any, np.ndarray]]
    kind: str = "binary"
    settings: str = "l2 l2+ l1 l1+"

    def cases(self, only: str = "") -> Iterator[Case]:
        """The problems with a text in their names."""
        titles = {setting: self._title(setting) for setting in self.settings.split()}
        chosen = {setting: title for setting, title in titles.items() if only in title}
        X, y = self.load() if chosen else (None, None)
        for setting, title in chosen.items():
            penalties = [text.partition("=") for text in setting.rstrip("+").split(",")]
            strengths = {name: float(strength or 1.0) for name, _, strength in penalties}
            yield Case(title, X, y, **strengths, kind=self.kind, intercept=setting.endswith("+"))

    def _title(self, setting: str) -> str:
        penalties = setting.rstrip("+").replace(",", " and ")
        return f"{self.name}, {self.kind}, {penalties}" + ", intercept" * setting.endswith("+")


# -- tables


def made_table(samples: int, columns: int, classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """A dense table whose neighbouring columns are correlated, and classes drawn from a softmax of its columns."""
    rng = np.random.default_rng(0)
    noise = math.sqrt(1.0 - CORRELATION**2) * rng.standard_normal((samples, columns))
    noise[:, 0] /= math.sqrt(1.0 - CORRELATION**2)
    X = np.ascontiguousarray(lfilter([1.0], [1.0, -CORRELATION], noise, axis=1))
    coef = rng.standard_normal((columns, classes)) * (rng.random((columns, 1)) < INFORMATIVE_SHARE)
    return X, np.argmax(X @ coef / 2 + rng.gumbel(size=(samples, classes)), axis=1)


def shipped_table(name: str, *, scaled: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """A data set that comes with scikit-learn."""
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return scale(X) if scaled else X, y


TABLES = (
    Data("breast cancer 569 x 30", partial(shipped_table, "breast_cancer"), settings="l2+ l1+ l1 l1,l2+"),
    Data("breast cancer unscaled", partial(shipped_table, "breast_cancer", scaled=False), settings="l2+"),
    *(Data(name, partial(shipped_table, name), "softmax", "l2+") for name in ("iris", "wine", "digits")),
    Data("table 100,000 x 100", partial(made_table, 100_000, 100), settings="l2+ l1=10+ l1=10,l2=10+"),
    Data("table 100,000 x 100, 5 classes", partial(made_table, 100_000, 100, 5), "softmax", "l2+"),
)

# -- texts


@cache
def tfidf(samples: int | None) -> tuple[csr_array, tuple[tuple[str, ...], ...]]:
    """Words of Reuters weighted by tf-idf, with rows of length 1, and the topics of each document."""
    import reuters

    documents = [document for document in reuters.read(data_folder())["train"] if document.topics][:samples]
    X = TfidfVectorizer().fit_transform(document.text for document in documents)
    return csr_array(X), tuple(document.topics for document in documents)


def one_topic(samples: int | None, topic: str = "earn") -> tuple[csr_array, np.ndarray]:
    """Documents as `tfidf` has them, and whether they have a topic."""
    X, topics = tfidf(samples)
    return X, np.array([topic in names for names in topics], dtype=np.int64)


def first_topics(samples: int | None) -> tuple[csr_array, np.ndarray]:
    """Documents as `tfidf` has them whose first topic is a frequent one, and this topic."""
    X, topics = tfidf(samples)
    frequent = [name for name, _ in Counter(names[0] for names in topics).most_common(MANY_TOPICS)]
    rows = [i for i, names in enumerate(topics) if names[0] in frequent]
    return X[rows], np.array([frequent.index(topics[i][0]) for i in rows])


@cache
def binary_words(samples: int | None) -> tuple[csr_array, np.ndarray, list[str]]:
    """Words of Reuters that occur or not, whether a document has the topic grain, and its first topic."""
    import reuters

    train = reuters.load(data_folder()).train
    X = train.X[:samples]
    topics = [names[0] for names in train.topics[:samples]]
    return X[:, np.flatnonzero(X.sum(axis=0))], train.one_vs_rest("grain")[:samples], topics


def informative_words(samples: int | None) -> tuple[csr_array, np.ndarray]:
    """The words that say most about the topic grain."""
    import reuters

    X, grain, _ = binary_words(samples)
    return X[:, reuters.most_informative(X, grain, INFORMATIVE)], grain


def all_topics(samples: int | None) -> tuple[csr_array, np.ndarray]:
    """Binary words, and the first topic."""
    X, _, topics = binary_words(samples)
    return X, np.unique(topics, return_inverse=True)[1]


def grouped_topics(samples: int | None) -> tuple[csr_array, np.ndarray]:
    """Binary words, and the first topic, where all but the frequent ones are one more."""
    X, _, topics = binary_words(samples)
    frequent = [name for name, _ in Counter(topics).most_common(FREQUENT)]
    return X, np.array([(*frequent, topic).index(topic) for topic in topics])


def texts(samples: int | None) -> tuple[Data, ...]:
    """The problems with sparse data."""
    return (
        Data("tf-idf earn", partial(one_topic, samples), settings="l2+ l2=0.1 l1+ l1=0.1"),
        Data(f"tf-idf {MANY_TOPICS} topics", partial(first_topics, samples), "softmax", "l2"),
        Data(f"tf-idf {MANY_TOPICS} topics", partial(first_topics, samples), "ovr", "l2"),
        Data("reuters grain", lambda: binary_words(samples)[:2]),
        Data(f"reuters grain, {INFORMATIVE} words", partial(informative_words, samples), settings="l2+"),
        Data("reuters topics", partial(all_topics, samples), "softmax", "l2 l2+ l1"),
        Data(f"reuters {FREQUENT} topics and the rest", partial(grouped_topics, samples), "ovr", "l2"),
        Data("boundaries", lambda: word_boundaries.load(data_folder(), samples)),
    )


# -- all


def cases(samples: int | None, only: str) -> Iterator[Case]:
    """The problems with a text in their names.

    Args:
        samples: of each data set from LOGLINEAR_DATA, the first ones; None for all.
        only: the text.
    """
    for data in (*TABLES, *texts(samples)):
        yield from data.cases(only)


def path_cases(samples: int | None, only: str) -> Iterator[Case]:
    """The problems whose whole path of L1 penalties is measured; see `cases`."""
    cancer = Data("breast cancer 569 x 30", partial(shipped_table, "breast_cancer"), settings="l1+")
    table = Data("table 20,000 x 100", partial(made_table, 20_000, 100), settings="l1+")
    earn = Data("tf-idf earn", partial(one_topic, samples), settings="l1+ l1")
    small = [Data(name, partial(shipped_table, name), "softmax", "l1+") for name in ("iris", "wine", "digits")]
    topics = Data(f"tf-idf {MANY_TOPICS} topics", partial(first_topics, samples), "softmax", "l1+")
    for data in (cancer, table, earn, *small, topics):
        yield from data.cases(only)
