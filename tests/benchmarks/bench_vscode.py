"""The VS Code extension in a real workbench: `python -m tests.benchmarks.bench_vscode`.

How long it takes to activate, how large it is, how soon a snapshot is on the screen, and how a very large goal scrolls.
A made-up server (snapshot_server.py) sends the snapshots, so that only the extension and VS Code are measured; beside
it a bare tree (bare_tree.py) of as many rows is drawn again, which is VS Code's own part. Needs `.ci/setup-vscode` and
the extra `vscode`.
"""

from __future__ import annotations

import os
import re
import statistics
import sys
import tempfile
import time
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.benchmarks.bare_tree import TITLE, bare_tree
from tests.benchmarks.snapshot_server import ITERATIONS, REQUIREMENTS
from tests.vscode.codeserver import CodeServer
from tests.vscode.extension import packaged
from tests.vscode.site import BAR
from tests.vscode.waiting import until

if TYPE_CHECKING:
    from tests.vscode.workbench import Workbench

ROOT = Path(__file__).parents[2]
ROUNDS, SAMPLES = 2, 20
LONE_SECONDS = 0.4
"""Between two snapshots: longer than VS Code holds back what follows another change of a tree."""
BURST, BURST_SECONDS = 30, 0.1
"""As many as the server sends at most, ten a second."""

# Times of the page's clock, which is this machine's, at which a text was first drawn: observed, then one frame later.
WATCH = """selector => {
  window.watched?.disconnect();
  window.drawn = {};
  const look = () => {
    for (const e of document.querySelectorAll(selector)) {
      const found = e.textContent.match(/(\\d+)\\/1000/);
      if (found !== null && !(found[1] in window.drawn)) {
        const number = found[1];
        window.drawn[number] = 0;
        requestAnimationFrame(() => {
          window.drawn[number] = (performance.timeOrigin + performance.now()) / 1000;
        });
      }
    }
  };
  window.watched = new MutationObserver(look);
  window.watched.observe(document.body, { subtree: true, childList: true, characterData: true });
}"""

FRAMES = """async ([steps]) => {
  const times = [];
  let last = performance.now();
  for (let n = 0; n < steps; n++) {
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    times.push(now - last);
    last = now;
  }
  return times;
}"""


def measure() -> Mapping[str, Any]:
    vsix = packaged()
    figures = sizes(vsix)
    with tempfile.TemporaryDirectory(prefix="dwb-") as name:
        figures |= in_the_workbench(vsix, Path(name))
    return figures


def sizes(vsix: Path) -> dict[str, Any]:
    with zipfile.ZipFile(vsix) as archive:
        wheel = sum(one.compress_size for one in archive.infolist() if one.filename.endswith(".whl"))
    whole = vsix.stat().st_size
    parts = {"the VSIX": whole, "its wheel": wheel, "the VSIX without the wheel": whole - wheel}
    return {name: f"{size / 1e6:.2f} MB" for name, size in parts.items()}


def in_the_workbench(vsix: Path, folder: Path) -> dict[str, Any]:
    from tests.vscode.workbench import browser, opened

    work = folder / "work"
    work.mkdir()
    (work / "GOAL.md").write_text("# A large goal\n\n- [ ] `true` passes\n", encoding="utf-8")
    goals, bare = Clock(folder / "snapshots"), Clock(folder / "bare")
    program = folder / "server"
    program.write_text(f"#!/bin/sh\ncd {ROOT} && exec {sys.executable} -m tests.benchmarks.snapshot_server\n")
    program.chmod(0o755)
    env = {"SNAPSHOT_TRIGGER": str(goals.trigger), "SNAPSHOT_TIMES": str(goals.times),
           "BARE_TRIGGER": str(bare.trigger), "BARE_TIMES": str(bare.times)}  # fmt: skip
    with CodeServer(folder / "code", machine={"donewhen.serverPath": str(program)}, env=env) as server:
        server.install(vsix)
        server.install(bare_tree(folder / "bare.vsix", REQUIREMENTS))
        server.start()
        with browser() as chrome, opened(chrome, server, work) as window:
            window.notices.wait_bar(BAR, f"/{ITERATIONS}")
            figures = activation(window, server)
            window.palette.run("View: Show Done When")
            window.views.wait_tree("Goals", "A large goal")
            window.views.wait_tree(TITLE, "/1000")
            figures |= snapshots(window, goals, bare)
            figures |= scrolling(window)
    return figures


def activation(window: Workbench, server: CodeServer) -> dict[str, Any]:
    """What the extension measured of its `activate`, and VS Code of that and of loading the code."""
    said = "".join(text for name, text in server.logs().items() if name.endswith("Done When.log"))
    returned = re.search(r"activated in ([\d.]+ ms)", said)
    window.palette.run("Developer: Show Running Extensions")
    row = ".runtime-extensions-editor .monaco-list-row"
    listed = window.until(
        lambda: next((text for text in window.screen.read(row, "e.innerText") if "Done When" in text), None),
        "Done When among the running extensions",
    )
    whole = re.search(r"(\d+)\s*ms", listed)
    return {
        "activate returned after": returned[1] if returned else "?",
        "with loading the code, as VS Code lists it": f"{whole[1]} ms" if whole else listed,
    }


