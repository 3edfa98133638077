/** How the server's version stands to the extension's; undefined where they go together, as those of one minor do. */
export function differenceOf(own: string, server: string | undefined): 'older' | 'newer' | undefined {
  const [ours, theirs] = [numbers(own), numbers(server ?? '')];
  if (ours === undefined || theirs === undefined) {
    return undefined;
  }
  const difference = theirs[0] - ours[0] || theirs[1] - ours[1];
  return difference === 0 ? undefined : difference < 0 ? 'older' : 'newer';
}

function numbers(version: string): readonly [number, number] | undefined {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(version) ?? [];
  return major === undefined || minor === undefined ? undefined : [Number(major), Number(minor)];
}
