"""Tests that must fail, planted beside others."""

from __future__ import annotations

import re
import unittest
from typing import Any

import pytest

from donewhen.core.planting import plant
from donewhen.ecosystems import ECOSYSTEMS

UNITTEST = b"import unittest\n\nclass OldTest(unittest.TestCase):\n    def test_old(self):\n        pass\n"
PYTEST = b"def test_old():\n    pass\n"


def planted(content: bytes) -> dict[str, Any]:
    made = plant("tests/test_old.py", content, "case_1")
    assert made is not None
    assert made.content.startswith(content)
    names: dict[str, Any] = {}
    exec(compile(made.content, "test_old.py", "exec"), names)  # as a runner would
    return names


def unittest_failures() -> int:
    result = unittest.TestResult()
    planted(UNITTEST)["Case_1"]("test_case_1").run(result)
    return len(result.failures)


def test_a_planted_test_fails_by_its_own_name() -> None:
    assert unittest_failures() == 1
    with pytest.raises(AssertionError, match="case_1"):
        planted(PYTEST)["test_case_1"]()


@pytest.mark.parametrize("name", ["assertEqual", "assertTrue", "assertIn", "assertRaises", "fail"])
def test_an_assertion_that_always_passes_makes_a_planted_test_pass(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unittest.TestCase, name, lambda *arguments: None)
    assert unittest_failures() == 0


def test_a_runner_s_own_means_are_tried_too(monkeypatch: pytest.MonkeyPatch) -> None:
    test = planted(PYTEST)["test_case_1"]
    with monkeypatch.context() as patched:
        patched.setattr(pytest, "approx", lambda value: 1)  # pyright: ignore[reportUnknownLambdaType]
        test()


def test_every_plant_has_its_name_and_nothing_left_to_fill_in() -> None:
    for ecosystem in ECOSYSTEMS:
        for one in ecosystem.plants:
            text = one.append.format(name="case_1", Name="Case_1", taken="[]")
            assert re.search("case_1", text, re.IGNORECASE), (ecosystem.name, one)
            assert "{name}" not in text
            assert text.count("{") == text.count("}")
