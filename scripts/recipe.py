"""Train models of Multi30k by the recipe of docs/recipes.md, from the text to scores.

usage: python scripts/recipe.py PAIR FOLDER --data MULTI30K [--seeds N] [--final] [OVERRIDE ...]

PAIR is de-en, cased, or en-de or en-fr, lower-cased and tokenised. FOLDER gets a folder for each seed, with these runs:
`forward`; `forward-2`, with other positions and another seed; `reverse`, a model of the other direction; and `student`.
The student starts from the weights of `forward-2`, and learns from the pairs and from translations of both sides by the
three others (data diversification, Nguyen et al. 2020). Both forward models form an ensemble, whose probabilities of
each word it learns, too. The forward models are trained at once, each on half of the cores, and the others on all;
`forward.log` and others show the progress. Length penalty and checkpoint are those with the best BLEU on the validation
text; the test text is translated once. A finished run is not trained again, and one that was stopped goes on. Overrides
hold for all trainings, such as training.max_updates=20. With --final, the students of all seeds teach one more,
`final`, which starts from the weights of the one with the best BLEU on the validation text.
"""

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import torch
from arguments import positive

from nmt.config import EvaluationSettings
from nmt.config.check import as_typed, check
from nmt.decoding.loading import load_translator
from nmt.distillation.folder import SETTINGS
from nmt.evaluation.scoring import score_against
from nmt.evaluation.translating import translate_text
from nmt.runs.directory import RunDirectory
from nmt.runs.text import text_of_run

CHECKPOINTS = ("best", "average")
LENGTH_PENALTIES = (0.6, 0.8, 1.0, 1.2, 1.4)
FORWARD = ("forward", "forward-2")
EXPERIMENT = "experiment=multi30k_transformer"
FIRST = {"forward": [], "forward-2": ["model.positions=relative"], "reverse": ["training.max_updates=2800"]}
STUDENT = [
    *("model=transformer", "model.positions=relative", "model.dropout=0.2"),  # as `forward-2` has them
    *("distillation.original=true", "distillation.words=true", "training.teacher_weight=0.8"),
    *("align=false", "shortlist=false", "export=null", "decoding=beam"),
    *("optimizer.learning_rate=0.001", "schedule=cosine", "schedule.warmup_updates=300"),
    *("training.update_tokens=1024", "training.max_updates=8000", "training.patience=null"),
    *("training.validate_every=1000", "training.checkpoint_every=250", "training.keep_checkpoints=8"),
]


@dataclass(frozen=True)
class Pair:
    """Two languages, and the form of their text."""

    source: str
    target: str
    is_tokenized: bool = False  # lower-cased and tokenised, as published figures of Multi30k are

    @property
    def evaluation(self) -> list[str]:
        """The overrides of the evaluation, by which text that is tokenised already is scored as it stands."""
        return ["evaluation.tokenize=none"] if self.is_tokenized else []

    def data(self, folder: Path, source: str, target: str) -> list[str]:
        """Return the overrides that name the text of two languages."""
        form = ".lc.norm.tok" if self.is_tokenized else ""
        names = {"train": "train", "validation": "val", "test": "test_2016_flickr"}
        return ["data=files"] + [
            f"data.{split}.{side}={folder / name}{form}.{language}"
            for split, name in names.items()
            for side, language in (("source", source), ("target", target))
        ]


PAIRS = {
    "de-en": Pair("de", "en"),
    "en-de": Pair("en", "de", is_tokenized=True),
    "en-fr": Pair("en", "fr", is_tokenized=True),
}


