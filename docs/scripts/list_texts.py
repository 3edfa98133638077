"""Lists every text of the project that a person or a model sees, with file and line, so that it can be read through.

    .venv/bin/python docs/scripts/list_texts.py [--kinds string,docstring,comment] [FOLDER_OR_FILE ...]

A literal counts as a text if two words stand in it. In f-strings each value is shown as `{…}`. Without folders:
the server and the client. Python, TypeScript and `package*.json` are read.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (ROOT / "server" / "donewhen", ROOT / "client-vscode")
KINDS = ("string", "docstring", "comment")
SKIPPED = {"node_modules", "out", "dist", "__pycache__", ".vscode-test", "test"}

_TWO_WORDS = re.compile(r"[A-Za-z'’]{2,}[,:;.]? +[(`'\"“{…}]*[A-Za-z]{1,}")
_TYPESCRIPT = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)"
    r"|(?P<string>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)",
    re.DOTALL,
)


class Text(NamedTuple):
    path: Path
    line: int
    kind: str
    text: str


def texts_of(path: Path) -> Iterator[Text]:
    """The texts of one file, in the order of its lines."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        found = sorted([*_python_literals(path, source), *_python_comments(path, source)], key=lambda text: text.line)
    elif path.suffix == ".ts":
        found = list(_typescript(path, source))
    else:
        found = list(_json(path, source))
    return (text for text in found if _TWO_WORDS.search(text.text))


def _python_literals(path: Path, source: str) -> Iterator[Text]:
    tree = ast.parse(source)
    docstrings = {
        # A string that stands alone documents what it follows: a module, a class, a function or an attribute.
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
    }
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            shown = "".join(str(part.value) if isinstance(part, ast.Constant) else "{…}" for part in node.values)
            yield Text(path, node.lineno, "string", shown)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield Text(path, node.lineno, "docstring" if id(node) in docstrings else "string", node.value)


def _python_comments(path: Path, source: str) -> Iterator[Text]:
    """Comments; lines that follow each other are one text."""
    gathered: Text | None = None
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        words = token.string.lstrip("#: ")
        if gathered is not None and token.start[0] == last + 1:
            gathered = gathered._replace(text=f"{gathered.text} {words}")
        else:
            if gathered is not None:
                yield gathered
            gathered = Text(path, token.start[0], "comment", words)
        last = token.start[0]
    if gathered is not None:
        yield gathered


def _typescript(path: Path, source: str) -> Iterator[Text]:
    for match in _TYPESCRIPT.finditer(source):
        kind = "comment" if match["comment"] else "string"
        text = re.sub(r"\$\{[^}]*\}", "{…}", match[0])
        yield Text(path, source.count("\n", 0, match.start()) + 1, kind, text.strip("/*\"'`\n "))


def _json(path: Path, source: str) -> Iterator[Text]:
    values: list[str] = []
    json.loads(source, object_hook=lambda each: values.extend(v for v in each.values() if isinstance(v, str)))
    for value in values:
        line = source.count("\n", 0, source.find(json.dumps(value, ensure_ascii=False))) + 1
        yield Text(path, line, "string", value)


def files_of(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    wanted = [*place.rglob("*.py"), *place.rglob("*.ts"), *place.rglob("package*.json")]
    return sorted(
        path for path in wanted if not SKIPPED & set(path.relative_to(place).parts) and path.name != "package-lock.json"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="List the texts that a person or a model sees.")
    parser.add_argument("--kinds", default="string", help=f"of {', '.join(KINDS)}; separated by commas")
    parser.add_argument("places", nargs="*", type=Path, default=FOLDERS, metavar="FOLDER_OR_FILE")
    chosen = parser.parse_args()
    kinds = set(chosen.kinds.split(","))
    for place in chosen.places:
        for path in files_of(place.resolve()):
            name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
            for text in texts_of(path):
                if text.kind in kinds:
                    print(f"{name}:{text.line}: {text.kind}: {' '.join(text.text.split())}")


if __name__ == "__main__":
    main()
