import csv
import io
import unittest

from csv_export import to_csv


class LineBreakTests(unittest.TestCase):
    def test_line_break_stays_inside_its_field(self) -> None:
        text = to_csv([{"address": "1 Main St\nSpringfield"}], ["address"])
        rows = list(csv.reader(io.StringIO(text, newline="")))
        self.assertEqual(rows, [["address"], ["1 Main St\nSpringfield"]])

    def test_every_row_ends_with_a_line_break(self) -> None:
        self.assertEqual(to_csv([{"city": "Oslo"}], ["city"]).count("\r\n"), 2)
