"""A data set in parts against the joined data: features, value, gradient, optimum, model file."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from inspect import get_annotations
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import by_day, examples
from loglinear import (
    LBFGS,
    OWLQN,
    SGDL1,
    ChainFeatures,
    ChainObjective,
    Checkpoint,
    Corpus,
    ElasticNet,
    ObjectiveError,
    Problem,
    Stop,
    minimize,
)
from loglinear.data.formats import FORMATS, named
from loglinear.data.parts import CorpusPart, JoinedPart, ListedPart, cut
from loglinear.errors import DataError, OptionError
from loglinear.models.training.chain import train_chain
from loglinear.models.training.options import SolverOptions
from loglinear.models.training.run import train
from loglinear.objectives.chain import ChainData
from loglinear.objectives.groups import in_tree
from loglinear.objectives.part import Counts, EncodedPart
from loglinear.objectives.parts import ChainParts
from loglinear.solvers import GraftingLight, ParameterMixing
from loglinear.solvers.parameter_mixing import MixedPasses, Mixing
from oracles.samples import chunky

LAWS = examples(60)
COLUMNS = "U:%x[0,0]\nU1:%x[-1,0]/%x[0,1]\nB1:%x[0,1]\nB\n"


@st.composite
def sentences(draw):
    """Sentences of one to four tokens of a few names, with labels that may be known in part."""
    names = st.sampled_from(["a", "b", "c", "d:é", ""])
    single = st.sampled_from(["A", "B", "Ω", "C"][: draw(st.integers(1, 4))])
    label = (
        st.one_of(single, single, single, st.none(), st.frozensets(single, min_size=1))
        if draw(st.booleans())
        else single
    )
    X = draw(st.lists(st.lists(st.lists(names, max_size=3), min_size=1, max_size=4), min_size=1, max_size=8))
    return X, [[draw(label) for _ in sentence] for sentence in X]


def cut_at(X, y, at):
    """Parts that end before these sentences; an empty part is one, too."""
    ends = [0, *sorted(at), len(X)]
    return [ListedPart(f"part {i}", X[a:b], y[a:b]) for i, (a, b) in enumerate(pairwise(ends))]


def by_name(objective, w):
    return dict(zip(objective.feature_names(np.arange(objective.n_features)), w, strict=True))


def same_weights(one, other, seed=0):
    """The same random weights for both objectives, by name."""
    names = [objective.feature_names(np.arange(objective.n_features)) for objective in (one, other)]
    random = dict(zip(names[0], np.random.default_rng(seed).normal(size=len(names[0])), strict=True))
    return [np.array([random[name] for name in each]) for each in names]


@LAWS
@given(sentences(), st.data())
def test_features_value_and_gradient_are_those_of_the_joined_data(data, choose):
    X, y = data
    options = ChainFeatures(
        all_states=choose.draw(st.booleans()),
        all_transitions=choose.draw(st.booleans()),
        min_count=choose.draw(st.sampled_from([1, 1, 2])),
        order=choose.draw(st.sampled_from([1, 2])),
    )
    parts = cut_at(X, y, choose.draw(st.lists(st.integers(0, len(X)), max_size=4)))
    try:
        whole = ChainObjective(Corpus.encode(X, y), options)
    except DataError:
        with pytest.raises(DataError):
            ChainParts(parts, options)
        return
    objective = ChainParts(parts, options)
    assert objective.labels == whole.corpus.labels
    assert objective.feature_counts == whole.feature_counts
    assert objective.n_samples == whole.n_samples
    assert whole.is_convex or not objective.is_convex
    w, w_whole = same_weights(objective, whole)
    value, gradient = objective.value_and_gradient(w)
    expected, gradient_whole = whole.value_and_gradient(w_whole)
    assert value == pytest.approx(expected, rel=1e-12, abs=1e-12)
    found, wanted = by_name(objective, gradient), by_name(whole, gradient_whole)
    assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(objective.sample_nlls(w), whole.sample_nlls(w_whole), rtol=1e-12, atol=1e-12)


@LAWS
@given(sentences(), st.data())
def test_the_model_file_is_that_of_the_joined_data(data, choose):
    X, y = data
    try:
        whole = ChainObjective(Corpus.encode(X, y))
    except DataError:
        return
    objective = ChainParts(cut_at(X, y, choose.draw(st.lists(st.integers(0, len(X)), max_size=4))))
    w, w_whole = same_weights(objective, whole)
    w_whole[np.isin(w_whole, w[::3])] = 0.0
    w[::3] = 0.0
    assert objective.model(w, "{}").to_bytes() == whole.model(w_whole, "{}").to_bytes()


def rich_data():
    """Sentences of two columns, with attributes of bigrams, in more than one block of a corpus."""
    X, y = chunky(300)
    return [[tuple(token) for token in sentence] for sentence in X], y


@pytest.mark.parametrize("features", [ChainFeatures(), ChainFeatures(constraints="auto"), ChainFeatures(order=2)])
def test_templates_with_bigrams_and_constraints(features):
    X, y = rich_data()
    parts = [ListedPart("", X[a : a + 70], y[a : a + 70], COLUMNS) for a in range(0, len(X), 70)]
    whole, objective = ChainObjective(Corpus.encode(X, y, template=COLUMNS), features), ChainParts(parts, features)
    assert objective.feature_counts == whole.feature_counts
    assert objective.features.constraints == whole.features.constraints
    w, w_whole = same_weights(objective, whole)
    value, gradient = objective.value_and_gradient(w)
    expected, gradient_whole = whole.value_and_gradient(w_whole)
    assert value == pytest.approx(expected, rel=1e-12)
    assert by_name(objective, gradient) == pytest.approx(by_name(whole, gradient_whole), rel=1e-11, abs=1e-11)
    assert objective.model(w, "{}").to_bytes() == whole.model(w_whole, "{}").to_bytes()


def test_one_part_that_is_no_bio_makes_the_data_iob1():
    X, outside, bio, iob1 = [[["a"], ["b"], ["c"]]], [["O"] * 3], [["O", "B-X", "I-X"]], [["O", "I-X", "B-X"]]
    found = [
        ChainParts([ListedPart(str(at), X, y) for at, y in enumerate(parts)], ChainFeatures(constraints="auto"))
        for parts in ([outside, bio], [outside, iob1], [iob1, outside])
    ]
    assert [each.features.constraints for each in found] == ["BIO", "IOB1", "IOB1"]


def test_parts_sum_over_the_labellings_that_the_constraints_allow():
    X, y = [[["a"], ["b"]], [["b"], ["a"]]], [["A", "B"], ["B", "B"]]
    parts = [ListedPart("", X[at : at + 1], y[at : at + 1]) for at in range(2)]
    objective = ChainParts(parts, ChainFeatures(constraints=[("A", "A")]))
    w = np.zeros(objective.n_features)
    assert objective.value_and_gradient(w)[0] == pytest.approx(2 * np.log(3))
    assert objective.model(w).forbidden == [(objective.labels.index("A"),) * 2]


def test_a_restricted_objective_is_the_whole_one_where_the_other_weights_are_0():
    X, y = chunky(60)
    objective = ChainParts(cut_at(X, y, [11, 30]))
    kept = np.sort(np.random.default_rng(1).permutation(objective.n_features)[:40])
    w = np.zeros(objective.n_features)
    w[kept] = np.random.default_rng(2).normal(size=kept.size)
    value, gradient = objective.value_and_gradient(w)
    small = objective.restrict(kept)
    found, found_gradient = small.value_and_gradient(w[kept])
    assert found == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(found_gradient, gradient[kept], rtol=1e-11, atol=1e-11)
    smaller = small.restrict(np.array([3, 5, 20]))
    v = np.zeros(kept.size)
    v[[3, 5, 20]] = 1.0, -2.0, 0.5
    assert smaller.value_and_gradient(np.array([1.0, -2.0, 0.5]))[0] == pytest.approx(small.value_and_gradient(v)[0])
    assert objective.restrict(np.array([], np.int64)).value_and_gradient(np.zeros(0))[1].size == 0


@pytest.mark.parametrize(
    ("solver", "penalty"),
    by_day(
        [
            (LBFGS(tolerance=1e-12), ElasticNet(l2=0.5)),
            (OWLQN(tolerance=1e-12), ElasticNet(l1=0.5)),
            (GraftingLight(select=50, tolerance=1e-12), ElasticNet(l1=0.5)),
            (ParameterMixing(tolerance=1e-12), ElasticNet(l1=0.5, l2=0.1)),
            (ParameterMixing(tolerance=1e-12), ElasticNet(l2=0.5)),
        ],
        lambda case: not isinstance(case[0], ParameterMixing) or case[1].l1 > 0.0,
    ),
)
def test_the_optimum_is_that_of_the_joined_data(solver, penalty):
    X, y = chunky(80)
    best = minimize(Problem(ChainObjective(Corpus.encode(X, y)), penalty), OWLQN(tolerance=1e-13))
    found = minimize(Problem(ChainParts(cut_at(X, y, [20, 21, 64])), penalty), solver)
    assert found.objective == pytest.approx(best.objective, rel=1e-6)


def test_passes_over_parts_come_near_the_optimum():
    X, y = chunky(200)
    problem = Problem(ChainParts(cut_at(X, y, [50, 100, 150])), ElasticNet(l1=0.5))
    trace = minimize(problem, ParameterMixing(passes=5, learning_rate=0.3)).trace
    best = trace[-1].objective
    assert trace[5].objective - best < 0.1 * (trace[0].objective - best)


@pytest.mark.parametrize("stop", [2, 5, 9])
def test_a_resumed_training_is_bitwise_one_that_was_never_stopped(tmp_path, stop):
    X, y = chunky(60)
    objective = ChainParts(cut_at(X, y, [20, 45]))
    options = SolverOptions(l1=0.5, solver="parameter_mixing", max_iterations=15)
    whole = train_chain(objective, options)[1]
    path = tmp_path / "checkpoint"
    train_chain(objective, replace(options, max_iterations=stop), checkpoint=Checkpoint(path))
    resumed = train_chain(objective, options, checkpoint=Checkpoint(path, resume=True))[1]
    np.testing.assert_array_equal(resumed.w, whole.w)
    assert [record.objective for record in resumed.trace] == [record.objective for record in whole.trace]
    with pytest.raises(ValueError, match="training data"):
        train_chain(ChainParts(cut_at(X, y, [20])), options, checkpoint=Checkpoint(path, resume=True))


def test_a_pass_over_a_single_part_is_one_of_sgd():
    X, y = chunky(50)
    whole, objective = ChainObjective(Corpus.encode(X, y)), ChainParts(cut_at(X, y, []))
    penalty, n = ElasticNet(l1=0.5, l2=0.1), len(X)
    sgd = SGDL1(passes=1, learning_rate=0.2, decay=0.85, seed=3)
    mixing = Mixing(seed=3, epoch=0, learning_rate=0.2, decay=0.85, l1=penalty.l1 / n, l2=penalty.l2 / n)
    once = minimize(Problem(whole, penalty), sgd, stop=Stop(max_iterations=1))
    mixed = objective.mixed(np.zeros(objective.n_features), mixing)
    assert by_name(objective, mixed) == pytest.approx(by_name(whole, once.w), rel=1e-12, abs=1e-14)


def test_a_mixed_weight_is_the_mean_over_the_parts_that_can_meet_its_feature():
    X, y = [[["a"]], [["a"]], [["a"], ["b"]]], [["A"], ["B"], ["A", "B"]]
    objective = ChainParts(cut_at(X, y, [2]))
    mixing = Mixing(seed=0, epoch=0, learning_rate=0.2, decay=1.0, l1=0.0, l2=0.0)
    w = np.linspace(-1.0, 1.0, objective.n_features)
    parts = [w + part.mixed(w, mixing) / part.n_samples for part in objective.group.objects]
    meets = [part.share() for part in objective.group.objects]
    mean = (parts[0] * meets[0] + parts[1] * meets[1]) / (meets[0] + meets[1])
    np.testing.assert_allclose(objective.mixed(w, mixing), mean, rtol=1e-12)
    assert {name.attribute for name, meet in by_name(objective, meets[0]).items() if not meet} == {"b"}


def test_chains_of_second_order_are_not_mixed():
    X, y = chunky(20)
    problem = Problem(ChainParts(cut_at(X, y, [10]), ChainFeatures(order=2)), ElasticNet(l1=0.5))
    with pytest.raises(ValueError, match="needs a first-order chain"):
        minimize(problem, ParameterMixing())
    assert train(problem.objective, SolverOptions(l1=0.5)).status.converged


def test_passes_alone_refuse_what_has_no_parts():
    X, y = chunky(5)
    with pytest.raises(OptionError, match="parts"):
        MixedPasses().init(Problem(ChainObjective(Corpus.encode(X, y))), np.zeros(1))


def test_a_learning_rate_that_makes_the_passes_diverge_is_named():
    X, y = chunky(20)
    problem = Problem(ChainParts(cut_at(X, y, [10])), ElasticNet(l1=0.5, l2=1.0))
    with pytest.raises(ObjectiveError, match=r"at learning_rate=1e\+300; give a smaller learning rate"):
        minimize(problem, ParameterMixing(learning_rate=1e300))


def test_parts_counts_and_tables_survive_the_way_to_another_process():
    X, y = chunky(30)
    objective = ChainParts(cut_at(X, y, [7, 9]))
    w = np.random.default_rng(0).normal(size=objective.n_features)
    kept = np.arange(0, objective.n_features, 3)
    for part in objective.group.objects:
        there = pickle.loads(pickle.dumps(part))
        assert there.value_and_gradient(w)[0] == part.value_and_gradient(w)[0]
        np.testing.assert_array_equal(there.value_and_gradient(w)[1], part.value_and_gradient(w)[1])
        small = pickle.loads(pickle.dumps(part.restrict(kept)))
        assert small.value_and_gradient(w[kept])[0] == part.restrict(kept).value_and_gradient(w[kept])[0]
    table = pickle.loads(pickle.dumps(objective.table))
    assert table.core.pack() == objective.table.core.pack()
    assert table.core.model(w, "{}").to_bytes() == objective.model(w, "{}").to_bytes()


def test_damaged_bytes_of_counts_and_tables_are_an_error():
    X, y = chunky(5)
    counts = Counts.of(EncodedPart(ListedPart("", X, y)), 1)
    table = ChainParts([ListedPart("", X, y)]).table
    for kind, packed in ((type(counts.core), counts.core.pack()), (type(table.core), table.core.pack())):
        for at in (0, 9, len(packed) // 2, len(packed) - 1):
            damaged = bytearray(packed)
            damaged[at] ^= 1
            with pytest.raises(DataError, match="damaged"):
                kind.unpack(bytes(damaged))
        with pytest.raises(DataError, match="damaged"):
            kind.unpack(packed[:-9])


def test_files_are_cut_the_same_way_each_time_and_hold_all_sentences(tmp_path):
    X, y = chunky(60)
    text = "".join(
        "".join(f"{' '.join(token)} {label}\n" for token, label in zip(*each, strict=True)) + "\n"
        for each in zip(X, y, strict=True)
    )
    (tmp_path / "data.txt").write_text(text)
    parts = cut(tmp_path / "data.txt", template="U:%x[0,0]\nB\n", part_bytes=500)
    assert len(parts) > 3
    sizes = [
        part.range[1] - part.range[0]
        for part in cut(tmp_path / "data.txt", template="pos", part_bytes=len(text) * 2 // 5)
    ]
    assert len(sizes) == 3
    assert max(sizes) < 1.2 * min(sizes)
    assert parts == cut(tmp_path, template="U:%x[0,0]\nB\n", part_bytes=500)
    assert parts == cut(str(tmp_path / "*.txt"), template="U:%x[0,0]\nB\n", part_bytes=500)
    assert [label for part in parts for label in part.read().gold()] == y
    whole = ChainObjective(Corpus.read(tmp_path / "data.txt", template="U:%x[0,0]\nB\n"))
    objective = ChainParts(parts)
    w, w_whole = same_weights(objective, whole)
    assert objective.value_and_gradient(w)[0] == pytest.approx(whole.value_and_gradient(w_whole)[0], rel=1e-12)
    with pytest.raises(DataError, match="no such file"):
        cut(tmp_path / "none-*.txt", template="pos")


def test_mistakes_in_a_part_name_file_and_line(tmp_path):
    lines = [f"w{i} A\n\n" for i in range(200)]
    lines[150] = "w\n\n"
    (tmp_path / "data.txt").write_text("".join(lines))
    parts = cut(tmp_path / "data.txt", template="U:%x[0,0]\nB\n", part_bytes=100)
    with pytest.raises(DataError, match=r"data\.txt, line 301"):
        ChainParts(parts)


UNUSED = "\t_" * 6
# A line that is no part of a sentence, and the lines of a sentence.
LINES = {
    "columns": (" \t\n", lambda X, y: "".join(f"{word} {label}\n" for word, label in zip(X, y, strict=True)) + "\n"),
    "conllu": (
        "# nothing\n\n",
        lambda X, y: "".join(f"{i}\t{X[i]}\t_\t{y[i]}{UNUSED}\n" for i in range(len(X))) + "\n",
    ),
    "crfsuite": ("\n", lambda X, y: "".join(f"{label}\t{word}\n" for word, label in zip(X, y, strict=True)) + "\n"),
    "jsonl": ("\n", lambda X, y: json.dumps({"tokens": [[word] for word in X], "labels": y}) + "\n"),
    "svmlight": ("# nothing\n", lambda X, y: f"{y[0]} {X[0]}:1\n"),
}


@pytest.mark.parametrize(
    "format", [name for name, format in FORMATS.items() if format.holds != "texts" and format.content == "lines"]
)
def test_parts_may_hold_no_sentences_and_files_may_not(format, tmp_path):
    nothing, lines = LINES[format]
    rng = np.random.default_rng(3)
    given = [(rng.integers(1, 6, size=3).astype(str).tolist(), rng.choice(["A", "B"], 3).tolist()) for _ in range(30)]
    halves = ["".join(lines(X, y) for X, y in half) for half in (given[:15], given[15:])]
    path = tmp_path / "data"
    path.write_text(halves[0].join([300 * nothing] * 2) + halves[1] + 300 * nothing)
    template = "U:%x[0,0]\n" if named(format).template == "needed" else None
    parts = cut(path, format=format, template=template, part_bytes=120)
    sizes = [len(part.read()) for part in parts]
    assert sizes[0] == sizes[-1] == 0
    assert 0 in sizes[sizes.index(max(sizes)) : -1]
    whole = ChainObjective(Corpus.read(path, format=format, template=template))
    objective = ChainParts(parts)
    assert sum(sizes) == objective.n_samples == whole.n_samples == 30
    weights = [minimize(Problem(each, ElasticNet(l2=1.0)), LBFGS()).w for each in (objective, whole)]
    one, other = (by_name(each, w) for each, w in zip((objective, whole), weights, strict=True))
    assert one == pytest.approx(other, rel=1e-6, abs=1e-8)
    path.write_text(900 * nothing)
    with pytest.raises(DataError, match="data: no sentences"):
        ChainParts(cut(path, format=format, template=template, part_bytes=120))


def test_the_tree_depends_on_the_number_of_items_alone():
    def by_levels(items):
        while len(items) > 1:
            pairs = [items[at : at + 2] for at in range(0, len(items), 2)]
            items = [f"({pair[0]}{pair[1]})" if len(pair) == 2 else pair[0] for pair in pairs]
        return items[0]

    for n in range(1, 40):
        items = [chr(0x4E00 + i) for i in range(n)]
        assert in_tree(items, lambda left, right: f"({left}{right})") == by_levels(items)


def test_parts_on_disk_are_bitwise_the_parts_in_memory(tmp_path):
    X, y = chunky(40, 3)
    Corpus.encode(X, y).save(tmp_path / "whole")
    listed, ranges, folders = [], [], []
    for number, (a, b) in enumerate(pairwise([0, 7, 19, 20, 40])):
        listed.append(ListedPart(str(number), X[a:b], y[a:b]))
        ranges.append(CorpusPart(str(tmp_path / "whole"), (a, b)))
        Corpus.encode(X[a:b], y[a:b]).save(tmp_path / str(number))
        folders.append(CorpusPart(str(tmp_path / str(number)), None))
    objectives = [ChainParts(parts) for parts in (listed, ranges, folders)]
    w = np.random.default_rng(0).normal(size=objectives[0].n_features)
    some = np.arange(0, w.size, 3)
    value, gradient = objectives[0].value_and_gradient(w)
    restricted = objectives[0].restrict(some).value_and_gradient(w[some])
    for other in objectives[1:]:
        found = other.value_and_gradient(w)
        assert found[0] == value
        np.testing.assert_array_equal(found[1], gradient)
        np.testing.assert_array_equal(other.restrict(some).value_and_gradient(w[some])[1], restricted[1])


def test_a_corpus_on_disk_is_cut_by_its_size_and_checked_part_by_part(tmp_path):
    X, y = chunky(40, 3)
    corpus = Corpus.encode(X, y)
    corpus.save(tmp_path / "c")
    parts = cut(tmp_path / "c", part_bytes=20)
    assert len(parts) > 3
    assert [labels for part in parts for labels in part.read().gold()] == corpus.gold()
    assert cut(tmp_path / "c") == [CorpusPart(str(tmp_path / "c"), None)]
    assert pickle.loads(pickle.dumps(parts)) == parts
    ids = tmp_path / "c" / "state_ids.u32"
    content = bytearray(ids.read_bytes())
    content[0] ^= 1
    ids.write_bytes(content)
    with pytest.raises(DataError, match=r"state_ids\.u32"):
        parts[0].read()


def test_weights_of_sentences_reach_the_parts_of_every_kind_of_file(tmp_path):
    import pyarrow
    import pyarrow.parquet

    X, y = chunky(24)
    weights = [0.5 * (number % 4) for number in range(len(X))]
    rows = list(zip(X, y, weights, strict=True))
    columns = {"tokens": X, "labels": y, "weight": weights}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet", row_group_size=7)
    (tmp_path / "range.jsonl").write_text(
        "".join(json.dumps({"tokens": t, "labels": s, "weight": w}) + "\n" for t, s, w in rows)
    )
    lines = [
        f"@weight:{w}\n" + "".join("\t".join([label, *token]) + "\n" for token, label in zip(t, s, strict=True)) + "\n"
        for t, s, w in rows
    ]
    (tmp_path / "a.crfsuite").write_text("".join(lines))
    for number in range(3):
        (tmp_path / f"small-{number}.crfsuite").write_text("".join(lines[8 * number : 8 * number + 8]))
    Corpus.encode(X, y, sample_weight=weights).save(tmp_path / "corpus")
    size = (tmp_path / "a.crfsuite").stat().st_size
    whole = ChainObjective(Corpus.encode(X, y, sample_weight=weights))
    expected, _ = whole.value_and_gradient(np.zeros(whole.n_features))
    for pattern, part_bytes in [
        ("a.parquet", 1),
        ("range.jsonl", 400),
        ("a.crfsuite", 400),
        ("small-*", size // 2),
        ("corpus", 20),
    ]:
        objective = ChainParts(cut(tmp_path / pattern, part_bytes=part_bytes))
        assert objective.group.size > 1
        assert objective.weights.tolist() == weights
        value, _ = objective.value_and_gradient(np.zeros(objective.n_features))
        assert value == pytest.approx(expected, rel=1e-12)


def test_a_single_part_of_one_block_trains_bitwise_as_the_whole():
    X, y = chunky(80)
    weights = np.random.default_rng(0).integers(0, 3, len(X)).tolist()
    whole = ChainObjective(Corpus.encode(X, y, sample_weight=weights))
    part = ChainParts([ListedPart("all", X, y, weights=weights)])
    models = []
    for data in (whole, part):
        _, result = train_chain(data, SolverOptions(l1=0.5, solver="owlqn"))
        models.append((data.model(result.w).to_bytes(), result.iterations, result.objective))
    assert models[0] == models[1]


def test_what_training_asks_of_data_is_answered_alike_by_the_whole_and_by_parts():
    X, y = chunky(30)
    y[4], y[20] = [None] * len(y[4]), [None] * len(y[20])
    features = ChainFeatures(min_count=2, order=2, constraints="auto")
    whole, parts = ChainObjective(Corpus.encode(X, y), features), ChainParts(cut_at(X, y, [9, 10]), features)
    values = {name for name, value in vars(ChainData).items() if isinstance(value, property)}
    values |= {*get_annotations(ChainData)} - {"core"}
    assert {"n_unknown", "n_attributes", "label_type", "requested", "features"} < values
    for name in values:
        assert getattr(parts, name) == getattr(whole, name), name
    assert parts.n_unknown == 2
    assert parts.fingerprint()["sentences"] == whole.fingerprint()["sentences"] == 30


def test_the_fingerprint_of_parts_knows_labels_and_weights_of_every_sentence():
    X, y = [[["a"], ["b"]]] * 4, [["A", "B"], ["B", "A"]] * 2
    given = [(y, None), ([*y[:3], ["A", "A"]], None), (y, [1.0, 1.0, 1.0, 2.0])]
    found = [ChainParts([ListedPart("", X, labels, None, weights)]).fingerprint() for labels, weights in given]
    assert [each["sentences"] for each in found] == [4] * 3
    assert len({each["checksum"] for each in found}) == 3
    assert ChainParts([ListedPart("", X, y)]).fingerprint() == found[0]


def test_small_files_in_a_row_are_one_part(tmp_path):
    texts = [f"w{number} A\nw B\n\n" * (number + 1) for number in range(6)]
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.txt").write_text(text)
    size = len(texts[0]) + len(texts[1]) + len(texts[2])
    parts = cut(tmp_path, template="U:%x[0,0]\nB\n", part_bytes=size)
    assert [type(part) for part in parts[:2]] == [JoinedPart, type(cut(tmp_path / "3.txt", template="pos")[0])]
    assert [len(part.files) for part in parts if isinstance(part, JoinedPart)] == [3]
    assert sum(len(part.read()) for part in parts) == 21
    (tmp_path / "1.txt").write_text("w A\nw\n")
    with pytest.raises(DataError, match=r"1\.txt, line 2"):
        parts[0].read()


def test_parts_that_no_longer_hold_the_samples_that_were_counted_are_refused():
    X, y = chunky(20)
    objective = ChainParts([ListedPart("one", X[:12], y[:12]), ListedPart("two", X[12:], y[12:])])
    w = np.zeros(objective.n_features)
    objective.value_and_gradient(w)
    objective.group.objects.pop()
    with pytest.raises(DataError, match="20 samples at the start, 12 now"):
        objective.value_and_gradient(w)


@pytest.mark.parametrize("y", [[["O", "I-X"], ["I-X", "O"]], [["O", "B-X"], ["B-X", "I-X"]]])
def test_auto_constraints_of_parts_are_the_scheme_of_the_joined_labels(y):
    X, features = [[["a"], ["b"]], [["a"], ["c"]]], ChainFeatures(constraints="auto")
    whole = ChainObjective(Corpus.encode(X, y), features)
    parts = ChainParts([ListedPart(str(k), X[k : k + 1], y[k : k + 1]) for k in range(2)], features)
    assert parts.features.constraints == whole.features.constraints
