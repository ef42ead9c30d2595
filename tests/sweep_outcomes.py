"""What became of the runs of a sweep."""

import hashlib
import json


def results_of(folder):
    return json.loads((folder / "results.json").read_text())


def weights_of(run):
    (newest,) = sorted((run / "checkpoints").iterdir())[-1:]
    return hashlib.sha256((newest / "model.safetensors").read_bytes()).hexdigest()
