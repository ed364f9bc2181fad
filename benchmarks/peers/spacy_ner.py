"""Entities in a spaCy pipeline: `loglinear_ner` beside spaCy's own `ner`, on CoNLL-2002 Dutch.

    export LOGLINEAR_DATA=/path/to/data OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
    python benchmarks/peers/spacy_ner.py --folder FOLDER [--minutes 5] [--json FILE]

spaCy's `ner` has the default model of a blank pipeline without word vectors (a convolutional tok2vec for CPUs), the
default optimizer, batches of 100 to 1,000 words and a dropout of 0.1; it is scored on ned.testa every 200 batches, and
the best model is kept. Training ends after some processor minutes, on one thread. The pipelines are kept in FOLDER, and
trained only if they are not there yet. Both label the same docs, made beforehand, whose tokens are those of the file.
Speeds are medians of alternated runs, in processor seconds on one thread: also of `Tagger.tag_batch` on the lists of
words.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.training.batchers import minibatch_by_words
from spacy.util import compounding, fix_random_seed

import loglinear.spacy
import spacy
from loglinear import Tagger
from loglinear.metrics import chunks

REPEATS = 5
# Name -> config of `loglinear_ner`.
CONFIGS: dict[str, dict[str, Any]] = {"l2 = 1": {}, "l1 = 0.3, l2 = 0.1": {"l1": 0.3, "l2": 0.1}}

Sentences = list[tuple[list[str], list[str]]]
# A pipeline, and notes on its training.
Trained = tuple[spacy.Language, dict[str, Any]]


def read(name: str) -> Sentences:
    """Return words and labels of the sentences of a file."""
    path = Path(os.environ["LOGLINEAR_DATA"]) / "conll2002-dutch" / name
    sentences: Sentences = []
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        rows = [line.split() for line in block.splitlines() if line and not line.startswith("-DOCSTART-")]
        if rows:
            sentences.append(([row[0] for row in rows], [row[-1] for row in rows]))
    return sentences


def examples(nlp: spacy.Language, sentences: Sentences) -> list[Example]:
    """Return examples with the tokens of the file."""
    found = []
    for words, labels in sentences:
        reference = Doc(nlp.vocab, words=words)
        reference.set_ents([Span(reference, start, end, label=kind) for kind, start, end in chunks(labels, "IOB")])
        found.append(Example(Doc(nlp.vocab, words=words), reference))
    return found


def restored(state: bytes) -> spacy.Language:
    """Return a pipeline with spaCy's `ner` from its bytes."""
    nlp = spacy.blank("nl")
    nlp.add_pipe("ner")
    return nlp.from_bytes(state)


def train_spacy(train: Sentences, dev: Sentences, minutes: float) -> Trained:
    """Return the best pipeline that spaCy's `ner` reaches, and how it was reached."""
    fix_random_seed(0)
    rng = random.Random(0)
    nlp = spacy.blank("nl")
    nlp.add_pipe("ner")
    given, held_out = examples(nlp, train), examples(nlp, dev)
    optimizer = nlp.initialize(lambda: given)
    sizes = compounding(100, 1000, 1.001)
    best, state, step, epoch, begin = -1.0, b"", 0, 0, time.process_time()
    spent = reached = 0.0
    while spent < 60 * minutes:
        rng.shuffle(given)
        epoch += 1
        for batch in minibatch_by_words(given, size=sizes):
            nlp.update(batch, drop=0.1, sgd=optimizer)
            step += 1
            spent = time.process_time() - begin
            if step % 200 == 0 or spent >= 60 * minutes:
                with nlp.use_params(optimizer.averages):
                    f1 = nlp.evaluate(held_out)["ents_f"]
                    print(f"step {step}, epoch {epoch}: {f1:.4f} on ned.testa, {spent:.0f} s", flush=True)
                    if f1 > best:
                        best, state, reached = f1, nlp.to_bytes(), time.process_time() - begin
                spent = time.process_time() - begin
            if spent >= 60 * minutes:
                break
    notes = {"steps": step, "epochs": epoch, "seconds": spent, "seconds to the best": reached}
    return restored(state), notes


