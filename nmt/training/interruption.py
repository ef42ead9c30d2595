"""SIGINT, SIGTERM and SIGHUP during training: the update at hand is finished first."""

import signal
import threading
from collections.abc import Collection
from types import FrameType, TracebackType
from typing import Any, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """Holds back the first of these signals until the block ends; a second one takes effect at once, as usual.

    The signal then has its usual effect. Where its handler lets the program go on, as that of a job of a cluster may,
    SystemExit is raised: work that was interrupted must not pass for work that is done. A signal that the process was
    told to ignore is ignored. Where one launcher has started several processes (`has_launcher`), each may get SIGTERM
    and SIGHUP twice: from whoever ends them all, and from the launcher, which kills processes that do not end. There,
    only a second SIGINT takes effect.
    """

    def __init__(self, has_launcher: bool = False) -> None:
        self.received: signal.Signals | None = None
        self._kept = (signal.SIGTERM, signal.SIGHUP) if has_launcher else ()
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # no other thread may set handlers
            for number in SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._previous[number] = signal.signal(number, self._hold_back)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()
        if self.received is not None and error is None:
            signal.raise_signal(self.received)
            raise SystemExit(128 + self.received)

    def _hold_back(self, number: int, frame: FrameType | None) -> None:
        self.received = self.received or signal.Signals(number)
        self._restore(self._kept)

    def _restore(self, but: Collection[signal.Signals] = ()) -> None:
        for number in self._previous.keys() - but:
            signal.signal(number, self._previous.pop(number))
