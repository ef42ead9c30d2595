"""Completion of commands, groups, choices and keys in bash, zsh and fish; the shells ask `nmt --complete WORD ...`."""

from collections.abc import Sequence

from nmt.cli import keys
from nmt.cli.commands import COMMANDS, Command
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
FISH = """\
# nmt: completion for fish; in ~/.config/fish/config.fish: nmt --completion fish | source
function __nmt_complete
    set -l words (commandline -opc)
    set -l found (nmt --complete $words[2..-1] (commandline -ct)'|' 2>/dev/null)
    if test -n "$found"
        printf '%s\\n' $found
    else
        set -l key (commandline -ct | string match -r '^[^=]*=')
        for path in (__fish_complete_path (commandline -ct | string replace -r '^[^=]*=' ''))
            echo $key$path
        end
    end
end
complete -c nmt -f -a '(__nmt_complete)'
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def script(shell: str) -> str:
    """Return what a shell is to read. Raises UserError for a shell that is none of the three."""
    if shell not in SCRIPTS:
        raise UserError(f"--completion: one of {', '.join(SCRIPTS)} is needed; got {shell or 'nothing'}")
    return SCRIPTS[shell]


def complete(words: Sequence[str]) -> list[str]:
    """Return what the last word can become; a `|` at its end, which shells add, keeps an empty one apart."""
    *before, word = [*words] or [""]
    word = word.removesuffix("|")
    if not before:
        found = [*COMMANDS, "--help", "--version", "--completion"]
    elif before == ["--completion"]:
        found = list(SCRIPTS)
    elif before[0] not in COMMANDS:
        found = []
    elif before[-1] == "--help":
        found = [*(group.name for group in keys.page(before[0]).groups), "all"]
    elif before[-1] == "--cfg":
        found = ["job"]
    elif before[-1] == "--config-dir":
        found = []
    else:
        found = _of_command(COMMANDS[before[0]], before[1:], word)
    return [candidate for candidate in found if candidate.startswith(word)]


def _of_command(command: Command, before: Sequence[str], word: str) -> list[str]:
    page = keys.page(command.name)
    groups = {group.name: group.default for group in page.groups}
    prefixes = {group.name: group.prefix for group in page.groups if group.prefix}
    key, equals, _ = word.partition("=")
    if equals and key in groups:
        return [f"{key}={choice}" for choice in keys.choices(key)]
    chosen = groups | dict(item.split("=", 1) for item in before if "=" in item)
    known = {item.name: item for item in page.keys}
    for group, prefix in prefixes.items():
        if key.startswith(prefix) and (choice := chosen[group]) in keys.choices(group):
            known |= {f"{prefix}{item.name}": item for item in keys.all_keys(group, choice)}
    if equals:
        values = known[key].choices if key in known else []
        return [f"{key}={value}" for value in ([*values, "last"] if key == "run" else values)]
    if word.startswith("-"):
        return [option for typed, _ in command.options for option in typed.split() if option.startswith("--")]
    names = [f"{name}=" for name in known]
    inside = [prefix for prefix in prefixes.values() if prefix != key]
    return [*([] if "." in key else [f"{name}=" for name in groups]), *inside, *names]
