const MARKS = /[\\`*_{}[\]()#+\-.!|<>~$&]/g;

/** Text of a goal, a worker or a tool as it stands, whatever Markdown would make of it; on one line. */
export function markdownText(text: string): string {
  return text.replace(/\s+/g, ' ').replace(MARKS, (mark) => `\\${mark}`);
}
