"""Flags that several commands share, and flags that derive from dataclasses of options."""

from __future__ import annotations

from argparse import Action, ArgumentError, Namespace
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import OptionError

if TYPE_CHECKING:
    from argparse import _ActionsContainer as Arguments
    from collections.abc import Collection, Mapping
    from dataclasses import Field

    from ..data.column_layout import ColumnLayout
    from ..data.formats import Content, Holds
    from ..models.training.options import TextOptions
    from ..objectives.chain import ChainFeatures

__all__ = [
    "add_columns",
    "add_features",
    "add_format",
    "add_json",
    "add_label_bias",
    "add_model_type",
    "add_options",
    "add_scheme",
    "add_spans",
    "add_table_layout",
    "add_templates",
    "add_threads",
    "add_tokenizer",
    "add_verbose",
    "add_weight_column",
    "check_is_of_texts",
    "check_raw_text",
    "chosen",
    "classifier_features",
    "column_layout",
    "count",
    "flag",
    "flags_of",
    "missing_marks",
    "option_flag",
    "positive",
    "solvers_help",
    "under_headings",
]

T = TypeVar("T")


class _LabelNumbers(Action):
    """Collects NAME=NUMBER of a flag that may be repeated into a dict; a class weight may be the word `balanced`."""

    def __call__(self, parser: object, arguments: Namespace, text: Any, flag: str | None = None) -> None:
        numbers = getattr(arguments, self.dest)
        label, equals, number = str(text).rpartition("=")
        if text == "balanced" and self.dest == "class_weight" and numbers is None:
            setattr(arguments, self.dest, text)
            return
        try:
            value = float(number) if label and equals and not isinstance(numbers, str) else None
        except ValueError:
            value = None
        if value is None or label in (numbers or {}):
            form = str(self.metavar).replace("=X", "=NUMBER")
            message = f"{text}: not of the form {form}" if value is None else f"{label} has two values"
            raise ArgumentError(self, message)
        setattr(arguments, self.dest, {**(numbers or {}), label: value})


class _NamedSigns(Action):
    """Collects NAME=SIGN of a flag that may be repeated into a dict; `+:LABEL` is a sign for one label."""

    def __call__(self, parser: object, arguments: Namespace, text: Any, flag: str | None = None) -> None:
        signs: dict[str, Any] = dict(getattr(arguments, self.dest) or {})
        name, equals, value = str(text).rpartition("=")
        sign, colon, label = value.partition(":")
        if not (name and equals and sign in ("+", "-") and bool(colon) == bool(label)):
            raise ArgumentError(self, f"{text}: not of the form NAME=+, NAME=-, NAME=+:LABEL or NAME=-:LABEL")
        before = signs.get(name)
        by_label = before if isinstance(before, dict) else {}
        if before is not None and (not label or isinstance(before, str) or label in by_label):
            raise ArgumentError(self, f"{name} has two signs")
        signs[name] = {**by_label, label: sign} if label else sign
        setattr(arguments, self.dest, signs)


# Flags that are not the option's name.
_FLAGS = {"signs": ["--sign"], "random_state": ["--seed"], "solver_options": ["-p", "--set"], "n": ["-n", "--number"]}
# Arguments of argparse for an option, by the first type in its annotation.
_KINDS: dict[str, dict[str, Any]] = {
    "bool": {"action": "store_true"},
    "int": {"type": int, "metavar": "N"},
    "float": {"type": float, "metavar": "X"},
    "str": {"metavar": "NAME"},
    "Mapping[str, Any]": {"action": "append", "metavar": "NAME=VALUE"},
    "Mapping[Any, float]": {"action": _LabelNumbers, "metavar": "LABEL=X"},
    "Mapping[str, float]": {"action": _LabelNumbers, "metavar": "NAME=X"},
    "Mapping[str, str": {"action": _NamedSigns, "metavar": "NAME=SIGN"},
}


def add_options(parser: Arguments, kind: type, *names: str, **defaults: float) -> None:
    """Add a flag for each field of a dataclass of options, or for the named ones, in this order.

    Args:
        parser: of the command.
        kind: the dataclass; see `loglinear.options.option`.
        names: of the fields; all by default.
        defaults: by name, where the command has others than the dataclass.
    """
    from dataclasses import fields  # here: labelling text needs no dataclasses, which cost some milliseconds

    fields_by_name = {field.name: field for field in fields(kind)}
    for name in names or fields_by_name:
        _add_option(parser, fields_by_name[name], defaults.get(name, fields_by_name[name].default))


