"""What is known about workers by who they are, for as long as they live (A5)."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class ByWorker(Generic[T]):
    """Values by worker, told apart by identity: equal workers are two. A value goes with its worker; that of one that
    can't be referred to weakly stays."""

    def __init__(self) -> None:
        self._held: dict[tuple[int, int], tuple[Callable[[], Any], T]] = {}

    def get(self, worker: Any) -> T | None:
        found = self._held.get(identity(worker))
        return found[1] if found is not None and found[0]() is not None else None

    def set(self, worker: Any, value: T) -> None:
        key = identity(worker)
        self._held[key] = (self._reference(key, host_of(worker)), value)

    def drop(self, worker: Any) -> None:
        self._held.pop(identity(worker), None)

    def _reference(self, key: tuple[int, int], host: Any) -> Callable[[], Any]:
        try:
            return weakref.ref(host, lambda gone: self._gone(key, gone))
        except TypeError:
            return lambda: host

    def _gone(self, key: tuple[int, int], gone: Any) -> None:
        # Another worker may stand at the same address by now.
        found = self._held.get(key)
        if found is not None and found[0] is gone:
            del self._held[key]


def host_of(worker: Any) -> Any:
    """The object that a worker is: a bound method is made anew each time that it is looked up, its object is not."""
    owner = getattr(worker, "__self__", None)
    return owner if owner is not None and getattr(worker, "__func__", None) is not None else worker


def identity(worker: Any) -> tuple[int, int]:
    """What tells a worker from any other one that lives."""
    host = host_of(worker)
    return (id(host), 0 if host is worker else id(worker.__func__))


def name_of(worker: Any) -> str:
    """What a message calls it."""
    return str(getattr(worker, "__qualname__", None) or type(worker).__name__)
