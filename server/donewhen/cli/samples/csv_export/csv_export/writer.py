"""Rows to CSV text, as RFC 4180 describes it."""


def to_csv(rows: list[dict[str, object]], columns: list[str]) -> str:
    """CSV text with a header line for rows that are mappings; a missing or empty value is an empty field."""
    lines = [_line(list(columns))]
    lines.extend(_line([row.get(column) for column in columns]) for row in rows)
    return "".join(line + "\r\n" for line in lines)


def _line(values: list[object]) -> str:
    return ",".join(_field(value) for value in values)


def _field(value: object) -> str:
    text = "" if value is None else str(value)
    if "," in text or '"' in text:
        return '"' + text + '"'
    return text
