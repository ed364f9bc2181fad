"""Conditional logit beside statsmodels: seconds to train, and with standard errors; for docs/guides/choices.md.

    pip install statsmodels && python benchmarks/choices.py [--rows 4000 20000 1000000] [--repeats 3]

Alternatives in groups of 4 with 20 columns; the chosen one follows a conditional logit. Both train without a penalty,
from weights of 0; statsmodels by its default, "bfgs". Medians over the repeats, which alternate. Above --most-rows
statsmodels is left out.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from statsmodels.discrete.conditional_models import ConditionalLogit as Peer

from loglinear import ConditionalLogit

SIZE, COLUMNS = 4, 20


def alternatives(n_rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns of the alternatives, marks of the chosen ones, and groups."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, COLUMNS))
    utility = X @ rng.normal(size=COLUMNS) / 2 + rng.gumbel(size=n_rows)
    y = np.zeros(n_rows, dtype=int)
    y[np.arange(0, n_rows, SIZE) + utility.reshape(-1, SIZE).argmax(axis=1)] = 1
    return X, y, np.repeat(np.arange(n_rows // SIZE), SIZE)


def timed(work: Callable[[], object]) -> tuple[float, object]:
    """Seconds, and the result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def ours(data: tuple[np.ndarray, np.ndarray, np.ndarray]) -> tuple[float, float, np.ndarray, float]:
    """Seconds to train and for standard errors, weights and log-likelihood of loglinear."""
    X, y, groups = data
    training, model = timed(lambda: ConditionalLogit(l2=0).fit(X, y, groups))
    errors, inference = timed(lambda: model.inference(X, y, groups))
    return training, training + errors, inference.weights, inference.log_likelihood


def theirs(data: tuple[np.ndarray, np.ndarray, np.ndarray]) -> tuple[float, float, np.ndarray, float]:
    """The same of statsmodels."""
    X, y, groups = data
    training, result = timed(lambda: Peer(y, X, groups=groups).fit(disp=0))
    errors, _ = timed(lambda: result.bse)
    return training, training + errors, result.params, result.llf


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[4_000, 20_000, 1_000_000])
    parser.add_argument("--most-rows", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    print("rows | program | s to train | s with standard errors | log-likelihood")
    for n_rows in arguments.rows:
        data = alternatives(n_rows)
        programs = {"loglinear": ours, **({"statsmodels": theirs} if n_rows <= arguments.most_rows else {})}
        runs: dict[str, list[tuple[float, float, np.ndarray, float]]] = {name: [] for name in programs}
        for _ in range(arguments.repeats):
            for name, run in programs.items():
                runs[name].append(run(data))
        for name, each in runs.items():
            training, errors = (statistics.median(run[at] for run in each) for at in (0, 1))
            print(f"{n_rows:,} | {name} | {training:.3g} | {errors:.3g} | {each[0][3]:.4f}", flush=True)


if __name__ == "__main__":
    main()
