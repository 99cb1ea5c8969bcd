import type { Change, KeyValue, Revision } from '../contract.ts';
import { DELETE_EVENT, type EtcdEvent, type EtcdKeyValue } from './messages.ts';

/**
 * How the store's keys and revisions are written in etcd. Everything is below one prefix, so that etcd can be shared
 * and a role of etcd can be limited to it: `<prefix>/data` and the key, and `<prefix>/meta` for what the engine needs.
 */
export class KeySpace {
  readonly metaKey: Uint8Array;
  readonly #root: string;
  /** How much higher the store's revisions are than etcd's: a fleet that moved in counts on from where it was. */
  readonly offset: number;

  constructor(prefix: string, offset: number) {
    this.metaKey = Buffer.from(`${prefix}/meta`);
    this.#root = `${prefix}/data`;
    this.offset = offset;
  }

  key(key: string): Uint8Array {
    return Buffer.from(`${this.#root}${key}`);
  }

  /** The first key that does not begin with the prefix: prefixes end in `/`, and `0` is the next byte. */
  end(prefix: string): Uint8Array {
    return Buffer.from(`${this.#root}${prefix.slice(0, -1)}0`);
  }

  /** The smallest key greater than this one. */
  after(key: string): Uint8Array {
    return Buffer.from(`${this.#root}${key}\0`);
  }

  name(key: Uint8Array): string {
    return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('utf8').slice(this.#root.length);
  }

  /** Of etcd; not positive for a revision from before the move. */
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
