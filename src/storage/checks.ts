import type { Expectation, Revision, Write } from './contract.ts';

/**
 * Mistakes of a caller, told as RangeError and before anything is done. A string with half a surrogate pair
 * has no UTF-8 form: two such keys would become one. NUL ends a text for some of SQLite's functions, and etcd's ranges count with it.
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

export function checkWrite({ key, value, expect, guards = [] }: Write): void {
  checkKey(key);
  checkExpectation(expect);
  if (value === null && 'absent' in expect) throw new RangeError('a key that must be absent cannot be deleted');
  for (const guard of guards) {
    checkKey(guard.key);
    checkExpectation(guard.expect);
  }
}

/** An object with none of the three must not pass as any of them: it would be a blind write. */
function checkExpectation(expect: Expectation): void {
  if ('absent' in expect) {
    if (expect.absent !== true) throw new RangeError('an expectation says absent: true, or a revision');
  } else {
    const revision = 'modRevision' in expect ? expect.modRevision : expect.createRevision;
    if (revision === undefined) throw new RangeError('an expectation says absent: true, or a revision');
    checkRevision(revision);
  }
}
