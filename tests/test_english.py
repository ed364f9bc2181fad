"""Help, messages, pages and docstrings are plain English: patterns of a dialect do not occur, or less and less.

Local variables and parameters are named after what they hold.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

import pytest

from oracles.prose import NATIVE, Passage, modules, passages

PATTERNS = {
    r"(?<!there )\b(is|are|was|were) no\b(?! (longer|more|less|fewer|larger|smaller|better|faster)\b)": "is not a",
    r"(?<!if )\bthere (is|are) none\b": "does not have one",
    r"\bbears? no\b": "does not have a",
    r"\bno more($|[.;:,)])": "no longer",
    r"\bnothing is (said|known|lost|kept|to)\b": "name what is or is not there",
    r"\bso many\b(?!.{1,60}\bthat\b)": "name the quantity: N",
    r"\bas many as (one|you) \w+\b": "name the quantity: N",
    r"\b(that|as|if|when|which) one (likes|says|wants|sees|needs|gives|takes|asks)\b": "you",
    r"\ba (column|line|row|step|label|token|second|pass|bit) more\b": "one more, an additional",
    r"(?<!leaves )(?<!left )(?<!% )\bbehind\b(?!:| (a |the )?(proxy|firewall|scenes))": "after",
    r"\bin front of\b": "before",
    r"\bbeside\b": "next to, compared with",
    r"(?<!to )(?<!as )(?<!and )(?<!equal )(?<!than )(?<!over )(?<!from )(?<!with )\bthose of\b": "repeat the noun",
    r"(?<!to )(?<!and )(?<!less )(?<!not )(?<!than )(?<!with )\bthat of (the|a|an|its|one)\b": "repeat the noun",
    r"\bwhat (is|are) (kept|known|asked|there|given|said|meant)\b": "a noun",
    r"\bwhat (there is|one has)\b": "a noun",
    r"\bgoes? on\b": "continues",
    r"\bcomes? back\b": "returns",
    r"\b(hangs?|holds?) together\b": "depend on each other, belong together",
    r"\b(do|does) not go with\b": "cannot be combined with",
    r"\bstands? (in|at|before|beside|there|on|by)\b": "is, contains",
    r"\blies? (where|beside|there)\b": "is",
    r"\btakes? up\b": "continues from, accepts",
    r"\b(is|are) asked (of|about|for)\b": "needs, requires",
    r"\btells? (more|little|much|nothing) of\b": "describes, says about",
    r"\b(is|are) to be \w+(ed|en|ne|lt|pt|wn)\b": "must be, should be",
    r"\bwill do,? (too|as well)\b": "also works",
    r"\b(known|labelled|given|tagged|typed) in part\b|\bpartly known\b": "partial",
    r"\bmend(s|ed|ing)?\b": "fix",
    r"(?<!none )\bof (its|their) own\b": "own, separate",
    r"\b(quick|quicker|quickest|dear|dearer|dearest)\b(?! (start|look|way|brown))": "fast, expensive",
    r", for (it|they|there|this|these|that|none|the \w+) (is|are|has|have|was|were|can|does|do|would)\b": "because",
    r"\bat (one|a) stroke\b": "atomically",
    r"\b(is|are) (not |already )?there( already)?[;.,:]": "exists, is missing",
    r"\b(features|weights|optimiser) at work\b": "in the working set, current",
    r"\bbesides[.,;:)]": "as well, in addition",
    r"\bbut for\b": "except for",
    r"\banew\b": "again",
    r"\bother than (with|in|by)\b": "unlike",
    r"\b(thereof|therein|herein|wherein|whereof|therewith|thereby)\b": "say it with a noun",
}

# Passages that contain a pattern and are good English: what they contain, and why.
ALLOWED: dict[str, str] = {
    "features behind each label": "the cause of a label",
    "behind one interface": "hidden by it",
    "is behind the pseudo-likelihoods": "does worse",
    "Beside it, a tagged sentence": "a place in a picture",
    "sit beside their code": "a place in a folder",
}

# Folder or file, or command with --help: how often the patterns occur in it. The numbers may only fall; 0 is left out.
LEFT: dict[str, int] = {}


def hits(passage: Passage) -> list[str]:
    """The hits in a passage, each with its place, what is around it, and what to write."""
    shown = []
    for pattern, better in PATTERNS.items():
        for hit in re.finditer(pattern, passage.on_one_line, re.IGNORECASE):
            around = passage.on_one_line[max(0, hit.start() - 50) : hit.end() + 40].strip()
            if not any(good in around for good in ALLOWED):
                shown.append(
                    f"{passage.place}:{passage.line_of(hit.start())}: {around}   ['{hit[0].lower()}': {better}]"
                )
    return shown


def area(place: str) -> str:
    """The entry of the table that a place counts for: a folder of sources, else the file or the command."""
    parts = place.split("/")
    return "/".join(parts[:3]) if parts[0] in ("src", "native") else place


def test_the_dialect_occurs_as_often_as_the_table_says():
    texts = passages()
    assert {area(passage.place) for passage in texts} > {"README.md", "src/loglinear/models", "native/src/text"}
    assert any(passage.place == "loglinear train --help" for passage in texts)
    by_area: defaultdict[str, list[str]] = defaultdict(list)
    for passage in texts:
        by_area[area(passage.place)] += hits(passage)
    unused = [good for good in ALLOWED if not any(good in passage.on_one_line for passage in texts)]
    complaints = [f"{good!r}: nothing contains it; remove it from ALLOWED" for good in unused]
    for name in sorted({*by_area, *LEFT}):
        allowed = LEFT.get(name, 0)
        if len(by_area[name]) > allowed:
            shown = "".join(f"\n    {hit}" for hit in by_area[name])
            complaints.append(f"{name}: {len(by_area[name])} hits, {allowed} allowed; rewrite some of these:{shown}")
        elif len(by_area[name]) < allowed:
            complaints.append(f"{name}: {len(by_area[name])} hits, {allowed} allowed; lower the number in LEFT")
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is no table; use\n    your own.", ["page.md:3: It is no table; use your own.   ['is no': is not a]"]),
        ("Training\n\ngoes on.", ["page.md:5: Training goes on.   ['goes on': continues]"]),
        ("It is no longer empty, and there is no such file.", []),
    ],
)
def test_a_hit_names_line_text_and_remedy(text, expected):
    assert hits(Passage("page.md", 3, text)) == expected


# What a name of Rust stands in: comments, strings, raw strings and characters hold no names.
RUST_TEXT = re.compile(r"""//[^\n]*|/\*.*?\*/|r(#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\[^']+|[^'\\])'""", re.DOTALL)
# Names that say how a value came about, not what it is; names of methods and functions may be such words.
VAGUE = re.compile(r"(?<!\w)(?<!(?<!\.)\.)(?<!fn )(found|given|known|kept|made|each)(?!\w)")


