"""Train a model of Multi30k by one of the recipes of docs/recipes.md, from its text to its scores.

usage: python scripts/recipe.py RECIPE FOLDER --data MULTI30K [--seeds N] [OVERRIDE ...]

RECIPE is one of those below. FOLDER gets, for each seed, a model of either direction, and the final one, which learns
from the pairs and from what both made of them (data diversification, Nguyen et al. 2020). Checkpoint and length penalty
are those with the best BLEU on the validation text; the test text is translated once. What is there already is not done
again, and what was stopped goes on. Overrides hold for all three trainings, such as training.max_updates=20.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from arguments import positive

CHECKPOINTS = ("best", "average")
LENGTH_PENALTIES = (0.6, 0.8, 1.0, 1.2, 1.4)
# Of the models of either direction, and of the final one.
FIRST = ["experiment=multi30k_transformer"]
FINAL = [
    "optimizer.learning_rate=0.0015",
    "schedule=cosine",
    "schedule.warmup_updates=600",
    "training.update_tokens=1024",
    "training.validate_every=1000",
    "training.checkpoint_every=300",
    "training.keep_checkpoints=8",
    "training.patience=null",
]
TRANSFORMER = [*FINAL, "model=transformer", "model.dropout=0.2", "training.max_updates=17000"]
ATTENTION = [
    *FINAL,
    "model=attention",
    "model.d_hidden=256",
    "model.attention.d_attention=256",
    "model.dropout=0.2",
    "training.max_updates=13500",
]


@dataclass(frozen=True)
class Recipe:
    """Two languages, the form of their text, and settings of the final model."""

    source: str
    target: str
    final: list[str]
    goes_on: bool = True  # the final model begins with the weights of the first one of its direction
    is_tokenized: bool = False  # lower-cased and tokenised, as published figures of Multi30k are

    @property
    def evaluation(self) -> list[str]:
        """Text that is tokenised is scored as it stands."""
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


RECIPES = {
    "de-en": Recipe("de", "en", TRANSFORMER),
    "de-en-attention": Recipe("de", "en", ATTENTION, goes_on=False),
    "en-de": Recipe("en", "de", TRANSFORMER, is_tokenized=True),
    "en-fr": Recipe("en", "fr", TRANSFORMER, is_tokenized=True),
}


def nmt(command: str, *overrides: str) -> None:
    """Run a command of nmt; what it says on stderr is seen, and an error ends all."""
    subprocess.run([sys.executable, "-m", "nmt", command, *overrides], check=True, stdout=subprocess.DEVNULL)


def train(recipe: Recipe, folder: Path, data: Path, seed: int, overrides: Sequence[str]) -> Path:
    """Train the three models, unless they are there; return the folder of the final one."""
    text = recipe.data(data, recipe.source, recipe.target)
    reverse = recipe.data(data, recipe.target, recipe.source)
    for name, languages in (("forward", text), ("reverse", reverse)):
        given = [*FIRST, *languages, *recipe.evaluation, f"seed={seed}", *overrides]
        nmt("train", f"run={folder / name}", "resume=true", *given)
    forward, student = folder / "forward", folder / "final"
    given = [
        f"teacher={forward}",
        f"distillation.reverse={folder / 'reverse'}",
        "distillation.original=true",
        *("align=false", "shortlist=false", "export=null", "decoding=beam"),
        *recipe.evaluation,
        *recipe.final,
        *([f"training.from_run={forward}"] if recipe.goes_on else []),
        f"seed={seed}",
        *overrides,
    ]
    nmt("distil", f"student={student}", *(["resume=true"] if student.exists() else given))
    return student


def score(run: Path, split: str, overrides: Sequence[str]) -> tuple[float, float]:
    """Return BLEU and chrF of a run, by `nmt evaluate`."""
    path = run.parent / "scores.json"
    nmt("evaluate", f"run={run}", f"split={split}", f"json={path}", "overwrite=true", *overrides)
    found = json.loads(path.read_text(encoding="utf-8"))
    (bleu,) = (value for name, value in found.items() if name.endswith("bleu"))
    return bleu, found["chrf"]


def choose_search(run: Path, overrides: Sequence[str]) -> list[str]:
    """Return checkpoint and length penalty with the best BLEU on the validation text."""
    tried = [
        [f"checkpoint={checkpoint}", "decoding=beam", f"decoding.length_penalty={penalty}"]
        for checkpoint in CHECKPOINTS
        for penalty in LENGTH_PENALTIES
    ]
    found = [(score(run, "validation", [*search, *overrides])[0], search) for search in tried]
    bleu, best = max(found, key=lambda pair: pair[0])
    print(f"{run}: {' '.join(best)}: BLEU {bleu:.2f} of the validation text", flush=True)
    return best


def main() -> None:
    """Train what is missing and print the scores of the test text."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recipe", choices=RECIPES)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="where train.de and the other files are")
    parser.add_argument("--seeds", type=positive, default=1)
    arguments, overrides = parser.parse_known_args()
    recipe = RECIPES[arguments.recipe]
    found = []
    for seed in range(1, arguments.seeds + 1):
        run = train(recipe, arguments.folder / f"seed-{seed}", arguments.data, seed, overrides)
        search = choose_search(run, recipe.evaluation)
        found.append(score(run, "test", [*search, *recipe.evaluation]))
        print(f"seed {seed}: BLEU {found[-1][0]:.2f}, chrF {found[-1][1]:.2f}", flush=True)
    for name, figures in zip(("BLEU", "chrF"), zip(*found, strict=True), strict=True):
        spread = f" ± {statistics.stdev(figures):.2f}" if len(figures) > 1 else ""
        print(f"{name}: {statistics.fmean(figures):.2f}{spread}")


if __name__ == "__main__":
    main()
