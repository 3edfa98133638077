"""Data of tests that no table knows: named by tests, and not by the product."""

from __future__ import annotations

import pytest

from donewhen.core.test_data import data_of_tests, is_source, may_be_data

TEST = 'rows = Path("rows.csv").read_text()\nfor case in Path("cases").glob("*.json"):\n    assert quote(case)\n'


def test_a_file_that_tests_alone_name_is_theirs() -> None:
    found = data_of_tests(["rows.csv", "other.csv"], ["quoting.py"], [TEST], ["def quote(text): ..."])
    assert found == {"rows.csv"}


def test_so_is_what_lies_in_a_folder_that_tests_alone_name() -> None:
    found = data_of_tests(["spec/cases/a.json", "lists/b.json"], ["shop/quoting.py"], [TEST], ["quoting"])
    assert found == {"spec/cases/a.json"}


@pytest.mark.parametrize(
    "product",
    ['open("rows.csv")', "cat data/rows.csv", 'load("rows")', 'load("data", "rows")', 'Path("data").iterdir()'],
)
def test_what_the_product_names_too_is_product(product: str) -> None:
    assert data_of_tests(["data/rows.csv"], ["shop/quoting.py"], [TEST], [product]) == frozenset()
    assert data_of_tests(["data/rows.csv"], ["shop/quoting.py"], [TEST], ["quoting"]) == {"data/rows.csv"}


def test_what_lies_beside_the_products_code_is_product() -> None:
    assert data_of_tests(["shop/rows.csv"], ["shop/quoting.py"], [TEST], [""]) == frozenset()


@pytest.mark.parametrize(
    ("path", "data", "source"),
    [
        ("rows.csv", True, False),
        ("tests/rows.csv", False, False),
        ("shop/quoting.py", False, True),
        ("bin/tool", False, True),
        ("index.php", False, True),
        ("package.json", False, False),
        ("README.md", False, False),
        ("tests/test_a.py", False, False),
    ],
)
def test_data_is_told_by_its_ending(path: str, data: bool, source: bool) -> None:
    assert (may_be_data(path), is_source(path)) == (data, source)
