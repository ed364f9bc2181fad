"""Tagger: labels sequences one at a time."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from typing import Any

from ..._core import ChainModel, SequenceTagger
from ...errors import ModelFileError
from ...models.files.chain import ready
from ...visible import visible
from ._dump import ParsedDump, dumped, parsed

__all__ = ["Tagger"]


class Tagger(SequenceTagger):
    """Labels one sequence after the other with a model of CRFsuite or of loglinear.

    `set` and `tag` take a sequence of items (see `ItemSequence`); `tag` without one, `probability` and `marginal` are
    about the sequence given last. Threads may share a tagger: `tag` answers each for its own sequence, and the sequence
    given last is that of any thread.

    A tagger can be pickled: its model goes with it, its sequence does not.

    Example:
        >>> import os, tempfile
        >>> from loglinear import ChainCRF
        >>> from loglinear.compat import pycrfsuite
        >>> path = os.path.join(tempfile.mkdtemp(), "model")
        >>> ChainCRF(l2=0.1).fit([[["the"], ["dog"]], [["dog"]]], [["DET", "NOUN"], ["NOUN"]]).save(path)
        >>> tagger = pycrfsuite.Tagger()
        >>> with tagger.open(path):
        ...     print(tagger.tag([["the"], ["dog"]]))
        ...     print(f"{tagger.probability(['DET', 'NOUN']):.3f} {tagger.marginal('DET', 0):.3f}")
        ['DET', 'NOUN']
        0.866 0.902
    """

    def __init__(self) -> None:
        """A tagger without a model: `open` one."""

    def __init_subclass__(cls, **keywords: object) -> None:
        # `tag` goes through a subclass's own `set`, as the peer's does; reading within `tag` is faster.
        super().__init_subclass__(**keywords)
        if cls.set is not SequenceTagger.set and cls.tag is SequenceTagger.tag:
            cls.tag = _tag_through_set  # type: ignore[assignment,method-assign]

    def open(self, name: str | os.PathLike[str]) -> closing[Tagger]:
        """Open a model's file, in place of the model before.

        Args:
            name: path of the file.

        Returns:
            A context that closes the tagger at its end.

        Raises:
            OSError: the file cannot be read.
            ModelFileError: it is no model of CRFsuite or loglinear, or is damaged; a ValueError.
        """
        name = os.fspath(name)
        with open(name, "rb"):  # a folder is an OSError as well
            pass
        return self._opened(ChainModel.open(name), name)

    def open_inmemory(self, value: bytes) -> closing[Tagger]:
        """Open a model that is in memory; see `open`.

        Args:
            value: the bytes of a model's file.

        Raises:
            ModelFileError: they are no model of CRFsuite or loglinear, or are damaged; a ValueError.
        """
        if not isinstance(value, bytes):
            message = f"a model in memory is bytes, not {type(value).__name__}"
            raise TypeError(message)
        return self._opened(ChainModel.from_bytes(value), "the model")

    def close(self) -> None:
        """Give the model back."""
        self._use(None)

    def info(self) -> ParsedDump:
        """The weights of the model by name, rounded to six decimals, with the numbers of labels and attributes.

        Raises:
            RuntimeError: the tagger has no model.
            ModelFileError: CRFsuite's files have no room for the model, such as one of second order.
        """
        return parsed(self._exported())

    def dump(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write the model as text, as CRFsuite lays it out.

        Args:
            filename: the file to write; standard output by default.

        Raises:
            RuntimeError: the tagger has no model.
            ModelFileError: CRFsuite's files have no room for the model, such as one of second order.
        """
        exported = self._exported()
        if filename is None:
            sys.stdout.write(visible(b"".join(dumped(exported)).decode()))
            sys.stdout.flush()
            return
        with open(filename, "wb") as file:
            file.writelines(dumped(exported))

    def _exported(self) -> bytes:
        if self._model is None:
            message = "the tagger has no model; open one"
            raise RuntimeError(message)
        return self._model.export("crfsuite")

    def _opened(self, model: ChainModel, name: str) -> closing[Tagger]:
        model, _ = ready(model, name, "chain")
        if model.template is not None:
            message = f"{name}: the model has a template; open it with loglinear.Tagger"
            raise ModelFileError(message)
        self._use(model)
        return closing(self)

    def __getstate__(self) -> tuple[ChainModel | None, dict[str, Any]]:
        """The model, and what a subclass has added."""
        return self._model, vars(self)

    def __setstate__(self, state: tuple[ChainModel | None, dict[str, Any]]) -> None:
        """Take the model of a pickle, and what a subclass has added."""
        model, added = state
        self._use(model)
        vars(self).update(added)


def _tag_through_set(self: Tagger, xseq: Any = None) -> list[str]:
    if xseq is not None:
        self.set(xseq)
    return SequenceTagger.tag(self)
