"""Laws of ranking: scores by enumeration of all label sequences, and sentences that differ."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.sparse

from loglinear import ChainCRF, Corpus, DataError, MaxEnt, NotFittedError, OptionError, TextClassifier, rank
from loglinear.data.diverse import diverse
from loglinear.metrics import chunks

WORDS = ["a", "b", "c", "d"]
BIO = ["O", "B-X", "I-X"]


def task(labels, seed, n=30):
    """Random sentences and labels."""
    rng = np.random.default_rng(seed)
    X = [[[str(word)] for word in rng.choice(WORDS, rng.integers(1, 5))] for _ in range(n)]
    return X, [[str(label) for label in rng.choice(labels, len(sentence))] for sentence in X]


@pytest.fixture(scope="module", params=[1, 2])
def chain(request):
    return ChainCRF(l2=0.1, order=request.param).fit(*task(BIO, 0))


def labellings(crf, sentence):
    """All label sequences of a sentence with their probabilities."""
    every = [[*labels] for labels in product(crf.classes_, repeat=len(sentence))]
    return every, np.exp(crf.log_probability([sentence] * len(every), every))


def marginals(crf, sentence):
    """Probabilities of the labels of each token, by enumeration."""
    every, p = labellings(crf, sentence)
    return np.array(
        [
            [sum(p[at] for at, row in enumerate(every) if row[token] == label) for label in crf.classes_]
            for token in range(len(sentence))
        ]
    )


def entropies(p):
    return -(p * np.log(p)).sum(axis=1)


def by_position(ranking):
    return dict(zip(ranking.positions.tolist(), ranking.scores.tolist(), strict=True))


SENTENCES = [[[word] for word in words] for words in ("abca", "b", "dd", "cab", "acd", "bbbb")]


@pytest.mark.parametrize("total", [False, True])
def test_sequence_is_one_minus_the_probability_of_the_best_labelling(chain, total):
    scores = by_position(rank(chain, SENTENCES, by="sequence", total=total))
    for at, sentence in enumerate(SENTENCES):
        best = labellings(chain, sentence)[1].max()
        assert scores[at] == pytest.approx(1 - best ** (1 if total else 1 / len(sentence)))


@pytest.mark.parametrize("total", [False, True])
def test_entropy_is_that_of_the_marginals(chain, total):
    scores = by_position(rank(chain, SENTENCES, by="entropy", total=total))
    for at, sentence in enumerate(SENTENCES):
        values = entropies(marginals(chain, sentence))
        assert scores[at] == pytest.approx(values.sum() if total else values.mean())


@pytest.mark.parametrize("total", [False, True])
def test_disagreement_is_the_mean_divergence_from_the_mean(chain, total):
    others = [ChainCRF(l2=0.5).fit(*task(BIO, 1)), ChainCRF(l2=0.1).fit(*task(["O", "B-X"], 2))]
    scores = by_position(rank(chain, SENTENCES, by="disagreement", committee=others, total=total))
    for at, sentence in enumerate(SENTENCES):
        rows = [
            np.array([dict(zip(crf.classes_, row, strict=True)).get(label, 0.0) for label in BIO])
            for crf in [chain, *others]
            for row in marginals(crf, sentence)
        ]
        rows = np.array(rows).reshape(3, len(sentence), 3)
        ratio = np.where(rows > 0, rows, 1.0) / rows.mean(axis=0)
        values = (rows * np.log(np.where(rows > 0, ratio, 1.0))).sum(axis=2).mean(axis=0)
        assert scores[at] == pytest.approx(values.sum() if total else values.mean())


def test_models_that_are_the_same_do_not_disagree(chain):
    assert (rank(chain, SENTENCES, by="disagreement", committee=[chain]).scores < 1e-15).all()


def test_span_is_one_minus_the_probability_of_the_least_certain_span(chain):
    ranking = rank(chain, SENTENCES, by="span")
    parts = {ranked.sentence: (ranked.start, ranked.end) for ranked in ranking.sentences}
    for at, sentence in enumerate(SENTENCES):
        every, p = labellings(chain, sentence)
        best = every[p.argmax()]
        spans = [*chunks(best)]
        covered = {token for _, start, end in spans for token in range(start, end)}
        of_parts = {
            (start, end): sum(p[k] for k, row in enumerate(every) if (kind, start, end) in chunks(row))
            for kind, start, end in spans
        }
        outside = [token for token in range(len(sentence)) if token not in covered]
        of_parts |= {(t, t + 1): sum(p[k] for k, row in enumerate(every) if row[t] == "O") for t in outside}
        assert by_position(ranking)[at] == pytest.approx(1 - min(of_parts.values()))
        assert of_parts[parts[at]] == pytest.approx(min(of_parts.values()))


def test_the_least_certain_part_is_in_brackets(chain):
    for ranked in rank(chain, SENTENCES, by="entropy").sentences:
        sentence = SENTENCES[ranked.sentence]
        token = int(entropies(marginals(chain, sentence)).argmax())
        assert (ranked.start, ranked.end) == (token, token + 1)
        words = [word for (word,) in sentence]
        words[token] = f"[{words[token]}]" if len(words) > 1 else words[token]
        assert ranked.context == " ".join(words)


@pytest.mark.parametrize("diversity", [0.0, 0.3, 1.0])
def test_each_step_takes_the_row_that_is_worth_most_given_those_taken(diversity):
    rng = np.random.default_rng(0)
    X, values = rng.random((40, 6)) * (rng.random((40, 6)) < 0.5), rng.random(40)
    X[7] = 0.0
    norms = np.linalg.norm(X, axis=1)
    cosines = X @ X.T / np.outer(np.where(norms, norms, 1), np.where(norms, norms, 1))
    taken: list[int] = []
    for row, similarity in diverse(values, scipy.sparse.csr_array(X), 50, diversity):
        like = cosines[:, taken].max(axis=1, initial=0.0)
        worth = values * (1 - diversity * like)
        worth[taken] = -1.0
        assert row == worth.argmax()
        assert similarity == pytest.approx(like[row])
        taken.append(row)
    assert sorted(taken) == [*range(40)]


def test_without_diversity_scores_fall_and_with_it_alike_sentences_come_later(chain):
    X = [[[word] for word in words] for words in product(WORDS, repeat=4)]
    plain, apart = (rank(chain, X, n=12, diversity=diversity, by="entropy") for diversity in (0.0, 0.9))
    assert plain.scores.tolist() == sorted(plain.scores.tolist(), reverse=True)
    assert plain.positions[0] == apart.positions[0]
    similarity = [np.mean([ranked.similarity for ranked in ranking.sentences]) for ranking in (plain, apart)]
    assert similarity[1] < similarity[0]


@pytest.mark.parametrize("diversity", [0.0, 0.5])
def test_of_sentences_that_are_the_same_the_first_is_chosen(chain, diversity):
    X = [SENTENCES[at % 3] for at in range(30)]
    assert sorted(rank(chain, X, n=20, diversity=diversity).positions.tolist()) == [0, 1, 2]
    # Other tokens may have the same attributes.
    assert len(rank(chain, [[["a", "b"], ["c"]], [["a"], ["b", "c"]]]).sentences) == 2


def test_ties_are_taken_in_the_order_of_the_data():
    crf = ChainCRF(l2=0.1).fit([[["a"], ["b"]]], [["A", "B"]])
    unknown = [[[f"new{at}"]] for at in range(12)]
    assert rank(crf, unknown, n=7).positions.tolist() == [*range(7)]


def test_the_most_uncertain_are_chosen_of_many_blocks(chain, monkeypatch):
    rng = np.random.default_rng(3)
    X = [[[str(word)] for word in rng.choice(WORDS, rng.integers(0, 6))] for _ in range(200)]
    for by in ("sequence", "span", "entropy"):
        whole = rank(chain, X, by=by, n=20)
        monkeypatch.setattr("loglinear.models.rank._TOGETHER", 7)
        shares: list[float] = []
        cut = rank(chain, X, by=by, n=20, progress=shares.append)
        monkeypatch.undo()
        assert whole.sentences == cut.sentences
        assert shares == sorted(shares)
        assert shares[-1] == 1.0


def test_after_the_diverse_ones_the_others_follow_by_uncertainty(chain, monkeypatch):
    monkeypatch.setattr("loglinear.models.rank._MOST_DIVERSE", 2)
    X = [[[word] for word in words] for words in product(WORDS, repeat=3)]
    ranking = rank(chain, X, n=40)
    assert len({*ranking.positions.tolist()}) == 40
    rest = ranking.scores[2:].tolist()
    assert rest == sorted(rest, reverse=True)
    assert [np.isnan(ranked.similarity) for ranked in ranking.sentences] == [False] * 2 + [True] * 38


def test_sentences_without_tokens_are_not_chosen(chain):
    assert sorted(rank(chain, [[], *SENTENCES, []]).positions.tolist()) == [*range(1, 7)]


@pytest.mark.parametrize("X", [[], [[], []], iter([])], ids=["none", "empty", "generator"])
def test_nothing_to_rank_is_refused(chain, X):
    with pytest.raises(DataError, match="no sentences to rank"):
        rank(chain, X)


def test_a_ranking_is_the_same_on_any_number_of_threads_and_for_a_corpus(chain):
    X = [[[word] for word in words] for words in product(WORDS, repeat=4)]
    threads = [ChainCRF(l2=0.1, n_jobs=n).fit(*task(BIO, 0)) for n in (1, 3)]
    one, two = (rank(crf, X, by="entropy") for crf in threads)
    assert one.sentences == two.sentences
    assert rank(threads[0], Corpus.encode(X), by="entropy").sentences == one.sentences
    assert rank(threads[0], iter(X), by="entropy").sentences == one.sentences


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", ["matrix", "sparse", "attributes", "texts", "corpus"])
def test_classifiers_rank_samples_by_the_probability_of_the_best_class(kind, n_classes):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, size=(60, 3)).astype(float)
    y = rng.integers(n_classes, size=60)
    samples = [[f"w{at}{round(value)}" for at, value in enumerate(row)] for row in X.tolist()]
    texts = [" ".join(row) for row in samples]
    corpus = Corpus.encode([[sample] for sample in samples], [[str(label)] for label in y.tolist()])
    data = {"matrix": X, "sparse": scipy.sparse.coo_array(X), "texts": texts, "corpus": corpus}.get(kind, samples)
    model = (TextClassifier if kind == "texts" else MaxEnt)(l2=0.5).fit(data, None if kind == "corpus" else y)
    other = (TextClassifier if kind == "texts" else MaxEnt)(l2=5.0).fit(data, None if kind == "corpus" else y)
    p, q = model.predict_proba(data), other.predict_proba(data)
    mean = (p + q) / 2
    expected = {
        "sequence": 1 - p.max(axis=1),
        "entropy": entropies(p),
        "disagreement": ((p * np.log(p / mean) + q * np.log(q / mean)).sum(axis=1)) / 2,
    }
    for by, scores in expected.items():
        ranking = rank(model, data, by=by, n=40, committee=[other] if by == "disagreement" else ())
        np.testing.assert_allclose(ranking.scores, scores[ranking.positions], rtol=1e-9, atol=1e-15)
        assert ranking.positions[0] == scores.argmax()
        assert len({texts[at] for at in ranking.positions}) == len(ranking.sentences) == len({*texts})


def test_sentences_of_samples_are_ranked_by_all_their_tokens():
    corpus = Corpus.encode(*task(["A", "B"], 4))
    model = MaxEnt(l2=1.0).fit(corpus)
    p = np.split(model.predict_proba(corpus), np.cumsum(corpus.core.lengths())[:-1])
    for total in (False, True):
        for at, score in by_position(rank(model, corpus, total=total)).items():
            best = p[at].max(axis=1)
            assert score == pytest.approx(1 - best.prod() ** (1 if total else 1 / len(best)))


MAXENT = MaxEnt().fit([["a"], ["b"]], ["A", "B"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "crf"}, "cannot rank; give a ChainCRF"),
        ({"by": "sentence"}, "by='sentence' is not one of"),
        ({"n": 0}, "n=0"),
        ({"diversity": 1.5}, "diversity=1.5 is out of range"),
        ({"total": "yes"}, "total"),
        ({"total": True, "by": "span"}, "total=True is not available with by='span'"),
        ({"by": "disagreement"}, "needs a committee"),
        ({"committee": [MAXENT]}, "is not of the kind of the model, ChainCRF"),
        ({"committee": [ChainCRF().fit([[["a"], ["b"]]], [["Y", "Z"]])], "by": "disagreement"}, "none of which"),
        ({"committee": [ChainCRF().fit(*task(BIO, 1))]}, "does not use a committee"),
        ({"model": MAXENT, "by": "span"}, "the samples of a classifier have no spans"),
        ({"model": ChainCRF().fit([[["a"], ["b"]]], [["A", "B"]]), "by": "span"}, "needs labels of a tagging scheme"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_what_cannot_be_ranked_is_refused(arguments, message):
    usual = {
        "model": ChainCRF().fit(*task(BIO, 0)),
        "unlabelled": [["a"]] if arguments.get("model") is MAXENT else SENTENCES,
    }
    with pytest.raises(OptionError, match=message):
        rank(**(usual | arguments))


def test_models_without_training_and_corpora_of_other_templates_are_refused(chain):
    with pytest.raises(NotFittedError):
        rank(ChainCRF(), SENTENCES)
    with pytest.raises(NotFittedError):
        rank(chain, SENTENCES, by="disagreement", committee=[ChainCRF()])
    X, y = [["Dogs", "bark"]], [["A", "B"]]
    models = [ChainCRF(template=template).fit(X, y) for template in ("pos", "ner")]
    with pytest.raises(DataError, match="another template"):
        rank(models[0], Corpus.encode(X, template="pos"), by="disagreement", committee=models[1:])
    assert rank(models[0], X, by="disagreement", committee=models[1:]).scores[0] > 0.0
