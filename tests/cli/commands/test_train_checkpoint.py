"""Laws of `loglinear train --checkpoint`."""

from __future__ import annotations

import os
import re
import signal

import pytest

from loglinear import _core
from loglinear.models.files import checkpoint as checkpoint_file
from loglinear.trace import Trace
from oracles.command_line import Interruptible, until
from oracles.patience import patience

posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
LIMIT = ["--tolerance", "0", "--max-iterations"]


def weights(path):
    model = _core.ChainModel.open(os.fspath(path))
    return model.state_features(), model.transition_features(), model.bigram_features()


def same_course(one, other):
    """Whether two traces tell of one training."""
    first, second = (
        [(each.iteration, each.objective, each.passes, each.dev) for each in Trace.read(path)] for path in (one, other)
    )
    return first == second


def test_texts_have_checkpoints_too(done, misuse, tmp_path):
    texts, checkpoint = tmp_path / "texts", tmp_path / "c"
    texts.write_text("+\ta good film\n-\ta bad film\n+\tgood fun\n-\ta bad joke\n")
    options = ["train", texts, "--model-type", "maxent", "--format", "text", "-q", "--tolerance", "0"]
    done(*options, "-m", tmp_path / "whole")
    options += ["--checkpoint", checkpoint, "--resume", "-m", tmp_path / "m"]
    done(*options, "--max-iterations", "2")
    done(*options)
    assert weights(tmp_path / "m") == weights(tmp_path / "whole")
    texts.write_text("+\ta good film\n-\ta bad film\n+\tgood fun\n-\ta good joke\n")
    assert "the training data have changed (4 samples as before, different content)" in misuse(*options)


@pytest.mark.parametrize("kind", ["chain", "maxent"])
def test_one_command_line_can_be_repeated(done, sample, tmp_path, kind):
    """A training in three parts, the third of which has nothing left to do."""
    checkpoint, trace = tmp_path / "c", tmp_path / "t"
    options = [sample.train, "--preset", "pos", "--l1", "1", "--dev", sample.test, "--model-type", kind]
    done("train", *options, *LIMIT, "9", "-m", tmp_path / "whole", "--trace", tmp_path / "t.whole", "-q")
    options += ["--checkpoint", checkpoint, "--resume", "-m", tmp_path / "m", "--trace", trace]
    said = [done("train", *options, *LIMIT, limit).stderr for limit in ("4", "9", "9")]
    assert f"{checkpoint}: no checkpoint yet; starting from the beginning\n" in said[0]
    assert re.search(rf"{checkpoint}: continuing from iteration 4, after \d+\.\d s\n", said[1])
    assert f"{checkpoint}: continuing from iteration 9, " in said[2]
    assert all(f"{checkpoint}: checkpoint of the finished training; delete it, or continue" in each for each in said)
    assert weights(tmp_path / "m") == weights(tmp_path / "whole")
    records = Trace.read(trace)
    assert records[4].dev  # the last one of the first part, which was scored
    assert [each.iteration for each in records] == list(range(10))
    assert [each.objective for each in records] == [each.objective for each in Trace.read(tmp_path / "t.whole")]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "m", "t", "t.whole", "whole"]
    said = done("train", *options[:-4], "-m", tmp_path / "m", "-q", *LIMIT, "9").stderr
    assert said == ""


