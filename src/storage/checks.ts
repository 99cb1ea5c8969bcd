import type { Expectation, ListRequest, Revision, Write } from './contract.ts';

/**
 * Arguments of the storage contract. A wrong one is a RangeError, before anything is done. A string with half a
 * surrogate pair has no UTF-8 form: two such keys would become one. NUL ends a text for some of SQLite's functions, and
 * etcd's range ends are made with it.
 */
export function checkKey(key: string): void {
  if (key === '' || !key.isWellFormed() || key.includes('\0')) {
    throw new RangeError('a key is a well-formed string, not empty and without NUL');
  }
}

export function checkPrefix(prefix: string): void {
  checkKey(prefix);
  if (!prefix.endsWith('/')) throw new RangeError(`the prefix ${JSON.stringify(prefix)} does not end in "/"`);
}

export function checkRevision(revision: Revision | undefined): void {
  if (revision !== undefined && !(Number.isSafeInteger(revision) && revision >= 0)) {
    throw new RangeError('a revision is an integer that is not negative');
  }
}

export function checkList({ prefix, revision, limit }: ListRequest): void {
  checkPrefix(prefix);
  checkRevision(revision);
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit > 0)) {
    throw new RangeError('the limit of a list is a positive integer');
  }
}

export function checkWrite({ key, value, expect, guards = [] }: Write): void {
  checkKey(key);
  checkExpectation(expect);
  if (value === null && 'absent' in expect) throw new RangeError('a key that must be absent cannot be deleted');
  for (const guard of guards) {
    if ('empty' in guard.expect) {
      checkPrefix(guard.key);
    } else {
      checkKey(guard.key);
      checkExpectation(guard.expect);
    }
  }
}

/** An object with none of the three members would be a blind write. */
function checkExpectation(expect: Expectation): void {
  if ('absent' in expect && expect.absent === true) return;
  const revision =
    'modRevision' in expect ? expect.modRevision : 'absent' in expect ? undefined : expect.createRevision;
  if (revision === undefined) throw new RangeError('an expectation is absent: true, or a revision');
  checkRevision(revision);
}
