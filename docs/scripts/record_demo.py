"""Records `donewhen demo` in a terminal, and draws docs/images/demo.svg from it: what was printed, in its colours.

Waits longer than a second are cut to one, and no line comes faster than it can be read; nothing else is changed. Run it
with the Python that has donewhen, on a system with pseudo-terminals: `.venv/bin/python docs/scripts/record_demo.py`.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

TARGET = Path(__file__).parents[1] / "images" / "demo.svg"
COLUMNS, ROWS = 100, 27
LONGEST_WAIT, SHORTEST_WAIT, AT_THE_END = 1.0, 0.28, 7.0
"""Seconds: between two lines, and before it begins again."""

WIDE, HIGH, SIZE, MARGIN, BAR = 8.4, 19, 14, 18, 34
COLOURS = {"31": "#ff7b72", "32": "#56d364", "33": "#e3b341", "34": "#79c0ff", "35": "#d2a8ff", "36": "#76e3ea"}
PAPER, INK, FAINT = "#10201c", "#d6e4df", "#8aa39b"

Cell = tuple[str, str]
"""A character, and the SGR codes that it stands in."""
_STYLE = re.compile(r"\x1b\[([\d;]*)m")
_CONTROL = re.compile(r"\x1b\[[\d;?]*[A-Za-z]|\x1b\][^\x07]*\x07")


def record(command: Sequence[str]) -> Iterator[tuple[float, str]]:
    """What a command prints on a terminal, with the second at which it came. Raises OSError where it can't start."""
    child, terminal = pty.fork()
    if child == 0:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DONEWHEN_")}
        os.execvpe(command[0], command, {**environment, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)})  # noqa: S606
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    began = time.monotonic()
    pending = b""
    while True:
        try:
            found = os.read(terminal, 65536)
        except OSError:  # how Linux tells that the other side is closed
            break
        if not found:
            break
        pending += found
        *lines, pending = pending.split(b"\n")
        for line in lines:
            yield time.monotonic() - began, line.decode("utf-8").rstrip("\r")
    _, status = os.waitpid(child, 0)
    if status:
        raise SystemExit(f"{command[0]} ended with {os.waitstatus_to_exitcode(status)}")


def screen_lines(text: str) -> Iterator[list[Cell]]:
    """A line as a terminal shows it: in its styles, broken where the terminal ends."""
    cells: list[Cell] = []
    style, at = "", 0
    while at < len(text):
        if found := _STYLE.match(text, at):
            style = "" if found[1] in ("", "0") else f"{style};{found[1]}".strip(";")
            at = found.end()
        elif found := _CONTROL.match(text, at):
            raise SystemExit(f"this moves the cursor, which a picture of lines can't show: {found[0]!r}")
        else:
            cells.append((text[at], style))
            at += 1
    for start in range(0, max(len(cells), 1), COLUMNS):
        yield cells[start : start + COLUMNS]


def draw(lines: Sequence[tuple[float, list[Cell]]], title: str, *, still: bool = False) -> str:
    """The picture: all lines below each other, a cover that moves down over them, and a window that scrolls. A `still`
    one shows all lines at once, and is as high as they are.
    """
    rows = len(lines) if still else ROWS
    width, height = COLUMNS * WIDE + 2 * MARGIN, rows * HIGH + BAR + MARGIN
    times: list[float] = []
    before = 0.0
    for came, _ in lines:
        wait = min(max(came - before, SHORTEST_WAIT), LONGEST_WAIT)
        times.append((times[-1] if times else 0.0) + wait)
        before = came
    whole = times[-1] + AT_THE_END
    shown = [(0.0, 0)] + [(when, number + 1) for number, when in enumerate(times)]
    cover = "".join(f"{100 * when / whole:.2f}%{{transform:translateY({number * HIGH}px)}}" for when, number in shown)
    scroll = "".join(
        f"{100 * when / whole:.2f}%{{transform:translateY({-max(0, number - ROWS) * HIGH}px)}}"
        for when, number in shown
    )
    last = len(lines)
    moves = [
        f"#s{{transform:translateY({-max(0, last - ROWS) * HIGH}px);animation:s {whole:.1f}s step-end infinite}}",
        f"#c{{transform:translateY({last * HIGH}px);animation:c {whole:.1f}s step-end infinite}}",
        f"@keyframes s{{{scroll}}}@keyframes c{{{cover}}}",
        "@media (prefers-reduced-motion:reduce){#s,#c{animation:none}}",
    ]
    cloth = f'<rect id="c" width="{COLUMNS * WIDE:g}" height="{(last + ROWS) * HIGH}" fill="{PAPER}"/>'
    if still:
        moves, cloth = [], ""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" role="img">',
        f"<title>{escape(title, quote=False)}</title>",
        "<style>",
        f"text{{font:{SIZE}px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:{INK};white-space:pre}}",
        "".join(f".c{code}{{fill:{colour}}}" for code, colour in COLOURS.items()),
        f".b{{font-weight:700}}.d{{fill:{FAINT}}}",
        *moves,
        "</style>",
        f'<rect width="{width:g}" height="{height:g}" rx="10" fill="{PAPER}"/>',
        *(
            f'<circle cx="{20 + 20 * n}" cy="18" r="6" fill="{c}"/>'
            for n, c in enumerate(("#ff5f57", "#febc2e", "#28c840"))
        ),
        f'<svg x="{MARGIN}" y="{BAR}" width="{COLUMNS * WIDE:g}" height="{rows * HIGH}"><g id="s">',
    ]
    parts += [_text(cells, number) for number, (_, cells) in enumerate(lines)]
    parts.append(f"{cloth}</g></svg>")
    return "\n".join([*parts, "</svg>", ""])


def _text(cells: Sequence[Cell], number: int) -> str:
    """One line, in runs of one style. Each run says where it begins, whatever font draws it."""
    runs: list[tuple[int, str, str]] = []
    for at, (character, style) in enumerate(cells):
        if runs and runs[-1][1] == style:
            runs[-1] = (runs[-1][0], style, runs[-1][2] + character)
        else:
            runs.append((at, style, character))
    spans = "".join(
        f'<tspan x="{at * WIDE:g}"{_classes(style)} textLength="{len(run) * WIDE:g}">{escape(run, quote=False)}</tspan>'
        for at, style, run in runs
        if run.strip()
    )
    return f'<text y="{number * HIGH + SIZE}" xml:space="preserve">{spans}</text>' if spans else ""


def _classes(style: str) -> str:
    codes = style.split(";") if style else []
    names = [{"1": "b", "2": "d"}.get(code, f"c{code}" if code in COLOURS else "") for code in codes]
    found = " ".join(filter(None, names))
    return f' class="{found}"' if found else ""


def main() -> int:
    prompt: list[Cell] = [("$", "32"), (" ", ""), *((character, "1") for character in "donewhen demo")]
    lines: list[tuple[float, list[Cell]]] = [(0.0, prompt)]
    for came, line in record([sys.executable, "-m", "donewhen", "demo"]):
        lines += [(came, cells) for cells in screen_lines(line)]
    title = "donewhen demo: a lie is refused, a skipped test is refused, repaired code is proven"
    TARGET.write_text(draw(lines, title), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
