"""How costs grow with size: measures each curve beside the least that it could cost, draws docs/images/growth/*.svg,
and writes the figures into docs/benchmarks.md.

`python -m tests.benchmarks.growth [NAME ...]` after `pip install -e '.[dev,bench]'`; all of it takes some minutes.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

from tests.benchmarks import bench_agent, bench_requirements, bench_revision, bench_side_by_side

DOCS = Path(__file__).parents[2] / "docs"
PAGE, PICTURES = DOCS / "benchmarks.md", DOCS / "images" / "growth"
SECTION = re.compile(r"(?<=<!-- growth -->\n).*?(?=<!-- /growth -->)", re.S)
INK, FAINT, PAPER, OURS, LEAST = "#1d2b28", "#5d6f6a", "#fbfcfb", "#1f8a64", "#2b6cb0"


@dataclass(frozen=True)
class Point:
    """At a size: what ours costs, and the least that it could."""

    size: int
    ours: float
    least: float


@dataclass(frozen=True)
class Curve:
    """`least` says what the second line is, `between` what keeps ours from it."""

    name: str
    title: str
    sizes: str
    unit: str
    least: str
    between: str
    points: Callable[[], Iterator[Point]]


requirements, files = cache(bench_requirements.measure), cache(bench_revision.measure)


def audits() -> Iterator[Point]:
    """The server's own CPU for an audit of as many requirements, for each."""
    sizes = (10, 30, 100, 300, 1_000)
    figures = requirements(sizes)
    for size in sizes:
        yield Point(size, figures[f"{size} requirements: audit, CPU ms for each"], asyncio.run(_processes(size)))


async def _processes(count: int) -> float:
    """CPU milliseconds that starting each of as many `test -e` takes, four at once, and nothing else."""
    four = asyncio.Semaphore(4)

    async def one(number: int) -> None:
        async with four:
            process = await asyncio.create_subprocess_exec("test", "-e", str(number))
            await process.wait()

    begun = time.process_time()
    await asyncio.gather(*(one(number) for number in range(count)))
    return 1000 * (time.process_time() - begun) / count


def keystrokes() -> Iterator[Point]:
    """The server's CPU for a key pressed in a goal file, its symbols asked for; the least is to write them as JSON."""
    sizes = (10, 30, 100, 300, 1_000)
    figures = requirements(sizes)
    for size in sizes:
        yield Point(size, figures[f"{size} requirements: keystroke, CPU ms"], _symbols_alone(size))


def _symbols_alone(count: int) -> float:
    place = {"start": {"line": 1, "character": 6}, "end": {"line": 2, "character": 30}}
    symbols = [
        {"name": f"R{one} File {one} is there", "kind": 17, "location": {"uri": "file:///w/GOAL.md", "range": place}}
        for one in range(count)
    ]
    begun = time.process_time()
    for _ in range(20):
        json.dumps({"jsonrpc": "2.0", "id": 1, "result": symbols})
    return 1000 * (time.process_time() - begun) / 20


def saves() -> Iterator[Point]:
    """From a save to the settled revision; the least is one look at the files by git."""
    for size in (1_000, 10_000, 100_000):
        figures = files(size)
        yield Point(size, 1000 * figures["saved to settled, p50"], 1000 * figures["warm git status"])


def walks() -> Iterator[Point]:
    """A walk over everything, as before each completion."""
    for size in (1_000, 10_000, 100_000):
        figures = files(size)
        yield Point(size, 1000 * figures["full stat walk"], 1000 * figures["warm git status"])


def side_by_side() -> Iterator[Point]:
    """Until the last of as many runs is complete, for each; the least is one that runs alone on each core."""
    sizes = (1, 3, 10, 30, 50)
    figures = bench_side_by_side.measure(sizes)
    alone = 1000 * figures["1 runs: all complete, s"]
    for size in sizes:
        cores = min(size, os.cpu_count() or 1)
        yield Point(size, 1000 * figures[f"{size} runs: all complete, s"] / size, alone / cores)


def calls() -> Iterator[Point]:
    """A request of the agent, its tool in a room included; the least is the same commands and syncs alone."""
    bench_agent.one(1, 1)
    for size in (5, 10, 100, 1_000):
        figures, _, _ = bench_agent.one(size, 1)
        least = (bench_agent.bare_tools(size) + figures["bare syncs"]) / figures["requests"]
        yield Point(size, 1000 * figures["seconds"] / figures["requests"], 1000 * least)


