import type { Guard, Write } from '../contract.ts';
import type { KeySpace } from './key-space.ts';
import { CREATE_REVISION, type EtcdCompare, type EtcdKeyValue, type EtcdTxn, MOD_REVISION } from './messages.ts';

/** A revision that no key has, for an expectation that cannot hold. */
const NEVER = -1;

/**
 * A write as one etcd transaction. It compares the engine's metadata first, then the write's expectation and its
 * guards. When a comparison fails, the transaction reads the same keys instead.
 */
export function transactionFor(write: Write, space: KeySpace, metaRevision: number): EtcdTxn {
  const { key, value, expect, guards = [] } = write;
  const demands = [{ key, expect }, ...guards];
  const etcdKey = space.key(key);
  return {
    compare: [
      { target: MOD_REVISION, key: space.metaKey, modRevision: metaRevision },
      ...demands.map((demand) => comparison(demand, space)),
    ],
    success: [value === null ? { delete: { key: etcdKey } } : { put: { key: etcdKey, value } }],
    failure: [
      { range: { key: space.metaKey } },
      ...demands.map((demand) => ({ range: { ...rangeOf(demand, space), limit: 1 } })),
    ],
  };
}

function rangeOf({ key, expect }: Guard, space: KeySpace): { key: Uint8Array; rangeEnd?: Uint8Array } {
  return { key: space.key(key), ...('empty' in expect ? { rangeEnd: space.end(key) } : {}) };
}

function comparison(demand: Guard, space: KeySpace): EtcdCompare {
  const { expect } = demand;
  // etcd compares every key of a range. In an empty range it compares a key that does not exist.
  if ('empty' in expect) return { target: CREATE_REVISION, ...rangeOf(demand, space), createRevision: 0 };
  const key = space.key(demand.key);
  if ('absent' in expect) return { target: CREATE_REVISION, key, createRevision: 0 };
  // An absent key has revision 0 in etcd, so a revision from before the import must not become 0.
  const toEtcd = (revision: number): number => (space.toEtcd(revision) > 0 ? space.toEtcd(revision) : NEVER);
  if ('modRevision' in expect) return { target: MOD_REVISION, key, modRevision: toEtcd(expect.modRevision) };
  return { target: CREATE_REVISION, key, createRevision: toEtcd(expect.createRevision) };
}

/** The first key whose expectation does not hold: the write's own, then its guards. */
export function failedKey(
  { key, expect, guards = [] }: Write,
  found: readonly (EtcdKeyValue | undefined)[],
  space: KeySpace,
): { key: string; index: number } | undefined {
  const demands = [{ key, expect }, ...guards];
  const index = demands.findIndex((demand, i) => !holds(demand.expect, found[i], space));
  const failed = demands[index];
  return failed && { key: failed.key, index };
}

function holds(expect: Guard['expect'], found: EtcdKeyValue | undefined, space: KeySpace): boolean {
  if ('absent' in expect || 'empty' in expect) return found === undefined;
  if (found === undefined) return false;
  if ('modRevision' in expect) return space.fromEtcd(found.modRevision) === expect.modRevision;
  return space.fromEtcd(found.createRevision) === expect.createRevision;
}
