import { expect, it } from 'vitest';
import { toWriteError } from './sqlite-errors.ts';

const FULL = 13;
const IOERR_WRITE = 778;
const IOERR_FSYNC = 1034;
const CORRUPT = 11;

const sqliteError = (errcode: number): Error => Object.assign(new Error('of SQLite'), { errcode });

it.each([
  [FULL, true, 'unavailable'],
  [IOERR_WRITE, true, 'unavailable'],
  [IOERR_WRITE, false, 'unknown-outcome'],
  [IOERR_FSYNC, true, 'unknown-outcome'],
  [CORRUPT, true, 'unreadable'],
])('a transaction that fails with %i, rolled back %s, is %s', (errcode, isRolledBack, code) => {
  expect(toWriteError(sqliteError(errcode), 'a.db', { isRolledBack })).toMatchObject({ code });
});
