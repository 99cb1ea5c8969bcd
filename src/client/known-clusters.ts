import type { Cluster, ClusterEvent, ClusterList } from './types.ts';

/** Decimal numbers as text, of any length: which is later? */
export function isLater(a: string, b: string): boolean {
  return a.length === b.length ? a > b : a.length > b.length;
}

/**
 * What a watcher has been told. It turns what the server says (which after an interruption may be something once
 * more, or the whole state) into what is new to this watcher, so that ADDED is always new and DELETED was known.
 */
export class KnownClusters {
  readonly #clusters = new Map<string, Cluster>();
  #missing: Set<string> | undefined;

  constructor(list?: ClusterList) {
    for (const cluster of list?.items ?? []) this.#clusters.set(cluster.metadata.name, cluster);
  }

  /** The whole state comes now: whatever it does not name until `endState` is gone. */
  beginState(): void {
    this.#missing = new Set(this.#clusters.keys());
  }

  *endState(): Generator<ClusterEvent> {
    const missing = this.#missing ?? [];
    this.#missing = undefined;
    for (const name of missing) yield* this.#remove(name);
  }

  *put(cluster: Cluster): Generator<ClusterEvent> {
    const { name, uid, resourceVersion = '' } = cluster.metadata;
    this.#missing?.delete(name);
    const before = this.#clusters.get(name);
    if (before !== undefined && before.metadata.uid !== uid) yield* this.#remove(name);
    else if (before !== undefined && !isLater(resourceVersion, before.metadata.resourceVersion ?? '')) return;
    const type = this.#clusters.has(name) ? 'MODIFIED' : 'ADDED';
    this.#clusters.set(name, cluster);
    yield { type, cluster };
  }

  *delete({ metadata: { name } }: Cluster): Generator<ClusterEvent> {
    this.#missing?.delete(name);
    yield* this.#remove(name);
  }

  *#remove(name: string): Generator<ClusterEvent> {
    const cluster = this.#clusters.get(name);
    if (cluster === undefined) return;
    this.#clusters.delete(name);
    yield { type: 'DELETED', cluster };
  }
}