def vague_names(source: str) -> list[tuple[int, str]]:
    """The names of variables, fields and modules in Rust code that do not say what they hold, with their lines."""
    code = RUST_TEXT.sub(lambda text: "\n" * text[0].count("\n"), source)
    return [(code.count("\n", 0, name.start()) + 1, name[1]) for name in VAGUE.finditer(code)]


def test_names_in_native_code_say_what_they_hold():
    paths = sorted(NATIVE.rglob("*.rs"))
    assert len(paths) > 200
    complaints = [
        f"{path.relative_to(NATIVE).as_posix()}:{line}: '{name}' does not say what it holds"
        for path in paths
        for line, name in vague_names(path.read_text(encoding="utf-8"))
    ]
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize(
    "binding",
    [
        "let found = 1;",
        "let (mut kept, rest) = pair;",
        "for known in names {}",
        "names.map(|given| given.len());",
        "if let Some(found) = first {}",
        "match first { Ok(kept) => {} }",
        "fn f(x: usize, known: &str) {}",
        "struct S { made: usize }",
        "let all = 0..known;",
    ],
)
def test_every_kind_of_binding_is_looked_at(binding):
    assert vague_names(f'// found\n"known \\" kept";\n{binding}')[0][0] == 3


def test_words_in_comments_and_strings_and_names_of_methods_are_no_bindings():
    methods = "labels.given(); fn known() {} let found_at = 1;"
    assert not vague_names(methods + """ // found\n let c = '"'; r#"made "each" "#; "known";""")


# Names of variables that do not say what they hold.
EMPTY_NAMES = {"found", "given", "known", "kept"}


def local_names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the names and lines of variables and parameters, except the fields of classes, which are public names."""
    bodies = (node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    fields = {line.target for body in bodies for line in body if isinstance(line, ast.AnnAssign)}
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in fields:
            yield node.id, node.lineno
        elif isinstance(node, (ast.MatchAs, ast.MatchStar, ast.ExceptHandler)) and node.name is not None:
            yield node.name, node.lineno


def test_local_names_say_what_they_hold():
    complaints = [
        f"{place}:{line}: '{name}' does not say what it holds"
        for place, tree in modules()
        for name, line in local_names(tree)
        if name in EMPTY_NAMES
    ]
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize(
    "source",
    [
        "found = 1",
        "def f(given): ...",
        "def f(*, known=None): ...",
        "[0 for kept in ()]",
        "lambda found: 0",
        "(given := 1)",
        "with open(0) as known: ...",
        "match 0:\n    case kept: ...",
        "class C:\n    def m(self):\n        found: int = 1",
    ],
)
def test_every_kind_of_variable_is_a_local_name(source):
    assert EMPTY_NAMES & {name for name, _ in local_names(ast.parse(source))}


def test_a_field_is_not_a_local_name():
    assert not list(local_names(ast.parse("class C:\n    kept: int = 0")))
