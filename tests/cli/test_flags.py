"""The flags of the commands and their defaults: one that goes or changes is a change of the interface, made here."""

from __future__ import annotations

import argparse

import pytest

from loglinear.cli.main import COMMANDS, command_parser

COLUMNS = "-f --format, --separator, --label-column, --skip-comments, --max-sentence"
SPANS = "--tokenizer, --overlaps, --widen"
FEATURES = (
    "--all-states, --all-transitions, --min-count=1, --order=1, --constraints, --invalid-labels=error, --class-weight"
)
# Command -> flags in the order of its help, with their spellings, and defaults other than nothing.
FLAGS = {
    "train":
        f"--data, {COLUMNS}, --overlaps, --widen, --weight-column, --preset, --template, --partial, --words=words, "
        "--ngrams=1, --tfidf, -m --model -o --output, --model-type=chain, --start, --prior, --prior-strength, "
        f"{FEATURES}, "
        "--tokenizer, --multi-class=softmax, --no-intercept, --l1, --l2, --folds=5, --metric, --plot, "
        "--penalty-factor, --sign, --l1-groups, --solver, -p --set, --seed, --tolerance, "
        "--gap, --max-iterations=1000, --dev, --keep, --patience, --report, --trace, --checkpoint, "
        "--checkpoint-minutes, --resume, -q --quiet, -v --verbose, -j --threads, --workers, --cluster, --part-mb",
    "tag":
        "-m --model, --data, -o --output=-, --marginals, --probabilities, --n-best, --layout, -v --detail, --pretty, "
        f"--text, --tokenizer, --stream, --constraints, --min-probability, --below, --rest, --label-bias, "
        f"{COLUMNS}, -j --threads",
    "evaluate":
        "-m --model, --data, --json, -o --output, --mode=conlleval, --scheme, --label-bias, --calibration, "
        f"{COLUMNS}, {SPANS}, --weight-column, -j --threads",
    "explain": f"-m --model, --data, -o --output=-, --top=8, --json, --html, {COLUMNS}, {SPANS}, -j --threads",
    "report": f"-m --model, --other, --data, -o --output, --trace, --scheme, {COLUMNS}, {SPANS}, -j --threads",
    "inspect": "-m --model, --top=20, --json, --card",
    "calibrate": f"-m --model, --data, -o --output, --by, --tune-bias, --json, {COLUMNS}, {SPANS}, -j --threads",
    "audit":
        f"--data, -o --output=-, --folds=5, --top, --apply, --model-type=chain, {COLUMNS}, {SPANS}, --weight-column, "
        f"--preset, --template, {FEATURES}, --words=words, --ngrams=1, --tfidf, --l1, --l2, --seed, --tolerance, "
        "--max-iterations=1000, -q --quiet, -j --threads",
    "rank":
        "-m --model, --data, -o --output, --by=sequence, -n --number=100, --diversity=0.5, --total, --committee, "
        f"--text, --tokenizer, -q --quiet, {COLUMNS}, -j --threads",
    "serve": "-m --model, --host=127.0.0.1, --port=8300, --tokenizer, --max-request=256.0",
    "select":
        f"--data, {COLUMNS}, {SPANS}, --preset, --template, {FEATURES}, --dev, --l1, --l2, --tolerance, --size, "
        "--path, --lines, --folds, --smallest, --solver=grafting_light, --select, --steps, -o --output --table=-, "
        "--plot, -m --model, -q --quiet, -j --threads",
    "structure":
        "--data, -o --output --edges=-, --plot, -m --model, --l1=ebic, --l2, --objective=pseudolikelihood, "
        "--inference, --grouped, --bins, --max-states=32, --seed, --cut, --reference, --bootstrap, --nodes, "
        "--stability, --compare, --permutations, --missing, --ignore, --no-header, --delimiter, --json, -q "
        "--quiet, -v --verbose, -j --threads",
    "table":
        "--data, --formula --model=.^2, --choose, --search, --counts, --method=auto, --l1, --coding=effects, "
        "-o --output --cells, --plot, --missing, --no-header, --delimiter, --json, -q --quiet",
    "encode":
        f"--data, -o --output, --append, {COLUMNS}, {SPANS}, --weight-column, --preset, --template, --partial, "
        "--unlabelled, --min-count=1, -q --quiet, -j --threads",
    "convert": f"-m --model, -o --output, --from, --to, --scheme, {SPANS}",
    "solvers": "name, --json",
    "presets": "name",
    "demo": "-m --model, --write, -j --threads",
    "doctor": "--json",
    "completion": "shell",
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_flags_have_the_names_and_defaults_they_have_always_had(command):
    found = []
    for action in command_parser(command)[1]._actions:
        if action.dest not in ("help", "places"):
            assert action.help
            default = "" if action.default in (None, False, argparse.SUPPRESS, []) else f"={action.default}"
            found.append((" ".join(action.option_strings) or action.dest) + default)
    assert found == FLAGS[command].split(", ")
