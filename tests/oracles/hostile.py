"""Values that no file should have, and JSON in which they take the place of others."""

from __future__ import annotations

import copy
import json

DELETED = object()
DEEP = json.loads("[" * 40 + "]" * 40)
HOSTILE = (
    *(None, True, -1, 0, 1, 2, 3, 10**8, 10**18, 10**400, 0.5, -0.5, 1e308, float("nan"), float("inf")),
    *("", "x", "O", "U", "<U99999999999", "V8", "chain", "maxent", "network", "text", "crfsuite", "bool", "\ud800"),
    *([], [[]], [None], [1, 2, 3], ["a"], {}, {"a": 1}, {"a": [{}]}, DEEP),
)


def places(settings, way=()):
    """The way to everything in the settings: of a list its first and its last entry."""
    yield way
    if isinstance(settings, dict):
        for name, inside in settings.items():
            yield from places(inside, (*way, name))
    elif isinstance(settings, list):
        for at in sorted({0, len(settings) - 1} & {*range(len(settings))}):
            yield from places(settings[at], (*way, at))


def changed(settings, way, change):
    """Settings in which something is replaced, or changed by a function; DELETED removes it."""
    if not way:
        return {} if change is DELETED else change(settings) if callable(change) else change
    settings = copy.deepcopy(settings)
    inside = settings
    for name in way[:-1]:
        inside = inside[name]
    if change is DELETED:
        del inside[way[-1]]
    else:
        inside[way[-1]] = change(inside[way[-1]]) if callable(change) else change
    return settings


CHANGES = (
    DELETED,
    lambda value: [value],
    lambda value: value + value if isinstance(value, (list, str)) else value,
    lambda value: value[:-1] if isinstance(value, (list, str)) else value,
    lambda value: value[::-1] if isinstance(value, (list, str)) else value,
    lambda value: str(value),
    lambda value: -value if isinstance(value, (int, float)) else value,
    *HOSTILE,
)
