"""The VS Code extension in a real workbench: `python -m tests.benchmarks.bench_vscode`.

How long it takes to activate, how large it is, how soon a snapshot is on the screen, and how a very large goal scrolls.
A made-up server (snapshot_server.py) sends the snapshots, so that only the extension and VS Code are measured. Needs
`.ci/setup-vscode` and the extra `vscode`.
"""

from __future__ import annotations

import re
import statistics
import sys
import tempfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.benchmarks.snapshot_server import ITERATIONS, REQUIREMENTS
from tests.vscode.codeserver import CodeServer
from tests.vscode.extension import packaged
from tests.vscode.site import BAR
from tests.vscode.waiting import until

if TYPE_CHECKING:
    from tests.vscode.workbench import Workbench

ROOT = Path(__file__).parents[2]
SAMPLES = 20

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

DRAWN = "Object.values(window.drawn).filter(at => at > 0)"

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
    trigger, times = folder / "trigger", folder / "times"
    trigger.touch()
    program = folder / "server"
    program.write_text(f"#!/bin/sh\ncd {ROOT} && exec {sys.executable} -m tests.benchmarks.snapshot_server\n")
    program.chmod(0o755)
    env = {"SNAPSHOT_TRIGGER": str(trigger), "SNAPSHOT_TIMES": str(times)}
    with CodeServer(folder / "code", machine={"donewhen.serverPath": str(program)}, env=env) as server:
        server.install(vsix)
        server.start()
        with browser() as chrome, opened(chrome, server, work) as window:
            window.notices.wait_bar(BAR, f"/{ITERATIONS}")
            figures = activation(window, server)
            window.palette.run("View: Show Done When")
            window.views.wait_tree("Goals", "A large goal")
            bar, row = f'.statusbar-item[id$="{BAR}"]', '[role=tree][aria-label^="Goals"] [role=treeitem]'
            figures["a snapshot to the status bar"] = rendering(window, bar, trigger, times)
            figures["a snapshot to the view Goals"] = rendering(window, row, trigger, times)
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


def rendering(window: Workbench, selector: str, trigger: Path, times: Path) -> str:
    """From the moment at which the server sends a snapshot to the frame that shows it."""
    window.page.evaluate(WATCH, selector)
    for number in range(1, SAMPLES + 1):
        with trigger.open("a") as file:
            file.write(".")
        until(lambda wanted=number: len(window.page.evaluate(DRAWN)) >= wanted, f"drawn: {number}")
        time.sleep(0.15)
    drawn = {int(number): at for number, at in window.page.evaluate("window.drawn").items()}
    sent = {int(line.split()[0]): float(line.split()[1]) for line in times.read_text().splitlines()}
    waits = sorted(1000 * (drawn[number] - at) for number, at in sent.items() if number in drawn)
    return f"{statistics.median(waits):.0f} ms (worst of {len(waits)}: {waits[-1]:.0f} ms)"


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
