"""Work in bulk on a Ray cluster, or on all cores of this machine: actors that each load a model once."""

import os
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from nmt.errors import UserError

Given = TypeVar("Given")
Item = TypeVar("Item")
Result = TypeVar("Result")

# Times that an item is computed again because its actor was lost.
MAX_RETRIES = 3
# For each actor, the most items that are at work, or done and not yet yielded: a slow item holds up no other actor, and
# memory does not grow meanwhile.
ITEMS_AHEAD = 4
SECONDS_TO_ANSWER = 10


class RayMap(Generic[Given, Item, Result]):
    """Computes `load(given)(item)` of many items on actors of a Ray cluster; each loads once.

    The cluster is that of RAY_ADDRESS, or one of this machine that ends with this context.
    """

    def __init__(
        self,
        load: Callable[[Given], Callable[[Item], Result]],
        given: Given,
        num_actors: int | None,
        may_have_gpus: bool,
        key: str,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Start `num_actors`; if it is None, one for each GPU, where these may be used and exist, else for each core.

        Each has one of those, unless `options` of Ray's actors say otherwise. Raises UserError: of RAY_ADDRESS, where
        no cluster answers; of the `key` that the number comes from, where there is no Ray, the cluster is too small, or
        `options` are wrong.
        """
        self._key, self._ray = key, require_ray(key)
        ray = self._ray
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # which Ray would send over the network
        address = os.environ.get("RAY_ADDRESS")
        # Ray listens on all addresses of the machine, and asks for a token unless RAY_AUTH_MODE tells it not to.
        of_own: dict[str, Any] = {} if address else {"include_dashboard": False}
        try:
            _require_answer(address)
            ray.init(address, log_to_driver=False, configure_logging=False, **of_own)
        except (OSError, ValueError, RuntimeError) as error:
            raise UserError(
                f"RAY_ADDRESS: a Ray cluster that answers is needed; got {address or 'none'}: {error}"
            ) from None
        there = ray.cluster_resources()
        kind = "GPU" if may_have_gpus and there.get("GPU") else "CPU"
        self.num_actors = num_actors or int(there[kind])
        if self.num_actors > there[kind]:
            ray.shutdown()
            raise UserError(
                f"{key}: at most the {there[kind]:g} {kind}s of the cluster are needed; got {num_actors}"
            )
        kept = {"max_restarts": -1, "max_task_retries": MAX_RETRIES}
        asked = {"num_cpus": 1, "num_gpus": int(kind == "GPU"), **(options or {}), **kept}
        try:
            remote = ray.remote(**asked)(_Actor)
        except (ValueError, TypeError) as error:
            ray.shutdown()
            raise UserError(f"{key}: options of Ray's actors are needed; got {error}") from None
        self._actors = [remote.remote(load, given) for _ in range(self.num_actors)]

    def __enter__(self) -> "RayMap[Given, Item, Result]":
        return self

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()

    def map(self, items: Iterable[Item]) -> Iterator[Result]:
        """Yield the results of items in their order; an item whose actor was lost is computed again.

        Raises UserError where an actor raised one, or was lost again and again.
        """
        done: dict[int, Result] = {}
        number_out, most = 0, ITEMS_AHEAD * self.num_actors
        for number, reference in self._ready(items, lambda num_at_work: len(done) + num_at_work < most):
            done[number] = self._get(reference)
            while number_out in done:
                yield done.pop(number_out)
                number_out += 1

    def run_each(self, items: Sequence[Item]) -> Iterator[tuple[Item, Exception | None]]:
        """Compute all items, and yield each as it ends, with the error that it ended with, if any.

        An error ends no other item, and no actor waits for another.
        """
        for number, reference in self._ready(items, lambda num_at_work: True):
            found = None
            try:
                self._get(reference)
            except Exception as error:
                found = error
            yield items[number], found

    def _ready(self, items: Iterable[Item], may_begin: Callable[[int], bool]) -> Iterator[tuple[int, Any]]:
        """Yield the number of each item and the reference to its result, in the order in which they are done.

        `may_begin` says, given how many items are at work, whether another one may be.
        """
        rest, idle = enumerate(items), list(self._actors)
        at_work: dict[Any, tuple[int, Any]] = {}
        while True:
            while idle and may_begin(len(at_work)):
                if (numbered := next(rest, None)) is None:
                    break
                actor = idle.pop()
                at_work[actor.compute.remote(numbered[1])] = numbered[0], actor
            if not at_work:
                return
            (ready,), _ = self._ray.wait(list(at_work), num_returns=1)
            number, actor = at_work.pop(ready)
            idle.append(actor)
            yield number, ready

    def _get(self, reference: Any) -> Result:
        try:
            result: Result = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, UserError):
                raise error.cause from None
            raise
        except self._ray.exceptions.RayActorError as error:
            reason = str(error).strip().split("\n")[-1]
            raise UserError(
                f"{self._key}: processes that stay are needed; one was lost more than {MAX_RETRIES} times: {reason}"
            ) from None
        return result


def require_ray(key: str) -> Any:
    """Import Ray. Raises UserError, of `key` and naming the extra, where it is not installed."""
    try:
        import ray
    except ImportError as error:
        raise UserError(f"{key}: ray is needed; got {error}; pip install 'nmt[ray]'") from None
    return ray


def _require_answer(address: str | None) -> None:
    """Raise OSError where nobody listens at HOST:PORT; Ray itself would keep trying for minutes."""
    host, _, port = (address or "").rpartition(":")
    if port.isdecimal() and "/" not in host:
        socket.create_connection((host, int(port)), SECONDS_TO_ANSWER).close()


class _Actor:
    """A process of the cluster with a model, which is loaded for the first item, so that errors reach the caller."""

    def __init__(self, load: Callable[[Any], Callable[[Any], Any]], given: Any) -> None:
        self._load, self._given = load, given
        self._function: Callable[[Any], Any] | None = None

    def compute(self, item: Any) -> Any:
        """Apply the function that `load` returned to an item."""
        if self._function is None:
            self._function = self._load(self._given)
        return self._function(item)
