"""The timeline as a person has it before them: rows, the chart, what is said; and what may not be in it."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator

from tests.vscode.extension import CLIENT
from tests.vscode.workbench import Workbench

AXE = CLIENT / "node_modules" / "axe-core" / "axe.min.js"

# Lines of the chart are none of axe's, signs are drawn by the style: their contrast is worked out here.
CONTRASTS = """() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgb = color => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = color => {
    const [r, g, b] = rgb(color).map(x => x / 255).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = light(getComputedStyle(document.documentElement).getPropertyValue('--vscode-editor-background'));
  const ratio = color => {
    const [low, high] = [light(color), ground].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const found = [];
  const look = (selector, property, pseudo) => {
    for (const one of document.querySelectorAll(selector)) {
      const style = getComputedStyle(one, pseudo);
      if (pseudo && style.content === 'none') continue;
      found.push([selector + (pseudo ?? ''), ratio(style[property])]);
    }
  };
  look('.tick', 'color');
  look('path.score, path.cost', 'stroke');
  look('.sign', 'color', '::before');
  look('.steps .lead, .steps .counts, .diff div', 'color');
  return found;
}"""

# Lines of a diff are blocks: their text has no line ends of its own.
TEXTS = """all => all.map(one => {
  const copy = one.cloneNode(true);
  for (const line of copy.querySelectorAll('.diff > div')) line.append('\\n');
  return copy.textContent;
})"""


class Timeline:
    def __init__(self, window: Workbench) -> None:
        self._window = window
        self.frame = window.views.webview()
        self.page = self.frame.locator("html")
        self.main = self.frame.locator("#timeline")
        self.chart = self.frame.get_by_role("slider")
        self.activity = self.frame.get_by_role("region", name="Activity")

    def open(self) -> Timeline:
        self._window.palette.run("Done When: Show Timeline")
        self.row(1).wait_for()
        return self

    def row(self, number: int) -> Locator:
        return self.frame.locator("li").get_by_role("button", name=f"Iteration {number} ")

    def detail(self, number: int) -> Locator:
        return self.frame.get_by_role("region", name=f"Iteration {number}", exact=True)

    def expand(self, number: int, wanted: str) -> None:
        """Opens one iteration and waits for what is in it."""
        self.row(number).focus()
        self.row(number).press("Enter")
        self._window.until(lambda: wanted in self.detail(number).inner_text(), f"in iteration {number}: {wanted}")

    def step(self, kind: str) -> list[str]:
        """The steps of a kind, oldest first, as they are read: what is folded, too."""
        return [text.strip() for text in self.activity.locator(f"li.{kind}").evaluate_all(TEXTS)]

    def said(self) -> str:
        """The chart in words."""
        return self.frame.get_by_role("img").get_attribute("aria-label") or ""

    def evaluate(self, script: str, value: Any = None) -> Any:
        return self.page.evaluate(f"(_, value) => ({script})(value)", value)

    def focused(self) -> str:
        """The name of what has the focus, as its text or its label."""
        return str(self.evaluate("() => document.activeElement.ariaLabel ?? document.activeElement.textContent"))

    def violations(self) -> list[str]:
        """What axe-core finds, WCAG 2.2 AA and its own good practice."""
        if not self.evaluate("() => 'axe' in window"):
            self.page.evaluate(f"() => {{ {AXE.read_text(encoding='utf-8')} }}")
        result = self.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
        return [
            f"{one['id']}: {node['html']} {node['any'] and node['any'][0]['message']}"
            for one in result["violations"]
            for node in one["nodes"]
        ]

    def contrasts(self) -> list[tuple[str, float]]:
        return [(str(name), float(ratio)) for name, ratio in self.evaluate(CONTRASTS)]
