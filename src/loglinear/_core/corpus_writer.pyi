"""Corpora on disk."""

from .data import Corpus, Notes

class CorpusWriter:
    @staticmethod
    def create(path: str) -> CorpusWriter: ...
    @staticmethod
    def append(path: str) -> CorpusWriter: ...
    @property
    def settings(self) -> str: ...
    @property
    def n_sentences(self) -> int: ...
    @property
    def n_tokens(self) -> int: ...
    def count(
        self,
        path: str,
        format: str = "columns",
        template: str | None = None,
        *,
        labels: str = "none",
        columns: tuple[str | None, int, bool, int, int | None] | None = None,
        threads: int = 0,
    ) -> None: ...
    def keep(self, least: int) -> int: ...
    def read(
        self,
        path: str,
        format: str = "columns",
        template: str | None = None,
        *,
        labels: str = "whole",
        columns: tuple[str | None, int, bool, int, int | None] | None = None,
        threads: int = 0,
    ) -> Notes: ...
    def push(self, corpus: Corpus) -> None: ...
    def finish(self, settings: str) -> None: ...
    def abandon(self) -> None: ...
