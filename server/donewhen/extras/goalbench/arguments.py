"""The arguments of `bench`."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--judge-model", metavar="MODEL", help="the model to measure; several: A,B,C or 3*A")
    parser.add_argument("--judge-api-base", metavar="URL", help="where it is served")
    parser.add_argument("--case", nargs="+", action="extend", metavar="ID", help="only these cases, or groups")
    told = "twelve telling cases in minutes; the result is kept, and a judge that fails is shown as weak"
    parser.add_argument("--quick", action="store_true", help=told)
    parser.add_argument("--list", action="store_true", help="list the cases and play none")