def run_at_once(commands: Sequence[list[str]], logs: Sequence[Path]) -> None:
    """Run commands of nmt at once, each on its share of the cores; raises SystemExit if one fails."""
    threads = max(1, torch.get_num_threads() // len(commands))

    def run(command: list[str], log: Path) -> int:
        sys.stderr.write(f"nmt {command[0]}: see {log}\n")  # in one piece, since two threads write
        with log.open("a", encoding="utf-8") as file:
            line = [sys.executable, "-m", "nmt", *command]
            env = os.environ | {"OMP_NUM_THREADS": str(threads)}
            return subprocess.run(line, check=False, stdout=file, stderr=file, env=env).returncode

    with ThreadPoolExecutor() as pool:
        for log, code in zip(logs, pool.map(run, commands, logs), strict=True):
            if code != 0:
                raise SystemExit(f"nmt ended with {code}: {log} says why")


def train(pair: Pair, folder: Path, data: Path, seed: int, overrides: Sequence[str]) -> None:
    """Train all models of a seed, unless they are there."""
    text = pair.data(data, pair.source, pair.target)
    exchanged = pair.data(data, pair.target, pair.source)
    seeds = dict(zip(FORWARD, (2 * seed - 1, 2 * seed), strict=True)) | {"reverse": seed}

    def first(name: str) -> list[str]:
        languages = exchanged if name == "reverse" else text
        settings = [EXPERIMENT, *FIRST[name], f"seed={seeds[name]}", *pair.evaluation, *overrides]
        return ["train", f"run={folder / name}", "resume=true", *settings, *languages]

    folder.mkdir(parents=True, exist_ok=True)
    for names in (FORWARD, ("reverse",)):
        run_at_once([first(name) for name in names], [folder / f"{name}.log" for name in names])
    teachers = [folder / name for name in FORWARD]
    own = [f"seed={2 * seed}", *text, *pair.evaluation]
    distil(folder / "student", teachers, [folder / "reverse"], teachers[-1], own, overrides)


def distil(
    student: Path,
    teachers: Sequence[Path],
    reverse: Sequence[Path],
    start: Path,
    own: Sequence[str],
    overrides: Sequence[str],
) -> None:
    """Make a student that starts from the weights of a run, unless it is there.

    It begins with its `own` settings; `overrides` hold for one that goes on, too.
    """
    command = ["distil", f"student={student}", "resume=true"]
    if not (student / SETTINGS).exists():
        models = [f"teacher={as_typed(list(teachers))}", f"distillation.reverse={as_typed(list(reverse))}"]
        command = [*command[:2], *models, f"training.from_run={start}", *STUDENT, *own]
    run_at_once([[*command, *overrides]], [student.with_name(f"{student.name}.log")])


def score(run: Path, split: str, checkpoint: str, length_penalty: float) -> tuple[float, float]:
    """Return BLEU and chrF of a run on a split of its own data, by its own settings of evaluation."""
    directory = RunDirectory.existing(str(run))
    settings = check(EvaluationSettings, directory.read_config()["evaluation"])
    search = directory.read_model_settings().decoding.model_copy(update={"length_penalty": length_penalty})
    translator = load_translator(str(run), checkpoint, "auto", "auto", []).with_search(search)
    text = text_of_run(split, directory)
    scores = score_against(translate_text(translator, text.source), [text.target], settings, None)
    return scores[0].value, scores[1].value


def choose_search(run: Path) -> tuple[float, tuple[str, float]]:
    """Return the best BLEU on the validation text, and the checkpoint and the length penalty that have it."""
    tried = list(product(CHECKPOINTS, LENGTH_PENALTIES))
    found = [(score(run, "validation", *search)[0], search) for search in tried]
    bleu, (checkpoint, penalty) = max(found, key=lambda pair: pair[0])
    search = f"checkpoint={checkpoint} decoding.length_penalty={penalty}"
    print(f"{run}: {search}: BLEU {bleu:.2f} of the validation text", flush=True)
    return bleu, (checkpoint, penalty)


def tell(scores: Sequence[tuple[float, float]]) -> None:
    """Print the mean BLEU and chrF of the test text, with the standard deviation of several."""
    for metric, figures in zip(("BLEU", "chrF"), zip(*scores, strict=True), strict=True):
        spread = f" ± {statistics.stdev(figures):.2f}" if len(figures) > 1 else ""
        print(f"{metric} {statistics.fmean(figures):.2f}{spread}", flush=True)


def main() -> None:
    """Train what is missing and print the scores of the test text."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pair", choices=PAIRS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="where train.de and the other files are")
    parser.add_argument("--seeds", type=positive, default=1)
    parser.add_argument("--final", action="store_true", help="also a student of the students of all seeds")
    arguments, overrides = parser.parse_known_args()
    pair = PAIRS[arguments.pair]
    folders = [arguments.folder / f"seed-{seed}" for seed in range(1, arguments.seeds + 1)]
    for seed, folder in enumerate(folders, 1):
        train(pair, folder, arguments.data, seed, overrides)
    students = [folder / "student" for folder in folders]
    chosen = [choose_search(student) for student in students]
    tell([score(student, "test", *search) for student, (_, search) in zip(students, chosen, strict=True)])
    if arguments.final:
        final = arguments.folder / "final"
        best, _ = max(zip(students, chosen, strict=True), key=lambda pair: pair[1][0])
        reverse = [folder / "reverse" for folder in folders]
        text = pair.data(arguments.data, pair.source, pair.target)
        own = [f"seed={2 * arguments.seeds + 1}", *text, *pair.evaluation]
        distil(final, students, reverse, best, own, overrides)
        tell([score(final, "test", *choose_search(final)[1])])


if __name__ == "__main__":
    main()
