"""Data of tests that no table knows: named by tests, and not by the product."""

from __future__ import annotations

import pytest

from donewhen.core.proof_files import data_of_tests, may_be_data, names_files
from tests.tools import each_row

TEST = 'rows = Path("rows.csv").read_text()\nfor case in Path("cases").glob("*.json"):\n    assert quote(case)\n'


def test_a_file_that_tests_alone_name_is_theirs() -> None:
    found = data_of_tests(["rows.csv", "other.csv"], ["quoting.py"], [TEST], ["def quote(text): ..."])
    assert found == {"rows.csv"}


def test_so_is_what_lies_in_a_folder_that_tests_alone_name() -> None:
    found = data_of_tests(["spec/cases/a.json", "lists/b.json"], ["shop/quoting.py"], [TEST], ["quoting"])
    assert found == {"spec/cases/a.json"}


@each_row(
    "product",
    ['open("rows.csv")', "cat data/rows.csv", 'load("rows")', 'load("data", "rows")', 'Path("data").iterdir()'],
)
def test_what_the_product_names_too_is_product(product: str) -> None:
    assert data_of_tests(["data/rows.csv"], ["shop/quoting.py"], [TEST], [product]) == frozenset()
    assert data_of_tests(["data/rows.csv"], ["shop/quoting.py"], [TEST], ["quoting"]) == {"data/rows.csv"}


def test_what_lies_beside_the_products_code_is_product_where_it_reads_files_of_that_kind() -> None:
    assert data_of_tests(["shop/rows.csv"], ["shop/quoting.py"], [TEST], ['open(f"{name}.csv")']) == frozenset()
    assert data_of_tests(["shop/rows.csv"], ["shop/quoting.py"], [TEST], ["quoting"]) == {"shop/rows.csv"}


@pytest.mark.parametrize("product", ["from qa.pairs import PAIRS", "pairs"])
def test_a_source_of_values_is_data_of_the_tests_that_alone_name_it(product: str) -> None:
    test = "from qa.pairs import PAIRS\nfrom shop.quoting import quote\n"
    assert may_be_data("qa/pairs.py", 'PAIRS = [("a", "b")]\n')
    assert not may_be_data("qa/pairs.py", "def pairs():\n    return 1\n")
    assert data_of_tests(["qa/pairs.py"], ["shop/quoting.py"], [test], ["quoting"]) == {"qa/pairs.py"}
    assert data_of_tests(["qa/pairs.py"], ["shop/quoting.py"], [test], [product]) == frozenset()


def test_values_that_are_all_that_tests_look_at_are_product() -> None:
    test = "from shop.prices import PRICES\n"
    assert data_of_tests(["shop/prices.py"], ["shop/quoting.py"], [test], ["quoting"]) == frozenset()


def test_a_line_of_a_shell_is_a_command() -> None:
    assert not may_be_data("quote.sh", "printf '%s' \"$1\"\n")


@each_row(
    "path, data, names",
    [
        ("rows.csv", True, False),
        ("tests/rows.csv", False, False),
        ("shop/quoting.py", False, True),
        ("bin/tool", False, True),
        ("index.php", False, True),
        ("package.json", False, True),
        ("README.md", True, False),
        ("tests/test_a.py", False, False),
    ],
)
def test_data_is_told_by_its_ending(path: str, data: bool, names: bool) -> None:
    assert (may_be_data(path, None), names_files(path)) == (data, names)


def test_a_name_of_the_products_own_is_not_that_of_a_file() -> None:
    tests, product = "glob('schema/*.sql')", "def slug(text): ...\n__all__ = ['slug']\n"
    assert data_of_tests(["schema/slug.sql"], ["shop/core.py"], [tests], [product]) == {"schema/slug.sql"}
    assert data_of_tests(["schema/slug.sql"], ["shop/core.py"], [tests], [f"{product}'.sql'"]) == frozenset()
