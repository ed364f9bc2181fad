"""Values that are not categories: amounts with a sign or a unit, dates, plain numbers; and what to do about them."""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from .binning import numbers

__all__ = ["advice_on"]

_DATE = re.compile(
    r"(\d{4}([-/.]\d{1,2}){1,2}|\d{1,2}([-/.]\d{1,2}){1,2}[-/.]\d{2,4}|\d{1,2}[- .]+[^\W\d]{3,10}[- .,]+\d{2,4}"
    r"|[^\W\d]{3,10}[ .]+\d{1,2},? \d{4})?"
    r"[ T]?(\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[AaPp][Mm])?( ?Z|[+-]\d{2}:?\d{2})?)?"
)
_AMOUNT = re.compile(
    r"[+-]?(?P<before>\D{0,4}?)[+-]?(\d+([.,]\d+)?|\d{1,3}([.,' _\u2019\xa0\u202f]\d{3})+([.,]\d+)?)(?P<after>\D{0,8})"
)


def advice_on(values: Sequence[Any]) -> str | None:
    """Return what to do about the different values of a column if they are not categories; None if they may be."""
    if not values:
        return None
    if all(isinstance(value, datetime.date | datetime.time) for value in values):
        return _DATES
    if numbers(values) is not None:
        return "if numbers are measurements, bin them with bins=4 (--bins 4)"
    texts = [value.strip() for value in values if isinstance(value, str)]
    if len(texts) < len(values):
        return None
    if all(text and _DATE.fullmatch(text) for text in texts):
        return _DATES
    signs = _signs(texts)
    return None if signs is None else f"remove {signs} from the numbers, then bin them with bins=4 (--bins 4)"


_DATES = "replace dates and times by parts of them, such as the year or the weekday"


def _signs(texts: Sequence[str]) -> str | None:
    """Return the sign or unit that all texts of amounts share; None if they are not amounts."""
    amounts = [match for match in map(_AMOUNT.fullmatch, texts) if match is not None]
    if len(amounts) < len(texts):
        return None
    before, after = ({match[part].strip() for match in amounts} - {""} for part in ("before", "after"))
    if len(before) > 1 or len(after) > 1 or not all(map(_is_currency, before)):
        return None
    signs = [repr(sign) for sign in (*before, *after)]
    return " and ".join(signs) if signs else "the separators between thousands"


def _is_currency(text: str) -> bool:
    return unicodedata.category(text[-1]) == "Sc" or re.fullmatch(r"[A-Z]{3}", text) is not None
