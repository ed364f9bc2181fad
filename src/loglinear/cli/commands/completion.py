"""Print a script that makes the shell complete commands, flags and the values of flags.

bash  loglinear completion bash > ~/.local/share/bash-completion/completions/loglinear
zsh   loglinear completion zsh >> ~/.zshrc
fish  loglinear completion fish > ~/.config/fish/completions/loglinear.fish
"""

from __future__ import annotations

import shlex
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import fields
from functools import cache

EXAMPLE = "example: source <(loglinear completion bash)"
READS: tuple[str, ...] = ()
WRITES: tuple[str, ...] = ()

_BASH = """_loglinear() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{commands}" -- "$word"))
        return
    fi
    case "$word" in
    -*)
        case "${{COMP_WORDS[1]}}" in
{flags}
        esac
        COMPREPLY=($(compgen -W "$words" -- "$word"))
        return;;
    esac
    local solver="" at
    for ((at = 2; at < COMP_CWORD; at++)); do
        if [ "${{COMP_WORDS[at]}}" = --solver ]; then solver="${{COMP_WORDS[at+1]}}"; fi
    done
    case "${{COMP_WORDS[1]}} $before" in
{values}
    *)
        COMPREPLY=($(compgen -f -- "$word"))
        return;;
    esac
    case "$before $solver" in
{of_solvers}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    case "${{COMPREPLY[0]}}" in
    *=) compopt -o nospace 2>/dev/null;;
    esac
}}
complete -o filenames -F _loglinear loglinear"""


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="your shell")


def run(arguments: Namespace) -> None:
    """Print the script."""
    commands = _commands()
    if arguments.shell == "fish":
        print(_fish(commands))
        return
    if arguments.shell == "zsh":
        print("autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit")
    print(_bash(commands))


def _commands() -> dict[str, list[Action]]:
    """Return the flags and places of every command, as its parser knows them."""
    from ..main import COMMANDS, command_parser

    return {name: command_parser(name)[1]._actions for name in COMMANDS}


def _values(action: Action) -> list[str]:
    """Return what an argument may be, where that is a list; numbers and files are none."""
    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    return list(_names().get(action.dest, ()))


def _solvers() -> dict[str, list[str]]:
    """Return the options of each solver, as patterns of the flag before them and the solver."""
    from ...solvers import SOLVERS, option_names

    return {
        f'"-p {name}"|"--set {name}"': [f"{option}=" for option in option_names(kind)] for name, kind in SOLVERS.items()
    }


def _place_values(command: str, action: Action) -> list[str]:
    """Return what the place of a command may be: `presets` and `solvers` take the name of one."""
    one_of = {"presets": "preset", "solvers": "solver"}.get(command, "")
    return _values(action) or list(_names().get(one_of, ()))


@cache
def _names() -> dict[str, Sequence[str]]:
    """Return the values of arguments that the library checks, by argument; options say what they may be."""
    from ...constraints import NAMES
    from ...data.column_layout import SEPARATORS
    from ...data.formats import FORMATS
    from ...data.templates import PRESETS
    from ...data.words import UNITS
    from ...models.training.options import ClassifierParameters, DevOptions
    from ...models.training.ranking import RankOptions
    from ...models.training.structure import NetworkOptions
    from ...objectives.chain import ChainFeatures
    from ...schemes import MODES, SCHEMES
    from ...solvers import SOLVERS, option_names
    from .tag import LAYOUTS

    columns = [f"{name}:{column}" for name, format in FORMATS.items() for column in format.columns[1:]]
    kinds = (ClassifierParameters, DevOptions, NetworkOptions, ChainFeatures, RankOptions)
    of_options = {option.name: option.metadata["choices"] for kind in kinds for option in fields(kind)}
    return of_options | {
        "solver": ["auto", *SOLVERS],
        "solver_options": sorted({f"{name}=" for kind in SOLVERS.values() for name in option_names(kind)}),
        "preset": [*PRESETS],
        "format": [*FORMATS, *columns],
        "constraints": NAMES,
        "scheme": SCHEMES,
        "mode": MODES,
        "layout": LAYOUTS,
        "words": [*UNITS, "characters:2-4"],
        "separator": SEPARATORS,
    }


def _bash(commands: dict[str, list[Action]]) -> str:
    values, flags = [], []
    for name, actions in commands.items():
        spelt = [flag for action in actions for flag in action.option_strings]
        flags.append(f"        {name}) words={shlex.quote(' '.join(spelt))};;")
        for action in actions:
            if listed := _values(action) if action.option_strings else _place_values(name, action):
                # A place is asked for behind the command's name.
                patterns = "|".join(f'"{name} {flag}"' for flag in action.option_strings or [name])
                values.append(f"    {patterns}) words={shlex.quote(' '.join(listed))};;")
    of_solvers = "\n".join(
        f"    {name}) words={shlex.quote(' '.join(options))};;" for name, options in _solvers().items()
    )
    return _BASH.format(
        of_solvers=of_solvers, commands=" ".join(commands), values="\n".join(values), flags="\n".join(flags)
    )


def _fish(commands: dict[str, list[Action]]) -> str:
    from ..main import COMMANDS

    lines = [
        f"complete -c loglinear -n __fish_use_subcommand -f -a {name} -d {_quoted(text)}"
        for name, text in COMMANDS.items()
    ]
    for name, actions in commands.items():
        condition = f"complete -c loglinear -n '__fish_seen_subcommand_from {name}'"
        for action in actions:
            if not action.option_strings:
                if listed := _place_values(name, action):
                    lines.append(f"{condition} -f -a {_quoted(' '.join(listed))}")
                continue
            names = [f"-{'l' if flag.startswith('--') else 's'} {flag.lstrip('-')}" for flag in action.option_strings]
            takes = "" if action.nargs == 0 else " -r"
            listed = _values(action)
            choices = f" -f -a {_quoted(' '.join(listed))}" if listed else ""
            lines.append(f"{condition} {' '.join(names)}{takes}{choices}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