def _add_option(parser: Arguments, option: Field[Any], default: object) -> None:
    text = option.metadata["help"].partition(". ")[0].removesuffix(".").replace("``", "`")
    text, _, otherwise = text.partition("; by default ")
    if isinstance(default, (int, float)) and not isinstance(default, bool):
        otherwise = f"{default:g}"
    text += f" (default: {otherwise})" if otherwise else ""
    flags = _FLAGS.get(option.name, [flag(option.name)])
    kind = _KINDS.get(str(option.type).split(" | ", maxsplit=1)[0], _KINDS["str"])  # types of names are words, too
    if "Literal['cv']" in str(option.type).replace('"', "'"):
        kind = {"type": _strength, "metavar": "X"}
    text += "; may be repeated" if kind.get("action") in ("append", _LabelNumbers, _NamedSigns) else ""
    parser.add_argument(*flags, dest=option.name, default=default, help=text.replace("%", "%%"), **kind)


def _strength(text: str) -> float | str:
    return text if text == "cv" else float(text)


def flag(name: str) -> str:
    """Return the flag of an option."""
    return f"--{name.replace('_', '-')}"


def option_flag(name: str) -> str:
    """Return the flag of a field of a dataclass of options, the short one if there are two."""
    return _FLAGS.get(name, [flag(name)])[0]


def chosen(kind: type[T], arguments: Namespace, **changes: object) -> T:
    """Return a dataclass of options with what the command line gives for its fields.

    Raises:
        OptionError: an option is out of its range.
    """
    from dataclasses import fields

    values = {field.name: getattr(arguments, field.name) for field in fields(kind) if hasattr(arguments, field.name)}  # type: ignore[arg-type]
    return kind(**values | changes)


def solvers_help() -> str:
    """Return a line for each solver: its name and the first line of its docstring."""
    from ..solvers import SOLVERS, summary

    width = max(map(len, SOLVERS))
    title = "solvers (`loglinear solvers` says what each needs, `loglinear solvers NAME` lists its -p options):"
    lines = {name: f"  {name:<{width}}  {summary(kind)}" for name, kind in SOLVERS.items()}
    return "\n".join([title, *under_headings(lines)])


def under_headings(accounts: dict[str, str]) -> list[str]:
    """Return the accounts of solvers by name, with a heading before those for research."""
    from ..solvers.common.solver import FOR_RESEARCH

    first = next(iter(FOR_RESEARCH))
    return [f"\nfor research:\n{text}" if name == first else text for name, text in accounts.items()]


def add_features(parser: Arguments) -> None:
    """Add the flags that say which features a chain has."""
    from ..objectives.chain import ChainFeatures

    add_options(parser, ChainFeatures)
    for action in parser._actions:
        if action.dest == "class_weight" and action.help is not None:
            action.help += "; with --model-type maxent, the weight of the samples of a label, 1 for others"


def add_model_type(parser: Arguments) -> None:
    """Add --model-type."""
    kinds = "chain: a CRF for sequences; maxent: a classifier (default: chain)"
    parser.add_argument("--model-type", default="chain", choices=("chain", "maxent"), help=kinds)


def check_is_of_texts(texts: TextOptions, format: str) -> None:
    """Raise OptionError if options of texts are given for data of another format."""
    from dataclasses import fields

    changed = [flag(field.name) for field in fields(texts) if vars(texts)[field.name] != field.default]
    if changed:
        verb, pronoun = ("is", "it") if len(changed) == 1 else ("are", "them")
        message = f"{', '.join(changed)} {verb} for texts; add --format text (the format is {format}), "
        message += f"or leave {pronoun} out"
        raise OptionError(message)


def classifier_features(features: ChainFeatures) -> dict[str, Any]:
    """Return the options of a chain's features that a classifier has as well; raise OptionError if others are given."""
    from dataclasses import fields, replace

    shared = ("min_count", "class_weight")
    if replace(features, min_count=1, class_weight=None) != type(features)():
        *others, last = (flag(field.name) for field in fields(features) if field.name not in shared)
        message = f"{', '.join(others)} and {last} are not available for classifiers; leave them out, or train a chain"
        raise OptionError(message)
    return {name: getattr(features, name) for name in shared}


