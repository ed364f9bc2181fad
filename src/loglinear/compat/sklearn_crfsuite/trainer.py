"""A trainer that prints one line for an iteration."""

from __future__ import annotations

from typing import Any

from .. import pycrfsuite

__all__ = ["LinePerIterationTrainer"]


class LinePerIterationTrainer(pycrfsuite.Trainer):
    """A `Trainer` that prints a line for each iteration, and at the end a table of the scores on the holdout group.

    Example:
        >>> from loglinear.compat.sklearn_crfsuite.trainer import LinePerIterationTrainer
        >>> trainer = LinePerIterationTrainer("lbfgs", verbose=False)
        >>> trainer.append([["a"], ["b"]], ["A", "B"])
        >>> trainer.train("")
        >>> trainer.on_iteration("", {"num": 1, "time": 0.25, "loss": 1.5, "active_features": 3})
        Iter 1   time=0.25  loss=1.50     active=3
    """

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """Print the numbers of an iteration that there are."""
        parts = [f"Iter {info['num']:<3} ", f"time={info.get('time', 0.0):<5.2f} "]
        if "loss" in info:
            parts.append(f"loss={info['loss']:<8.2f} ")
        if "active_features" in info:
            parts.append(f"active={info['active_features']:<5} ")
        if "avg_precision" in info:
            parts += [f"{name}={info[f'avg_{name.lower()}']:0.3f}  " for name in ("precision", "recall", "F1")]
            accuracies = (info[f"{what}_accuracy_float"] for what in ("item", "instance"))
            parts.append("Acc(item/seq)={:0.3f} {:0.3f}  ".format(*accuracies))
        if "feature_norm" in info:
            parts.append(f"feature_norm={info['feature_norm']:<8.2f}")
        print("".join(parts).strip())

    def on_optimization_end(self, log: str) -> None:
        """Print the scores of each label in the last iteration, if there was a holdout group."""
        last = None if self.logparser is None else self.logparser.last_iteration
        if last is not None and last["scores"]:
            width = max(len("Label"), *map(len, last["scores"]))
            heads = "".join(f"{head:>11}" for head in ("Precision", "Recall", "F1", "Support"))
            lines = [f"{'Label':<{width}}{heads}", "-" * (width + 44)]
            for label, score in sorted(last["scores"].items()):
                numbers = (f"{'' if number is None else format(number, '0.3f'):>11}" for number in score[3:])
                lines.append(f"{label:<{width}}{''.join(numbers)}{score.ref:>11}")
            print("\n".join(lines))
        super().on_optimization_end(log)
