/** Who said what about one setting. */
export interface Said {
  readonly globalValue?: unknown;
  readonly workspaceValue?: unknown;
  readonly workspaceFolderValue?: unknown;
}

/** The person's settings by name, and in `workspace` those of the workspace's files: the server says which may be. */
export function saidBy(settings: readonly (readonly [string, Said])[]): Record<string, unknown> {
  const own: Record<string, unknown> = {};
  const workspace: Record<string, unknown> = {};
  for (const [name, said] of settings) {
    const ofWorkspace = said.workspaceFolderValue ?? said.workspaceValue;
    if (said.globalValue !== undefined) {
      own[name] = said.globalValue;
    }
    if (ofWorkspace !== undefined) {
      workspace[name] = ofWorkspace;
    }
  }
  return Object.keys(workspace).length === 0 ? own : { ...own, workspace };
}
