"""What a file is gets looked at: every reader and loader names files of other programs by their first bytes."""

from __future__ import annotations

import io
import lzma
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from loglinear import ChainCRF, Corpus, MaxEnt
from loglinear.data.lines import arriving_lines, read_lines
from loglinear.data.table import read_table
from loglinear.errors import DataError, LogLinearError
from loglinear.models.files import checkpoint
from loglinear.trace import Trace
from oracles.packing import PACKED


def zipped(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, "text")
    return file.getvalue()


def saved(save, *arrays) -> bytes:
    file = io.BytesIO()
    save(file, *arrays)
    return file.getvalue()


TEXT = "the DT D\ndog NN N\n"
# First bytes of files by what messages call them, with the remedy.
KINDS = {
    "xlsx": (zipped("[Content_Types].xml", "xl/workbook.xml"), "an Excel workbook", "save it as CSV"),
    "docx": (zipped("[Content_Types].xml", "word/document.xml"), "an Office document", "save it as CSV"),
    "zip": (zipped("a.txt"), "a ZIP archive", "unpack it first: unzip "),
    "empty zip": (zipped(), "an empty ZIP archive", "unpack the right one"),
    "parquet": (b"PAR1\x15\x04", "a Parquet file", "save it as text"),
    "pickle": (pickle.dumps({"a": ["b"]}), "a Python pickle", "pickles are never loaded"),
    "old pickle": (pickle.dumps({"a": ["b"]}, 0), "a Python pickle", "pickles are never loaded"),
    "binary pickle": (pickle.dumps({"a": ["b"]}, 1), "a Python pickle", "pickles are never loaded"),
    "npy": (saved(np.save, np.ones(3)), "a NumPy array", "save it as text with numpy"),
    "npz": (saved(np.savez, np.ones(3)), "a NumPy archive", "save its arrays as text with numpy"),
    "utf-16": (TEXT.encode("utf-16"), "text in UTF-16", "convert it: iconv -f utf-16 "),
    "utf-16-le": (TEXT.encode("utf-16-le"), "text in UTF-16", "convert it: iconv -f utf-16le"),
    "utf-16-be": (TEXT.encode("utf-16-be"), "text in UTF-16", "convert it: iconv -f utf-16be"),
    "Chinese": ("中文 A\n字 B\n".encode("utf-16-le"), "text in UTF-16", "convert it: iconv -f utf-16le"),
    "utf-32": (TEXT.encode("utf-32"), "text in UTF-32", "convert it: iconv -f utf-32 "),
    "utf-32-be": (TEXT.encode("utf-32-be"), "text in UTF-32", "convert it: iconv -f utf-32be"),
    "lzma": (lzma.compress(b"a", format=lzma.FORMAT_ALONE), "lzma-compressed", "decompress it first: unlzma "),
    "pdf": (b"%PDF-1.7\n", "a PDF file", "save its text"),
}
READERS = {
    "columns": lambda path: Corpus.read(path, template="pos"),
    "conllu": lambda path: Corpus.read(path, format="conllu", template="pos"),
    "crfsuite": lambda path: Corpus.read(path, format="crfsuite"),
    "jsonl": lambda path: Corpus.read(path, format="jsonl", template="pos"),
    "svmlight": lambda path: Corpus.read(path, format="svmlight"),
    "lines": lambda path: [*read_lines(path)],
    "arriving lines": lambda path: [*arriving_lines(path)],
    "table": read_table,
    "trace": Trace.read,
}
# What these read is named as well, but their remedy is another file, and they say what they expected.
LOADERS = {
    "a loglinear model": ChainCRF.load,
    "a loglinear model, of a classifier": MaxEnt.load,
    "a checkpoint": checkpoint.read,
    "an encoded corpus": Corpus.open,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reader", READERS)
def test_readers_name_files_of_other_programs_and_the_remedy(reader, kind, tmp_path):
    content, what, remedy = KINDS[kind]
    path = tmp_path / "data.txt"
    path.write_bytes(content)
    with pytest.raises(DataError) as raised:
        READERS[reader](str(path))
    assert str(raised.value).startswith(f"{path}: the file is {what}; {remedy}")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("expected", LOADERS)
def test_loaders_name_files_of_other_programs_and_what_they_expected(expected, kind, tmp_path):
    content, what, _ = KINDS[kind]
    path = tmp_path / "model"
    path.write_bytes(content)
    with pytest.raises(LogLinearError) as raised:
        LOADERS[expected](str(path))
    wanted = expected.partition(" ")[2].partition(",")[0]
    assert str(raised.value).startswith(f"{path}: the file is {what}, not a {wanted}; ")
    if what == "a Python pickle":
        assert "pickles are never loaded" in str(raised.value)


@pytest.mark.parametrize("extension", PACKED)
def test_loaders_name_compression_and_the_command_that_undoes_it(extension, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(PACKED[extension](b"text"))
    for load in LOADERS.values():
        with pytest.raises(
            LogLinearError, match=r"model: the file is \w+-compressed, not a .*; decompress it first: \w+ "
        ):
            load(str(path))


COMMANDS = {
    "train": "train {} --preset pos -m m",
    "train on text": "train {} --format text --model-type maxent -m m",
    "train on samples": "train {} --format svmlight --model-type maxent -m m",
    "dev": "train tokens --preset pos -m m -q --dev {}",
    "template": "train tokens -m m --template {}",
    "start": "train tokens -m m --start {}",
    "prior": "train tokens --preset pos -m m --prior {}",
    "resume": "train tokens --preset pos -m m --checkpoint {} --resume",
    "tag": "tag crf {}",
    "tag texts": "tag mails {}",
    "evaluate": "evaluate crf {}",
    "explain": "explain crf {}",
    "calibrate": "calibrate crf {} -o m",
    "select": "select {} --preset pos",
    "structure": "structure {}",
    "encode": "encode {} --preset pos -o m",
    "audit": "audit {} --preset pos",
    "audit --apply": "audit tokens --apply {} -o m",
    "rank": "rank crf {}",
    "rank texts": "rank mails {}",
    "report": "report crf {} -o m.html",
    "report --trace": "report crf tokens --trace {} -o m.html",
    "model": "tag {} tokens",
    "inspect": "inspect {}",
    "convert": "convert {} --to crf++ -o m",
}
# Commands that read the file more than once, or for which - is the name of a file.
NOT_FROM_STDIN = {"template", "start", "prior", "resume", "audit", "audit --apply", "report", "report --trace"}
NOT_FROM_STDIN |= {"model", "inspect", "convert"}


@pytest.fixture(scope="module")
def folder(done, tmp_path_factory):
    folder = tmp_path_factory.mktemp("kinds")
    (folder / "tokens").write_text("the D\ndog N\n\nit P\nbarks V\n\n")
    (folder / "mails.tsv").write_text("ham\thello you\nspam\tbuy now\n")
    tokens, mails = folder / "tokens", folder / "mails.tsv"
    done("train", tokens, "--preset", "pos", "-m", folder / "crf", "-q")
    done("train", mails, "--model-type", "maxent", "--format", "text", "-m", folder / "mails", "-q")
    return folder


@pytest.fixture
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.mark.parametrize("kind", ["pickle", "utf-16-le"])
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_name_files_of_other_programs(misuse, inside, command, kind):
    pytest.importorskip("jinja2")
    content, what, _ = KINDS[kind]
    Path("data").write_bytes(content)
    assert f"data: the file is {what}" in misuse(*COMMANDS[command].format("data").split())
    if command not in NOT_FROM_STDIN:
        said = misuse(*COMMANDS[command].format("-").split(), input=content)
        assert f"<stdin>: the file is {what}" in said


def test_a_compressed_template_and_trace_are_read(done, inside, tmp_path):
    (tmp_path / "template").write_text("U:%x[0,0]\nB\n")
    done("train", "tokens", "--template", tmp_path / "template", "-m", "m", "--trace", tmp_path / "trace")
    for extension, pack in PACKED.items():
        for name in ("template", "trace"):
            (tmp_path / f"{name}{extension}").write_bytes(pack((tmp_path / name).read_bytes()))
        assert Trace.read(tmp_path / f"trace{extension}") == Trace.read(tmp_path / "trace")
        done("train", "tokens", "--template", tmp_path / f"template{extension}", "-m", "m2")
