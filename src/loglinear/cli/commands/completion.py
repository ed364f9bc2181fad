"""Print a script that makes the shell complete commands, flags and the values of flags.

bash  loglinear completion bash > ~/.local/share/bash-completion/completions/loglinear
zsh   loglinear completion zsh >> ~/.zshrc
fish  loglinear completion fish > ~/.config/fish/completions/loglinear.fish
"""

from __future__ import annotations

import shlex
from argparse import Action, ArgumentParser, Namespace

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
    case "${{COMP_WORDS[1]}} $before" in
{values}
    *)
        COMPREPLY=($(compgen -f -- "$word"))
        return;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
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
    from ...data.templates import PRESETS
    from ...solvers import SOLVERS

    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    return {"solver": ["auto", *SOLVERS], "preset": [*PRESETS]}.get(action.dest, [])


def _bash(commands: dict[str, list[Action]]) -> str:
    values, flags = [], []
    for name, actions in commands.items():
        spelt = [flag for action in actions for flag in action.option_strings]
        flags.append(f"        {name}) words={shlex.quote(' '.join(spelt))};;")
        for action in actions:
            if listed := _values(action):
                # A place is asked for behind the command's name.
                patterns = "|".join(f'"{name} {flag}"' for flag in action.option_strings or [name])
                values.append(f"    {patterns}) words={shlex.quote(' '.join(listed))};;")
    return _BASH.format(commands=" ".join(commands), values="\n".join(values), flags="\n".join(flags))


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
                if listed := _values(action):
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
