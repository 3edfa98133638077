"""Rows to CSV text, as RFC 4180 describes it."""


def to_csv(rows, columns):
    """CSV text with a header line for rows that are mappings; a missing or empty value is an empty field."""
    lines = [_line(columns)]
    lines.extend(_line([row.get(column) for column in columns]) for row in rows)
    return "".join(line + "\r\n" for line in lines)


def _line(values):
    return ",".join(_field(value) for value in values)


def _field(value):
    text = "" if value is None else str(value)
    if "," in text or '"' in text:
        return '"' + text + '"'
    return text
