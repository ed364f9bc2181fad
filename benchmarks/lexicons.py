"""What lexicons cost, and what one made of the training data does to a model, on the names of CoNLL-2002 (Dutch).

    python benchmarks/lexicons.py                   # cost: size, opening, first sentence, speed of labelling
    python benchmarks/lexicons.py --quality         # F with the entities of the training data as a lexicon

The models have the preset "ner", with and without three lines that look the word and its neighbours up in a lexicon of
random words and of the entities of the training data, `--entries` in all. Times are processor time of one thread;
medians of alternated rounds.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from loglinear import ChainCRF, Tagger, evaluate, with_lexicons
from loglinear.data.lexicons import lexicons_of
from loglinear.data.templates import preset
from loglinear.schemes import chunks

ROUNDS = 7
LINES = 'U90:%in[0,0,"names"]\nU91:%in[-1,0,"names"]\nU92:%in[1,0,"names"]\n'

Data = tuple[list[list[str]], list[list[str]]]


def read(name: str) -> Data:
    """Words and labels of a file."""
    text = (Path(os.environ["LOGLINEAR_DATA"]) / "conll2002-dutch" / name).read_text(encoding="latin-1")
    blocks = [[line.split() for line in block.splitlines()] for block in text.split("\n\n") if block.strip()]
    blocks = [[row for row in block if row and row[0] != "-DOCSTART-"] for block in blocks]
    return [[row[0] for row in block] for block in blocks if block], [[row[-1] for row in b] for b in blocks if b]


def entities(X: list[list[str]], y: list[list[str]]) -> list[tuple[str, str]]:
    """The distinct entities of some sentences, with their types."""
    found = dict[tuple[str, str], None]()
    for words, labels in zip(X, y, strict=True):
        for kind, start, end in chunks(labels):
            found[" ".join(words[start:end]), kind] = None
    return list(found)


def random_names(n: int) -> list[str]:
    """Names of one to three random words."""
    rng = random.Random(0)

    def word() -> str:
        return "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 9))).capitalize()

    return [" ".join(word() for _ in range(rng.choice([1, 1, 2, 2, 3]))) for _ in range(n)]


def quality(train: Data) -> None:
    """Print F on both test files."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "names").write_text("".join(f"{name}\t{kind}\n" for name, kind in entities(*train)))
        lexical = with_lexicons(f"{preset('ner')}\n{LINES}", folder=folder)
    for name, template in (("preset ner", preset("ner")), ("with the training entities", lexical)):
        crf = ChainCRF(template=template, l1=0.5).fit(*train)
        scores = [100 * evaluate(y, crf.predict(X)).f1 for X, y in map(read, ("ned.testa", "ned.testb"))]
        print(name, *(f"{score:.2f}" for score in scores))


def cost(train: Data, n_entries: int) -> None:
    """Print sizes and times."""
    X, y = (part[:4000] for part in train)
    known = [name for name, _ in entities(*train)]
    names = known[:n_entries] + random_names(n_entries - len(known))
    begin = time.process_time()
    lexical = with_lexicons(f"{preset('ner')}\n{LINES}", {"names": names})
    print(f"{lexicons_of(lexical)[0]}; read in {time.process_time() - begin:.2f} s")
    tests = read("ned.testa")[0] + read("ned.testb")[0]
    n_tokens = sum(map(len, tests))
    seconds = defaultdict[tuple[str, str], list[float]](list)
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder) / name for name in ("preset", "lexicon")}
        for path, template in zip(paths.values(), (preset("ner"), lexical), strict=True):
            ChainCRF(template=template, l1=0.5, max_iterations=30).fit(X, y).save(path)
        for _ in range(ROUNDS):
            for name, path in paths.items():
                clock = [time.process_time()]
                tagger = Tagger(path)
                clock.append(time.process_time())
                tagger.tag(tests[0])
                clock.append(time.process_time())
                tagger.tag_batch(tests, threads=1)
                clock.append(time.process_time())
                for what, start, end in zip(("open", "first", "all"), clock, clock[1:], strict=False):
                    seconds[name, what].append(end - start)
        for name, path in paths.items():
            opened, first, every = (statistics.median(seconds[name, what]) for what in ("open", "first", "all"))
            size = path.stat().st_size / 1e6
            times = f"opens in {1e3 * opened:.1f} ms, first sentence {1e3 * first:.2f} ms"
            print(f"{name}: {size:.2f} MB, {times}, {n_tokens / every / 1e3:.0f} thousand tokens/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quality", action="store_true")
    parser.add_argument("--entries", type=int, default=100_000)
    arguments = parser.parse_args()
    if arguments.quality:
        quality(read("ned.train"))
    else:
        cost(read("ned.train"), arguments.entries)


if __name__ == "__main__":
    main()
