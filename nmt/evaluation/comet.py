"""COMET (Rei et al. 2020), by its own program, with a model that is on the disk already.

It runs as a program with an environment of its own, since it needs older libraries than nmt does, and its models are
pickled, which nmt never loads.
"""

import math
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from nmt.errors import DataError, UserError


class Comet:
    """A model of COMET, and the program that scores with it."""

    def __init__(self, model: str, program: str) -> None:
        """Look for both. Raises UserError where one is not there; nothing is downloaded."""
        if not model.endswith(".ckpt") or not Path(model).is_file():
            raise DataError(
                f"comet: the .ckpt file of a model on this disk is needed, since none is downloaded; got {model}"
            )
        found = shutil.which(program)
        if found is None:
            raise UserError(
                "comet_program: the program comet-score is needed (pip install unbabel-comet, in an environment of its "
                f"own, since it needs older libraries than nmt); got {program}"
            )
        self.model, self.program = str(Path(model).absolute()), found

    def score(self, source: Sequence[str], hypotheses: Sequence[str], reference: Sequence[str]) -> float:
        """Return the mean score of the lines of a translation. Raises UserError where the program fails."""
        with tempfile.TemporaryDirectory(prefix="nmt-comet-") as folder:
            paths = {"-s": source, "-t": hypotheses, "-r": reference}
            arguments = [self.program, "--model", self.model, "--gpus", "0", "--quiet"]
            for option, lines in paths.items():
                path = Path(folder, option.strip("-"))
                # To the program, a line ends at \r, too.
                path.write_text("".join(line.replace("\r", " ") + "\n" for line in lines), encoding="utf-8")
                arguments += [option, str(path)]
            done = subprocess.run(
                arguments,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                env=os.environ | {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"},
                check=False,
            )
        values = re.findall(rb"^[^\t\n]+\tscore: (-?[0-9.]+)\s*$", done.stdout, re.MULTILINE)
        if done.returncode or len(values) != 1 or not math.isfinite(float(values[0])):
            said = (done.stderr or done.stdout).decode("utf-8", "replace").strip().split("\n")[-1]
            raise UserError(f"comet: one score of {self.program} is needed; got {said or 'nothing'}")
        return float(values[0])
