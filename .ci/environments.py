"""Test an installed loglinear in an environment with few packages; `.ci/environments` makes the environments.

    python .ci/environments.py none      # without dependencies: tagging
    python .ci/environments.py numpy     # NumPy alone: chains
    python .ci/environments.py oldest    # the oldest versions that are allowed, or the newest: all estimators
    python .ci/environments.py --bounds WHEEL    # print the lower bounds of a wheel as exact versions

It needs no packages of the tests.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import warnings
import zipfile
from importlib.util import find_spec
from pathlib import Path

X = [[["word=The", "cap"], ["word=dog"], ["word=barks"]], [["word=Dogs", "cap"], ["word=bark"]]] * 5
Y = [["DET", "NOUN", "VERB"], ["NOUN", "VERB"]] * 5
COLUMNS = "The DET\ndog NOUN\nbarks VERB\n\nDogs NOUN\nbark VERB\n\n" * 5


def bounds(wheel: str) -> str:
    """Return the lower bounds of the dependencies and of the extra sklearn as constraints for pip."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = archive.read(name).decode()
    wanted = re.findall(r"^Requires-Dist: ([\w-]+)>=([\w.]+)(?: ; extra == 'sklearn')?$", metadata, re.MULTILINE)
    return "".join(f"{package}=={version}\n" for package, version in wanted)


def command(*arguments: object, code: int = 0) -> str:
    """Run the command line; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "loglinear", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == code, (arguments, done.stdout, done.stderr)
    return done.stdout if code == 0 else done.stderr


def tag_without_dependencies(folder: Path) -> None:
    """Tag with another program's model, and try commands that need more."""
    assert not any(map(find_spec, ("numpy", "scipy", "sklearn")))
    from loglinear.compat import pycrfsuite

    assert "usage: loglinear" in command("--help", code=0) + command("tag", "--help")
    (folder / "data").write_text(COLUMNS, encoding="utf-8")
    for arguments in (["train", "data", "--preset", "pos", "-m", "m"], ["structure", "data"], ["demo"]):
        said = command(*arguments, code=2)
        assert said == f"loglinear: error: `loglinear {arguments[0]}` needs NumPy; install it: pip install numpy\n", (
            said
        )
    assert "instruction set" in command("doctor")
    model = Path(os.environ.get("LOGLINEAR_DATA", ".")) / "usaddress" / "usaddr.crfsuite"
    if not model.exists():
        print(f"{model} is missing: no model to tag with")
        return
    peer = pycrfsuite.Tagger()
    peer.open(str(model))
    street = [{"digits": "all_digits"}, {"length": "w:4"}, {"street_name": True}]
    labels = peer.tag(street)
    assert len(labels) == 3, labels
    assert set(labels) <= set(peer.labels())

    from loglinear import ChainCRF, Tagger

    assert Tagger(model).tag(street) == labels
    assert Tagger(model).tag_batch([street, street]) == [labels, labels]
    assert ChainCRF.load(model).predict([street]) == [labels]
    (folder / "items").write_text("\tdigits:all_digits\n\tlength=w\\:4\n\n", encoding="utf-8")
    assert command("tag", "--model", model, folder / "items", "--format", "crfsuite").strip()


def chains_with_numpy(folder: Path) -> None:
    """Train, save, open and score chains."""
    from loglinear import ChainCRF, Tagger, evaluate

    crf = ChainCRF(l1=0.1, l2=0.01).fit(X, Y)
    crf.save(folder / "chain")
    assert Tagger(folder / "chain").tag_batch(X) == Y
    assert ChainCRF.load(folder / "chain").predict(X) == Y
    assert evaluate(Y, crf.predict(X)).accuracy == 1.0
    data = folder / "data"
    data.write_text(COLUMNS, encoding="utf-8")
    command("train", data, "--preset", "pos", "--l1", "0.1", "-m", folder / "m", "--dev", data)
    assert "accuracy" in command("evaluate", "-m", folder / "m", data)
    assert command("inspect", folder / "m")


def numpy_alone(folder: Path) -> None:
    """Train chains, and try what needs an extra."""
    assert not any(map(find_spec, ("scipy", "sklearn", "rich")))
    chains_with_numpy(folder)
    assert "unseen words" in command("demo", "-m", folder / "demo")
    import loglinear

    for name in ("MaxEnt", "GraphCRF", "PairwiseMRF"):
        reason = "nothing is missing"
        try:
            getattr(loglinear, name)
        except loglinear.MissingPackageError as error:
            reason = str(error)
        assert "pip install 'loglinear[sklearn]'" in reason, (name, reason)
    said = command("report", folder / "m", "--data", folder / "data", "-o", folder / "page.html", code=2)
    assert "pip install 'loglinear[report]'" in said, said


def everything(folder: Path) -> None:
    """Train each kind of model, with weights of classes, and run scikit-learn's checks of classifiers."""
    warnings.simplefilter("ignore")
    chains_with_numpy(folder)
    import numpy as np
    from sklearn.model_selection import GridSearchCV
    from sklearn.utils.estimator_checks import check_estimator

    from loglinear import ChainCRF, MaxEnt, PairwiseMRF
    from loglinear.datasets import make_network

    x = np.random.default_rng(0).normal(size=(200, 5))
    assert MaxEnt(class_weight="balanced", l2=0.1).fit(x, x[:, :3].argmax(1)).score(x, x[:, :3].argmax(1)) > 0.9
    check_estimator(MaxEnt(l2=0.1))
    GridSearchCV(ChainCRF(), {"l1": [0.1, 1.0]}, cv=2).fit(X, Y)
    assert len(PairwiseMRF(l1=0.05).fit(make_network(n_variables=5, n_samples=300).X).edges_)


def main() -> None:
    """Test the environment that is named."""
    if sys.argv[1] == "--bounds":
        print(bounds(sys.argv[2]), end="")
        return
    tests = {"none": tag_without_dependencies, "numpy": numpy_alone, "oldest": everything, "newest": everything}
    with tempfile.TemporaryDirectory() as folder:
        tests[sys.argv[1]](Path(folder))
    print(f"{sys.argv[1]}: works on Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