def train_loglinear(train: Sentences, config: dict[str, Any]) -> Trained:
    """Return a pipeline with `loglinear_ner`, trained on one thread."""
    nlp = spacy.blank("nl")
    nlp.add_pipe("loglinear_ner", config=config | {"options": {"n_jobs": 1}})
    given = examples(nlp, train)
    begin = time.process_time()
    nlp.initialize(lambda: given)
    return nlp, {"seconds": time.process_time() - begin}


def kept(folder: Path, make: Callable[[], tuple[spacy.Language, dict[str, Any]]]) -> Trained:
    """Return the pipeline of a folder, which is made if it is not there, and the notes on its training."""
    if not folder.exists():
        nlp, notes = make()
        folder.parent.mkdir(parents=True, exist_ok=True)
        nlp.to_disk(folder)
        (folder / "notes.json").write_text(json.dumps(notes))
    return spacy.load(folder), json.loads((folder / "notes.json").read_text())


def size(folder: Path) -> int:
    """Return the bytes of the component of a pipeline, without the vocabulary."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    train, dev, test = map(read, ("ned.train", "ned.testa", "ned.testb"))
    pipelines = {"ner": kept(arguments.folder / "ner", lambda: train_spacy(train, dev, arguments.minutes))}
    for number, (name, config) in enumerate(CONFIGS.items()):
        folder = arguments.folder / f"loglinear_ner-{number}"
        pipelines[name] = kept(folder, lambda config=config: train_loglinear(train, config))
    words = [sentence for sentence, _ in test]
    n_tokens = sum(map(len, words))
    rows: dict[str, dict[str, Any]] = {}
    tasks: dict[str, Callable[[], float]] = {}
    for name, (nlp, notes) in pipelines.items():
        (component,) = nlp.pipe_names
        rows[name] = notes | {"f1": nlp.evaluate(examples(nlp, test))["ents_f"]}
        rows[name]["bytes"] = size(Path(nlp.path) / component)
        tasks[name] = lambda nlp=nlp: labelled(nlp, words)
        if component == "loglinear_ner":
            pipe = nlp.get_pipe(component)
            pipe.estimator.n_jobs = 1
            tasks[f"{name}, no probabilities"] = lambda nlp=nlp, pipe=pipe: labelled(nlp, words, pipe)
            tagger = Tagger(pipe.estimator)
            tasks[f"{name}, tag_batch"] = lambda tagger=tagger: timed(lambda: tagger.tag_batch(words, threads=1))
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for repeat in range(REPEATS):
        for name, task in tasks.items():
            if name != "ner" or repeat < 2:
                seconds[name].append(task())
    speeds = {name: n_tokens / statistics.median(found) for name, found in seconds.items()}
    for name, row in rows.items():
        print(name, {key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()})
    for name, speed in speeds.items():
        print(f"{name}: {speed:,.0f} tokens a processor second")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({"rows": rows, "tokens a processor second": speeds}, indent=1))


def timed(task: Callable[[], object]) -> float:
    """Return the processor seconds of a task on one thread."""
    begin = time.process_time()
    task()
    return time.process_time() - begin


def labelled(nlp: spacy.Language, words: list[list[str]], pipe: Any = None) -> float:
    """Return the processor seconds to label docs that are there; without probabilities if the component is given."""
    docs = [Doc(nlp.vocab, words=sentence) for sentence in words]
    if pipe is None:
        return timed(lambda: list(nlp.pipe(docs)))
    key, pipe.spans_key = pipe.spans_key, None
    try:
        return timed(lambda: list(nlp.pipe(docs)))
    finally:
        pipe.spans_key = key


if __name__ == "__main__":
    assert loglinear.spacy
    main()
