"""How many examples Hypothesis tries of a law: the profile decides, a test says how its law compares with others."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

__all__ = ["NIGHT", "examples"]

NIGHT = 100
"""Examples of a law without settings of its own, under the profile `night`."""

_FEWEST = 4


def examples(night: int, **options: Any) -> settings:
    """Return the settings of a law: `night` tries this many examples of it, another profile its share of them."""
    share = settings.default.max_examples / NIGHT
    return settings(max_examples=max(min(night, _FEWEST), round(night * share)), **options)
