"""Detection of a text's language, among those of a server, by the bytes that are usual in each."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

# The detector's labels of a language, where it has another name there, or several.
CHINESE = ("zh", "yue", "wuu")
LABELS = {"pb": ("pt",), "zh": CHINESE, "zt": CHINESE, "nb": ("no",)}
# More of a text does not make its language any clearer.
MAX_CHARACTERS = 10_000


class Guess(NamedTuple):
    """A language by its code, and the confidence in it, in percent."""

    code: str
    confidence: float


class Detector:
    """Detects languages with the model of langid (Lui and Baldwin 2012), which py3langid contains."""

    def __init__(self, codes: Iterable[str]) -> None:
        import py3langid
        from py3langid.langid import MODEL_FILE, LanguageIdentifier

        path = Path(py3langid.__file__).parent / MODEL_FILE
        self._identifier = LanguageIdentifier.from_modelpath(path, norm_probs=True)
        known = set(self._identifier.labels)
        self._code_of: dict[str, str] = {}
        for code in codes:
            for label in known.intersection(LABELS.get(code, (code,))):
                self._code_of.setdefault(label, code)

    def knows(self, code: str) -> bool:
        """Whether text of a language can be told from others."""
        return code in self._code_of.values()

    def guess(self, text: str) -> list[Guess]:
        """Return the languages that a text may be in, best first.

        Confidences are shares among all languages that the model knows, not only those of the server.
        """
        shares: defaultdict[str, float] = defaultdict(float)
        for label, share in self._identifier.rank(text[:MAX_CHARACTERS]):
            if label in self._code_of:
                shares[self._code_of[label]] += float(share)
        guesses = [Guess(code, round(100 * share, 1)) for code, share in shares.items()]
        guesses.sort(key=lambda guess: -guess.confidence)
        return [guess for guess in guesses if guess.confidence > 0] or guesses[:1]
