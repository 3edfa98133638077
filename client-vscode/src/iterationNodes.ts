import { node, oneLine, plain, type Language, type RunAbout, type TreeNode } from './goalNodes';
import { spent, tally } from './phrases';
import type { Iteration, Snapshot } from './protocol';
import { duration } from './statusText';

const CHUNK = 100;

/** The iterations of one run under one node: the newest as the snapshot has them, earlier ones in hundreds. */
export function iterationsNode(
  snapshot: Snapshot,
  earlier: readonly Iteration[],
  language: Language,
): TreeNode | undefined {
  if (snapshot.iterationsTotal === 0) {
    return undefined;
  }
  const newest = [...snapshot.iterations].reverse();
  const oldestShown = newest.at(-1)?.number ?? snapshot.iterationsTotal + 1;
  const label = language.t('Iterations');
  const total = String(snapshot.iterationsTotal);
  return node({
    id: `${group(snapshot)}/iterations`,
    label,
    description: total,
    icon: { name: 'history' },
    context: 'iterations',
    about: { runId: snapshot.runId },
    tooltip: () => plain(language.t('An iteration is one turn of the worker, followed by the checks.')),
    children: [
      ...newest.map((iteration) => iterationNode(snapshot, iteration, language)),
      ...chunks(snapshot, oldestShown - 1, earlier, language),
    ],
  });
}

/** What was made of an iteration: one that ended never changes, and a long run has a thousand of them. */
const made = new WeakMap<Iteration, TreeNode>();

/** One iteration: score, cost and time; how it went and the changed files are under it. */
function iterationNode(snapshot: Snapshot, iteration: Iteration, language: Language): TreeNode {
  const context = iteration.number <= (snapshot.lastRevertible ?? -1) ? 'iteration.revertible' : 'iteration';
  const known = made.get(iteration);
  if (known?.context === context) {
    return known;
  }
  const fresh = freshNode(snapshot, iteration, context, language);
  made.set(iteration, fresh);
  return fresh;
}

function freshNode(snapshot: Snapshot, iteration: Iteration, context: string, language: Language): TreeNode {
  const { t } = language;
  const id = `${group(snapshot)}/iteration/${String(iteration.number)}`;
  const about = { runId: snapshot.runId, iteration: iteration.number };
  const label = t('Iteration {0}', iteration.number);
  const facts = [
    tally({ met: iteration.met, waived: 0, total: iteration.total }, language),
    ...spent(iteration.usd, language),
    duration(iteration.seconds),
  ];
  return node({
    id,
    label,
    description: facts.join(' · '),
    icon: iterationIcon(iteration),
    spoken: [label, ...facts, iteration.error === null ? '' : t('failed'), filesPhrase(iteration, language)]
      .filter((part) => part !== '')
      .join(', '),
    context,
    about,
    tooltip: () => tooltip(iteration, label, facts),
    children: [...told(id, iteration, about, language), ...files(id, iteration, about, language)],
  });
}

function told(id: string, iteration: Iteration, about: TreeNode['about'], { t }: Language): TreeNode[] {
  const found: TreeNode[] = [];
  if (iteration.error !== null) {
    found.push(
      node({
        id: `${id}/error`,
        label: oneLine(iteration.error),
        icon: { name: 'error', color: 'testing.iconFailed' },
        spoken: t('The turn failed: {0}', iteration.error),
        about,
        tooltip: () => plain(iteration.error ?? ''),
      }),
    );
  }
  if (iteration.summary !== '') {
    found.push(
      node({
        id: `${id}/summary`,
        label: oneLine(iteration.summary),
        icon: { name: 'comment' },
        spoken: t('The worker says: {0}', iteration.summary),
        about,
        tooltip: () => plain(iteration.summary),
      }),
    );
  }
  return found;
}

function files(id: string, iteration: Iteration, about: RunAbout, { t }: Language): TreeNode[] {
  return iteration.changedFiles.map((path) => {
    const slash = path.lastIndexOf('/');
    return node({
      id: `${id}/file/${path}`,
      label: path.slice(slash + 1),
      description: path.slice(0, Math.max(0, slash)),
      icon: { name: 'diff' },
      spoken: t('{0}, changed in iteration {1}', path, iteration.number),
      context: 'file',
      about: { ...about, path },
      click: { kind: 'change', runId: about.runId, iteration: iteration.number, path },
      tooltip: () => plain(t('{0}: what iteration {1} changed', path, iteration.number)),
    });
  });
}

function chunks(snapshot: Snapshot, last: number, earlier: readonly Iteration[], language: Language): TreeNode[] {
  const found: TreeNode[] = [];
  for (let end = last; end >= 1; ) {
    const first = Math.floor((end - 1) / CHUNK) * CHUNK + 1;
    found.push(chunk(snapshot, first, end, earlier, language));
    end = first - 1;
  }
  return found;
}

function chunk(
  snapshot: Snapshot,
  first: number,
  last: number,
  earlier: readonly Iteration[],
  language: Language,
): TreeNode {
  const known = earlier.filter((one) => one.number >= first && one.number <= last);
  const children = [...known].reverse().map((one) => iterationNode(snapshot, one, language));
  const complete = known.length === last - first + 1;
  const label = first === last ? language.t('Iteration {0}', last) : language.t('Iterations {0} to {1}', first, last);
  return node({
    id: `${group(snapshot)}/iterations/${String(first)}`,
    label,
    icon: { name: 'history' },
    context: 'iterations',
    opens: 'collapsed',
    about: { runId: snapshot.runId },
    children,
    later: complete ? undefined : snapshot.runId,
  });
}

/** What belongs to one run stays apart from the same goal's next run. */
function group(snapshot: Snapshot): string {
  return `run/${snapshot.runId}`;
}

function iterationIcon(iteration: Iteration): TreeNode['icon'] {
  if (iteration.error !== null) {
    return { name: 'error', color: 'testing.iconFailed' };
  }
  return iteration.score >= 1 ? { name: 'pass-filled', color: 'testing.iconPassed' } : { name: 'git-commit' };
}

function filesPhrase(iteration: Iteration, { t }: Language): string {
  const count = iteration.changedFiles.length;
  return count === 1 ? t('1 file changed') : t('{0} files changed', count);
}

function tooltip(iteration: Iteration, label: string, facts: readonly string[]): string {
  const paragraphs = [`**${plain(label)}** · ${facts.map(plain).join(' · ')}`, plain(iteration.summary)];
  if (iteration.error !== null) {
    paragraphs.push(plain(iteration.error));
  }
  return paragraphs.filter((one) => one !== '').join('\n\n');
}
