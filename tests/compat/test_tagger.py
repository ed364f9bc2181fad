"""The tagger beside python-crfsuite's, on models that both open."""

from __future__ import annotations

import copy
import io
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pycrfsuite as peer
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loglinear import ChainCRF, LogLinearError, ModelFileError, _core
from loglinear.compat import pycrfsuite as ours
from oracles.patience import patience

ITEMS = [
    {"walk": 1, "shop": 0.5},
    {"walk": 1},
    {"walk": 1, "clean": 0.5},
    {"shop": 0.5, "clean": 0.5},
    {"clean": 1, "straße": {"nass": True, "glatt": -0.25}, "sky": "grey"},
]
LABELS = ["sunny", "sunny", "sunny", "rainy", "déjà vu"]
NAMES = ["walk", "shop", "clean", "straße:nass", "sky:grey", "unknown"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A model that the peer has trained."""
    path = str(tmp_path_factory.mktemp("models") / "weather.crfsuite")
    trainer = peer.Trainer(verbose=False)
    trainer.set_params({"c2": 0.1, "feature.possible_transitions": True})
    trainer.append(ITEMS, LABELS)
    trainer.append(ITEMS[2:], LABELS[2:])
    trainer.train(path)
    return path


@pytest.fixture
def taggers(path):
    """Our tagger and the peer's, with the same model."""
    both = ours.Tagger(), peer.Tagger()
    for tagger in both:
        tagger.open(path)
    return both


ITEM = st.dictionaries(st.sampled_from(NAMES), st.floats(-3, 3) | st.booleans(), max_size=4) | st.lists(
    st.sampled_from(NAMES), max_size=3
)


@given(data=st.data())
def test_labels_probabilities_and_marginals_are_the_peers(path, data):
    taggers = [module.Tagger() for module in (ours, peer)]
    for tagger in taggers:
        tagger.open(path)
    mine, theirs = taggers
    for items in data.draw(st.lists(st.lists(ITEM, max_size=5), max_size=3)):
        labels = mine.tag(items)
        assert labels == theirs.tag(items)
        assert mine.tag(ours.ItemSequence(items)) == mine.tag() == labels
        for guess in (labels, labels[::-1]):
            assert mine.probability(guess) == pytest.approx(theirs.probability(guess), abs=1e-12)
        for position in range(len(items)):
            for label in mine.labels():
                wanted = theirs.marginal(label, position)
                assert mine.marginal(label, position) == pytest.approx(wanted, abs=1e-12)
                assert mine.marginal(label.encode(), position) == mine.marginal(label, pos=position)


def test_labels_are_in_the_order_of_the_file(taggers):
    mine, theirs = taggers
    assert mine.labels() == theirs.labels() == ["sunny", "rainy", "déjà vu"]


def test_the_sequence_is_remembered_until_the_next_one(taggers):
    for tagger in taggers:
        assert tagger.set(ITEMS) is None
        first = tagger.probability(LABELS)
        assert tagger.tag() == LABELS
        assert tagger.probability(LABELS) == first
        assert tagger.tag(ITEMS[:1]) == ["sunny"]
        with pytest.raises(ValueError, match="differ"):
            tagger.probability(LABELS)
        tagger.tag([])
        assert tagger.tag() == []
        assert tagger.probability([]) == tagger.marginal("anything", 3) == 0.0


def test_a_mistake_leaves_the_sequence_as_it_was(taggers):
    mine, _ = taggers
    mine.set(ITEMS)
    probability = mine.probability(LABELS)
    for wrong in ([{}, 5], [{"walk": None}], [{"straße": {"nass": None}}], 7):
        with pytest.raises(TypeError):
            mine.tag(wrong)
    with pytest.raises(ValueError, match="token 0"):
        mine.set([{"sky": {"walk": float("nan")}}])
    assert mine.probability(LABELS) == probability
    assert mine.tag(ITEMS) == LABELS
    assert mine.probability(LABELS) == probability


def test_questions_that_have_no_answer_are_the_peers_exceptions(taggers):
    for tagger in taggers:
        tagger.set(ITEMS)
        for position in (-1, 5, 99):
            with pytest.raises(ValueError, match="out of range"):
                tagger.marginal("sunny", position)
        with pytest.raises(RuntimeError):
            tagger.marginal("snowy", 0)
        with pytest.raises(RuntimeError):
            tagger.probability(["snowy"] * 5)
        with pytest.raises(ValueError, match="5"):
            tagger.probability(["sunny"])
        with pytest.raises(TypeError):
            tagger.marginal(5, 0)
        for wrong in (7, [5] * 5):
            with pytest.raises(TypeError):
                tagger.probability(wrong)


def test_a_list_of_labels_belongs_to_the_caller(taggers):
    mine, _ = taggers
    for change in (list.clear, lambda labels: labels.append("more"), list.reverse):
        change(mine.tag(ITEMS))
        change(mine.tag())
        change(mine.labels())
    assert mine.tag(ITEMS) == mine.tag() == LABELS
    assert mine.labels() == ["sunny", "rainy", "déjà vu"]


@pytest.mark.parametrize("module", [ours, peer], ids=["ours", "peer"])
def test_open_is_a_context_that_closes(module, path):
    tagger = module.Tagger()
    with pytest.raises(ValueError, match=r"model|opened"):
        tagger.labels()
    with tagger.open(path) as opened:
        assert opened is tagger
        assert set(tagger.labels()) == {*LABELS}
        with open(path, "rb") as file, module.Tagger().open_inmemory(file.read()) as other:
            assert other.tag(ITEMS) == tagger.tag(ITEMS)
    for ask in (tagger.labels, tagger.tag, lambda: tagger.tag(ITEMS), lambda: tagger.probability(LABELS)):
        with pytest.raises(ValueError, match=r"model|opened"):
            ask()
    for ask in (tagger.info, tagger.dump):
        with pytest.raises(RuntimeError):
            ask()
    tagger.close()
    tagger.open(path)
    assert tagger.tag() == []


def test_a_tagger_that_was_never_opened_raises_where_the_peer_crashes():
    with pytest.raises(ValueError, match="open one"):
        ours.Tagger().tag(ITEMS)
    with pytest.raises(ValueError, match="open one"):
        ours.Tagger().set(ITEMS)


def test_a_file_that_is_no_model_is_the_peers_exception(tmp_path, path):
    tagger = ours.Tagger()
    tagger.open(path)
    with pytest.raises(FileNotFoundError):
        tagger.open(tmp_path / "nowhere")
    with pytest.raises(IsADirectoryError):
        tagger.open(str(tmp_path))
    with open(path, "rb") as file:
        whole = file.read()
    for content in (b"", b"foo", b"lCRFfoo", b"lCRFfoo" * 100, whole[:-1], whole[:60], b"x" * 1000):
        (tmp_path / "bad").write_bytes(content)
        with pytest.raises(ModelFileError, match="bad") as caught:
            tagger.open(str(tmp_path / "bad"))
        assert isinstance(caught.value, ValueError)
        with pytest.raises(ModelFileError):
            tagger.open_inmemory(content)
    with pytest.raises(TypeError):
        tagger.open_inmemory("text")
    assert tagger.tag(ITEMS) == LABELS  # the model before is still there


def test_models_of_this_library_are_opened(tmp_path):
    X, y = [[["the"], ["dog"]], [["dog"]]], [["DET", "NOUN"], ["NOUN"]]
    crf = ChainCRF(l2=0.1, constraints=[("NOUN", "DET")]).fit(X, y)
    crf.save(tmp_path / "model")
    with ours.Tagger().open(tmp_path / "model") as tagger:
        assert tagger.tag(X[0][::-1]) == crf.predict_single(X[0][::-1]) != ["NOUN", "DET"]
        assert tagger.probability(["NOUN", "DET"]) == 0.0
        assert sum(tagger.marginal(label, 1) for label in tagger.labels()) == pytest.approx(1.0)


def test_a_model_with_a_template_or_of_another_kind_is_refused(tmp_path):
    ChainCRF(template="U:%x[0,0]\n").fit([["a", "b"]], [["A", "B"]]).save(tmp_path / "template")
    _core.classifier_model(["a"], ["A", "B"], np.ones(1), '{"model": "maxent"}').save(str(tmp_path / "classifier"))
    for name, message in (("template", "loglinear.Tagger"), ("classifier", "not a chain model")):
        with pytest.raises(ModelFileError, match=message):
            ours.Tagger().open(tmp_path / name)


def test_threads_share_a_tagger_and_each_has_its_own_answer(path):
    tagger = ours.Tagger()
    tagger.open(path)
    sequences = [ITEMS, ITEMS[:1], [ITEMS[3]] * 3, [], ITEMS[::-1], ITEMS * 4_000]
    wanted = [tagger.tag(each) for each in sequences]
    failed, answers, is_over = [], [], threading.Event()

    def ask(at):
        assert tagger.tag(sequences[at]) == wanted[at]
        tagger.set(sequences[at])
        answers.append(len(tagger.tag()))
        try:
            assert 0.0 <= tagger.marginal("sunny", 0) <= 1.0
            assert 0.0 <= tagger.probability(wanted[at]) <= 1.0
        except ValueError:  # another thread has set a sequence meanwhile
            pass

    def work(number):
        try:
            if number == 0:  # a sequence so long that others are labelled while it is
                for _ in range(4):
                    ask(-1)
            while number and not is_over.is_set():
                for at in range(len(sequences) - 1):
                    ask(at)
                if number == 1:
                    tagger.open(path)
        except BaseException as error:
            failed.append(error)
        if number == 0:
            is_over.set()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=patience(60))
    assert not any(thread.is_alive() for thread in threads)
    assert failed == []
    assert {*answers} <= {*map(len, sequences)}


