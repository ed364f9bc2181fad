"""Components of spaCy pipelines over loglinear's models: `pip install 'loglinear[spacy]'`.

The factories are `loglinear_ner`, `loglinear_tagger`, `loglinear_textcat` and `loglinear_spancat`, for
``nlp.add_pipe`` and for config files. spaCy finds them once the package is installed; importing this module registers
them, too. Importing `loglinear` does not import spaCy.
"""

from __future__ import annotations

from ..extras import needed_by

with needed_by("loglinear.spacy", "spacy"):
    import spacy  # noqa: F401

    from .factories import register
    from .ner import EntityRecognizer
    from .spancat import SpanCategorizer
    from .tagger import Tagger
    from .textcat import TextCategorizer

__all__ = ["EntityRecognizer", "SpanCategorizer", "Tagger", "TextCategorizer"]

register()