def add_threads(parser: Arguments) -> None:
    """Add --threads."""
    parser.add_argument(
        "-j", "--threads", type=_thread_count, default=0, metavar="N", help="number of threads (default: all cores)"
    )


def add_verbose(parser: Arguments) -> None:
    """Add --verbose."""
    verbose = "at the end, also show objective, violation, number of features and solver"
    parser.add_argument("-v", "--verbose", action="store_true", help=verbose)


def add_table_layout(parser: Arguments, *, ignores: bool = False) -> None:
    """Add the flags that say how to read a table: --missing, --no-header, --delimiter, and --ignore if it is wanted."""
    missing = "further values that mean missing, such as --missing '?,-999' (with a leading dash: --missing=-)"
    parser.add_argument("--missing", action="append", metavar="VALUE,...", help=missing)
    if ignores:
        ignore = "ignore these columns, by name or number; a name with a comma needs two pairs of quotes: '\"a, b\",id'"
        parser.add_argument("--ignore", action="append", default=[], metavar="COLUMN,...", help=ignore)
    no_header = "the first line is a sample, not names; variables are called x1, x2, ..."
    parser.add_argument("--no-header", action="store_true", help=no_header)
    delimiter = "column separator (default: comma, tab, semicolon or |, whichever fits the first line)"
    parser.add_argument("--delimiter", metavar="C", help=delimiter)


def missing_marks(arguments: Namespace) -> list[str]:
    """Return the values of --missing."""
    from ..data.table import split_names

    return [mark for marks in arguments.missing or () for mark in split_names(marks)]


def add_templates(parser: Arguments) -> None:
    """Add --preset and --template."""
    templates = parser.add_mutually_exclusive_group()
    templates.add_argument("--preset", metavar="NAME", help="built-in feature template; `loglinear presets` lists them")
    templates.add_argument("--template", metavar="FILE", help="feature template file in the syntax of CRF++ or Wapiti")


def flags_of(kind: type, settings: Mapping[str, object]) -> list[str]:
    """Return the flags of the options in a dataclass that are not at their defaults."""
    import json
    from dataclasses import fields

    words: list[str] = []
    for field in fields(kind):
        value, name = settings.get(field.name, field.default), option_flag(field.name)
        if value == field.default or value is None:
            continue
        if isinstance(value, dict):
            for key, setting in value.items():
                signs = setting.items() if isinstance(setting, dict) else ()
                texts = [f"{sign}:{label}" for label, sign in signs] if signs else [setting]
                shown = [str(text) if field.name == "signs" else json.dumps(text) for text in texts]
                words += [word for text in shown for word in (name, f"{key}={text}")]
        elif value is True:
            words.append(name)
        else:
            words += [name, f"{value:g}" if isinstance(value, float) else str(value)]
    return words


def add_format(
    parser: Arguments,
    *kinds: Holds,
    default: str = "the format of the training data",
    content: Collection[Content] = ("lines", "spans", "docs"),
) -> None:
    """Add --format, for files that hold some kinds of data, or any; the default is by extension, else `default`.

    Args:
        parser: of the command.
        kinds: of data.
        default: the format of other extensions.
        content: what the files may consist of.
    """
    from ..data.formats import FORMATS, listed

    kinds = kinds or ("sentences", "samples", "texts")
    names = listed(*kinds, content=content)
    rows = [row for row in FORMATS.values() if row.content in content]
    extensions = ", ".join(extension for row in rows if row.holds in kinds for extension in row.extensions)
    parser.add_argument(
        "-f",
        "--format",
        help=f"{names}; plain conllu takes the labels from UPOS (default: by extension, {extensions}, else {default})",
    )


def add_columns(parser: Arguments) -> None:
    """Add --separator, --label-column and --skip-comments, of column files, and --max-sentence.

    By default the layout is as a model or the file says.
    """
    add = parser.add_argument
    separator = (
        "column separator: tab (columns may contain spaces) or blank (spaces and tabs) (default: blank, or "
        "tab if only tabs give every line the same number of columns)"
    )
    add("--separator", choices=("tab", "blank"), help=separator)
    label = "column of the label: 0 for the first, -1 for the last; templates count the other columns (default: -1)"
    add("--label-column", type=int, metavar="N", help=label)
    comments = "skip lines that begin with # or -DOCSTART- before the first token of a sentence"
    add("--skip-comments", action="store_true", default=None, help=comments)
    size = "size of the largest sentence of a file, in MiB of text; a larger one is an error (default: 128)"
    add("--max-sentence", type=int, metavar="N", help=size)


