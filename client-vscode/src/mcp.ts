import * as vscode from 'vscode';
import { ownText } from './configuration';
import { programOf, type ServerCommand } from './serverCommand';

/** The id under which the manifest announces the provider. */
const PROVIDER = 'donewhen';

/** Offers each folder's goal and evidence to the editor's agents, as `donewhen mcp` serves them: to look at, and to audit. */
export function registerMcp(environment: { command(): Promise<ServerCommand> }): vscode.Disposable {
  const changed = new vscode.EventEmitter<void>();
  const provider: vscode.McpServerDefinitionProvider<vscode.McpStdioServerDefinition> = {
    onDidChangeMcpServerDefinitions: changed.event,
    provideMcpServerDefinitions: () => (vscode.workspace.isTrusted ? folders().map(definition) : []),
    // Not before somebody uses it: the program may have to be installed first.
    resolveMcpServerDefinition: async (server) => {
      const [command, ...args] = programOf(await environment.command());
      if (command === undefined) {
        return undefined;
      }
      server.args = [...args, ...server.args];
      server.command = command;
      return server;
    },
  };
  return vscode.Disposable.from(
    changed,
    vscode.workspace.onDidGrantWorkspaceTrust(() => { changed.fire(); }),
    vscode.workspace.onDidChangeWorkspaceFolders(() => { changed.fire(); }),
    vscode.lm.registerMcpServerDefinitionProvider(PROVIDER, provider),
  );
}

function folders(): readonly vscode.WorkspaceFolder[] {
  return (vscode.workspace.workspaceFolders ?? []).filter((folder) => folder.uri.scheme === 'file');
}

function definition(folder: vscode.WorkspaceFolder): vscode.McpStdioServerDefinition {
  const stateDir = ownText('stateDir');
  const state = stateDir === '' ? [] : ['--state-dir', stateDir];
  const words = [...state, '--workspace', folder.uri.fsPath, 'mcp'];
  return new vscode.McpStdioServerDefinition(vscode.l10n.t('Done When: {0}', folder.name), 'donewhen', words);
}
