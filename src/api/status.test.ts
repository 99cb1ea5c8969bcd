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

  test('F-02: has metadata also when there is nothing in it', () => {
    expect(badRequest('text').status.metadata).toEqual({});
  });
});
