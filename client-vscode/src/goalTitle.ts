const FRONT_MATTER = /^\uFEFF?---[ \t]*\r?\n[^]*?\r?\n---[ \t]*(?:\r?\n|$)/u;

/** The first heading of a goal file, without the marks of code. */
export function goalTitle(text: string): string | undefined {
  const heading = /^#[ \t]+(\S.*?)[ \t]*#*[ \t]*$/mu.exec(text.replace(FRONT_MATTER, ''))?.[1];
  return heading?.replaceAll('`', '');
}
