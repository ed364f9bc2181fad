"""Lists with an entry for each sentence, which scikit-learn can join."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["PerSentence"]

T = TypeVar("T")
# Number of entries that a notebook shows.
_SHOWN = 10


class PerSentence(list[T]):
    """A list with an entry for each sentence, such as the list of its labels.

    NumPy converts it to an array of objects, shape (sentences,), whatever the lengths of the sentences. This is how
    scikit-learn joins the results for several folds in `cross_val_predict`.
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return the entries as an array of objects, shape (sentences,)."""
        import numpy as np

        array = np.fromiter(self, dtype=object, count=len(self))
        return array if dtype is None else array.astype(dtype)

    def _repr_html_(self) -> str | None:
        """Return what a notebook shows of the first entries, in the same colours; None if it shows the list as text."""
        first: list[Any] = self[:_SHOWN]
        if not first or not all(hasattr(entry, "html_of") for entry in first):
            return None
        rest = f"<p>… and {len(self) - _SHOWN:,} more</p>" if len(self) > _SHOWN else ""
        return str(type(first[0]).html_of(first)) + rest
