"""Extensions that are put together here, which stand for others in an editor."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

MANIFEST = """<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
<Metadata><Identity Language="en-US" Id="{name}" Version="{version}" Publisher="{publisher}"/>
<DisplayName>{name}</DisplayName><Description>{name}</Description></Metadata>
<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation><Dependencies/>
<Assets><Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/></Assets>
</PackageManifest>"""
TYPES = """<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension=".json" ContentType="application/json"/>
<Default Extension=".js" ContentType="application/javascript"/>
<Default Extension=".vsixmanifest" ContentType="text/xml"/></Types>"""

PYTHON = """
const vscode = require('vscode');
const fs = require('fs');
const path = require('path');
const changed = new vscode.EventEmitter();
const selected = folder => {
  const file = path.join(folder.fsPath, 'selected.txt');
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim() : '';
};
exports.activate = context => {
  const watcher = vscode.workspace.createFileSystemWatcher('**/selected.txt');
  const tell = uri => changed.fire({ id: 'now', path: selected(vscode.Uri.joinPath(uri, '..')), resource: undefined });
  context.subscriptions.push(watcher, changed, watcher.onDidChange(tell), watcher.onDidCreate(tell));
  return { environments: {
    onDidChangeActiveEnvironmentPath: changed.event,
    getActiveEnvironmentPath: resource => {
      const folder = vscode.workspace.getWorkspaceFolder(resource)?.uri ?? resource?.uri ?? resource;
      const found = folder ? selected(folder) : '';
      return { id: found, path: found };
    },
    resolveEnvironment: async one => ({ id: one.id, path: one.path, executable: { uri: vscode.Uri.file(one.path) } }),
  } };
};
"""
"""It has the part of the API that is used, and selects what `selected.txt` of a folder says."""


ASKING = """
const vscode = require('vscode');
const fs = require('fs');
exports.activate = context => {
  const folder = context.globalStorageUri;
  fs.mkdirSync(folder.fsPath, { recursive: true });
  const target = vscode.Uri.joinPath(folder, 'answers').fsPath;
  const say = answer => fs.appendFileSync(target, JSON.stringify(answer) + '\\n');
  for (const tool of TOOLS) {
    context.subscriptions.push(vscode.commands.registerCommand('asking.' + tool, async () => {
      try {
        const { content } = await vscode.lm.invokeTool(tool, { input: {}, toolInvocationToken: undefined });
        say({ tool, text: content.map(part => part.value).join('') });
      } catch (problem) {
        say({ tool, problem: String(problem) });
      }
    }));
  }
};
"""
"""It asks tools as a chat does, by a command each, and writes down what comes back."""


def asking_extension(target: Path, *tools: str) -> Path:
    commands = [{"command": f"asking.{tool}", "title": tool, "category": "Ask"} for tool in tools]
    described = {"name": "asking", "contributes": {"commands": commands},
                 "capabilities": {"untrustedWorkspaces": {"supported": True}}}  # fmt: skip
    return _package(target, described, ASKING.replace("TOOLS", json.dumps(tools)))


OFFERING = """
const vscode = require('vscode');
const { User } = vscode.LanguageModelChatMessageRole;
const text = parts =>
  parts.filter(part => part instanceof vscode.LanguageModelTextPart).map(part => part.value).join('');
const sent = ({ role, content }) => {
  const results = content.filter(part => part instanceof vscode.LanguageModelToolResultPart);
  const calls = content.filter(part => part instanceof vscode.LanguageModelToolCallPart);
  if (results.length > 0) {
    return results.map(one => ({ role: 'tool', tool_call_id: one.callId, content: text(one.content) }));
  }
  const asked = calls.map(({ callId, name, input }) =>
    ({ id: callId, type: 'function', function: { name, arguments: JSON.stringify(input) } }));
  const known = { role: role === User ? 'user' : 'assistant', content: text(content) };
  return [asked.length > 0 ? { ...known, tool_calls: asked } : known];
};
exports.activate = context => {
  context.subscriptions.push(vscode.lm.registerLanguageModelChatProvider('scripted', {
    provideLanguageModelChatInformation: () => ['worker', 'judge'].map(id => ({
      id, name: 'Scripted ' + id, family: id, version: '1', maxInputTokens: 100000, maxOutputTokens: 10000,
      capabilities: { toolCalling: true },
    })),
    provideLanguageModelChatResponse: async (model, messages, options, progress) => {
      const tools = (options.tools ?? []).map(({ name, description, inputSchema }) =>
        ({ type: 'function', function: { name, description, parameters: inputSchema } }));
      const body = { model: model.id, messages: messages.flatMap(sent), ...(tools.length && { tools }) };
      const response = await fetch(ADDRESS + '/chat/completions', {
        method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
      if (!response.ok) {
        throw new Error(await response.text());
      }
      const { content, tool_calls: calls = [] } = (await response.json()).choices[0].message;
      if (content) {
        progress.report(new vscode.LanguageModelTextPart(content));
      }
      for (const { id, function: called } of calls ?? []) {
        progress.report(new vscode.LanguageModelToolCallPart(id, called.name, JSON.parse(called.arguments)));
      }
    },
    provideTokenCount: async (model, said) =>
      Math.ceil((typeof said === 'string' ? said : JSON.stringify(said.content)).length / 4),
  }));
};
"""
"""It offers the models `worker` and `judge` to the editor, and has them played at an address."""


def offering_extension(target: Path, address: str) -> Path:
    contributes = {"languageModelChatProviders": [{"vendor": "scripted", "displayName": "Scripted"}]}
    described = {"name": "offering", "engines": {"vscode": "^1.104.0"}, "contributes": contributes,
                 "capabilities": {"untrustedWorkspaces": {"supported": True}}}  # fmt: skip
    return _package(target, described, OFFERING.replace("ADDRESS", json.dumps(address)))


def python_extension(target: Path) -> Path:
    return _package(target, {"name": "python", "publisher": "ms-python", "version": "2026.1.0"}, PYTHON)


def _package(target: Path, given: dict[str, Any], program: str) -> Path:
    described = {
        "publisher": "donewhen-tests", "version": "1.0.0", "engines": {"vscode": "^1.101.0"},
        "main": "./extension.js", "activationEvents": [], "contributes": {}, **given,
    }  # fmt: skip
    with zipfile.ZipFile(target, "w") as package:
        package.writestr("extension.vsixmanifest", MANIFEST.format(**described))
        package.writestr("[Content_Types].xml", TYPES)
        package.writestr("extension/package.json", json.dumps(described))
        package.writestr("extension/extension.js", program)
    return target
