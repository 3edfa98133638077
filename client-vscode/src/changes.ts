import type { Operation, Snapshot, SnapshotChanged, VersionedSnapshot } from './protocol';

/** The last snapshots that a server sent, which it tells the changes of. */
export class FollowedSnapshots {
  private readonly last = new Map<string, VersionedSnapshot>();
  private readonly lost = new Set<string>();

  whole(sent: VersionedSnapshot): Snapshot {
    this.lost.delete(sent.runId);
    this.last.set(sent.runId, sent);
    return sent;
  }

  /**
   * The snapshot after a change. Where it is of a snapshot that this side does not have, it is `lost`: the run is to be
   * asked for. That is said once; until the whole comes there is nothing to show.
   */
  changed({ runId, base, version, changes }: SnapshotChanged): Snapshot | 'lost' | undefined {
    const known = this.last.get(runId);
    try {
      if (known?.version === base) {
        const next = { ...(applied(known, changes) as Snapshot), version };
        this.last.set(runId, next);
        return next;
      }
    } catch {
      // It fits nothing that is here.
    }
    this.last.delete(runId);
    const isNew = !this.lost.has(runId);
    this.lost.add(runId);
    return isNew ? 'lost' : undefined;
  }
}

type Container = Record<string, unknown> | unknown[];

/** A document after operations of JSON Patch. What they leave alone is shared with the one before, which stays as it is. */
export function applied(document: unknown, operations: readonly Operation[]): unknown {
  const top = { '': document };
  const own = new Set<unknown>([top]);
  for (const operation of operations) {
    const way = operation.path.split('/').map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
    const last = way.pop() ?? '';
    let inside: Container = top;
    for (const part of way) {
      inside = ours(inside, part, own);
    }
    perform(operation, inside, last);
  }
  return top[''];
}

/** What is in a container, copied once, so that it can be changed. */
function ours(container: Container, part: string, own: Set<unknown>): Container {
  const found = Array.isArray(container) ? container[Number(part)] : container[part];
  if (typeof found !== 'object' || found === null || part === '__proto__') {
    throw new Error(`nothing can be changed at ${part}`);
  }
  if (own.has(found)) {
    return found as Container;
  }
  const copy: Container = Array.isArray(found) ? [...(found as unknown[])] : { ...found };
  own.add(copy);
  put(container, part, copy);
  return copy;
}

function perform(operation: Operation, inside: Container, at: string): void {
  if (Array.isArray(inside) && operation.op !== 'replace') {
    inside.splice(Number(at), operation.op === 'remove' ? 1 : 0, ...(operation.op === 'add' ? [operation.value] : []));
  } else if (operation.op !== 'remove') {
    put(inside, at, operation.value);
  } else if (!Array.isArray(inside)) {
    Reflect.deleteProperty(inside, at);
  }
}

/** As a property of its own, whatever its name is. */
function put(inside: Container, at: string, value: unknown): void {
  Object.defineProperty(inside, at, { value, writable: true, enumerable: true, configurable: true });
}
