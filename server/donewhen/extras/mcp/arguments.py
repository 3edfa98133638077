"""The arguments of `mcp`."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--allow-write", action="store_true")
