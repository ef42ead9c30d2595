"""Connections: how many there are, and how long one may take, so that slow and silent clients hold nobody up."""

import asyncio
import resource
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import H11Protocol


def protocol(max_connections: int, seconds: float) -> "type[H11Protocol]":
    """Return uvicorn's protocol with bounds, which it lacks.

    A client has `seconds` to send the head of a request, and as many to take an answer. Where there are more than
    `max_connections`, the connection that has been without a request for the longest is closed.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    # Connections that are between requests, the longest idle first.
    idle: dict[H11Protocol, None] = {}

    class Bounded(H11Protocol):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._await_head()
            if len(self.connections) > max_connections:
                longest = next(iter(idle))
                del idle[longest]  # `connection_lost` comes later, and more connections may come before
                longest.transport.abort()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self._is_busy():
                idle.pop(self, None)

        def on_response_complete(self) -> None:
            self._await_head()  # before the next request begins, which may be here already
            super().on_response_complete()
            if self._is_busy():
                idle.pop(self, None)

        def connection_lost(self, exc: Exception | None) -> None:
            idle.pop(self, None)
            if self.timer is not None:
                self.timer.cancel()
            super().connection_lost(exc)

        def _is_busy(self) -> bool:
            return self.cycle is not None and not self.cycle.response_complete

        def _await_head(self) -> None:
            if self.timer is not None:
                self.timer.cancel()
            idle[self] = None
            self.timer = self.loop.call_later(seconds, self._give_up)

        def _give_up(self) -> None:
            if not self._is_busy():
                self.transport.abort()

    return Bounded


def allow_files() -> None:
    """Raise the limit on open files, which connections count against, to the most that the machine allows."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
