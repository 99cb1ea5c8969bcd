import type { Rpc } from '../../lib/worker-rpc.ts';
import type { Store, WatchBatch } from '../contract.ts';
import type { ClientMethods, OwnerMethods } from './proxy-methods.ts';

interface OpenWatch {
  readonly stop: AbortController;
  readonly batches: AsyncIterator<WatchBatch>;
  /** The rest of a batch that was split. */
  pieces: Iterator<WatchBatch> | undefined;
}

/** Larger batches are split: reading one message must not block a process for long. */
const CHANGES_PER_MESSAGE = 500;

/**
 * Serves the store of this process to other processes, and elects a leader among them: the first that campaigned and is
 * still connected. A leader's writes come over the connection with which its leadership ends, so none of them can
 * arrive after another process leads. No fence is needed.
 */
export class StoreOwner {
  readonly #store: Store;
  #candidates: Rpc<ClientMethods>[] = [];

  constructor(store: Store) {
    this.#store = store;
  }

  /** What this client may call. */
  methodsFor(client: Rpc<ClientMethods>): OwnerMethods {
    const store = this.#store;
    const watches = new Map<number, OpenWatch>();
    client.onClose(() => {
      for (const { stop } of watches.values()) stop.abort();
      watches.clear();
      this.#resign(client);
    });
    return {
      get: ({ key, revision }) => store.get(key, revision),
      list: (request) => store.list(request),
      write: (write) => store.write(write),
      revision: () => store.revision(),
      compact: (revision) => store.compact(revision),
      watch({ watch, prefix, after }) {
        const stop = new AbortController();
        const batches = store.watch(prefix, after, stop.signal)[Symbol.asyncIterator]();
        watches.set(watch, { stop, batches, pieces: undefined });
      },
      next: (watch) => nextBatch(watches.get(watch)),
      unwatch(watch) {
        watches.get(watch)?.stop.abort();
        watches.delete(watch);
      },
      campaign: () => this.#campaign(client),
      resign: () => this.#resign(client),
    };
  }

  #campaign(candidate: Rpc<ClientMethods>): void {
    this.#candidates.push(candidate);
    if (this.#candidates[0] === candidate) candidate.tell('lead', undefined);
  }

  #resign(candidate: Rpc<ClientMethods>): void {
    const [leader] = this.#candidates;
    this.#candidates = this.#candidates.filter((other) => other !== candidate);
    if (leader === candidate) this.#candidates[0]?.tell('lead', undefined);
  }
}

async function nextBatch(watch: OpenWatch | undefined): Promise<WatchBatch | undefined> {
  if (watch === undefined) return undefined;
  for (;;) {
    const piece = watch.pieces?.next();
    if (piece?.done === false) return piece.value;
    const batch = await watch.batches.next();
    if (batch.done === true) return undefined;
    watch.pieces = splitBatch(batch.value);
  }
}

/** The same changes in smaller batches. The revision of each is that of its last change. */
function* splitBatch({ changes, revision }: WatchBatch): Generator<WatchBatch> {
  for (let start = 0; start < changes.length; start += CHANGES_PER_MESSAGE) {
    const piece = changes.slice(start, start + CHANGES_PER_MESSAGE);
    const isLast = start + CHANGES_PER_MESSAGE >= changes.length;
    yield { changes: piece, revision: isLast ? revision : (piece.at(-1)?.modRevision ?? revision) };
  }
  if (changes.length === 0) yield { changes, revision };
}
