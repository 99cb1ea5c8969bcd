import type { Rpc } from '../../lib/worker-rpc.ts';
import {
  type KeyValue,
  LEADER_KEY,
  LEASE_MS,
  type ListRequest,
  type ListResult,
  leadLost,
  type Revision,
  type Store,
  type WatchBatch,
  type Write,
  type WriteResult,
} from '../contract.ts';

/** What the process that has the store open serves to other processes of the machine. */
export type OwnerMethods = {
  readonly get: (call: {
    readonly key: string;
    readonly revision: Revision | undefined;
  }) => Promise<KeyValue | undefined>;
  readonly list: (request: ListRequest) => Promise<ListResult>;
  readonly write: (write: Write) => Promise<WriteResult>;
  readonly revision: () => Promise<Revision>;
  readonly compact: (revision: Revision) => Promise<void>;
  readonly watch: (call: { readonly watch: number; readonly prefix: string; readonly after: Revision }) => void;
  /** The next batch of a watch, or undefined at its end. Pulled, so that a stopped process is not sent anything. */
  readonly next: (watch: number) => Promise<WatchBatch | undefined>;
  readonly unwatch: (watch: number) => void;
  /** Begins or renews the term of this client: its first revision; undefined while another client leads. */
  readonly campaign: () => Promise<Revision | undefined>;
  readonly resign: () => void;
};

interface OpenWatch {
  readonly stop: AbortController;
  readonly batches: AsyncIterator<WatchBatch>;
}

/**
 * Serves the store of this process to other processes, and elects a leader among them: the first that campaigns while
 * none leads. A client that is stopped leads until its lease expires, and its writes carry the revision of its term.
 */
export class StoreOwner {
  readonly #store: Store;
  #term: { readonly client: object; readonly created: Promise<Revision>; until: number } | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  /** What this client may call. */
  methodsFor(client: Pick<Rpc<never>, 'onClose'>): OwnerMethods {
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
        watches.set(watch, { stop, batches });
      },
      next: async (watch) => (await watches.get(watch)?.batches.next())?.value as WatchBatch | undefined,
      unwatch(watch) {
        watches.get(watch)?.stop.abort();
        watches.delete(watch);
      },
      campaign: () => this.#campaign(client),
      resign: () => this.#resign(client),
    };
  }

  async #campaign(client: object): Promise<Revision | undefined> {
    const now = performance.now();
    if (this.#term?.client !== client) {
      if (this.#term !== undefined && now < this.#term.until) return undefined;
      this.#term = { client, created: this.#elect(), until: 0 };
      this.#term.created.catch(() => this.#resign(client));
    }
    this.#term.until = now + LEASE_MS;
    return this.#term.created;
  }

  /** The revision of a new key of the leader: no guard of a former one holds. */
  async #elect(): Promise<Revision> {
    const { modRevision } = (await this.#store.get(LEADER_KEY)) ?? {};
    if (modRevision !== undefined) await this.#store.write({ key: LEADER_KEY, value: null, expect: { modRevision } });
    const { ok, revision } = await this.#store.write({ key: LEADER_KEY, value: Buffer.of(), expect: { absent: true } });
    return ok ? revision : Promise.reject(leadLost());
  }

  #resign(client: object): void {
    if (this.#term?.client === client) this.#term = undefined;
  }
}
