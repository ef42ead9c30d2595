"""A server on a port, until it is told to stop; it then finishes the requests that it is answering."""

import contextlib
import logging
import signal
import socket
from collections.abc import Iterator

from nmt.config import ServeSettings
from nmt.errors import SettingsError
from nmt.runs.languages import shown
from nmt.serving.app import make_app
from nmt.serving.connections import allow_files, protocol
from nmt.serving.service import Service
from nmt.wording import counted

logger = logging.getLogger(__name__)

# Some clients put the whole text into the address, three characters for each byte.
MAX_HEAD_BYTES = 1 << 18
BACKLOG = 2048


def listen(host: str, port: int) -> socket.socket:
    """Return a bound socket, which keeps the port while models are loaded, and refuses connections until then.

    Another server that binds the same port meanwhile gets it if it is ready first. Raises SettingsError where the port
    is taken, or the address is none of this machine.
    """
    with _refusing(host, port), contextlib.ExitStack() as stack:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = stack.enter_context(socket.socket(family, kind, protocol))
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        stack.pop_all()
    return bound


@contextlib.contextmanager
def _refusing(host: str, port: int) -> Iterator[None]:
    """Within the block, raise SettingsError where the system has no such address, or not for us."""
    try:
        yield
    except (OSError, UnicodeError) as error:  # UnicodeError: no host has such a name
        reason = error.strerror if isinstance(error, OSError) else "no name of a host"
        raise SettingsError(
            f"port: a port that is free, at an address of this machine (host), is needed; got {host}:{port}: {reason}"
        ) from None


def serve(service: Service, settings: ServeSettings, bound: socket.socket) -> None:
    """Answer at a socket until SIGTERM or SIGINT."""
    import uvicorn

    config = uvicorn.Config(
        make_app(service),
        loop="asyncio",
        http=protocol(settings.max_connections, settings.body_seconds),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,  # an address may have the text in it
        server_header=False,
        proxy_headers=False,  # `proxies` says which to believe
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        timeout_graceful_shutdown=max(1, round(settings.shutdown_seconds)),
    )
    server = uvicorn.Server(config)
    allow_files()
    # uvicorn has signal handlers of its own while it runs, and raises the signal again when it has finished. These
    # handlers note a signal that comes before uvicorn runs, and keep the exit code 0 after it.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: setattr(server, "should_exit", True))
    with _refusing(settings.host, settings.port):
        bound.listen(BACKLOG)
    host, port = bound.getsockname()[:2]
    pairs = ", ".join(f"{shown(one)} to {shown(other)}" for one, other in service.languages.pairs)
    where = f"[{host}]" if ":" in host else host
    logger.info("serving %s at http://%s:%d%s", pairs, where, port, settings.url_prefix)
    server.run(sockets=[bound])
    service.models.stop()
    num_lines = int(service.metrics.counts["sentences"])
    logger.info("stopped; %s %s translated", counted(num_lines, "line"), "was" if num_lines == 1 else "were")
