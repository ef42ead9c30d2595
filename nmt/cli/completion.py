"""Completion of commands, groups, choices and keys in bash and zsh; the shells ask `nmt --complete WORD ...`."""

from collections.abc import Sequence

from nmt.cli import keys
from nmt.cli.commands import COMMANDS, Command
from nmt.cli.value_types import named_values
from nmt.errors import UserError

BASH = """\
# nmt: completion for bash; in ~/.bashrc: eval "$(nmt --completion bash)"
_nmt() {
    local line="${COMP_LINE:0:COMP_POINT}" word before candidate
    word="${line##*[[:space:]]}"
    before="${word%"${word##*[=:]}"}"
    COMPREPLY=()
    local IFS=$'\\n'
    for candidate in $(IFS=$' \\t\\n'; nmt --complete ${line#*[[:space:]]}"${line:+|}" 2>/dev/null); do
        COMPREPLY+=("${candidate#"$before"}")
    done
    case "${COMPREPLY[0]-}" in *[=.]) compopt -o nospace ;; esac
    [ ${#COMPREPLY[@]} -gt 0 ] || compopt -o default
}
complete -F _nmt nmt
"""
ZSH = """\
#compdef nmt
# nmt: completion for zsh; in ~/.zshrc, after compinit: eval "$(nmt --completion zsh)"
_nmt() {
    local -a found open
    local candidate
    for candidate in ${(f)"$(nmt --complete ${words[2,CURRENT-1]} "${words[CURRENT]}|" 2>/dev/null)"}; do
        case $candidate in *[=.]) open+=($candidate) ;; *) found+=($candidate) ;; esac
    done
    (( $#open )) && compadd -S '' -- $open
    (( $#found )) && compadd -- $found
    (( $#open + $#found )) || { compset -P '*='; _files }
}
compdef _nmt nmt
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH}


def script(shell: str) -> str:
    """Return the script that a shell reads. Raises UserError for a shell other than bash and zsh."""
    if shell not in SCRIPTS:
        raise UserError(f"--completion: one of {', '.join(SCRIPTS)} is needed; got {shell or 'nothing'}")
    return SCRIPTS[shell]


def complete(words: Sequence[str]) -> list[str]:
    """Return the completions of the last word; the scripts append `|` to it, so that an empty word is not lost."""
    *before, word = [*words] or [""]
    word = word.removesuffix("|")
    match before:
        case []:
            found = [*COMMANDS, "--help", "--version", "--completion"]
        case ["--completion"]:
            found = list(SCRIPTS)
        case [name, *_] if name not in COMMANDS:
            found = []
        case [name, *_, "--help"]:
            found = [*(group.name for group in keys.page(name).groups), "all"]
        case [_, *_, "--cfg"]:
            found = ["job"]
        case [_, *_, "--config-dir"]:
            found = []
        case [name, *typed]:
            found = _of_command(COMMANDS[name], typed, word)
    return [candidate for candidate in found if candidate.startswith(word)]


def _of_command(command: Command, typed: Sequence[str], word: str) -> list[str]:
    if word.startswith("-"):
        return [option for names, _ in command.options for option in names.split() if option.startswith("--")]
    page = keys.page(command.name)
    key, equals, _ = word.partition("=")
    groups = {group.name: group for group in page.groups}
    if equals and key in groups:
        return [f"{key}={choice}" for choice in keys.choices(key)]
    if equals:
        return [f"{key}={value}" for value in named_values(command, key) + ["last"] * (key == "run")]
    chosen = dict(item.split("=", 1) for item in typed if "=" in item)
    recipe = chosen.get("experiment")
    if "experiment" in groups and recipe in keys.choices("experiment"):
        chosen = keys.chosen_by(recipe) | chosen
    names = [item.name for item in page.keys]
    for name, group in groups.items():
        choice = chosen.get(name, group.default)
        if group.prefix and key.startswith(group.prefix) and choice in keys.choices(name):
            names += [group.prefix + item.name for item in keys.all_keys(name, choice)]
    inside = [group.prefix for group in page.groups if group.prefix not in ("", key)]
    return [f"{name}=" for name in names + ([] if "." in key else list(groups))] + inside
