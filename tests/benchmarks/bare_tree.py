"""An extension that only has a tree of as many rows as Done When's: what VS Code itself takes to draw it again.

Whenever the file that BARE_TRIGGER names has grown, its one root changes, as a goal does, and BARE_TIMES gets the time.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

TITLE = "Bare"

MANIFEST = {
    "name": "bare-tree",
    "publisher": "donewhen-benchmarks",
    "version": "0.0.1",
    "engines": {"vscode": "^1.101.0"},
    "main": "./extension.js",
    "activationEvents": ["onStartupFinished"],
    "contributes": {"views": {"donewhen": [{"id": "bare.tree", "name": TITLE}]}},
}

PROGRAM = """\
const fs = require('node:fs');
const vscode = require('vscode');

exports.activate = () => {
  const changed = new vscode.EventEmitter();
  const root = { number: 0 };
  const rows = Array.from({ length: ROWS }, (_, row) => ({ row }));
  vscode.window.createTreeView('bare.tree', {
    treeDataProvider: {
      onDidChangeTreeData: changed.event,
      getChildren: (element) => (element === undefined ? [root] : element === root ? rows : []),
      getTreeItem: (element) => {
        const [label, opens] = element === root ? [`${root.number}/1000`, 2] : [`Row ${element.row}`, 1];
        const item = new vscode.TreeItem(label, opens);
        item.id = String(element.row);
        item.description = 'unmet · the reason';
        item.iconPath = new vscode.ThemeIcon('error', new vscode.ThemeColor('testing.iconFailed'));
        return item;
      },
    },
  });
  let seen = 0;
  setInterval(() => {
    const { size } = fs.statSync(process.env.BARE_TRIGGER);
    if (size > seen) {
      seen = size;
      root.number += 1;
      fs.appendFileSync(process.env.BARE_TIMES, `${root.number} ${Date.now() / 1000}\\n`);
      changed.fire(root);
    }
  }, 5);
};
"""


def bare_tree(target: Path, rows: int) -> Path:
    """Writes it as a VSIX."""
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("extension/package.json", json.dumps(MANIFEST))
        archive.writestr("extension/extension.js", PROGRAM.replace("ROWS", str(rows)))
    return target