def test_items_that_use_the_tagger_themselves_do_not_lock_it(taggers):
    mine, _ = taggers

    class Asking:
        def __float__(self):
            return mine.tag(ITEMS[:1]).count("sunny") + mine.marginal("sunny", 0) * 0

    assert mine.tag([{"walk": Asking()}, {"walk": 1}]) == ["sunny", "sunny"]
    assert len(mine.tag()) == 2


class Loud(ours.Tagger):
    """A subclass with arguments and state of its own."""

    def __init__(self, path, volume=1):
        super().__init__()
        self.open(path)
        self.volume = volume
        self.heard = []

    def set(self, xseq):
        self.heard.append(len(xseq))
        super().set(xseq)


def test_subclasses_go_through_their_own_set(path):
    loud = Loud(path, volume=11)
    assert isinstance(loud, ours.Tagger)
    assert loud.tag(ITEMS) == loud.tag() == loud.tag(xseq=ITEMS) == LABELS
    assert loud.heard == [5, 5]
    with pytest.raises(TypeError):
        ours.Tagger("unexpected")


def test_a_tagger_is_pickled_and_copied_with_its_model(path):
    loud = Loud(path, volume=11)
    loud.tag(ITEMS)
    for again in (pickle.loads(pickle.dumps(loud)), copy.copy(loud), copy.deepcopy(loud)):
        assert type(again) is Loud
        assert (again.volume, again.heard) == (11, [5])
        assert again.labels() == loud.labels()
        assert ours.Tagger.tag(again) == []
    assert pickle.loads(pickle.dumps(ours.Tagger())).__getstate__() == (None, {})


