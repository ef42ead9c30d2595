"""A request that cannot be answered."""

# What a busy server has to do is done in seconds, so a refused client may soon ask again.
RETRY_SECONDS = 2


class Refused(Exception):
    """Why a request is refused, in the words of LibreTranslate, and the HTTP status of the answer.

    `retry_seconds` says after how long the client may ask again, where that could help.
    """

    def __init__(self, status: int, text: str, retry_seconds: int | None = None) -> None:
        super().__init__(text)
        # The text may quote what a client sent, and a lone surrogate cannot be sent back.
        self.status, self.text = status, text.encode("utf-8", "replace").decode()
        self.retry_seconds = retry_seconds

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the answer."""
        return {} if self.retry_seconds is None else {"Retry-After": str(self.retry_seconds)}
