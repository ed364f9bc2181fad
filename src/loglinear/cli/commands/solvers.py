"""List the solvers and what each needs, or the options of one, which `loglinear train -p NAME=VALUE` sets."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from ..options import add_json, under_headings
from ..wrapping import fitted

if TYPE_CHECKING:
    from ...problem import Objective
    from ...solvers import SolverOption

# Greatest width of a line, and least width of the text beside the name of an option, in characters.
WIDTH, LEAST = 120, 30
EXAMPLE = "example: loglinear solvers sag"
READS: tuple[str, ...] = ()
WRITES: tuple[str, ...] = ()


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="list the options of this solver")
    add_json(parser)


def run(arguments: Namespace) -> None:
    """List solvers, or the options of one."""
    from ...solvers import SOLVERS, solver_class, solver_options

    if arguments.name is None:
        accounts = [_account(name, kind) for name, kind in SOLVERS.items()]
        print(json.dumps(accounts) if arguments.json else fitted(_table(accounts), sys.stdout))
        return
    kind = solver_class(arguments.name)
    account, options = _account(arguments.name, kind), solver_options(kind)
    if arguments.json:
        print(json.dumps(account | {"options": [vars(option) for option in options]}))
    else:
        about = f"{arguments.name}: {account['summary']}\n{_needs(account)}"
        print(f"{fitted(about, sys.stdout)}\n\n{_options(options)}")


def _account(name: str, kind: type[Any]) -> dict[str, Any]:
    """Return the description of a solver; its own check tells which problems it can solve."""
    from typing import get_type_hints

    import numpy as np

    from ...penalty import ElasticNet, GroupLasso, Penalty
    from ...problem import Problem
    from ...solvers import suits, summary
    from ...solvers.common.per_sample import PassState
    from ...solvers.common.solver import FOR_RESEARCH

    penalties: dict[str, Penalty] = {
        "L1": ElasticNet(l1=1.0),
        "L2": ElasticNet(l2=1.0),
        "elastic net": ElasticNet(l1=1.0, l2=1.0),
        "groups": GroupLasso(l1=1.0, groups=np.zeros(1, np.int64)),
        "none": ElasticNet(),
    }
    examples = _examples()
    fitting = {
        (model, penalty)
        for model, objective in examples.items()
        for penalty, setting in penalties.items()
        if suits(kind, Problem(objective, setting))
    }
    models = [example for example in examples if any(model == example for model, _ in fitting)]
    if "chains" in models:
        models = [example for example in models if example != "chains in parts"]
    if "classifiers" in models:
        models.remove("classifiers of two classes")
    return {
        "name": name,
        "class": kind.__name__,
        "for_research": name in FOR_RESEARCH,
        "summary": summary(kind),
        "penalties": [penalty for penalty in penalties if any(penalty == fit for _, fit in fitting)],
        "models": models,
        "sample_by_sample": bool(kind.needs.passes) or issubclass(get_type_hints(kind.init)["return"], PassState),
    }


def _examples() -> dict[str, Objective]:
    """Return the smallest objective of each kind of model; the last has only what every objective has."""
    from ...data.corpus import Corpus
    from ...data.parts import ListedPart
    from ...objectives.chain import ChainObjective
    from ...objectives.classifier import ClassifierObjective
    from ...objectives.parts import ChainParts

    return {
        "chains": ChainObjective(Corpus.encode([[["a"]], [["a"]]], [["A"], ["B"]]), threads=1),
        "classifiers": ClassifierObjective([[1.0]] * 3, [0, 1, 2], n_classes=3, intercept=False, threads=1),
        "classifiers of two classes": ClassifierObjective([[1.0]] * 2, [0, 1], n_classes=2, intercept=False, threads=1),
        "chains in parts": ChainParts([ListedPart("", [[["a"]], [["a"]]], [["A"], ["B"]])]),
        "all others": _Plain(),
    }


class _Plain:
    n_features = n_samples = 1

    def value_and_gradient(self, w: Any, out: Any = None) -> Any:
        """Never called: solvers only report what they need, and take no step."""
        raise NotImplementedError


def _table(accounts: list[dict[str, Any]]) -> str:
    width = max(len(account["name"]) for account in accounts)
    pairs = ((account["name"], account["summary"], _needs(account)) for account in accounts)
    indent = " " * (width + 2)
    lines = under_headings(
        {name: f"{_filled(text, f'{name:<{width}}  ')}\n{_filled(needs, indent)}" for name, text, needs in pairs}
    )
    hints = (
        "auto, the default, chooses among the others; `loglinear inspect MODEL` shows its choice and why.\n"
        "`loglinear solvers NAME` lists the options of a solver, which `loglinear train --solver NAME -p OPTION=VALUE` "
        "takes."
    )
    return "\n".join([*lines, "", hints])


def _needs(account: dict[str, Any]) -> str:
    models = "all models" if "all others" in account["models"] else ", ".join(account["models"])
    way = "; sample by sample" if account["sample_by_sample"] else ""
    return f"penalty: {', '.join(account['penalties'])}; {models}{way}"


def _options(options: list[SolverOption]) -> str:
    """Return the options of a solver and, under headings, of its inner solvers, as text."""
    settings = [f"{option.name}={_written(option.default)}" for option in options]
    name_width, type_width = max(map(len, settings)), max(len(option.type) for option in options)
    lines: list[str] = []
    inner: str | None = ""
    for option, start in zip(options, settings, strict=True):
        if option.inner != inner:
            inner = option.inner
            lines.append("options, with their defaults:" if inner is None else f"options of its {inner}:")
        start = f"  {start:<{name_width}}  {option.type:<{type_width}}  "
        meaning = option.meaning.replace("``", "`")
        if _width() - len(start) < LEAST:
            lines.append(start.rstrip())
            start = " " * 6
        lines.append(_filled(meaning, start))
    return "\n".join(lines)


def _width() -> int:
    """Return the width of a line on this terminal, in characters."""
    from shutil import get_terminal_size

    return min(get_terminal_size().columns, WIDTH)


def _filled(text: str, start: str) -> str:
    """Return a text after the start of its first line; later lines are indented as far."""
    from textwrap import fill

    return fill(text, _width(), initial_indent=start, subsequent_indent=" " * len(start), break_on_hyphens=False)


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
