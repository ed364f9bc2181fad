"""Make the embedded sample of `loglinear.datasets` from UD English EWT (CoNLL-U).

    LOGLINEAR_DATA=/path/to/data python benchmarks/make_embedded_data.py

Takes documents evenly spaced over each official split, whose order is by genre, so the mix of genres stays; as many as
fit the budget. Deterministic: the same input gives the same text, and the same liblzma the same bytes.
"""

import lzma
from collections.abc import Iterator
from pathlib import Path

from loglinear import datasets

BUDGETS = {"train": 330_000, "test": 50_000}  # bytes, compressed
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "lp": 0, "pb": 0}]  # tuned for text


def documents(path: Path) -> Iterator[str]:
    """Each document as lines `word TAB XPOS TAB UPOS`, an empty line after each sentence."""
    lines: list[str] = []
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.startswith("# newdoc") and lines:
                yield "".join(lines)
                lines = []
            if line == "\n":
                lines.append("\n")
            elif not line.startswith("#"):
                number, word, _, upos, xpos, *_ = line.split("\t")
                if number.isdigit():  # neither a multiword token, 1-2, nor an empty node, 1.1
                    lines.append(f"{word}\t{xpos}\t{upos}\n")
    yield "".join(lines)


def evenly_spaced(items: list[str], n: int) -> list[str]:
    return [items[i * len(items) // n] for i in range(n)]


def compress(texts: list[str]) -> bytes:
    return lzma.compress("".join(texts).encode(), lzma.FORMAT_XZ, lzma.CHECK_CRC64, filters=FILTERS)


def largest_that_fits(items: list[str], budget: int) -> int:
    """By bisection; sizes are nearly, not strictly, monotone in n."""
    low, high = 1, len(items)
    while low < high:
        middle = (low + high + 1) // 2
        if len(compress(evenly_spaced(items, middle))) <= budget:
            low = middle
        else:
            high = middle - 1
    return low


def main() -> None:
    source = datasets.data_dir() / "ud-english-ewt"
    for split, target in zip(("train", "test"), datasets.demo_paths(), strict=True):
        items = list(documents(source / f"en_ewt-ud-{split}.conllu"))
        n = largest_that_fits(items, BUDGETS[split])
        chosen = evenly_spaced(items, n)
        target.write_bytes(compress(chosen))
        sentences = sum(text.count("\n\n") for text in chosen)
        words = sum(text.count("\t") // 2 for text in chosen)
        print(f"{target.name}: {n} of {len(items)} documents, {sentences} sentences, {words} words,", end=" ")
        print(f"{target.stat().st_size} bytes")
    license_text = (source / "LICENSE.txt").read_bytes()
    (target.parent / "LICENSE-UD-English-EWT.txt").write_bytes(license_text)


if __name__ == "__main__":
    main()
