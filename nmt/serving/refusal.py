"""A request that cannot be answered."""


class Refused(Exception):
    """Why a request is not done, in the words of LibreTranslate, and the status of HTTP that says so.

    `retry_seconds` is after how long it may be asked again, where that could help.
    """

    def __init__(self, status: int, text: str, retry_seconds: int | None = None) -> None:
        super().__init__(text)
        # What a client sent may be in it, and half a character cannot be sent back.
        self.status, self.text = status, text.encode("utf-8", "replace").decode()
        self.retry_seconds = retry_seconds

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the answer."""
        return {} if self.retry_seconds is None else {"Retry-After": str(self.retry_seconds)}
