"""Writes rows as comma-separated values."""

from csv_export.writer import to_csv

__all__ = ["to_csv"]
