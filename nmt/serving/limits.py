"""How much a client may ask for in a minute, and who that client is."""

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from nmt.serving.refusal import Refused
from nmt.serving.requests import Upload

if TYPE_CHECKING:
    from starlette.requests import Request

MINUTE = 60.0
# So many take a few megabytes; the client that has been quiet for the longest is forgotten first.
MAX_CLIENTS = 50_000
# Leading bits of an IPv6 address, which name a network: all bits after them are one customer's own.
NETWORK_BITS = 64


class Rate:
    """Lets each client have `per_minute` of something: a leaky bucket, kept as the time when it is empty again."""

    def __init__(self, per_minute: int, what: str, max_clients: int = MAX_CLIENTS) -> None:
        self.per_minute, self.what, self.max_clients = per_minute, what, max_clients
        self._empty_at: OrderedDict[str, float] = OrderedDict()

    def take(self, client: str, amount: int, now: float | None = None) -> None:
        """Count what a client takes. Raises Refused, with the seconds to wait, for more than it may.

        A client with an empty bucket may take more than a minute's amount at once, which counts in full.
        """
        now = time.monotonic() if now is None else now
        begins = max(now, self._empty_at.get(client, now))
        seconds = amount * MINUTE / self.per_minute
        wait = begins - now + min(seconds, MINUTE) - MINUTE
        if wait > 1e-6:  # less is a rounding error
            raise Refused(
                429, f"Slowdown: {self.per_minute} {self.what} per minute are allowed", math.ceil(wait)
            )
        self._empty_at[client] = begins + seconds
        self._empty_at.move_to_end(client)
        while len(self._empty_at) > self.max_clients:
            self._empty_at.popitem(last=False)


def client_of(request: "Request", num_proxies: int) -> str:
    """Return the address that a request comes from; of an IPv6 address the network, which is one customer's.

    Each of the proxies in front adds the address that called it to X-Forwarded-For; anybody may have written what
    stands before those.
    """
    peer = request.client.host if request.client else ""
    if not num_proxies:
        return _network(peer) or peer
    heard = ",".join(request.headers.getlist("x-forwarded-for")).split(",")
    claimed = heard[-num_proxies] if len(heard) >= num_proxies else ""
    return _network(claimed) or _network(peer) or peer


def _network(text: str) -> str:
    """Return the address in `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1` or `[2001:db8::1]:80`; else nothing."""
    host = text.strip()
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(address), NETWORK_BITS), strict=False).network_address)


def num_characters(value: object) -> int:
    """Return how many characters a field has: a text, or a list of texts; of a file its bytes count."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Upload):
        return len(value.content)
    return sum(len(text) for text in value if isinstance(text, str)) if isinstance(value, Iterable) else 0
