import { describe, expect, test } from 'vitest';
import { ApiError, badRequest } from './status.ts';

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
