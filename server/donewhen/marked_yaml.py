"""The one reader of YAML's text: nodes, which know where they stand, or plain values.

`yaml_shapes` checks documents of ours by models. It is apart, since pydantic takes 0.1 s to import: a command that only
reads a goal file, whose keys the table of settings checks, does without.
"""

from __future__ import annotations

from typing import Any, cast

import yaml


class BadYaml(ValueError):
    """A text that is not YAML: why, and at which character."""

    def __init__(self, reason: str, index: int, line: int) -> None:
        super().__init__(reason)
        self.index = index
        self.line = line
        """From 1."""


def compose(text: str) -> yaml.Node | None:
    """The nodes of a document, None for an empty one. Raises BadYaml, RecursionError where it is nested too deeply."""
    try:
        return cast("yaml.Node | None", yaml.compose(text, yaml.SafeLoader))  # pyright: ignore[reportUnknownMemberType]  # untyped stub
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise _bad_yaml(text, error) from error


def load_plain(text: str) -> Any:
    """What a document of somebody else's says. Raises BadYaml, RecursionError where it is nested too deeply."""
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, OverflowError, TypeError) as error:
        raise _bad_yaml(text, error) from error


def _bad_yaml(text: str, error: Exception) -> BadYaml:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    index = cast("int", mark.index if mark is not None else getattr(error, "position", 0))
    reason = getattr(error, "problem", None) or getattr(error, "reason", None) or "it can't be read"
    return BadYaml(str(reason), index, text.count("\n", 0, index) + 1)
