"""The options of `loglinear.rank`, from which the flags of the command line derive."""

from __future__ import annotations

from typing import Literal, get_args

from ...options import Options, fail, option, option_class, real_number, truth_value, whole_number

__all__ = ["By", "RankOptions"]

By = Literal["sequence", "span", "entropy", "disagreement"]
MEASURES: tuple[By, ...] = get_args(By)


@option_class
class RankOptions(Options):
    """How `rank` chooses what to label next."""

    by: By = option(
        default="sequence",
        help="measure of uncertainty: sequence, span, entropy or disagreement; by default sequence",
        choices=MEASURES,
    )
    n: int = option(
        default=100,
        help="number of sentences to choose",
        check=lambda name, value: whole_number(name, value, 1, 2**53),
    )
    diversity: float = option(
        default=0.5,
        help="how much a sentence is worth less if it is similar to one chosen before, from 0 for not at all to 1",
        check=lambda name, value: real_number(name, value, "a number from 0 to 1", lambda d: 0.0 <= d <= 1.0),
    )
    total: bool = option(
        default=False,
        help="rank by whole sentences, not by the mean of their tokens, so that long sentences come first",
        check=truth_value,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.total and self.by == "span":
            fail("total", self.total, "is not available with by='span', which scores a single span")
