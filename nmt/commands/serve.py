"""`nmt serve`: a server that speaks LibreTranslate's HTTP interface."""

from nmt.config import ServeSettings
from nmt.serving.server import listen, serve
from nmt.serving.service import Service
from nmt.versions import importing


def main(settings: ServeSettings) -> None:
    """Serve until SIGTERM or Ctrl-C. Raises UserError for what is missing, and for a port that is taken."""
    with importing("serve", "serve"):
        import py3langid  # noqa: F401
        import python_multipart  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    with listen(settings.host, settings.port) as socket:
        serve(Service.load(settings), settings, socket)
