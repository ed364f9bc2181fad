"""Raw texts: cut into tokens, and labelled."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from .model import ChainModel

T = TypeVar("T")

class Tokenizer:
    def __init__(self, spec: str) -> None: ...
    @staticmethod
    def presets() -> list[str]: ...
    @property
    def expression(self) -> str: ...
    def offsets(self, text: str) -> list[tuple[int, int]]: ...
    def tokens(self, text: str) -> list[str]: ...

def tag_texts(
    model: ChainModel,
    texts: Iterable[str],
    tokenizer: Tokenizer,
    make: Callable[[tuple[int, int, str, str, float | None]], T],
    *,
    rule: tuple[Sequence[str | None], bytes] | None = None,
    probabilities: bool = True,
    threads: int = 0,
) -> tuple[list[list[T]], list[float] | None]: ...