def test_the_dump_is_the_peers_byte_for_byte(taggers, tmp_path, capfd):
    for number, tagger in enumerate(taggers):
        tagger.dump(str(tmp_path / str(number)))
    mine, theirs = ((tmp_path / str(number)).read_bytes() for number in range(2))
    assert mine == theirs
    assert b"STATE_FEATURES" in mine
    taggers[0].dump()
    assert capfd.readouterr().out.encode() == mine


def test_a_dump_goes_to_a_stream_without_a_file_as_well(taggers, monkeypatch, tmp_path):
    mine, _ = taggers
    mine.dump(tmp_path / "dump")
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    mine.dump()
    assert sys.stdout.getvalue().encode() == (tmp_path / "dump").read_bytes()


def test_info_is_what_the_peer_parses(taggers):
    mine, theirs = (tagger.info() for tagger in taggers)
    assert vars(mine) == vars(theirs)
    assert mine.header["num_labels"] == "3"
    assert mine.attributes["walk"] == "0"
    assert ("sky:grey", "déjà vu") in mine.state_features


def test_errors_of_training_have_the_peers_codes_and_messages():
    for code, message in {**peer.CRFSuiteError._messages, 0: "Unexpected error", 7: "Unexpected error"}.items():
        mine = ours.CRFSuiteError(code)
        assert (mine.code, str(mine)) == (code, message)
        assert isinstance(mine, LogLinearError)
        assert pickle.loads(pickle.dumps(mine)).code == code


def test_the_module_has_what_the_peers_has():
    assert ours.CRFSUITE_VERSION == peer.CRFSUITE_VERSION
    for name in ours.__all__:
        assert hasattr(peer, name)
        if isinstance(getattr(peer, name), type):
            members = {member for member in dir(getattr(peer, name)) if not member.startswith("_")}
            # Every trainer of ours has its own `verbose`, where the peer's class has a descriptor.
            assert members - {"verbose"} <= {*dir(getattr(ours, name))}


def test_importing_it_needs_neither_numpy_nor_scikit_learn_nor_what_trainers_need(path):
    code = """if True:
        import sys
        from loglinear.compat import pycrfsuite
        tagger = pycrfsuite.Tagger()
        tagger.open(sys.argv[1])
        needless = {"numpy", "scipy", "sklearn", "rich", "dataclasses", "inspect", "loglinear.data.corpus"}
        print(tagger.tag([{"walk": 1}]), sorted(needless & set(sys.modules)), pycrfsuite.Trainer.__name__)
    """
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, timeout=patience(60), check=True
    )
    assert done.stdout == "['sunny'] [] Trainer\n"


def test_a_tagger_works_in_the_child_of_a_fork(path):
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    code = """if True:
        import os, sys
        from loglinear.compat import pycrfsuite
        tagger = pycrfsuite.Tagger()
        tagger.open(sys.argv[1])
        before = tagger.tag([{"walk": 1}])
        if child := os.fork():
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        os._exit(tagger.tag() != before or tagger.tag([{"walk": 1}] * 2) != before * 2)
    """
    subprocess.run([sys.executable, "-c", code, path], timeout=patience(60), check=True)
