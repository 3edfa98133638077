"""The cases that come with the bench, read once for all tests of a process."""

from __future__ import annotations

from donewhen.extras.goalbench.cases import load_cases

CASES = load_cases()
