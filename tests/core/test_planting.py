"""Tests that must fail, planted beside others."""

from __future__ import annotations

import re
import unittest
from typing import Any

import pytest

from donewhen.core.ecosystems import ECOSYSTEMS
from donewhen.core.trials.outcome import plant, plant_in_script

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


RUST = """#[cfg(test)]
mod tests {
    #[test]
    fn comma() {
        assert_eq!(quote("a,b"), "\\"a,b\\"");
    }

    #[test]
    fn count() {
        assert_eq!(count("a,b"), 2);
    }
}
"""


@pytest.mark.parametrize(("passing", "taken"), [((), ("comma",)), (("tests::comma",), ("comma",)), (("count",), ())])
def test_what_a_test_of_rust_expects_becomes_wrong(passing: tuple[str, ...], taken: tuple[str, ...]) -> None:
    planted = plant("src/lib.rs", RUST.encode(), "dw_x7", passing)
    assert planted is not None
    assert planted.taken == taken
    assert (b'assert_eq!(quote("a,b"), "dw_x7");' in planted.content) == bool(taken)
    assert b'assert_eq!(count("a,b"), 2);' in planted.content


KIT = {"lib/kit.sh": 'expect() { [ "$1" = "$2" ] || exit 1; }\n'}


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        ('expect "$(bin/slug "A B")" a-b', 'expect "$(bin/slug "A B")" dw_x7'),
        ("expect \"$(bin/slug Ada)\" 'a, b'", 'expect "$(bin/slug Ada)" dw_x7'),
        ('expect a-b "$(bin/slug "A B")"', 'expect dw_x7 "$(bin/slug "A B")"'),
    ],
)
def test_what_a_script_hands_to_a_sourced_function_becomes_wrong(call: str, wrong: str) -> None:
    planted = plant_in_script("check", f"#!/bin/sh\n. ./lib/kit.sh\n{call}\n", "dw_x7", KIT)
    assert planted is not None
    assert planted.content.decode().splitlines()[0] == "#!/bin/sh"
    assert planted.content.decode().splitlines()[-1] == wrong
    assert planted.helpers == ("lib/kit.sh",)


def test_a_script_that_only_asks_what_it_sources_is_left_alone() -> None:
    product = {"lib/slug.sh": 'slug() { echo "$1"; }\n'}
    script = '#!/bin/sh\n. ./lib/slug.sh\n[ "$(slug "A B")" = a-b ]\n'
    assert plant_in_script("check", script, "dw_x7", product) is None
    assert plant_in_script("check", script.replace(". ./lib", ": ./lib"), "dw_x7", product) is None
