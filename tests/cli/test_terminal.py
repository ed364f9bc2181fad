"""What commands print on a terminal: text for people fits its width, everything for machines is as in a pipe."""

from __future__ import annotations

import pytest

from loglinear import MaxEnt, PairwiseMRF
from oracles.command_line import run_command

WIDTH = 50


@pytest.fixture(scope="module")
def places(tmp_path_factory, sample):
    """Models and data: a tagger, a classifier with attributes of many words, and a network."""
    folder = tmp_path_factory.mktemp("terminal")
    words = "an attribute whose name has more words than a narrow terminal has room for"
    MaxEnt(l2=0.1).fit([[words], ["other"]] * 3, ["yes", "no"] * 3).save(folder / "samples")
    (folder / "data.crfsuite").write_text(f"yes\t{words}\n\nno\tother\n")
    rows = [["one of the states of a", "x"], ["b", "y"]] * 10 + [["b", "x"]]
    PairwiseMRF(l1=0.1).fit(rows).save(folder / "network")
    (folder / "table.csv").write_text("x1,x2\n" + "".join(f"{a},{b}\n" for a, b in rows[:3]))
    return {"MODEL": sample.model, "DATA": sample.test} | {
        name.upper(): folder / name for name in ("samples", "data.crfsuite", "network", "table.csv", "out")
    }


def printed(command, places, width=None):
    """What a command prints, on a terminal of this width or in a pipe; or what it writes to OUT."""
    environment = pytest.MonkeyPatch()
    if width is not None:
        environment.setenv("COLUMNS", str(width))
    words = [places.get(word, word) for word in command.split()]
    with environment.context():
        done = run_command(*words, terminal=width is not None)
    environment.undo()
    assert done.returncode == 0, done.stderr
    return places["OUT"].read_text(encoding="utf-8") if "OUT" in command else done.stdout


@pytest.mark.parametrize(
    "command",
    ["explain SAMPLES DATA.CRFSUITE", "explain NETWORK TABLE.CSV", "inspect SAMPLES", "inspect NETWORK", "doctor",
     "solvers", "solvers grafting_light", "presets"],
)  # fmt: skip
def test_text_for_people_fits_the_terminal_with_the_same_words(places, command):
    piped, shown = printed(command, places), printed(command, places, WIDTH)
    assert shown.split() == piped.split()
    assert max(map(len, piped.splitlines())) > WIDTH
    longest = max(shown.splitlines(), key=len)
    assert len(longest) <= WIDTH or "loglinear " in longest or max(map(len, longest.split())) + 24 > WIDTH, longest


@pytest.mark.parametrize(
    "command",
    ["explain MODEL DATA --json", "explain MODEL DATA --html", "explain MODEL DATA -o OUT", "inspect MODEL --json",
     "tag MODEL DATA", "tag MODEL DATA --marginals", "evaluate MODEL DATA --json", "rank MODEL DATA -q",
     "structure TABLE.CSV --l1 0.1 -q", "presets ner", "completion bash"],
)  # fmt: skip
def test_what_machines_read_is_on_a_terminal_as_in_a_pipe(places, command):
    assert printed(command, places, WIDTH) == printed(command, places)