def test_misuse_is_named(misuse, done, sample, tmp_path):
    checkpoint, model = tmp_path / "c", tmp_path / "m"
    options = ["train", sample.train, "--preset", "pos", "-m", model, "-q"]
    assert misuse(*options, "--resume") == "--resume needs a checkpoint to continue from; add --checkpoint FILE"
    message = misuse(*options, "--checkpoint-minutes", "5")
    assert message == "--checkpoint-minutes needs a checkpoint; add --checkpoint FILE"
    assert misuse(*options, "--checkpoint", checkpoint, "--checkpoint-minutes", "-1").startswith(
        "minutes=-1.0 is out of"
    )
    assert "would overwrite the file that --model writes" in misuse(*options, "--checkpoint", model)
    assert "would overwrite the file that TRAIN reads" in misuse(*options, "--checkpoint", sample.train)
    assert "its folder does not exist" in misuse(*options, "--checkpoint", tmp_path / "no" / "c")
    message = misuse(*options, "--checkpoint", sample.model)
    assert message == f"{sample.model}: this file is not a checkpoint; choose another name, or delete it"
    done(*options, "--checkpoint", checkpoint, "--max-iterations", "3")
    options += ["--checkpoint", checkpoint, "--resume"]
    message = misuse(*options, "--l1", "2", "--solver", "sgd_l1", "-p", "passes=3", "--all-states")
    named = "all_states changed from False to True; l1 changed from 0 to 2; l2 changed from 1 to 0; solver changed from"
    assert message.startswith(f"{checkpoint}: cannot resume: {named} auto to sgd_l1; use the data and")
    other = [sample.test if each == sample.train else each for each in options]
    message = misuse(*other)
    assert (
        f"{checkpoint}: cannot resume: the training data have changed (120 sentences in the checkpoint, 40 now);"
        in message
    )
    whole = checkpoint.read_bytes()
    for content in (whole[:-7], whole[:99] + b"?" + whole[100:], b"", sample.model.read_bytes()):
        checkpoint.write_bytes(content)
        message = misuse(*options)
        assert re.match(rf"{checkpoint}: (the checkpoint is damaged or truncated|not a checkpoint); ", message)
        assert message.endswith("give the name of a checkpoint, or delete the file to start again")


@posix
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interrupted_training_says_how_to_go_on_and_does(done, sample, tmp_path, name):
    """Ctrl-C on the way, in a pass that changes the state that it is given."""
    checkpoint, model, trace = tmp_path / "c", tmp_path / "m", tmp_path / "t"
    options = [sample.train, "--preset", "pos", "--solver", "sag", "-m", model, "--trace", trace]
    options += ["--checkpoint", checkpoint, "--resume"]
    with Interruptible(*options, *LIMIT, "100000") as process:
        until(lambda: trace.exists() and trace.read_text().count("\n") >= 3)
        process.send_signal(getattr(signal, name))
        _, said = process.communicate(timeout=patience(20))
    assert process.returncode == 1
    at = checkpoint_file.read(str(checkpoint))["state"].iteration
    way_on = f"{checkpoint} has the checkpoint of iteration {at}; repeat the command with --resume to continue"
    assert said.endswith(f"loglinear: interrupted; wrote {model} with the weights reached so far; {way_on}\n")
    assert at == Trace.read(trace)[-1].iteration
    limit = str(at + 2)
    done("train", *options, *LIMIT, limit, "-q")
    done("train", *options[:5], *LIMIT, limit, "-q", "-m", tmp_path / "whole", "--trace", tmp_path / "t.whole")
    assert weights(model) == weights(tmp_path / "whole")
    assert same_course(trace, tmp_path / "t.whole")


@posix
def test_a_training_that_is_killed_leaves_a_whole_checkpoint(done, sample, tmp_path):
    checkpoint, model, trace = tmp_path / "c", tmp_path / "m", tmp_path / "t"
    options = [sample.train, "--preset", "pos", "--l1", "0.1", "-m", model, "--trace", trace]
    options += ["--checkpoint", checkpoint, "--checkpoint-minutes", "0", "--resume"]
    reached = 0
    for more in (3, 7):
        with Interruptible(*options, *LIMIT, "100000") as process:
            until(lambda at=reached + more: trace.exists() and trace.read_text().count("\n") > at)
            process.kill()
            process.wait()
        assert process.returncode == -signal.SIGKILL
        assert checkpoint_file.read(str(checkpoint))["state"].iteration > reached
        reached = checkpoint_file.read(str(checkpoint))["state"].iteration
    limit = str(reached + 5)
    done("train", *options, *LIMIT, limit, "-q")
    done("train", *options[:5], *LIMIT, limit, "-q", "-m", tmp_path / "whole", "--trace", tmp_path / "t.whole")
    assert weights(model) == weights(tmp_path / "whole")
    assert same_course(trace, tmp_path / "t.whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "m", "t", "t.whole", "whole"]
