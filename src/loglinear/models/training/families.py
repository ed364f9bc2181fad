"""Families of features: which weights a name stands for, and penalties that differ by name.

An attribute belongs to a family: the line of the template that formed it, or what it has before its first `=` or `:`.
An attribute without these characters, or a column, is a separate family. Features of labels alone belong to the
families `transitions` and `triples`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ...data.templates import without_comments
from ...errors import OptionError
from ...networks.numbering import Numbers
from ...options import similar
from ...penalty import ElasticNet, GroupLasso
from ...vectors import Signs, Vector
from ...visible import listed, visible_name
from .options import FamilyParameters

if TYPE_CHECKING:
    from ...objectives.chain import ChainData

__all__ = [
    "TRANSITIONS",
    "TRIPLES",
    "NamedWeights",
    "family_penalty",
    "line_names",
    "named_weights_of",
    "template_with",
]

TRANSITIONS, TRIPLES = "transitions", "triples"
# Names that a message shows.
_SHOWN = 30
# Largest strength of the penalty of a weight, far from where sums of penalties overflow.
_LARGEST = 1e150
V = TypeVar("V")


@dataclass(frozen=True)
class NamedWeights:
    """Names of the penalised weights of a model.

    Attributes:
        attributes: names of attributes.
        families: names of families.
        labels: names of labels.
        family_of: family of each attribute, shape (n_attributes,).
        attribute_of: attribute of each weight, shape (n_penalised,).
        label_of: label of each weight, of several the label of the token, shape (n_penalised,).
        flipped: label whose signs are turned around: of two classes the one without weights; -1 for none.
    """

    attributes: Sequence[str]
    families: Sequence[str]
    labels: Sequence[str]
    family_of: Numbers
    attribute_of: Numbers
    label_of: Numbers
    flipped: int = -1

    @classmethod
    def of(
        cls,
        attributes: Sequence[str],
        labels: Sequence[str],
        attribute_of: Numbers,
        label_of: Numbers,
        *,
        lines: Iterable[str] = (),
        flipped: int = -1,
    ) -> NamedWeights:
        """Return the names of weights, with the families of their attributes.

        Args:
            attributes: names of attributes.
            labels: names of labels.
            attribute_of: attribute of each weight.
            label_of: label of each weight.
            lines: what attributes of the lines of a template begin with.
            flipped: see the attribute of this class.

        Example:
            >>> import numpy as np
            >>> from loglinear.models.training.families import NamedWeights
            >>> numbers = np.arange(3), np.zeros(3, dtype=np.int64)
            >>> NamedWeights.of(["w=dog", "w=cat", "capital"], ["A"], *numbers).families
            ['w', 'capital']
        """
        family = _family_finder(lines)
        numbers: dict[str, int] = {}
        family_of = [numbers.setdefault(family(attribute), len(numbers)) for attribute in attributes]
        of = np.array(family_of, dtype=np.int64)
        return cls(attributes, list(numbers), labels, of, attribute_of, label_of, flipped)

    @property
    def family_of_weight(self) -> Numbers:
        """Family of each weight, shape (n_penalised,)."""
        return self.family_of[self.attribute_of]

    def by_attribute(self, option: str, values: Mapping[str, V]) -> dict[int, V]:
        """Return the value of each attribute that a name or pattern matches.

        Args:
            option: what messages call the values.
            values: by name of an attribute or family, or by pattern.

        Raises:
            OptionError: a name or pattern matches nothing, or two that are equally specific contradict each other.
        """
        by_attribute: dict[int, tuple[int, str, V]] = {}
        by_family: dict[int, list[int]] = {}
        for attribute, family in enumerate(self.family_of.tolist()):
            by_family.setdefault(family, []).append(attribute)
        attribute_numbers = {name: number for number, name in enumerate(self.attributes)}
        family_numbers = {name: number for number, name in enumerate(self.families)}
        for name, value in values.items():
            matched = False
            for rank, attributes in self._matching(name, attribute_numbers, family_numbers, by_family):
                for attribute in attributes:
                    matched = True
                    before = by_attribute.get(attribute)
                    if before is not None and before[0] == rank and before[2] != value:
                        message = f"{option}: {before[1]!r} and {name!r} contradict each other for attribute "
                        message += f"{visible_name(self.attributes[attribute])!r}; name the attribute itself"
                        raise OptionError(message)
                    if before is None or before[0] <= rank:
                        by_attribute[attribute] = rank, name, value
            if not matched:
                self._refuse(option, name)
        return {attribute: value for attribute, (_, _, value) in by_attribute.items()}

    def _matching(
        self,
        name: str,
        attributes: Mapping[str, int],
        families: Mapping[str, int],
        members: Mapping[int, Sequence[int]],
    ) -> Iterable[tuple[int, Sequence[int]]]:
        """Yield the attributes that a name matches, with how specific the match is."""
        if name in families:
            yield 1, members[families[name]]
        if name in attributes:
            yield 2, [attributes[name]]
        if name in families or name in attributes or not re.search(r"[*?]", name):
            return
        fits = _pattern(name).fullmatch
        for family, number in families.items():
            if fits(family):
                yield 0, members[number]
        yield 0, [number for attribute, number in attributes.items() if fits(attribute)]

    def _refuse(self, option: str, name: str) -> None:
        """Raise OptionError: nothing has the name."""
        hint = similar(name, self.families) or similar(name, self.attributes)
        names = listed(list(map(visible_name, self.families)), _SHOWN)
        message = f"{option}: no attribute or family is called {name!r}{hint}; families are {names}"
        raise OptionError(message)


def line_names(template: str | None) -> list[str]:
    r"""Return what the attributes of each line of a template begin with, up to the first macro.

    Example:
        >>> from loglinear.models.training.families import line_names
        >>> line_names("U00:%x[0,0]/%x[1,0]\nword[-1]:%x[-1,0]\nB")
        ['U00:', 'word[-1]:']
    """
    if template is None:
        return []
    starts = map(_start_of, without_comments(template).splitlines())
    return list(dict.fromkeys(start for start in starts if start))


def _start_of(line: str) -> str:
    """Return what the attributes of a line of a template begin with; empty if it forms none."""
    return "" if "%" not in line or re.match(r"[Cc] ", line) else line.partition("%")[0]


def template_with(template: str, families: Collection[str]) -> str:
    r"""Return the text of a template without the lines of other families.

    Args:
        template: text of a template.
        families: names of the families that stay.

    Example:
        >>> from loglinear.models.training.families import template_with
        >>> template_with("U00:%x[0,0]\nU01:%x[1,0]\nB\n", ["U01"])
        'U01:%x[1,0]\n'
    """
    lines = []
    for line in template.splitlines(keepends=True):
        text = line.strip()
        start = "" if text.startswith("#") else _start_of(text)
        is_of_labels = not start and re.match(r"[BbTt*]", text) is not None and "%" not in text
        labels = TRIPLES if text[:1] in ("T", "t") else TRANSITIONS
        if (start.rstrip(":=") or start) in families if start else not is_of_labels or labels in families:
            lines.append(line)
    return "".join(lines)


def _family_finder(lines: Iterable[str]) -> Callable[[str], str]:
    """Return the function that gives the family of an attribute."""
    starts = sorted(lines, key=len, reverse=True)
    of_lines = re.compile("|".join(map(re.escape, starts))).match if starts else None

    def family(attribute: str) -> str:
        start = None if of_lines is None else of_lines(attribute)
        if start is not None and start[0].rstrip(":="):
            return start[0].rstrip(":=")
        return re.split(r"(?<=.)[=:]", attribute, maxsplit=1)[0]

    return family


def _pattern(name: str) -> re.Pattern[str]:
    """Return the expression for a pattern in which only * and ? are special: [ and ] occur in names of lines."""
    parts = {"*": ".*", "?": "."}
    return re.compile("".join(parts.get(character, re.escape(character)) for character in name), re.DOTALL)


def named_weights_of(data: ChainData) -> NamedWeights:
    """Return the names of the weights of a chain.

    Cost: the names of all features.
    """
    numbers: dict[str, int] = {}
    labels = {name: number for number, name in enumerate(data.label_names)}
    attribute_of, label_of = (np.empty(data.n_features, dtype=np.int64) for _ in range(2))
    for at, (attribute, of) in enumerate(data.core.feature_names(np.arange(data.n_features))):
        name = attribute if attribute is not None else TRANSITIONS if len(of) == 2 else TRIPLES
        attribute_of[at] = numbers.setdefault(name, len(numbers))
        label_of[at] = labels[of[-1]]
    return NamedWeights.of(list(numbers), data.label_names, attribute_of, label_of, lines=line_names(data.template))


def family_penalty(penalty: ElasticNet, options: FamilyParameters, weights: NamedWeights) -> ElasticNet | GroupLasso:
    """Return a penalty with the factors, signs and groups that the options ask for.

    Args:
        penalty: the penalty without them.
        options: factors, signs and groups by name.
        weights: names of the penalised weights.

    Raises:
        OptionError: a name matches nothing, or names contradict each other; the weights of a group have different
            factors; or a factor times its strength exceeds the range of numbers.
    """
    factors = None if not options.penalty_factor else _factors(options.penalty_factor, weights)
    if factors is not None and factors.size and factors.max() > _LARGEST / max(penalty.l1, penalty.l2, 1.0):
        message = (
            f"penalty_factor: {factors.max():g} times l1 or l2 exceeds the range of numbers; give a smaller factor"
        )
        raise OptionError(message)
    signs = None if not options.signs else _signs(options.signs, weights)
    if options.l1_groups is None:
        return ElasticNet(penalty.l1, penalty.l2, penalty.unpenalised, factors=factors, signs=signs)
    groups = weights.family_of_weight if options.l1_groups == "families" else weights.attribute_of
    groups = np.unique(groups, return_inverse=True)[1]
    if factors is not None and options.l1_groups == "families":
        _check_one_factor(factors, weights)
    return GroupLasso(penalty.l1, penalty.l2, penalty.unpenalised, groups, factors=factors, signs=signs)


def _factors(by_name: Mapping[str, float], weights: NamedWeights) -> Vector:
    """Return the factor of each penalised weight."""
    factors = np.ones(len(weights.attributes))
    for attribute, factor in weights.by_attribute("penalty_factor", by_name).items():
        factors[attribute] = factor
    return np.asarray(factors[weights.attribute_of])


def _signs(by_name: Mapping[str, str | Mapping[str, str]], weights: NamedWeights) -> Signs:
    """Return the sign of each penalised weight."""
    numbers = {str(name): number for number, name in enumerate(weights.labels)}
    of_all = [number for number in numbers.values() if number != weights.flipped]
    table = np.zeros((len(weights.attributes), len(numbers)), dtype=np.int8)
    for attribute, sign in weights.by_attribute("signs", by_name).items():
        if not isinstance(sign, Mapping):
            table[attribute, of_all] = 1 if sign == "+" else -1
            continue
        for label, of_label in sign.items():
            if str(label) not in numbers:
                message = f"signs: there is no label {str(label)!r}{similar(str(label), numbers)}; labels are "
                raise OptionError(message + listed(list(numbers), _SHOWN))
            number, value = numbers[str(label)], 1 if of_label == "+" else -1
            if table[attribute, number] == -value:
                message = f"signs: {visible_name(weights.attributes[attribute])!r} has both signs for label "
                raise OptionError(message + f"{str(label)!r}, as a number and as a string; leave out one")
            table[attribute, number] = value
    signs = table[weights.attribute_of, weights.label_of]
    if weights.flipped < 0:
        return signs
    # Two classes have one weight, that of the second: what raises the score of the first lowers it.
    of_first = -table[weights.attribute_of, weights.flipped]
    for at in np.flatnonzero(signs * of_first < 0)[:1].tolist():
        name = visible_name(weights.attributes[weights.attribute_of[at]])
        message = f"signs: {name!r} has the same sign for both classes, whose weights are opposite; leave out one"
        raise OptionError(message)
    return np.where(signs != 0, signs, of_first)


def _check_one_factor(factors: Vector, weights: NamedWeights) -> None:
    """Raise OptionError if the weights of a family have different factors."""
    first = np.zeros(len(weights.families))
    family_of = weights.family_of_weight
    first[family_of] = factors
    different = np.flatnonzero(factors != first[family_of])
    if different.size:
        name = visible_name(weights.families[family_of[different[0]]])
        message = f"penalty_factor: the attributes of family {name!r} have different factors, and l1_groups='families' "
        raise OptionError(message + "penalises them together; give the whole family one factor")
