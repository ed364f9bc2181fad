"""The factories of the components, whose arguments are the keys of their configs.

spaCy reads the annotations of the arguments while it checks a config, so they are not postponed. Estimators have
the same defaults.
"""

from collections.abc import Callable
from inspect import signature
from typing import Any, Literal

from spacy.language import Language

from ..errors import OptionError
from ..models.chain import ChainCRF
from ..models.training.options import TextOptions
from .ner import EntityRecognizer
from .pipe import Settings
from .probability import add_extension
from .spancat import SpanCategorizer
from .tagger import Tagger
from .textcat import TextCategorizer

__all__ = ["make_ner", "make_spancat", "make_tagger", "make_textcat", "register"]

Scorer = Callable[..., dict[str, Any]]


def make_ner(
    nlp: Language,
    name: str,
    model_path: str | None,
    template: str,
    l1: float,
    l2: float | None,
    min_count: int,
    constraints: str | None,
    options: dict[str, Any],
    by_sentence: bool,
    overwrite: bool,
    spans_key: str | None,
    scorer: Scorer | None,
) -> EntityRecognizer:
    """Return the component `loglinear_ner`; see `EntityRecognizer` and, for the options of training, `ChainCRF`."""
    parameters = {"template": template, "l1": l1, "l2": l2, "min_count": min_count, "constraints": constraints}
    return EntityRecognizer(
        nlp.vocab,
        name,
        _settings(name, parameters, options, model_path),
        by_sentence=by_sentence,
        overwrite=overwrite,
        spans_key=spans_key,
        scorer=scorer,
    )


def make_tagger(
    nlp: Language,
    name: str,
    model_path: str | None,
    template: str,
    l1: float,
    l2: float | None,
    min_count: int,
    options: dict[str, Any],
    by_sentence: bool,
    attribute: Literal["tag", "pos"],
    overwrite: bool,
    scorer: Scorer | None,
) -> Tagger:
    """Return the component `loglinear_tagger`; see `Tagger` and, for the options of training, `ChainCRF`."""
    parameters = {"template": template, "l1": l1, "l2": l2, "min_count": min_count}
    return Tagger(
        nlp.vocab,
        name,
        _settings(name, parameters, options, model_path),
        by_sentence=by_sentence,
        attribute=attribute,
        overwrite=overwrite,
        scorer=scorer,
    )


def make_spancat(
    nlp: Language,
    name: str,
    model_path: str | None,
    template: str,
    l1: float,
    l2: float | None,
    min_count: int,
    constraints: str | None,
    options: dict[str, Any],
    by_sentence: bool,
    spans_key: str,
    threshold: float,
    scorer: Scorer | None,
) -> SpanCategorizer:
    """Return the component `loglinear_spancat`; see `SpanCategorizer` and, for the options of training, `ChainCRF`."""
    parameters = {"template": template, "l1": l1, "l2": l2, "min_count": min_count, "constraints": constraints}
    return SpanCategorizer(
        nlp.vocab,
        name,
        _settings(name, parameters, options, model_path),
        by_sentence=by_sentence,
        spans_key=spans_key,
        threshold=threshold,
        scorer=scorer,
    )


def make_textcat(
    nlp: Language,
    name: str,
    model_path: str | None,
    words: str,
    ngrams: str,
    tfidf: bool,
    l1: float | Literal["cv"],
    l2: float | None,
    min_count: int,
    options: dict[str, Any],
    scorer: Scorer | None,
) -> TextCategorizer:
    """Return the component `loglinear_textcat`; for the options of training, `TextClassifier`."""
    parameters = {"words": words, "ngrams": ngrams, "tfidf": tfidf, "l1": l1, "l2": l2, "min_count": min_count}
    return TextCategorizer(nlp.vocab, name, _settings(name, parameters, options, model_path), scorer=scorer)


def _settings(name: str, parameters: dict[str, Any], options: dict[str, Any], model_path: str | None) -> Settings:
    """Return the settings of a model; raise OptionError for an option that is a key of the config, too."""
    if both := sorted(parameters.keys() & options.keys()):
        message = f"component {name!r}: options has {both[0]!r}, which is a key of the config; set it there alone"
        raise OptionError(message)
    if model_path is not None and not model_path.strip():
        message = f"component {name!r}: model_path is empty; give the path of a model file, or leave it out to train"
        raise OptionError(message)
    return Settings(parameters | options, model_path)


def _config(estimator: type, *names: str, **own: Any) -> dict[str, Any]:
    """Return the default config of a component.

    Args:
        estimator: class with the defaults of some options.
        names: these options.
        own: the other keys with their defaults.
    """
    parameters = signature(estimator).parameters
    return (
        {name: parameters[name].default for name in names} | {"model_path": None, "options": {}, "scorer": None} | own
    )


_TRAINING = ("l1", "l2", "min_count")


def register() -> None:
    """Register the factories and the attribute ``span._.probability``; doing so again changes nothing."""
    add_extension()
    Language.factory(
        "loglinear_ner",
        default_config=_config(
            ChainCRF, *_TRAINING, template="ner", constraints="BIO", by_sentence=True, overwrite=False, spans_key="ents"
        ),
        assigns=["doc.ents", "token.ent_iob", "token.ent_type", "doc.spans", "span._.probability"],
        default_score_weights={"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None},
        func=make_ner,
    )
    Language.factory(
        "loglinear_tagger",
        default_config=_config(
            ChainCRF, *_TRAINING, template="pos", by_sentence=True, attribute="tag", overwrite=False
        ),
        assigns=["token.tag", "token.pos"],
        default_score_weights={"tag_acc": 1.0, "pos_acc": 0.0},
        func=make_tagger,
    )
    Language.factory(
        "loglinear_spancat",
        default_config=_config(
            ChainCRF, *_TRAINING, template="ner", constraints="BIO", by_sentence=True, spans_key="sc", threshold=0.5
        ),
        assigns=["doc.spans", "span._.probability"],
        default_score_weights={"spans_sc_f": 1.0, "spans_sc_p": 0.0, "spans_sc_r": 0.0},
        func=make_spancat,
    )
    Language.factory(
        "loglinear_textcat",
        default_config=_config(TextOptions, "words", "ngrams", "tfidf") | _config(ChainCRF, *_TRAINING),
        assigns=["doc.cats"],
        default_score_weights={"cats_score": 1.0, "cats_micro_f": None, "cats_macro_f": None, "cats_macro_auc": None},
        func=make_textcat,
    )
