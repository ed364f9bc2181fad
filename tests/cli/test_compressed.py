"""Texts that commands write are compressed if the name of the file says so, as the readers of texts expect."""

from __future__ import annotations

import itertools
import lzma
import os
import zlib

import pytest

from examples import by_day
from oracles.packing import UNPACKED

TOKENS = "the DT D\ndog NN N\n\nit PRP N\nbarks VBZ V\n\nthe DT D\ncat NN N\n"
MAILS = "ham\thello you\nspam\tbuy now\nham\tsee you\nspam\tbuy pills\n"
TABLE = "a,b,c\n" + "x,y,x\ny,y,\nx,x,x\ny,x,y\n" * 4


@pytest.fixture(scope="module")
def folder(done, tmp_path_factory):
    folder = tmp_path_factory.mktemp("compressed")
    for name, text in (("tokens", TOKENS), ("mails.tsv", MAILS), ("table.csv", TABLE)):
        (folder / name).write_text(text)
    here = os.getcwd()
    os.chdir(folder)
    try:
        done("train", "tokens", "--preset", "pos", "-m", "crf", "-q")
        done("train", "mails.tsv", "--model-type", "maxent", "--format", "text", "-m", "mails", "-q")
        done("encode", "tokens", "--preset", "pos", "-o", "corpus", "-q")
        done("structure", "table.csv", "--l1", "0.1", "-m", "network", "-o", "edges.csv", "-q")
        os.mkdir("letters")
        (folder / "letters" / "one").write_text("buy now")
    finally:
        os.chdir(here)
    return folder


COMMANDS = [
    ("tag crf tokens --separator blank", "-o"),
    ("tag crf corpus", "-o"),
    ("tag crf tokens --min-probability 0.9 -o rest-of", "--rest"),
    ("tag mails mails.tsv", "-o"),
    ("tag mails letters", "-o"),
    ("tag network table.csv", "-o"),
    ("evaluate crf tokens", "-o"),
    ("evaluate crf corpus", "-o"),
    ("explain crf tokens", "-o"),
    ("explain crf tokens --html", "-o"),
    ("select tokens --preset pos --size 5 -q", "-o"),
    ("structure table.csv --l1 0.1 -q", "-o"),
    ("rank crf tokens -q", "-o"),
    ("audit tokens --preset pos -q", "-o"),
    ("report crf tokens", "-o"),
]
EXTENSIONS = [*UNPACKED]


# By day one extension for each command.
@pytest.mark.parametrize(
    ("command", "extension"),
    by_day(
        itertools.product(COMMANDS, EXTENSIONS),
        lambda case: COMMANDS.index(case[0]) % len(EXTENSIONS) == EXTENSIONS.index(case[1]),
    ),
)
def test_texts_are_compressed_by_the_names_of_their_files(done, folder, monkeypatch, command, extension):
    words, flag = command
    pytest.importorskip("jinja2")
    monkeypatch.chdir(folder)
    done(*words.split(), flag, "plain.out")
    done(*words.split(), flag, f"packed.out{extension}")
    plain = (folder / "plain.out").read_bytes()
    assert plain
    unpacked = UNPACKED[extension]((folder / f"packed.out{extension}").read_bytes())
    if not words.startswith("report"):  # which names the date
        assert unpacked == plain
    assert unpacked.splitlines()[:1] == plain.splitlines()[:1]


def test_what_one_command_compresses_another_reads(done, folder, monkeypatch):
    monkeypatch.chdir(folder)
    for extension in ("", *UNPACKED):
        done("tag", "crf", "tokens", "-o", f"tagged{extension}")
    scores = [done("evaluate", "crf", f"tagged{extension}", "--json").stdout for extension in ("", *UNPACKED)]
    assert len({*scores}) == 1


@pytest.mark.parametrize("name", ["crf.crfsuite", "crf.wapiti"])
@pytest.mark.parametrize(
    "words",
    [
        "train tokens --preset pos -m",
        "select tokens --preset pos --size 5 -m",
        "structure table.csv -m",
        "calibrate crf tokens -o",
    ],
)
def test_models_in_our_format_have_no_name_of_another_programs_models(misuse, folder, monkeypatch, words, name):
    monkeypatch.chdir(folder)
    said = misuse(*words.split(), name)
    assert f"{name}: the model will have loglinear's format; write crf.loglinear, then run `loglinear convert" in said
    assert not os.path.exists(name)


def test_a_file_that_asks_for_too_much_memory_is_refused_by_name(misuse, tmp_path):
    packed = bytearray(lzma.compress(TOKENS.encode()))
    end = 12 + 4 * packed[12]  # the header of the first block
    packed[16] = 40  # a dictionary of 4 GiB
    packed[end : end + 4] = zlib.crc32(packed[12:end]).to_bytes(4, "little")
    path = tmp_path / "tokens.xz"
    path.write_bytes(packed)
    message = misuse("train", path, "--preset", "pos", "-m", tmp_path / "m")
    assert f"{path}: decompressing needs more than 128 MiB of memory; compress the text again" in message
