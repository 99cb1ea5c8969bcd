import type { Change, KeyValue, Revision } from '../contract.ts';
import { prefixEnd } from '../scan.ts';
import { DELETE_EVENT, type EtcdEvent, type EtcdKeyValue } from './messages.ts';

/**
 * Maps the store's keys and revisions to etcd's. All keys are below one prefix, so that several programs can share an
 * etcd and a role of etcd can be limited to the prefix: `<prefix>/data` + key, and `<prefix>/meta` for the engine.
 */
export class KeySpace {
  readonly metaKey: Uint8Array;
  readonly #root: string;
  /** Store revision minus etcd revision: an imported store continues the revisions of the exported one. */
  readonly offset: number;

  constructor(prefix: string, offset: number) {
    this.metaKey = Buffer.from(`${prefix}/meta`);
    this.#root = `${prefix}/data`;
    this.offset = offset;
  }

  key(key: string): Uint8Array {
    return Buffer.from(`${this.#root}${key}`);
  }

  /** The first key after all keys with this prefix. */
  end(prefix: string): Uint8Array {
    return this.key(prefixEnd(prefix));
  }

  /** The smallest key greater than this one. */
  after(key: string): Uint8Array {
    return Buffer.from(`${this.#root}${key}\0`);
  }

  name(key: Uint8Array): string {
    return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('utf8').slice(this.#root.length);
  }

  /** Not positive for a revision from before the import. */
  toEtcd(revision: Revision): number {
    return revision - this.offset;
  }

  fromEtcd(revision: number): Revision {
    return revision + this.offset;
  }

  keyValue({ key, value, modRevision, createRevision }: EtcdKeyValue): KeyValue {
    return {
      key: this.name(key),
      value,
      modRevision: this.fromEtcd(modRevision),
      createRevision: this.fromEtcd(createRevision),
    };
  }

  change({ type, kv }: EtcdEvent): Change {
    if (kv === undefined) throw new Error('etcd sent an event without a key');
    if (type === DELETE_EVENT) {
      return { type: 'delete', key: this.name(kv.key), modRevision: this.fromEtcd(kv.modRevision) };
    }
    return { type: 'put', ...this.keyValue(kv) };
  }
}
