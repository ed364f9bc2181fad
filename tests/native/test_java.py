"""The Java library: programs for the JVM label as Python does, and GROBID's calls of Wapiti give Wapiti's labels."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from loglinear import ChainCRF
from oracles.patience import patience

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "java.md").read_text(encoding="utf-8")
GROBID = Path(os.environ.get("LOGLINEAR_DATA", ".")) / "grobid"
# Version from which Java has the foreign-function interface.
LEAST_JAVA = 22
# SHA-256 of what `wapiti label` 1.5.0 writes for GROBID's training data of each model without their labels.
WAPITI = {
    "date": "9f148d0c999e58db02800f514986a077c0b2118418d65478c5d863d19a2a34db",
    "name-header": "cfb86cb3226876ea85413e1654716f6ebad85af7152e9059704867f2a3bf6423",
    "affiliation-address": "67375d084f91525cc28d28bee3fa316bc239c614418c791710eaeccd52220617",
}

pytestmark = [
    pytest.mark.slow,  # builds the C library; each program starts a JVM
    pytest.mark.skipif(sys.platform != "linux", reason="names files of the C library as Linux does"),
]


def java_home() -> Path:
    """The folder of the newest JDK on the machine; the test is skipped if it is too old."""
    homes = [Path(home) for home in (os.environ.get("JAVA_HOME"),) if home]
    homes += sorted(Path("/usr/lib/jvm").glob("*"))
    if (javac := shutil.which("javac")) is not None:
        homes.append(Path(javac).resolve().parents[1])
    versions = {}
    for home in homes:
        if (home / "bin" / "javac").exists():
            said = subprocess.run([home / "bin" / "javac", "-version"], capture_output=True, text=True, check=True)
            versions[int(re.search(r"\d+", said.stdout + said.stderr)[0])] = home
    if not versions or max(versions) < LEAST_JAVA:
        pytest.skip(f"needs a JDK of version {LEAST_JAVA} or later")
    return versions[max(versions)]


@pytest.fixture(scope="module")
def java(library, tmp_path_factory):
    """A function that runs a Java program with the jar, and returns what it prints."""
    home, jar = java_home(), tmp_path_factory.mktemp("java") / "loglinear.jar"
    environment = {**os.environ, "JAVA_HOME": str(home)}
    subprocess.run([ROOT / "java" / "build", jar], env=environment, check=True, timeout=patience(120))

    def run(source, *arguments, at=f"-Dloglinear.library={library / 'libloglinear.so'}", code=0):
        command = [home / "bin" / "java", "--enable-native-access=ALL-UNNAMED", at, "-cp", jar, source, *arguments]
        done = subprocess.run(
            [*map(str, command)], capture_output=True, text=True, encoding="utf-8", timeout=patience(120), check=False
        )
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    return run


@pytest.mark.skipif(not GROBID.is_dir(), reason="needs GROBID's models, in LOGLINEAR_DATA")
@pytest.mark.parametrize("name", WAPITI)
def test_grobids_calls_give_the_text_that_wapiti_gives(java, library, tmp_path, name):
    lines = (GROBID / f"{name}.train").read_text(encoding="utf-8").splitlines()
    bare = [re.sub(r"[ \t][^ \t]+$", "", line) for line in lines]
    (tmp_path / "data").write_text("\n".join(bare) + "\n", encoding="utf-8")
    program, where = ROOT / "tests" / "native" / "java" / "GrobidCalls.java", f"-Djava.library.path={library}"
    labelled = java(program, GROBID / f"{name}.wapiti", tmp_path / "data", "3", at=where)
    assert hashlib.sha256(labelled.encode()).hexdigest() == WAPITI[name]


def test_misuse_is_an_exception_and_models_are_freed(java, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ChainCRF(l2=0.5).fit([[["w=a"], ["w=b"]]], [["A", "B"]]).save("model")
    ChainCRF(template="U:%x[0,0]/%x[0,1]\nB\n").fit([[["a", "b"], ["c", "d"]]], [["A", "B"]]).save("columns")
    Path("text").write_text("no model")
    said = dict(
        line.split(": ", 1)
        for line in java(ROOT / "tests" / "native" / "java" / "Misuse.java", "model", "columns").splitlines()
        if ": " in line
    )
    assert re.match(r"IO .*missing\.loglinear", said["missing"])
    assert re.match("MODEL text", said["no model"])
    assert re.match("DATA item 0: attribute 'w' has the value inf", said["infinite"])
    assert re.match("IllegalArgumentException .*NUL", said["NUL"])
    assert re.match("DATA .*line 3", said["few columns"])
    assert (said["empty"], said["bare item"], said["no text"]) == ("[]", "1", "<>")
    assert re.match("IllegalStateException", said["closed"])
    assert "label -m FILE" in said["arguments"]
    assert "label -m FILE" in said["option"]
    assert "loglinear train" in said["training"]
    assert len(said) == 12


def test_an_older_jdk_is_refused_with_the_remedy(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "javac").write_text("#!/bin/sh\necho javac 17.0.15\n")
    (tmp_path / "bin" / "javac").chmod(0o755)
    environment = {**os.environ, "JAVA_HOME": str(tmp_path)}
    done = subprocess.run([ROOT / "java" / "build"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "found a JDK of version 17, which must be 22 or later; set JAVA_HOME" in done.stderr


def test_a_missing_library_is_named_with_the_remedy(java, tmp_path):
    missing = tmp_path / "libnone.so"
    said = java(ROOT / "tests" / "native" / "java" / "Misuse.java", "x", at=f"-Dloglinear.library={missing}", code=1)
    assert f"the C library {missing} cannot be opened" in said
    assert "-Dloglinear.library=" in said


def test_the_program_of_the_page_prints_what_the_page_says(java, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    python, source, output = (
        re.search(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)[1] for kind in ("python", "java", "text")
    )
    exec(compile(python, "java.md", "exec"), {})
    Path("Label.java").write_text(source)
    assert java("Label.java") == output


@pytest.mark.skipif(shutil.which("R") is None, reason="needs R")
def test_the_wrapper_of_the_page_labels_from_r(library, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    python, source, program = (re.search(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)[1] for kind in ("python", "c", "r"))
    exec(compile(python, "java.md", "exec"), {})
    Path("label.c").write_text(source)
    flags = {"PKG_CPPFLAGS": f"-I{ROOT / 'native' / 'include'}"}
    flags["PKG_LIBS"] = f"-L{library} -lloglinear -Wl,-rpath,{library}"
    subprocess.run(["R", "CMD", "SHLIB", "label.c"], env={**os.environ, **flags}, check=True, capture_output=True)
    done = subprocess.run(["Rscript", "-e", program], capture_output=True, text=True, check=True)
    assert done.stdout == "the\tDET\ncat\tNOUN\nbarks\tVERB\n\n"
