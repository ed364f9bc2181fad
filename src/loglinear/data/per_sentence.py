"""Lists with an entry for each sentence, which scikit-learn can join."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["PerSentence"]

T = TypeVar("T")


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
