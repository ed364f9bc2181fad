"""Formulas of hierarchical log-linear models, such as ``A*B + C``.

A term is a set of variables, as numbers of axes of the table; the empty set is the constant. A hierarchical model has
with each term all terms that are contained in it.

    formula  = ["~"] ["-"] product {("+" | "-") product}
    product  = meeting {"*" meeting}
    meeting  = power {":" power}
    power    = atom [("^" | "**") whole number]
    atom     = name | "." | "1" | "(" formula ")"
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple, NoReturn, TypeAlias

from ..errors import OptionError
from ..options import similar
from ..visible import listed

__all__ = ["Term", "closed", "formula_of", "generators_of", "terms_of"]

Term: TypeAlias = frozenset[int]

_TOKEN = re.compile(
    r"""\s*(?: (?P<name> [^\W\d]\w*(?:\.\w+)* )
           | (?P<quoted> "[^"]*" | '[^']*' | `[^`]*` )
           | (?P<number> \d+ )
           | (?P<sign> \*\* | [-+*:^().~] ) )""",
    re.VERBOSE,
)
_PLAIN = re.compile(r"[^\W\d]\w*(?:\.\w+)*")
# Names that a message lists; the largest number of terms, so that closures stay small, and of open parentheses.
_SHOWN = 12
_MOST_TERMS = 2**16
_MOST_OPEN = 50


def terms_of(formula: str | Iterable[str | Iterable[str]], names: Sequence[str]) -> list[Term]:
    """Return the terms of a hierarchical model, the constant first, then by size and by number of the variables.

    Args:
        formula: a formula, or the generators of the model, each a name of a variable or several names.
        names: names of the variables.

    Raises:
        OptionError: the formula cannot be understood, has an unknown name, or is not hierarchical.

    Example:
        >>> from loglinear.tables.formula import formula_of, terms_of
        >>> formula_of(terms_of("(A + B + C)^2 - A:C", ["A", "B", "C"]), ["A", "B", "C"])
        'A*B + B*C'
    """
    if isinstance(formula, str):
        return closed(_Parser(formula, names).formula())
    if not isinstance(formula, Iterable):
        message = f"formula={formula!r} is neither a formula, such as 'A*B + C', nor a list of generators"
        raise OptionError(message)
    generators = []
    for generator in formula:
        if not isinstance(generator, Iterable):
            message = f"formula: generator {generator!r} is neither a name of a variable nor several names, such as "
            message += "('A', 'B')"
            raise OptionError(message)
        members = [generator] if isinstance(generator, str) else [*generator]
        for name in members:
            if name not in names:
                message = f"formula: generator {generator!r}: no variable {name!r}{_hint(name, names)}"
                raise OptionError(message)
        generators.append(frozenset(names.index(name) for name in members))
    return closed(generators)


def closed(terms: Iterable[Term]) -> list[Term]:
    """Return the terms with all terms that are contained in them, in order."""
    whole: set[Term] = {frozenset()}
    for term in sorted(set(terms), key=len, reverse=True):
        if term in whole:
            continue
        if 2 ** len(term) > _MOST_TERMS:
            message = f"formula: an interaction of {len(term)} variables has too many margins; use fewer variables"
            raise OptionError(message)
        whole.update(frozenset(part) for size in range(len(term) + 1) for part in combinations(sorted(term), size))
    return sorted(whole, key=_order)


def generators_of(terms: Iterable[Term]) -> list[Term]:
    """Return the terms of a hierarchical model that no other term contains, in order."""
    maximal: list[Term] = []
    for term in sorted(terms, key=lambda term: -len(term)):
        if not any(term <= other for other in maximal):
            maximal.append(term)
    return sorted(maximal, key=lambda term: sorted(term))


def formula_of(terms: Iterable[Term], names: Sequence[str]) -> str:
    """Return the formula of a hierarchical model by its generators; ``1`` for the constant alone."""
    products = ("*".join(_spelt(names[axis]) for axis in sorted(term)) or "1" for term in generators_of(terms))
    return " + ".join(products)


def _spelt(name: str) -> str:
    """Return a name as a formula has it."""
    return name if _PLAIN.fullmatch(name) else f"`{name}`" if "`" not in name else f'"{name}"'


def _order(term: Term) -> tuple[int, list[int]]:
    return len(term), sorted(term)


def _hint(name: object, names: Sequence[str]) -> str:
    return f"{similar(str(name), names)}; the variables are {listed([*map(str, names)], _SHOWN)}"


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


def _unquoted(token: _Token, names: Sequence[str]) -> str:
    """Return the remedy if a name is the first word of a variable whose name has blanks."""
    longer = [name for name in map(str, names) if token.kind == "name" and name.startswith(f"{token.text} ")]
    return f"; put names with blanks in quotes: {longer[0]!r}" if longer else ""


class _Parser:
    """A parser by recursive descent, which returns sets of terms."""

    def __init__(self, formula: str, names: Sequence[str]) -> None:
        self.text, self.names, self.open = formula, names, 0
        self.tokens: list[_Token] = []
        at = 0
        while formula[at:].strip():
            match = _TOKEN.match(formula, at)
            if match is None:
                start = at + len(formula[at:]) - len(formula[at:].lstrip())
                if formula[start] in "\"'`":
                    self.fail(start, "the quote is not closed")
                self.fail(start, f"unexpected {formula[start]!r}; put names with blanks or signs in quotes")
            kind = str(match.lastgroup)
            self.tokens.append(_Token(kind, match[kind], match.start(kind)))
            at = match.end()
        self.at = 0

    def fail(self, position: int, problem: str) -> NoReturn:
        """Raise OptionError that names the position, from 1."""
        message = f"formula {self.text!r}, position {position + 1}: {problem}"
        raise OptionError(message)

    def formula(self) -> set[Term]:
        """Return the terms of the whole formula."""
        if not self.tokens:
            message = f"formula {self.text!r} is empty; give, for example, 'A*B + C', or '.' for all variables"
            raise OptionError(message)
        self.taken("~")
        terms = self.sum()
        if self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.fail(token.start, f"unexpected {token.text!r}; expected +, -, *, : or ^")
        return terms

    def taken(self, *signs: str) -> _Token | None:
        """Return the next token and go past it, if it is one of these signs."""
        if self.at < len(self.tokens) and self.tokens[self.at].kind == "sign":
            token = self.tokens[self.at]
            if token.text in signs:
                self.at += 1
                return token
        return None

    def sum(self) -> set[Term]:
        terms: set[Term] = set()
        if (minus := self.taken("-")) is not None:
            self.fail(minus.start, "nothing before '-' to remove a term from")
        terms |= self.product()
        while (sign := self.taken("+", "-")) is not None:
            others = self.product()
            terms = terms | others if sign.text == "+" else self.without(terms, others, sign.start)
        return terms

    def without(self, terms: set[Term], removed: set[Term], position: int) -> set[Term]:
        """Return the model without terms; what is left must be hierarchical."""
        left = {term for term in closed(terms) if term and term not in removed}
        for term in removed - {frozenset()}:
            above = next((other for other in left if term < other), None)
            if above is not None:
                small, large = (":".join(self.names[axis] for axis in sorted(part)) for part in (term, above))
                self.fail(position, f"{small} cannot be removed, because {large} contains it; remove {large} as well")
        return left

    def product(self) -> set[Term]:
        terms = self.meeting()
        while self.taken("*") is not None:
            others = self.meeting()
            terms = terms | others | self.met(terms, others)
        return terms

    def meeting(self) -> set[Term]:
        terms = self.power()
        while self.taken(":") is not None:
            terms = self.met(terms, self.power())
        return terms

    def power(self) -> set[Term]:
        terms = self.atom()
        while (sign := self.taken("^", "**")) is not None:
            token = self.tokens[self.at] if self.at < len(self.tokens) else None
            if token is None or token.kind != "number" or not 0 < int(token.text) <= len(self.names) + 32:
                self.fail(sign.start, f"{sign.text} needs a whole number above 0, such as (A + B + C)^2")
            self.at += 1
            base = terms
            for _ in range(int(token.text) - 1):
                terms = terms | self.met(terms, base)
        return terms

    def atom(self) -> set[Term]:
        if self.at >= len(self.tokens):
            self.fail(len(self.text.rstrip()), "the formula ends early; expected a variable")
        token = self.tokens[self.at]
        self.at += 1
        if token.kind in ("name", "quoted"):
            name = token.text if token.kind == "name" else token.text[1:-1]
            if name not in self.names:
                self.fail(token.start, f"no variable {name!r}{_unquoted(token, self.names) or _hint(name, self.names)}")
            return {frozenset([self.names.index(name)])}
        if token.text == ".":
            return {frozenset([axis]) for axis in range(len(self.names))}
        if token.text == "1":
            return {frozenset()}
        if token.text == "(":
            self.open += 1
            if self.open > _MOST_OPEN:
                self.fail(token.start, f"more than {_MOST_OPEN} parentheses are open; leave out those without effect")
            terms = self.sum()
            if self.taken(")") is None:
                self.fail(token.start, "the parenthesis is not closed")
            self.open -= 1
            return terms
        advice = "; put a name that begins with a digit in quotes" if token.kind == "number" else ""
        self.fail(token.start, f"expected a variable, found {token.text!r}{advice}")

    def met(self, terms: set[Term], others: set[Term]) -> set[Term]:
        """Return the unions of each term with each of the others."""
        unions: set[Term] = set()
        for term in terms:
            unions.update(term | other for other in others)
            if len(unions) > _MOST_TERMS:
                message = f"formula {self.text!r}: the model has more than {_MOST_TERMS:,} terms; name the variables "
                message += "of the model, such as 'A*B + C' (PairwiseMRF learns networks of many variables)"
                raise OptionError(message)
        return unions