def add_spans(parser: Arguments, *, has_tokenizer: bool = False) -> None:
    """Add --overlaps and --widen, of texts with labelled spans, and --tokenizer unless the command has it already."""
    add = parser.add_argument
    if not has_tokenizer:
        default = "as the model says, else the tokens of the file, else words"
        add_tokenizer(parser, "with texts that have labelled spans: ", default=default)
    overlaps = "of labelled spans that share a token, keep the longest or the first (default: an error)"
    add("--overlaps", choices=("longest", "first"), help=overlaps)
    add("--widen", action="store_true", default=None, help="widen labelled spans that end within a token to the token")


def add_tokenizer(parser: Arguments, use: str = "with --text: ", *, default: str = "as in training") -> None:
    """Add --tokenizer.

    Args:
        parser: of the command.
        use: what the tokenizer is for, and a colon.
        default: what cuts texts otherwise.
    """
    rules = "whitespace, words, characters, or a regular expression whose matches are the tokens"
    parser.add_argument("--tokenizer", metavar="NAME", help=f"{use}{rules} (default: {default})")


def check_raw_text(arguments: Namespace) -> None:
    """Raise OptionError if the tokenizer of --text is wrong, or given without --text."""
    if arguments.tokenizer is None:
        return
    from ..data.tokenizer import check_tokenizer

    if not arguments.text:
        message = "--tokenizer says how to cut the raw text of --text; add --text, or leave it out"
        raise OptionError(message)
    check_tokenizer("--tokenizer", arguments.tokenizer)


def add_weight_column(parser: Arguments) -> None:
    """Add --weight-column, of column files to train on."""
    text = (
        "column of a number >= 0 for each token, counted like --label-column: the cost of a wrong label, or the weight "
        "of a classifier's sample"
    )
    parser.add_argument("--weight-column", type=int, metavar="N", help=text)


def column_layout(arguments: Namespace, layout: ColumnLayout) -> ColumnLayout:
    """Return a layout of column files with the changes that the flags of `add_columns` ask for."""
    names = {
        "separator": "separator",
        "label": "label_column",
        "weight": "weight_column",
        "skip_comments": "skip_comments",
    }
    flags = {name: getattr(arguments, flag, None) for name, flag in names.items()}
    spans = {name: getattr(arguments, name, None) for name in layout.spans._fields}
    return layout._replace(
        **{name: value for name, value in flags.items() if value is not None},
        spans=layout.spans._replace(**{name: value for name, value in spans.items() if value is not None}),
    )


def add_label_bias(parser: Arguments) -> None:
    """Add --label-bias."""
    text = "add X to the scores of a label at every token, such as O=-0.5 to find more entities; may be repeated"
    text += " (default: the biases of the model; only chains have them)"
    parser.add_argument("--label-bias", action=_LabelNumbers, metavar="LABEL=X", help=text)


def add_scheme(parser: Arguments) -> None:
    """Add --scheme."""
    scheme = "tagging scheme: IOB1, IOB2, IOE2, IOBES, BILOU, BMES, or none for no chunks (default: detected)"
    parser.add_argument("--scheme", metavar="NAME", help=scheme)


def add_json(parser: Arguments, text: str = "print JSON instead of text") -> None:
    """Add --json."""
    parser.add_argument("--json", action="store_true", help=text)


def count(text: str) -> int:
    """Return the number that an argument is; raise ValueError if it is negative or no whole number."""
    number = int(text)
    if number < 0:
        raise ValueError
    return number


def positive(text: str) -> int:
    """Return the number that an argument is; raise ValueError if it is not a whole number of at least 1."""
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def _thread_count(text: str) -> int:
    number = count(text)
    if number > 2**16:
        raise ValueError
    return number


positive.__name__ = "whole number of at least 1"
_strength.__name__ = "number"
count.__name__ = _thread_count.__name__ = "whole number of at least 0"
