"""What a server counts, in the text format of Prometheus."""

import threading
from collections import Counter


class Metrics:
    """Counters since the start; threads may count at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.requests: Counter[tuple[str, int]] = Counter()
        self.counts: Counter[str] = Counter()
        self.seconds = 0.0

    def count_request(self, route: str, status: int) -> None:
        """Count an answer."""
        with self._lock:
            self.requests[route, status] += 1

    def count_batch(self, num_lines: int, num_cut: int, seconds: float) -> None:
        """Count a batch: its lines, those of them that were cut, and its seconds."""
        with self._lock:
            self.counts["sentences"] += num_lines
            self.counts["cut"] += num_cut
            self.counts["batches"] += 1
            self.seconds += seconds

    def count(self, name: str, number: int = 1) -> None:
        """Add a number to one of the other COUNTERS."""
        with self._lock:
            self.counts[name] += number

    def text(self) -> str:
        """Return all counters, each with what it counts."""
        with self._lock:
            requests, counts = dict(self.requests), self.counts | {"seconds": round(self.seconds, 6)}
        lines = ["# HELP nmt_requests_total Answered requests.", "# TYPE nmt_requests_total counter"]
        for (route, status), number in sorted(requests.items()):
            lines.append(f'nmt_requests_total{{route="{route}",status="{status}"}} {number}')
        for key, (name, meaning) in COUNTERS.items():
            lines += [f"# HELP {name} {meaning}", f"# TYPE {name} counter", f"{name} {counts.get(key, 0)}"]
        return "\n".join(lines) + "\n"


COUNTERS = {
    "sentences": ("nmt_sentences_total", "Translated lines."),
    "cut": ("nmt_cut_sentences_total", "Lines that were longer than the model reads."),
    "dropped": ("nmt_dropped_texts_total", "Parts of texts whose client had gone before they were begun."),
    "batches": ("nmt_batches_total", "Calls of the search, each for all lines that waited."),
    "loaded": ("nmt_loaded_models_total", "Models that were read into memory."),
    "died": ("nmt_died_models_total", "Models whose process ended by itself; it is started again."),
    "seconds": ("nmt_search_seconds_total", "Seconds in the search."),
}
