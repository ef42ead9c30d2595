"""Run the real LibreTranslate on one package that `nmt export format=argos` has written, without a network.

usage: PYTHON scripts/libretranslate_offline.py PACKAGE FOLDER [OPTION ...]

PYTHON is that of an environment with libretranslate. FOLDER takes the files that LibreTranslate writes, and each OPTION
is one of its own, such as `--port 5001`. Two of its downloads are left out: the packages of its index, and the MiniSBD
model that finds sentences. A text is cut behind `.`, `!` and `?` instead, which takes less time.
"""

import os
import re
import sys
from pathlib import Path

SENTENCE_END = re.compile(r"(?<=[.!?]) +")


def main() -> None:
    """Install the package, and serve."""
    package, folder = Path(sys.argv.pop(1)).resolve(), Path(sys.argv.pop(1)).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    for name in ("DATA", "CONFIG", "CACHE"):
        os.environ[f"XDG_{name}_HOME"] = str(folder / name.lower())
    # Both libraries read the variables of these folders when they are imported.
    import argostranslate.package
    import argostranslate.sbd
    import libretranslate.init
    from libretranslate.main import main as serve

    argostranslate.sbd.MiniSBDSentencizer.split_sentences = lambda self, text: SENTENCE_END.split(text)
    argostranslate.package.install_from_path(package)
    libretranslate.init.boot = lambda *_: None
    serve()


if __name__ == "__main__":
    main()
