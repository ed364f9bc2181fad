"""Settings of the documentation site: `make -C docs html`."""

from __future__ import annotations

import itertools
import re
from argparse import SUPPRESS
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.addnodes import pending_xref
from sphinx.util.docutils import SphinxDirective

import loglinear
from loglinear.cli.main import COMMANDS, command_parser

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "loglinear"
author = "the loglinear contributors"
copyright = author
version = release = loglinear.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
default_role = "py:obj"
# Blocks without a language are templates, data and output.
highlight_language = "none"

myst_heading_anchors = 4
# Classes of paragraphs and lists, `{.cards}`; formulas in ```math blocks, as GitHub shows them, too.
myst_enable_extensions = ["attrs_block"]
myst_fence_as_directive = ["math"]
# MathML: browsers typeset it without a script.
html_math_renderer = "mathml"

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True}
napoleon_numpy_docstring = False
# Attributes as a list: a named tuple has its fields as members already.
napoleon_use_ivar = True
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# The scripts of examples/ are run, and become the pages of gallery/.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "doc_module": ("loglinear",),
    "image_srcset": ["2x"],
    "download_all_examples": False,
    "show_signature": False,
    # Running times, in seconds, that a page tells: none, or the site would differ from build to build.
    "min_reported_time": 3600,
    "write_computation_times": False,
}

html_theme = "furo"
html_title = f"loglinear {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["scrolling.js"]
html_show_copyright = False

# Pages outside docs/ that the site includes -> their pages in it.
INCLUDED = {"../CONTRIBUTING.md": "contributing.md", "../CHANGELOG.md": "changelog.md"}
# What a line of a docstring says of a method as a whole.
REMARK = re.compile(r"(Source|Departures|Cost|Default|Symbols)(: |:$)")


def link_to_the_site(app: Sphinx, name: str, source: list[str]) -> None:
    """Lead links to pages and examples that stand outside docs/ in the repository to their pages in the site."""
    for outside, inside in INCLUDED.items():
        source[0] = source[0].replace(f"]({outside}", f"]({inside}")
    source[0] = re.sub(r"\]\((\.\./)+examples/(\w+)\.py\)", r"](/gallery/\2.rst)", source[0])


def link_to_pages(app: Sphinx, doctree: nodes.document) -> None:
    """Make links of the names of pages, such as `docs/methods.md` in the changelog."""
    for name in list(doctree.findall(nodes.literal)):
        page = re.fullmatch(r"docs/([\w/-]+)\.md", name.astext())
        if page and page[1] in app.env.found_docs:
            target = {"refdomain": "std", "reftype": "doc", "reftarget": f"/{page[1]}", "refexplicit": True}
            name.replace_self(pending_xref("", name.deepcopy(), refdoc=app.env.docname, refwarn=True, **target))


def of_a_property(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Put back what napoleon takes for the type of a property: the words before a colon in its first line."""
    if what in {"attribute", "property"}:
        at = next((at for at, line in enumerate(lines) if line.startswith(":type: ")), None)
        if at is not None:
            lines[0] = f"{lines.pop(at).removeprefix(':type: ')}: {lines[0]}"


def as_written(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Make a docstring reST: |w| is a norm, a_ is a name, a remark and a line behind a list begin a paragraph."""
    written: list[str] = []
    item = False
    for line in lines:
        remark = REMARK.match(line)
        if remark or (item and line and not line.startswith((" ", "- "))):
            written.append("")
        item = line.startswith("- ") or (item and line.startswith(" "))
        if not line.lstrip().startswith((">>>", "...", ".. ")):
            line = "".join(
                part if part.startswith("`") else re.sub(r"(?<!\\)(\||(?<=\w)_(?!\w))", r"\\\1", part)
                for part in re.split(r"(``.*?``|`[^`]*`)", line)
            )
        if remark:
            line = f"**{remark[1]}**{line[len(remark[1]) :]}"
        written.append(line)
    lines[:] = written


def is_from_elsewhere(app: Sphinx, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out members that scikit-learn gives to every estimator."""
    return True if (getattr(thing, "__module__", None) or "").startswith("sklearn.") else None


def with_code(text: str) -> list[nodes.Node]:
    """Make nodes of a text in which code stands between backticks, or is a flag."""
    parts = enumerate(re.split(r"(`[^`]*`|(?<!\S)--[a-z][\w-]*)", text))
    return [nodes.literal(part, part.strip("`")) if at % 2 else nodes.Text(part) for at, part in parts if part]


def described(text: str) -> list[nodes.Node]:
    """Make paragraphs of a command's description; lines that are indented, or aligned in columns, stay as they are."""
    found: list[nodes.Node] = []
    for block in text.strip().split("\n\n"):
        for as_it_is, lines in itertools.groupby(block.split("\n"), lambda line: "  " in line):
            joined = "\n".join(lines)
            made = nodes.literal_block(joined, joined, language="none") if as_it_is else nodes.paragraph()
            if not as_it_is:
                made += with_code(joined)
            found.append(made)
    return found


def as_mathml(translator: Any, formula: nodes.math | nodes.math_block) -> None:
    """Write a formula in TeX as MathML."""
    is_block = isinstance(formula, nodes.math_block)
    written = tex2mathml(formula.astext(), as_block=is_block)
    translator.body.append(f'<div class="math">{written}</div>\n' if is_block else written)
    raise nodes.SkipNode


class Commands(SphinxDirective):
    """The help of every command, from its parser: `{commands}`."""

    def run(self) -> list[nodes.Node]:
        """Return a section for each command."""
        self.env.note_reread()
        return [self.section(name) for name in COMMANDS]

    def section(self, name: str) -> nodes.section:
        """Return the section of a command: description, usage, arguments, examples."""
        module, parser = command_parser(name)
        title = f"loglinear {name}"
        section = nodes.section(ids=[nodes.make_id(title)], names=[title])
        section += nodes.title(title, title)
        section += described(module.__doc__)
        usage = parser.format_usage().rstrip().replace("\n       ", "\n").removeprefix("usage: ")
        section += nodes.literal_block(usage, usage, language="none")
        arguments = nodes.definition_list(classes=["arguments"])
        formatter = parser._get_formatter()
        for action in parser._actions:
            if action.help != SUPPRESS and action.dest != "help":
                spelt = formatter._format_action_invocation(action)
                help = nodes.paragraph()
                help += with_code(formatter._expand_help(action))
                term = nodes.term("", "", nodes.literal(spelt, spelt))
                arguments += nodes.definition_list_item("", term, nodes.definition("", help))
        if arguments.children:
            section += arguments
        example = re.sub(r"(?m)^(example:)? +", "", module.EXAMPLE)
        section += nodes.literal_block(example, example, language="sh")
        return section


def with_levels(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Give the captions of lists of pages, which are headings to screen readers, the level that headings need."""
    for part in ("body", "furo_navigation_tree"):
        if part in context:
            context[part] = context[part].replace('role="heading"', 'role="heading" aria-level="2"')


def setup(app: Sphinx) -> None:
    """Connect the functions above."""
    app.add_directive("commands", Commands)
    app.add_html_math_renderer("mathml", (as_mathml, None), (as_mathml, None))
    app.connect("source-read", link_to_the_site)
    app.connect("doctree-read", link_to_pages)
    # After furo, which makes the list of pages.
    app.connect("html-page-context", with_levels, priority=900)
    # Behind napoleon, whose priority is 500.
    app.connect("autodoc-process-docstring", of_a_property, priority=550)
    app.connect("autodoc-process-docstring", as_written, priority=600)
    app.connect("autodoc-skip-member", is_from_elsewhere)