class Clock:
    """Two files: one that grows when something is to be sent, and one that says when it was."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.trigger, self.times = folder / "trigger", folder / "times"
        self.trigger.touch()
        self.times.touch()

    def send(self) -> None:
        with self.trigger.open("a") as file:
            file.write(".")

    def sent(self) -> dict[int, float]:
        return {int(line.split()[0]): float(line.split()[1]) for line in self.times.read_text().splitlines()}


def snapshots(window: Workbench, goals: Clock, bare: Clock) -> dict[str, Any]:
    """In turns, so that all have the same luck with what else the machine does."""
    bar = f'.statusbar-item[id$="{BAR}"]'
    rows = {title: f'[role=tree][aria-label^="{title}"] [role=treeitem]' for title in ("Goals", TITLE)}
    waits: dict[str, list[float]] = {"bar": [], "view": [], "bare": []}
    for _ in range(ROUNDS):
        waits["bar"] += lone(window, bar, goals)
        waits["view"] += lone(window, rows["Goals"], goals)
        waits["bare"] += lone(window, rows[TITLE], bare)
    view, reference = statistics.median(waits["view"]), statistics.median(waits["bare"])
    return {
        "a snapshot to the status bar": spread(waits["bar"]),
        "a lone snapshot to the view Goals": spread(waits["view"]),
        f"a bare tree of {REQUIREMENTS} rows, in the same run": spread(waits["bare"]),
        "the view Goals to the bare tree": f"{view / reference:.2f} times",
        "ten snapshots a second to the view Goals": spread(burst(window, rows["Goals"], goals)),
        "the machine's load meanwhile": " ".join(f"{load:.1f}" for load in os.getloadavg()[:2]),
    }


def spread(waits: Sequence[float]) -> str:
    ordered = sorted(waits)
    p95 = ordered[int(len(ordered) * 0.95)]
    return f"p50 {statistics.median(ordered):.0f} ms, p95 {p95:.0f} ms, worst of {len(ordered)} {ordered[-1]:.0f} ms"


def lone(window: Workbench, selector: str, clock: Clock) -> list[float]:
    """Milliseconds from sending to the frame that shows it, each after a pause."""
    before = set(clock.sent())
    window.page.evaluate(WATCH, selector)
    for number in range(1, SAMPLES + 1):
        time.sleep(LONE_SECONDS)
        clock.send()
        until(lambda wanted=number: len(drawings(window).keys() & clock.sent().keys() - before) >= wanted, "drawn")
    drawn = drawings(window)
    return [1000 * (drawn[one] - at) for one, at in clock.sent().items() if one not in before]


def burst(window: Workbench, selector: str, clock: Clock) -> list[float]:
    """Milliseconds until each is shown, or one that came after it."""
    before = set(clock.sent())
    time.sleep(LONE_SECONDS)
    window.page.evaluate(WATCH, selector)
    for _ in range(BURST):
        clock.send()
        time.sleep(BURST_SECONDS)
    sent = {one: at for one, at in clock.sent().items() if one not in before}
    until(lambda: max(drawings(window), default=0) >= max(sent), "the last one drawn")
    drawn = drawings(window)
    return [1000 * (min(when for later, when in drawn.items() if later >= one) - at) for one, at in sent.items()]


def drawings(window: Workbench) -> dict[int, float]:
    return {int(number): at for number, at in window.page.evaluate("window.drawn").items() if at > 0}


def scrolling(window: Workbench) -> dict[str, Any]:
    """Frames while the wheel turns: what is smooth stays near 17 ms a frame."""
    figures = {}
    tree = window.page.locator("[role=tree][aria-label^='Goals']")
    tree.hover()
    figures[f"scrolling {REQUIREMENTS} requirements in Goals"] = frames(window)
    window.palette.run("Done When: Show Timeline")
    page = window.views.webview()
    page.get_by_role("button", name=f"Iteration {ITERATIONS - 1}").wait_for()
    earlier = page.get_by_role("button", name="Show earlier iterations")
    while earlier.is_visible():
        earlier.click()
    page.locator("h2").hover()
    figures[f"scrolling {page.locator('.rows li').count()} iterations in the timeline"] = frames(window)
    return figures


def frames(window: Workbench) -> str:
    window.page.evaluate(FRAMES, [5])
    window.page.evaluate(f"window.running = ({FRAMES})([150])")
    for _ in range(60):
        window.page.mouse.wheel(0, 200)
    took = sorted(window.page.evaluate("window.running"))
    return f"{statistics.median(took):.0f} ms a frame, {took[int(len(took) * 0.95)]:.0f} ms at the 95th percentile"


if __name__ == "__main__":
    for figure, value in measure().items():
        print(f"- {figure}: {value}", flush=True)
