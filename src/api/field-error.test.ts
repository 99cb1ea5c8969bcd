import { expect, it } from 'vitest';
import { invalid, invalidValue, required } from './field-error.ts';

const KIND = { group: 'example.com', kind: 'Thing' };

it('F-06: one error is bare, several are in brackets without repeats, and each is a cause', () => {
  const one = required('spec.a');
  const other = invalidValue('spec.b', 1, 'must be more');
  expect(invalid(KIND, 'x', [one]).message).toBe('Thing.example.com "x" is invalid: spec.a: Required value');
  const all = invalid(KIND, '', [one, one, other]);
  expect(all.message).toBe(
    'Thing.example.com "" is invalid: [spec.a: Required value, spec.b: Invalid value: 1: must be more]',
  );
  expect(all.status.details?.causes).toHaveLength(3);
  expect(all.status.details).not.toHaveProperty('name');
});
