"""No panic of native code passes the bindings: it is an InternalError, wherever it happens."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from loglinear import InternalError, _core

PATTERN = "^internal error, please report it: index 3 out of bounds$"


@pytest.mark.parametrize("guarded", [False, True])
def test_a_panic_is_an_exception_that_says_what_to_do(guarded):
    with pytest.raises(InternalError, match=PATTERN) as caught:
        _core.panic("index 3 out of bounds", guarded)
    assert isinstance(caught.value, Exception)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    # As in tests of the first call in a process, and where `except RuntimeError` is what a program has.
    code = f"from loglinear import _core\ntry: _core.panic('x', {guarded})\nexcept RuntimeError as e: print(e)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "internal error, please report it: x\n"
    assert done.stderr == ""


def test_a_panic_on_the_command_line_is_one_line_and_exit_code_1(monkeypatch, capsys):
    from loglinear.cli import main

    monkeypatch.setattr(main, "_run", lambda _: _core.panic("a\x1bb", guarded=False))
    with pytest.raises(SystemExit) as ended:
        main.main(["tag"])
    assert ended.value.code == 1
    assert capsys.readouterr().err == "loglinear: error: internal error, please report it: a\\x1bb\n"
