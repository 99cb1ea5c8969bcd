import { describe, expect, it, test } from 'vitest';
import { ApiError, badRequest, invalid, invalidValue, required } from './status.ts';

describe('a Status', () => {
  test('F-01: has its keys in order', () => {
    const { status } = new ApiError(409, 'Conflict', 'text', { details: { name: 'x' }, continue: 'token' });
    expect(JSON.stringify(status)).toBe(
      '{"kind":"Status","apiVersion":"v1","metadata":{"continue":"token"},"status":"Failure","message":"text",' +
        '"reason":"Conflict","details":{"name":"x"},"code":409}',
    );
  });

  test('F-02: has metadata even if it is empty', () => {
    expect(badRequest('text').status.metadata).toEqual({});
  });

  test('is well-formed Unicode when its message is truncated inside a character', () => {
    const { message = '' } = badRequest(`${'a'.repeat(64 * 1024 - 4)}\u{1f600}...`).status;
    expect(message.slice(-4)).toBe('\ufffd...');
  });
});

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
