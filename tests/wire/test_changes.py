"""A document that is followed by its changes is the document itself."""

from __future__ import annotations

import copy
import json
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from donewhen.wire.changes import changes
from tests.tools import each_row, examples

from .patch import applied

leaves = st.none() | st.booleans() | st.integers(-2, 2) | st.floats(allow_nan=False) | st.text("ab/~01", max_size=3)
documents = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text("ab/~01", max_size=3), inner, max_size=4),
)


def as_text(document: Any) -> str:
    """Python takes 1 for true; JSON doesn't."""
    return json.dumps(document, sort_keys=True)


@given(followed=st.lists(documents, min_size=2, max_size=6))
@examples(300)
def test_all_changes_in_order_make_the_last_document(followed: list[Any]) -> None:
    kept = copy.deepcopy(followed)
    shown = followed[0]
    for before, after in pairwise(followed):
        shown = applied(shown, json.loads(json.dumps(changes(before, after))))
        assert as_text(shown) == as_text(after)
    assert followed == kept, "what is compared is not changed"


@given(document=documents)
@examples(100)
def test_nothing_is_said_where_nothing_changed(document: Any) -> None:
    assert changes(document, copy.deepcopy(document)) == []


ROW = {"id": "a", "status": "unmet"}


@each_row(
    "before, after, said",
    [
        ({"a": 1}, {"a": None}, [{"op": "replace", "path": "/a", "value": None}]),
        ({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}]),
        ({"a": 1}, {}, [{"op": "remove", "path": "/a"}]),
        ({}, {"a/b~c": 1}, [{"op": "add", "path": "/a~1b~0c", "value": 1}]),
        (
            {"rows": [ROW, {**ROW, "id": "b"}]},
            {"rows": [ROW, {**ROW, "id": "b", "status": "met"}]},
            [{"op": "replace", "path": "/rows/1/status", "value": "met"}],
        ),
        ([1, 2, 3], [1, 2, 3, 4], [{"op": "add", "path": "/3", "value": 4}]),
        ([1, 2, 3], [1, 3], [{"op": "remove", "path": "/1"}]),
        ([1, 2, 3], [0, 1, 2, 3], [{"op": "add", "path": "/0", "value": 0}]),
        ([], {}, [{"op": "replace", "path": "", "value": {}}]),
    ],
)
def test_only_what_differs_is_said(before: Any, after: Any, said: list[dict[str, Any]]) -> None:
    assert changes(before, after) == said
