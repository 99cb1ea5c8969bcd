import { isStatus } from '../client/errors.ts';
import type { Transport } from '../client/transport.ts';
import { SharedCall } from '../lib/shared-call.ts';

/** What the connector has made: the Secret of an order, by the order's name, or the account of a person. */
export interface MadeRecord {
  readonly namespace: string;
  /** Of a person. */
  readonly account?: string;
  /** Epoch milliseconds: nothing needs it any longer. */
  readonly until: number;
}

const NAME = 'clusterpass-connector-records';

/**
 * What must be removed, in a ConfigMap of the connector's namespace: it may not list Secrets, which is the right to
 * read them. A record is durable before the object is made, so a crash leaves nothing that is not known.
 */
export class Records {
  readonly #api: Pick<Transport, 'request'>;
  readonly #path: string;
  readonly #all = new Map<string, MadeRecord>();
  /** What the ConfigMap does not have yet. */
  #changes: Record<string, MadeRecord | null> = {};
  /** Changes that arrive during a write share the next one. */
  readonly #write = new SharedCall(() => this.#send());

  constructor(api: Pick<Transport, 'request'>, namespace: string) {
    this.#api = api;
    this.#path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps`;
  }

  get all(): ReadonlyMap<string, MadeRecord> {
    return this.#all;
  }

  /** Creates the ConfigMap if there is none. Rejects with a 409 if another connector has created it meanwhile. */
  async read(signal: AbortSignal): Promise<void> {
    const get = this.#api.request<{ data?: Record<string, string> }>('GET', `${this.#path}/${NAME}`, { signal });
    const found = await get.catch(unlessAbsent);
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: NAME } };
    if (found === undefined) await this.#api.request('POST', this.#path, { body, signal });
    for (const [key, text] of Object.entries(found?.value.data ?? {})) this.#all.set(key, JSON.parse(text));
  }

  /** Resolves when it is durable. Null removes the record. */
  async put(key: string, record: MadeRecord | null): Promise<void> {
    if (record === null) this.#all.delete(key);
    else this.#all.set(key, record);
    this.#changes[key] = record;
    await this.#write.call();
  }

  async #send(): Promise<void> {
    const changes = this.#changes;
    this.#changes = {};
    const texts = Object.entries(changes).map(([key, record]) => [key, record && JSON.stringify(record)]);
    const options = { body: { data: Object.fromEntries(texts) }, contentType: 'application/merge-patch+json' };
    try {
      await this.#api.request('PATCH', `${this.#path}/${NAME}`, options);
    } catch (error) {
      // Sent again with the next change.
      this.#changes = { ...changes, ...this.#changes };
      throw error;
    }
  }
}

/** For a request that answers 404 if there is none. */
export function unlessAbsent(error: unknown): undefined {
  if (!isStatus(error, 404)) throw error;
}
