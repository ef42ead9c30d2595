"""The help of each command, on one screen; behind it a page for each group and key. Needs neither Hydra nor torch."""

import shutil
import textwrap
from collections.abc import Iterable

from nmt import reference
from nmt.errors import UserError
from nmt.reference import Key
from nmt.words import nearest

EXAMPLES = {
    "train": (
        ("nmt train experiment=demo", "the built-in corpus, a few minutes on a laptop"),
        ("nmt train model=attention model.cell=gru", "another model, one of its keys changed"),
        ("nmt train run=outputs/mine resume=true", "go on where a run stopped"),
        ("nmt train --plan experiment=demo", "what would be trained and for how long; makes no folder"),
        ("nmt train -m model=rnn,attention seed=1,2", "every combination, and a table of results"),
    ),
    "translate": (
        ("nmt translate run=outputs/mine < in.de > out.en", "as many lines out as in, in order"),
        ("nmt translate run=last input=in.de output=out.en", "the newest run under outputs/, files"),
        ("nmt translate run=last decoding=greedy < in.de", "another search than the run's own"),
    ),
    "evaluate": (
        ("nmt evaluate run=outputs/mine", "translate the run's test text, and score it"),
        ("nmt evaluate run=last source=in.de reference=in.en", "other text"),
        ("nmt evaluate hypothesis=out.en reference=in.en", "a finished translation"),
    ),
    "data": (
        ("nmt data data=files data.train.source=a.de ...", "the keys of a training, before it"),
        ("nmt data data=multi30k html=corpus.html", "a page with charts"),
    ),
    "verify": (("nmt verify run=outputs/mine", "text, weights and scores as they were recorded"),),
    "report": (
        ("nmt report run=outputs/mine", "report.html in the folder of the run"),
        ("nmt report run=outputs/mine against=outputs/other", "two runs side by side"),
    ),
    "compare": (
        ("nmt compare outputs/a outputs/b html=runs.html", "a table of what they recorded, and a page"),
    ),
    "export": (("nmt export run=outputs/mine output=exported", "needs: pip install 'nmt[export]'"),),
}
OPTIONS = (
    (
        "--help TOPIC",
        "more on a group (model), a choice (model=rnn) or a key (model.dropout); all: everything",
    ),
    ("--cfg job", "print the settings that would be used, and stop"),
    ("--config-dir DIR", "look for settings of your own in DIR, too"),
)
TRAIN_OPTIONS = (
    ("--plan", "print the plan and the estimated time, and stop"),
    ("-m, --multirun", "run every combination of comma-separated values"),
)


def command_page(command: str, topic: str | None = None) -> str:
    """Return the help of a command, or of one of its groups, choices or keys, or all of it.

    Raises UserError for a topic that is none, with the nearest.
    """
    page = reference.page(command)
    groups = {group.name: group for group in page.groups}
    if topic is None:
        return _overview(command)
    if topic == "all":
        return everything(command)
    name, _, choice = topic.partition("=")
    if name in groups:
        if choice and choice not in reference.choices(name):
            there = reference.choices(name)
            raise UserError(
                f"--help: one of {', '.join(f'{name}={item}' for item in there)} is needed; got {topic}"
                f"{nearest(choice, there)}"
            )
        return _group_page(groups[name], [choice] if choice else reference.choices(name))
    described = _describe_key(command, name)
    if described is None:
        known = [*groups, *(key.name for key in page.keys), *_all_names(command)]
        raise UserError(
            f"--help: a group or a key of nmt {command} is needed; got {topic}{nearest(name, known)}"
        )
    return described


def everything(command: str) -> str:
    """Return every key of a command with its comment, straight from the files in conf/."""
    blocks = [block for block in reference.read(command).split("\n\n") if not block.startswith("hydra:")]
    parts = ["\n\n".join(blocks)]
    for group in reference.page(command).groups:
        parts += [
            f"--- {group.name}={choice}\n{reference.read(choice, group.name)}"
            for choice in reference.choices(group.name)
        ]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _overview(command: str) -> str:
    page = reference.page(command)
    lines = [page.purpose, "", f"usage: nmt {command} [KEY=VALUE ...] [OPTION ...]", ""]
    if command in EXAMPLES:
        lines += [*_columns(EXAMPLES[command]), ""]
    if page.groups:
        rows = [(f"{group.name}={group.default or 'null'}", group.comment) for group in page.groups]
        lines += ["groups of keys, each with one choice:", *_columns(rows, is_whole=False), ""]
    rows = [(f"{key.name}={key.default}", key.comment) for key in page.keys]
    lines += ["keys:", *_columns(rows, is_whole=False), ""]
    lines += [
        "options:",
        *_columns([*OPTIONS, *(TRAIN_OPTIONS if command == "train" else ())], is_whole=False),
    ]
    return "\n".join(lines) + "\n"


def _group_page(group: reference.Group, choices: list[str]) -> str:
    parts = []
    for choice in choices:
        page = reference.page(choice, group.name)
        title = f"{group.name}={choice}" + ("  (unless another is chosen)" if choice == group.default else "")
        lines = [title, f"  {page.purpose}"]
        if page.base:
            lines.append(f"  the keys of {group.name}={page.base}, with these changed:")
        lines += _columns([(f"{group.prefix}{key.name}={key.default}", key.comment) for key in page.keys])
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _describe_key(command: str, name: str) -> str | None:
    """Return the meaning of a key wherever there is one of that name, and what its default is there."""
    page = reference.page(command)
    found: dict[tuple[str, str], list[str]] = {}
    for key in page.keys:
        if key.name == name:
            found.setdefault((key.default, key.comment), []).append(f"nmt {command}")
    for group in page.groups:
        if group.prefix and name.startswith(group.prefix):
            for choice in reference.choices(group.name):
                for key in reference.all_keys(group.name, choice):
                    if group.prefix + key.name == name:
                        found.setdefault((key.default, key.comment), []).append(f"{group.name}={choice}")
    if not found:
        return None
    lines = []
    for (default, comment), places in found.items():
        lines += [f"{name}={default}", f"  {comment}", f"  in {', '.join(places)}"]
    return "\n".join(lines) + "\n"


def _all_names(command: str) -> list[str]:
    return [
        f"{group.prefix}{key.name}"
        for group in reference.page(command).groups
        if group.name != "experiment"
        for choice in reference.choices(group.name)
        for key in _own_keys(group.name, choice)
    ]


def _own_keys(group: str, choice: str) -> list[Key]:
    return reference.page(choice, group).keys


def _columns(rows: Iterable[tuple[str, str]], is_whole: bool = True) -> list[str]:
    """Return rows of two columns; what is too wide goes on below or, unless it is to be whole, ends in dots."""
    rows = list(rows)
    widest = max(80, shutil.get_terminal_size((100, 24)).columns)
    left = max((len(first) for first, _ in rows), default=0)
    lines = []
    for first, second in rows:
        parts = textwrap.wrap(second, widest - left - 4) or [""]
        if not is_whole and len(parts) > 1:
            parts = [textwrap.shorten(second, widest - left - 4, placeholder=" …")]
        firsts = [first, *[""] * (len(parts) - 1)]
        lines += [f"  {one.ljust(left)}  {two}".rstrip() for one, two in zip(firsts, parts, strict=True)]
    return lines
