"""The picture on the front page: the course of a training beside CRFsuite's, and a sentence that a model has tagged.

    python benchmarks/peers/crfsuite.py --only auto --penalty l1 --json l1.json
    python benchmarks/front.py l1.json docs/front.svg

The courses are those that benchmarks/peers/crfsuite.py has measured: objective by seconds, of CRFsuite and of the
median run of `auto`. The model is trained here, on the embedded sample, as README does. Prints what README quotes.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from loglinear import ChainCRF, Corpus
from loglinear.datasets import demo_paths

SENTENCE = "They refuse to permit us to obtain the refuse permit".split()
WIDTH, HEIGHT = 880, 300
LEFT, RIGHT, TOP, BOTTOM = 62, 470, 46, 252
PERCENTS = (100.0, 10.0, 1.0, 0.1, 0.01)
SECONDS = (0.1, 1.0, 10.0, 100.0, 1000.0)
REACHED = 0.1
HUES = {"PRON": 265, "VERB": 12, "PART": 200, "DET": 150, "NOUN": 215}
STYLE = """
svg { background: #ffffff; }
text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328; }
.title { font-size: 15px; font-weight: 600; }
.small { font-size: 12px; fill: #59636e; }
.grid { stroke: #d1d9e0; }
.theirs { stroke: #8a5a00; } .ours { stroke: #0b5cad; }
polyline { fill: none; stroke-width: 2.5; stroke-linejoin: round; }
.reached { stroke: #59636e; stroke-dasharray: 4 4; }
.name-theirs { fill: #8a5a00; font-weight: 600; } .name-ours { fill: #0b5cad; font-weight: 600; }
.word { font-size: 17px; }
.tag { fill: #ffffff; font-size: 12px; font-weight: 600; }
@media (prefers-color-scheme: dark) {
  svg { background: #131416; }
  text { fill: #e6edf3; } .small { fill: #9aa4af; } .grid { stroke: #363d46; } .reached { stroke: #9aa4af; }
  .theirs { stroke: #e0a84a; } .ours { stroke: #5aa9ff; }
  .name-theirs { fill: #e0a84a; } .name-ours { fill: #5aa9ff; } .tag { fill: #ffffff; }
}
"""

Course = list[tuple[float, float]]


def course(trace: Sequence[dict[str, Any]], best: float) -> Course:
    """Seconds and per cent above the best objective, the least so far, from the first record on that has a place."""
    found: Course = []
    least = math.inf
    for record in trace:
        least = min(least, record["objective"])
        percent = 100.0 * (least / best - 1.0)
        if record["seconds"] >= SECONDS[0]:
            found.append((record["seconds"], percent))
            if percent <= PERCENTS[-1]:
                break
    return found


def measured(answers: dict[str, Any]) -> tuple[Course, Course]:
    """The courses of CRFsuite and of the median run of loglinear, from what benchmarks/peers/crfsuite.py measured."""
    theirs = answers["crfsuite"]["trace"]
    runs = sorted((run["trace"] for run in answers["auto"]), key=lambda trace: trace[-1]["seconds"])
    ours = runs[len(runs) // 2]
    best = min(record["objective"] for trace in (theirs, ours, answers["reference"]["trace"]) for record in trace)
    return course(theirs, best), course(ours, best)


def seconds_to(found: Course, percent: float) -> float:
    """Seconds until the objective is so near to the best."""
    return next(seconds for seconds, above in found if above <= percent)


def across(seconds: float) -> float:
    """Where seconds are, on a logarithmic axis."""
    low, high = math.log10(SECONDS[0]), math.log10(SECONDS[-1])
    return LEFT + (math.log10(seconds) - low) / (high - low) * (RIGHT - LEFT)


def up(percent: float) -> float:
    """Where per cent are, on a logarithmic axis that ends a little below its last tick."""
    high, low = math.log10(PERCENTS[0]), math.log10(PERCENTS[-1])
    return TOP + (high - math.log10(min(max(percent, PERCENTS[-1]), PERCENTS[0]))) / (high - low) * (BOTTOM - TOP)


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """A line of text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    """A straight line."""
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def curves(theirs: Course, ours: Course) -> list[str]:
    """Both courses, and how many times sooner one is there."""
    parts = [text(LEFT, 20, "Training on CoNLL-2000: how far from the optimum", "title")]
    for percent in PERCENTS:
        parts += [line("grid", LEFT, up(percent), RIGHT, up(percent))]
        parts += [text(LEFT - 8, up(percent) + 4, f"{percent:g} %", "small", "end")]
    for seconds in SECONDS:
        parts += [line("grid", across(seconds), TOP, across(seconds), BOTTOM)]
        parts += [text(across(seconds), BOTTOM + 18, f"{seconds:g} s", "small", "middle")]
    for kind, found in (("theirs", theirs), ("ours", ours)):
        points = " ".join(f"{across(seconds):.1f},{up(percent):.1f}" for seconds, percent in found)
        parts += [f'<polyline class="{kind}" points="{points}"/>']
    first, second = seconds_to(ours, REACHED), seconds_to(theirs, REACHED)
    parts += [line("reached", across(first), up(REACHED), across(second), up(REACHED))]
    middle = (across(first) + across(second)) / 2
    parts += [text(middle, up(REACHED) - 7, f"{second / first:.0f} times as fast", "title", "middle")]
    ahead = across(seconds_to(ours, 1.0)) - 24
    parts += [text(ahead, up(1.0) - 26, "loglinear", "name-ours", "end")]
    parts += [text(ahead, up(1.0) - 10, "2 cores", "small", "end")]
    behind = across(seconds_to(theirs, 10.0)) + 12
    parts += [text(behind, up(10.0) - 16, "CRFsuite", "name-theirs")]
    parts += [text(behind, up(10.0), "1 core, all it can use", "small")]
    return [*parts, text(LEFT, HEIGHT - 8, "the same data, features, objective and machine; L1 penalty", "small")]


def tagged(words: Sequence[str], tags: Sequence[str], probabilities: Sequence[float], size: int) -> list[str]:
    """A sentence in two rows, with the tag of each word and its probability, rounded down; size in bytes."""
    left, right = RIGHT + 50, WIDTH - 8
    parts = [text(left, 20, f"A sentence, tagged by a {size / 1e6:.1f} MB model", "title")]
    half = (len(words) + 1) // 2
    for row, top in ((slice(0, half), 70), (slice(half, None), 172)):
        step = (right - left) / half
        cells = zip(words[row], tags[row], probabilities[row], strict=True)
        for at, (word, tag, probability) in enumerate(cells):
            middle = left + (at + 0.5) * step
            parts += [text(middle, top, word, "word", "middle")]
            box = f'x="{middle - 26:.1f}" y="{top + 12}" width="52" height="22" rx="11"'
            parts += [f'<rect {box} fill="hsl({HUES[tag]} 60% 38%)"/>', text(middle, top + 27, tag, "tag", "middle")]
            parts += [text(middle, top + 52, f"{math.floor(1000.0 * probability) / 10.0:.1f} %", "small", "middle")]
    return [*parts, text(left, HEIGHT - 8, "trained in seconds on a part of UD English EWT", "small")]


def main() -> None:
    """Draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measurements", type=Path, help="what benchmarks/peers/crfsuite.py --json wrote")
    parser.add_argument("figure", type=Path, help="SVG file to write")
    chosen = parser.parse_args()
    theirs, ours = measured(json.loads(chosen.measurements.read_text(encoding="utf-8"))["measurements"]["auto_l1"])
    train, test = (Corpus.read(path, template="pos") for path in demo_paths())
    crf = ChainCRF(template="pos", l1=0.5, tolerance=0.002).fit(train)
    (tagging,) = crf.tag([SENTENCE])
    with tempfile.TemporaryDirectory() as folder:
        crf.save(Path(folder) / "model")
        size = (Path(folder) / "model").stat().st_size
    says = (
        f"Left: loglinear comes within {REACHED} % of the optimum in {seconds_to(ours, REACHED):.1f} seconds, "
        f"CRFsuite in {seconds_to(theirs, REACHED):.0f}. "
        f"Right: {' '.join(SENTENCE)}, tagged {' '.join(tagging.labels)}."
    )
    parts = [*curves(theirs, ours), *tagged(SENTENCE, tagging.labels, tagging.probabilities, size)]
    space, box = "http://www.w3.org/2000/svg", f"0 0 {WIDTH} {HEIGHT}"
    head = f'<svg xmlns="{space}" viewBox="{box}" role="img" aria-label="{escape(says)}">'
    chosen.figure.write_text("\n".join([head, f"<style>{STYLE}</style>", *parts, "</svg>"]) + "\n", encoding="utf-8")
    print(says)
    print(f"accuracy on the sample's test sentences: {100.0 * crf.score(test):.2f} %")


if __name__ == "__main__":
    main()