CURVES = (
    Curve(
        "audit", "An audit, for each requirement", "requirements", "ms of the server's CPU",
        "starting the commands, and nothing else",
        "evidence is written and synced, output is read and masked, and every change of a status is told", audits,
    ),
    Curve(
        "keystroke", "A key pressed in the goal file", "requirements", "ms of the server's CPU",
        "its symbols as JSON", "the file is read again around the edit, places are counted in the editor's units",
        keystrokes,
    ),
    Curve(
        "save", "From a save to the settled revision", "files", "ms", "git status",
        "a watcher's news and one file are read, where git looks at all of them", saves,
    ),
    Curve(
        "walk", "A walk over every file", "files", "ms", "git status",
        "Python looks at each file, where git does so in C and on several threads", walks,
    ),
    Curve(
        "side-by-side", "Runs that start at once, for each", "runs", "ms until all are complete",
        "one alone, on each core", "one process of Python computes on one core at a time", side_by_side,
    ),
    Curve(
        "calls", "A request of the agent, its tool included", "calls in an iteration", "ms",
        "the commands and the syncs alone", "mostly a room for each command", calls,
    ),
)  # fmt: skip


def draw(curve: Curve, points: Sequence[Point]) -> None:
    """One picture: both lines, over the sizes."""
    mpl = import_module("matplotlib")
    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "growth", "svg.fonttype": "none", "font.family": "sans-serif"})
    plt = import_module("matplotlib.pyplot")
    figure, axes = plt.subplots(figsize=(6.4, 3.6), facecolor=PAPER)
    axes.set_facecolor(PAPER)
    sizes = [point.size for point in points]
    axes.loglog(sizes, [point.ours for point in points], marker="o", color=OURS, label="Done When")
    axes.loglog(sizes, [point.least for point in points], marker="o", linestyle="--", color=LEAST, label=curve.least)
    axes.set_title(curve.title, color=INK, fontsize=11, loc="left")
    axes.set_xlabel(curve.sizes, color=FAINT)
    axes.set_ylabel(curve.unit, color=FAINT)
    axes.set_ylim(bottom=min(min(p.ours, p.least) for p in points) / 2)
    axes.grid(visible=True, which="major", color="#e3e8e6", linewidth=0.6)
    axes.tick_params(colors=FAINT, which="both")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    figure.tight_layout()
    PICTURES.mkdir(exist_ok=True)
    figure.savefig(PICTURES / f"{curve.name}.svg", metadata={"Date": None, "Title": curve.title})
    plt.close(figure)


def told(curve: Curve, points: Sequence[Point]) -> str:
    """The curve's part of the page."""
    header = " | ".join(f"{point.size:,}" for point in points)
    return "\n".join(
        (
            f"### {curve.title}",
            "",
            f"![{curve.title}: {curve.unit}, over {curve.sizes}](images/growth/{curve.name}.svg)",
            "",
            f"| {curve.sizes} | {header} |",
            f"|---|{'---|' * len(points)}",
            f"| {curve.unit} | {' | '.join(f'{point.ours:.3g}' for point in points)} |",
            f"| times the least | {' | '.join(f'{_ratio(point)}' for point in points)} |",
            "",
            f"The least: {curve.least}. What keeps it from that: {curve.between}.",
            "",
        )
    )


def _ratio(point: Point) -> str:
    ratio = point.ours / point.least
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"


def main(wanted: list[str]) -> int:
    page = PAGE.read_text(encoding="utf-8")
    found = SECTION.search(page)
    assert found is not None, f"{PAGE.name} has no place for the curves"
    parts = {part.partition("\n")[0]: f"### {part}" for part in found[0].split("### ")[1:]}
    for curve in CURVES:
        if wanted and curve.name not in wanted:
            continue
        points = list(curve.points())
        draw(curve, points)
        parts[curve.title] = told(curve, points)
        print(parts[curve.title], flush=True)
    ordered = [parts[curve.title].strip() for curve in CURVES if curve.title in parts]
    PAGE.write_text(SECTION.sub(lambda _: "\n" + "\n\n".join(ordered) + "\n\n", page), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
