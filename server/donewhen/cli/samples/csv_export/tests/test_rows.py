import unittest

from csv_export import to_csv


class RowTests(unittest.TestCase):
    def test_header_comes_first(self) -> None:
        self.assertEqual(to_csv([], ["name", "city"]), "name,city\r\n")

    def test_missing_value_is_an_empty_field(self) -> None:
        self.assertEqual(to_csv([{"name": "Ada"}], ["name", "city"]), "name,city\r\nAda,\r\n")

    def test_comma_is_quoted(self) -> None:
        self.assertEqual(to_csv([{"name": "Lovelace, Ada"}], ["name"]), 'name\r\n"Lovelace, Ada"\r\n')
