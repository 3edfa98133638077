"""Searches files for a regular expression; a separate program that knows nothing about Done When.

Arguments: the expression, and the number of hits to stop after. Standard input: paths, separated by NUL. Prints a line
like ripgrep's `--json` for each matching line; exits 0 with hits, 1 without, 2 for an invalid expression.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys

LONGEST = 4_000
LARGEST = 5_000_000


def main(pattern: str, limit: int) -> int:
    """Searches; see the module."""
    try:
        expression = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        sys.stdout.write(f"{error}\n")
        return 2
    left = limit
    for path in sys.stdin.buffer.read().decode("utf-8", "surrogateescape").split("\0"):
        if path and left > 0:
            left -= search(expression, path, left)
    return 1 if left == limit else 0


def search(expression: re.Pattern[str], path: str, limit: int) -> int:
    """Prints at most `limit` hits in one text file; returns how many."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 # without pathlib it starts sooner
            return 0
        with open(path, "rb") as file:  # noqa: PTH123 # as above
            content = file.read(LARGEST + 1)
    except OSError:
        return 0
    if len(content) > LARGEST or b"\0" in content[:8_000]:
        return 0
    count = 0
    for number, whole in enumerate(content.decode("utf-8", "replace").split("\n"), 1):
        line = whole.removesuffix("\r")[:LONGEST]
        if count < limit and expression.search(line):
            told = {"path": {"text": path}, "lines": {"text": line}, "line_number": number}
            sys.stdout.write('{"type":"match","data":' + json.dumps(told) + "}\n")
            count += 1
    return count


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
