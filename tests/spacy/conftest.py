"""Blank pipelines and annotated docs; spaCy is imported once for all tests of a process."""

from __future__ import annotations

import pytest

pytest.importorskip("spacy")
