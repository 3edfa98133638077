"""python -m csv_export: JSON objects in, CSV out."""

import json
import sys

from csv_export.writer import to_csv


def main() -> None:
    rows = json.load(sys.stdin)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    sys.stdout.write(to_csv(rows, columns))


if __name__ == "__main__":
    main()
