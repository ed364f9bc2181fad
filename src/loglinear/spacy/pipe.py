"""What the pipes share: training, labelling in batches, files, errors."""

from __future__ import annotations

import os
import tempfile
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from spacy.pipeline import Pipe
from spacy.training import validate_get_examples

from spacy import util

from ..errors import (
    DataError,
    DataWarning,
    ModelFileError,
    NotFittedError,
    OptionError,
    in_argument,
    warn,
    warnings_kept,
)
from ..models.translations import hint
from ..options import similar

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc
    from spacy.training import Example
    from spacy.vocab import Vocab

__all__ = ["LogLinearPipe", "Settings"]

# The file of a component without a model, in place of the file `model`, whose absence is therefore an error.
_MODEL, _NO_MODEL = "model", "untrained"


class Settings(NamedTuple):
    """What the config of a component says of its model.

    Attributes:
        parameters: parameters of the estimator that is trained.
        model_path: model file to use in place of training; None to train.
    """

    parameters: dict[str, Any]
    model_path: str | None = None


class LogLinearPipe(Pipe):  # type: ignore[misc]
    """Base of the pipes. A subclass says what its estimator is, what it learns from, and what it sets.

    Args:
        vocab: vocabulary of the pipeline.
        name: of the component.
        settings: of the model.
        scorer: replaces the pipe's own scores in ``nlp.evaluate``.
    """

    def __init__(
        self, vocab: Vocab, name: str, settings: Settings, scorer: Callable[..., dict[str, Any]] | None = None
    ) -> None:
        self.vocab, self.name, self.settings, self.scorer = vocab, name, settings, scorer
        self.cfg: dict[str, Any] = {}
        self._estimator: Any = None
        self._untrained = f"component {name!r} is not trained; call nlp.initialize(lambda: examples), or set model_path"
        with self._in_config():
            self._check(self._new_estimator())
        if settings.model_path is not None:
            try:
                self._from_file(settings.model_path)
            except FileNotFoundError:
                # A pipeline that was saved opens its own copy of the model next.
                self._untrained = f"component {name!r}: there is no model file {settings.model_path}; check model_path"

    @property
    def estimator(self) -> Any:
        """The trained model.

        Raises:
            NotFittedError: the component is not trained.
        """
        if self._estimator is None:
            raise NotFittedError(self._untrained)
        return self._estimator

    @estimator.setter
    def estimator(self, estimator: Any) -> None:
        with self._in_config():
            self._take(estimator)
        self._estimator = estimator
        for label in self.labels:
            self.vocab.strings.add(label)

    @property
    def is_trained(self) -> bool:
        """Whether there is a model."""
        return self._estimator is not None

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that the component may set; none before it is trained."""
        return tuple(self._labels_of(self._estimator)) if self.is_trained else ()

    @property
    def label_data(self) -> list[str]:
        """The labels, as `initialize` takes them."""
        return list(self.labels)

    @abstractmethod
    def _kind(self) -> type[Any]:
        """Return the class of the estimator."""

    def _new_estimator(self) -> Any:
        """Return an estimator with the parameters of the config; raise OptionError if it does not have one of them."""
        kind, parameters = self._kind(), self.settings.parameters
        accepted = signature(kind).parameters
        if unknown := [key for key in parameters if key not in accepted]:
            words = hint({key: parameters[key] for key in unknown}, accepted) or similar(unknown[0], accepted)
            message = f"options has {unknown[0]!r}, which is not a parameter of {kind.__name__}{words}; correct it, or "
            message += "leave it out"
            raise OptionError(message)
        return kind(**parameters)

    @abstractmethod
    def _check(self, estimator: Any) -> None:
        """Raise OptionError if parameters of an estimator are out of range."""

    @abstractmethod
    def _take(self, estimator: Any) -> None:
        """Prepare to label with a trained estimator; raise OptionError if it does not suit the component."""

    @abstractmethod
    def _labels_of(self, estimator: Any) -> Iterable[str]:
        """Return the labels that a trained estimator sets."""

    @abstractmethod
    def _data(self, examples: Iterable[Example], *, has_sentences: bool) -> tuple[list[Any], list[Any]]:
        """Return what there is to learn: samples and their labels, without those that have none.

        Args:
            examples: of the training.
            has_sentences: whether pipes before this one will set boundaries of sentences.

        Raises:
            DataError: annotation that cannot be used.
        """

    @abstractmethod
    def predict(self, docs: list[Doc]) -> Sequence[Any]:
        """Return what the model says of each of the docs, which stay as they are."""

    @abstractmethod
    def set_annotations(self, docs: Iterable[Doc], predictions: Any) -> None:
        """Write what `predict` has returned to the docs."""

    @abstractmethod
    def _scores(self, examples: Iterable[Example]) -> dict[str, Any]:
        """Return scores of examples whose predicted docs have been labelled."""

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Return the scores of examples whose predicted docs have been labelled, as ``nlp.evaluate`` shows them."""
        if self.scorer is None:
            return self._scores(list(examples))
        scores: dict[str, Any] = super().score(examples, **kwargs)
        return scores

    def __call__(self, doc: Doc) -> Doc:
        """Label a doc."""
        return next(self.pipe([doc], batch_size=1), doc)

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Label a stream of docs, in parallel within a batch; the labels do not depend on the size of batches."""
        handle = self.get_error_handler()
        for docs in util.minibatch(stream, size=batch_size):
            try:
                self.set_annotations(docs, self.predict(docs))
            except Exception as error:
                handle(self.name, self, docs, error)
            else:
                yield from docs

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: list[str] | None = None,
    ) -> None:
        """Train the model, to the optimum, on all examples; nothing is done if the config names a model file.

        Args:
            get_examples: returns the examples.
            nlp: the pipeline.
            labels: the labels that the data may have; by default, any.

        Raises:
            DataError: no example has annotation of the kind; or a label is not in ``labels``.

        Warns:
            DataWarning: the config of the training hands over the first 100 examples only; or the examples look wrong,
                as those of which none has an entity.
        """
        validate_get_examples(get_examples, f"{type(self).__name__}.initialize")
        if self.settings.model_path is not None:
            _ = self.estimator
            return
        if nlp is not None and nlp.config.get("training", {}).get("max_epochs") == -1:
            message = f"component {self.name!r} learns from the first 100 examples only, because [training] max_epochs "
            warn(f"{message}is -1; set it to 0", DataWarning)
        with self._in_config():
            estimator = self._new_estimator()
        with in_argument(f"component {self.name!r}"):
            X, y = self._data(get_examples(), has_sentences=_sets_sentences(nlp, self.name))
            with warnings_kept() as messages:
                estimator.fit(X, y)
        self._warn_of(estimator, messages)
        if labels is not None:
            self._compare(set(self._labels_of(estimator)), set(labels))
        self.estimator = estimator

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Any = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Return the losses with 0 for this component; `initialize` has trained it, and updates do not change it."""
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        return losses

    def to_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> None:
        """Write the model to a folder, as the file ``model``, or without a model the empty file ``untrained``."""
        has_model = self.is_trained and _MODEL not in set(exclude)
        writers = {_MODEL: self._estimator.save} if has_model else {_NO_MODEL: Path.touch}
        util.to_disk(path, writers, exclude)
        (Path(path) / (_NO_MODEL if has_model else _MODEL)).unlink(missing_ok=True)

    def from_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> LogLinearPipe:
        """Open the model that `to_disk` has written.

        Raises:
            ModelFileError: the file is missing, damaged, or of another kind.
        """
        file = Path(path) / _MODEL
        if file.exists():
            util.from_disk(path, {_MODEL: self._from_file}, exclude)
        elif _MODEL not in set(exclude) and not (Path(path) / _NO_MODEL).exists():
            message = (
                f"{file}: the model of component {self.name!r} is missing; restore the file, or train and save the "
            )
            message += "pipeline again"
            raise ModelFileError(message)
        elif not self.is_trained and self.settings.model_path is not None:
            raise ModelFileError(self._untrained)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return the model as bytes."""
        data: bytes = util.to_bytes({_MODEL: self._to_file} if self.is_trained else {}, exclude)
        return data

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> LogLinearPipe:
        """Take the model from bytes that `to_bytes` has returned.

        Raises:
            ModelFileError: the bytes are damaged, or of another kind.
        """
        models: list[object] = []
        try:
            util.from_bytes(bytes_data, {_MODEL: models.append}, [*exclude])
        except Exception as error:  # spaCy lets whatever its decoder raises pass
            raise self._foreign() from error
        for model in models:
            if not isinstance(model, bytes):
                raise self._foreign()
            self._of_bytes(model)
        return self

    def _foreign(self) -> ModelFileError:
        """Return the error for bytes that no component has written."""
        message = f"component {self.name!r}: the bytes are not from to_bytes of a component, or are damaged; give the "
        message += "bytes that to_bytes has returned"
        return ModelFileError(message)

    def _from_file(self, path: str | os.PathLike[str]) -> None:
        """Take the model of a file, to run on the threads of the config."""
        estimator = self._kind().load(os.fspath(path))
        estimator.n_jobs = self.settings.parameters.get("n_jobs")
        self.estimator = estimator

    def _to_file(self) -> bytes:
        with _folder() as folder:
            path = Path(folder) / "model"
            self._estimator.save(path)
            return path.read_bytes()

    def _of_bytes(self, data: bytes) -> None:
        with _folder() as folder:
            path = Path(folder) / "model"
            path.write_bytes(data)
            try:
                self._from_file(path)
            except ModelFileError as error:
                message = str(error).replace(str(path), f"component {self.name!r}")
                raise ModelFileError(message) from error

    @contextmanager
    def _in_config(self) -> Iterator[None]:
        """Put the name of the component before what is wrong with its options."""
        try:
            yield
        except (OptionError, TypeError) as error:
            message = f"component {self.name!r}: {error}"
            raise OptionError(message) from error

    def _warn_of(self, estimator: Any, messages: list[tuple[str, type[Warning]]]) -> None:
        """Warn of what a training has warned of, with the name of the component before it."""
        for message, category in messages:
            warn(f"component {self.name!r}: {message}", category)

    def _compare(self, present: set[str], expected: set[str]) -> None:
        """Compare the labels of the data with those that were announced."""
        if unknown := sorted(present - expected):
            message = f"component {self.name!r}: the training data have the label {unknown[0]!r}, which is not in "
            message += "[initialize.components] labels; add it, or leave out labels"
            raise DataError(message)
        if missing := sorted(expected - present):
            message = f"component {self.name!r}: no example has the label {missing[0]!r}, which is never predicted"
            warn(message, DataWarning)


def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return a temporary folder for a model, which Windows cannot delete while the model is mapped into memory."""
    return tempfile.TemporaryDirectory(ignore_cleanup_errors=True)


def _sets_sentences(nlp: Language | None, name: str) -> bool:
    """Whether a component before this one sets boundaries of sentences."""
    if nlp is None or name not in nlp.pipe_names:
        return False
    before = nlp.pipe_names[: nlp.pipe_names.index(name)]
    sets = {assigned for other in before for assigned in nlp.get_pipe_meta(other).assigns}
    return not sets.isdisjoint({"doc.sents", "token.is_sent_start", "token.sent_start"})
