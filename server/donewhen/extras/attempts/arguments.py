"""The arguments of `attempts`, and the options by which `run` makes attempts."""

from __future__ import annotations

import argparse

from donewhen.core.errors import UsageError
from donewhen.extras.attempts.choosing import KEEPS, MOST

ACTIONS = ("list", "show", "diff", "apply", "resume", "drop")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=ACTIONS, default="list", help="list, if none is named")
    which = "the number of an attempt, the id of a group of attempts (the newest), or both"
    parser.add_argument("which", nargs="*", default=[], metavar="N or ID", help=which)
    parser.add_argument("--all", action="store_true", help="drop: every group of this workspace")


def add_options(run: argparse.ArgumentParser) -> None:
    several = run.add_argument_group("several attempts")
    many = f"pursue the goal so many times at once (2 to {MOST}), each in a copy of the workspace; one is kept"
    several.add_argument("--attempts", metavar="N", type=int, help=many)
    kept = "the first that is proven, the cheapest of all proven, or the one that you choose (first)"
    several.add_argument("--keep", choices=KEEPS, help=kept)
    for name in ("worker", "model"):
        varied = f"a {name} for the attempts; may be repeated: they take them in turn"
        several.add_argument(f"--attempt-{name}", metavar="NAME", action="append", default=[], help=varied)


def asked(given: argparse.Namespace) -> bool:
    """Whether `run` is to make attempts. Raises UsageError for options that mean nothing without `--attempts`."""
    if given.attempts is None and (given.keep or given.attempt_worker or given.attempt_model):
        raise UsageError("--keep, --attempt-worker and --attempt-model are about several attempts: give --attempts N")
    return given.attempts is not None
