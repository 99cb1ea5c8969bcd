import type { Cluster, ClusterEvent, ClusterList } from './types.ts';

/** Compares resourceVersions: decimal numbers of any length. */
export function isLater(a: string, b: string): boolean {
  return a.length === b.length ? a > b : a.length > b.length;
}

/**
 * The clusters that a watch has reported. After an interruption, the server may repeat events or send its whole state.
 * This class turns them into the changes since the last report, so that ADDED is always new and DELETED was known.
 */
export class KnownClusters {
  readonly #clusters = new Map<string, Cluster>();
  #missing: Set<string> | undefined;

  constructor(list?: ClusterList) {
    for (const cluster of list?.items ?? []) this.#clusters.set(cluster.metadata.name, cluster);
  }

  clusters(): Iterable<Cluster> {
    return this.#clusters.values();
  }

  /** Call before the initial events. Clusters that are not among them are deleted by `endInitialEvents`. */
  beginInitialEvents(): void {
    this.#missing = new Set(this.#clusters.keys());
  }

  *endInitialEvents(): Generator<ClusterEvent> {
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
