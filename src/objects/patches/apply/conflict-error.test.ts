import { expect, test } from 'vitest';
import { applyConflict } from './conflict-error.ts';
import { setOf } from './field-set.ts';
import type { Conflict } from './ownership.ts';

const conflict = (name: string, fields: readonly string[]): Conflict => ({
  manager: { name, operation: 'Apply', apiVersion: 'v1', subresource: '', time: undefined, set: setOf([]) },
  paths: setOf(fields.map((field) => ['f:spec', `f:${field}`])),
});
const fields = (count: number, prefix: string): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${String(index).padStart(3, '0')}`);

test('FA-5: names a hundred fields, and how many there are beside', () => {
  const exact = applyConflict([conflict('a', fields(60, 'a')), conflict('b', fields(40, 'b'))]).status;
  expect(exact.details?.causes).toHaveLength(100);
  expect(exact.message).toMatch(/^Apply failed with 100 conflicts: conflicts with "a":\n- \.spec\.a000\n/);
  expect(exact.message).toMatch(/\n- \.spec\.b039$/);

  const many = applyConflict([
    conflict('c', fields(9, 'c')),
    conflict('b', fields(70, 'b')),
    conflict('a', fields(60, 'a')),
  ]);
  const { message, details } = many.status;
  expect(details?.causes).toHaveLength(100);
  expect(message).toMatch(/^Apply failed with 139 conflicts: /);
  expect(message).toMatch(/\n- \.spec\.b039\nand 39 more$/);
  expect(message).not.toContain('"c"');
});
