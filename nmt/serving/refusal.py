"""A request that cannot be answered."""


class Refused(Exception):
    """Why a request is not done, in the words of LibreTranslate, and the status of HTTP that says so."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status, self.text = status, text
