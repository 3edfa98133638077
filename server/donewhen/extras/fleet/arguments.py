"""The arguments of `fleet`."""

from __future__ import annotations

import argparse

ACTIONS = ("run", "status", "stop", "pause", "resume", "answer", "worker")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = "what to do; `worker` joins this machine to a server"
    parser.add_argument("action", nargs="?", choices=ACTIONS, help=what)
    parser.add_argument(
        "words", nargs="*", default=[], metavar="WORD", help="a manifest, or a fleet and its goal: docs/scale.md"
    )
    parser.add_argument("--temporal", metavar="ADDRESS", help="the Temporal server, such as localhost:7233 (here)")
    parser.add_argument("--namespace", metavar="NAME", default="default", help="the namespace there (default)")
    queues = "take the goals of this queue; may be repeated (default)"
    parser.add_argument("--queue", metavar="NAME", action="append", help=queues)
    parser.add_argument("--parallel", metavar="N", type=_positive, help="how many iterations at a time")
    parser.add_argument("--max-cost", metavar="USD", type=_positive_dollars, help="what the whole fleet may cost")
    parser.add_argument("--new", action="store_true", help="run a fleet that has ended once more")
    parser.add_argument("--detach", action="store_true", help="start it at the server, and don't follow it")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"give a whole number of at least 1, not {text!r}")
    return int(text)


def _positive_dollars(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"give an amount above 0, not {text!r}")
    return value
