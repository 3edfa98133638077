/** Who said what about one setting. */
export interface Said {
  readonly globalValue?: unknown;
  readonly workspaceValue?: unknown;
  readonly workspaceFolderValue?: unknown;
}

/** What a file of a workspace may set. All else names programs, or says where data goes and what may run unasked. */
export const OF_WORKSPACES: ReadonlySet<string> = new Set([
  ...['worker', 'model', 'judgeModel', 'temperature'],
  ...['window', 'judgeCalls', 'judgeTokens', 'maxToolCalls', 'maxTurnTokens'],
  ...['maxIterations', 'timeout', 'budget', 'tokenBudget', 'checkTimeout', 'stallAfter'],
  'protect',
]);

/** The person's settings by name, and in `workspace` those of the workspace's files. */
export function saidBy(settings: readonly (readonly [string, Said])[]): Record<string, unknown> {
  const own: Record<string, unknown> = {};
  const workspace: Record<string, unknown> = {};
  for (const [name, said] of settings) {
    const ofWorkspace = said.workspaceFolderValue ?? said.workspaceValue;
    if (said.globalValue !== undefined) {
      own[name] = said.globalValue;
    }
    if (ofWorkspace !== undefined && OF_WORKSPACES.has(name)) {
      workspace[name] = ofWorkspace;
    }
  }
  return Object.keys(workspace).length === 0 ? own : { ...own, workspace };
}
