/** One evidence of one run. */
export interface EvidenceName {
  readonly runId: string;
  readonly evidenceId: string;
}

export const OPEN_EVIDENCE = 'donewhen.openEvidence';

/** The server keeps evidence in its state folder, as a file that every editor can open. */
const FILE = /\/evidence\/(?<runId>[0-9a-f]{8,})\/(?<evidenceId>E\d+)\.md$/;
const LINK = /\]\((?<target>file:\/\/[^()\s]+)\)/g;

/** The evidence that a file of the server's holds; undefined for any other file. */
export function evidenceOfFile(path: string): EvidenceName | undefined {
  const { runId, evidenceId } = FILE.exec(path)?.groups ?? {};
  return runId === undefined || evidenceId === undefined ? undefined : { runId, evidenceId };
}

/** The Markdown of a hover, whose links to files of evidence run the command that opens it. */
export function withCommands(markdown: string, title: string): string {
  return markdown.replace(LINK, (link, target: string) => {
    const about = evidenceOfFile(target);
    return about === undefined ? link : `](${commandUri(about)} "${title.replaceAll('"', '')}")`;
  });
}

function commandUri(about: EvidenceName): string {
  return `command:${OPEN_EVIDENCE}?${encodeURIComponent(JSON.stringify([about]))}`;
}
