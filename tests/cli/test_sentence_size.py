"""Sentences that are too large are refused before they fill the memory: a small compressed file can contain one."""

import bz2
import gzip
import lzma

import pytest

from loglinear import Corpus
from loglinear.cli.main import command_parser
from loglinear.data.sentence_size import MAX_SENTENCE, set_max_sentence
from loglinear.errors import DataError, OptionError
from oracles.command_line import run_command
from oracles.packing import PACKED

MIB = 1 << 20
WORDS = "U:%x[0,0]\nB\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model, and a file with a sentence of 2 MiB."""
    path = tmp_path_factory.mktemp("sizes")
    (path / "template").write_text(WORDS)
    (path / "few").write_text("a A\n\nb B\n")
    done = run_command("train", "few", "--template", "template", "-m", "model", "-q", cwd=path)
    assert done.returncode == 0, done.stderr
    (path / "long.xz").write_bytes(lzma.compress(b"a A\n\n" + b"a A\nb B\n" * (MIB // 4)))
    return path


COMMANDS = {
    "train": ["train", "long.xz", "--template", "template", "-m", "other", "-q"],
    "tag": ["tag", "long.xz", "-m", "model", "-o", "tagged"],
    "evaluate": ["evaluate", "long.xz", "-m", "model"],
    "encode": ["encode", "long.xz", "--template", "template", "-o", "corpus", "-q"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_name_file_line_limit_and_option(folder, name):
    ended = run_command(*COMMANDS[name], "--max-sentence", "1", cwd=folder)
    assert (ended.returncode, ended.stdout) == (2, "")
    message = "long.xz, line 3: the sentence that begins here has more than 1 MiB of text"
    assert message in ended.stderr
    assert "raise --max-sentence" in ended.stderr


def test_text_from_a_pipe_is_labelled_up_to_the_sentence(folder):
    text = lzma.decompress((folder / "long.xz").read_bytes()).decode()
    ended = run_command("tag", "-m", "model", "-", "--max-sentence", "1", cwd=folder, input=text)
    assert ended.returncode == 2
    assert ended.stdout.startswith("a A")
    assert "<stdin>, line 3: the sentence that begins here has more than 1 MiB" in ended.stderr


def test_a_sentence_of_the_size_of_the_limit_is_read(folder):
    ended = run_command(*COMMANDS["tag"], "--max-sentence", "2", cwd=folder)
    assert ended.returncode == 0, ended.stderr
    assert (folder / "tagged").read_bytes().count(b"\n") > MIB // 2


@pytest.mark.filterwarnings("ignore::loglinear.errors.DataWarning")  # of so long a sentence
def test_the_limit_is_of_a_sentence_not_of_the_file(folder):
    path = folder / "many.gz"
    path.write_bytes(gzip.compress((b"a A\nb B\n" * 1_000 + b"\n") * 150))
    set_max_sentence(1)
    try:
        assert len(Corpus.read(path, template=WORDS)) == 150
        with pytest.raises(DataError, match=r"long.xz, line 3: .* more than 1 MiB"):
            Corpus.read(folder / "long.xz", template=WORDS)
        for extension, pack in PACKED.items():
            path = folder / f"large{extension}"
            path.write_bytes(pack(b"a A\n\n" + b"a A\nb B\n" * (MIB // 8 + 1)))
            assert path.stat().st_size < MIB // 100
            with pytest.raises(DataError, match=rf"large{extension}, line 3: .* more than 1 MiB"):
                Corpus.read(path, template=WORDS)
    finally:
        set_max_sentence()
    assert len(Corpus.read(path, template=WORDS)) == 2


@pytest.mark.slow
@pytest.mark.parametrize("stream", [[], ["--stream"]], ids=["whole", "stream"])
def test_a_small_file_of_many_short_sentences_is_refused(folder, stream):
    (folder / "lines.bz2").write_bytes(bz2.compress(b"a\n\n" * (10 * MIB)) * 10)
    ended = run_command("tag", "-m", "model", "lines.bz2", *stream, cwd=folder)
    assert ended.returncode == 2
    assert "lines.bz2: the text is more than 200 times as long as the compressed file" in ended.stderr


def test_sizes_out_of_range_are_refused(folder):
    for size in (0, -1, 1.5, True, 2**41):
        with pytest.raises(OptionError, match="max_sentence"):
            set_max_sentence(size)
    ended = run_command(*COMMANDS["tag"], "--max-sentence", "0", cwd=folder)
    assert (ended.returncode, "--max-sentence 0 is not a whole number of at least 1" in ended.stderr) == (2, True)


def test_the_help_says_the_default():
    flag = command_parser("tag")[1]._option_string_actions["--max-sentence"]
    assert f"(default: {MAX_SENTENCE})" in flag.help
