"""`nmt serve` as an application for other ASGI servers than its own: Ray Serve, Hypercorn, Gunicorn."""

from typing import TYPE_CHECKING

from nmt.cli.compose import compose
from nmt.config import ServeSettings
from nmt.serving.app import make_app
from nmt.serving.service import Service

if TYPE_CHECKING:
    from starlette.types import ASGIApp


def application(*overrides: str) -> "ASGIApp":
    """Return the application of a server with settings as on the command line: `application("run=outputs/mine")`.

    The ASGI server decides where it listens, and how long it waits for the head of a request. Raises
    nmt.errors.UserError for wrong settings, or a run that cannot be loaded.
    """
    settings = compose("serve", list(overrides), None).settings()
    assert isinstance(settings, ServeSettings)
    return make_app(Service.load(settings))
