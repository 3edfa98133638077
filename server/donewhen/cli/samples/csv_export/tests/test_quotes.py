import unittest

from csv_export import to_csv


class QuoteTests(unittest.TestCase):
    def test_plain_text_is_not_quoted(self) -> None:
        self.assertEqual(to_csv([{"note": "plain"}], ["note"]), "note\r\nplain\r\n")

    def test_quotes_are_doubled(self) -> None:
        self.assertEqual(to_csv([{"note": 'a "b" c'}], ["note"]), 'note\r\n"a ""b"" c"\r\n')
