import { expect } from 'vitest';
import type { Answer } from './server.ts';

export interface ExpectedStatus {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  /** Absent means that the answer must have none. */
  readonly details?: object;
}

/** An error answer is a Status, whole and in its order (F-01, F-02, decision 11), with the headers every answer has. */
export function expectStatus(answer: Answer, { code, reason, message, details }: ExpectedStatus): void {
  expect(answer.text.trimStart().startsWith('{'), answer.text).toBe(true);
  const expected = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    ...(details === undefined ? {} : { details }),
    code,
  };
  expect(answer.json).toEqual(expected);
  expect(Object.keys(answer.json)).toEqual(Object.keys(expected));
  expect(answer.code).toBe(code);
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(answer.headers.get('cache-control')).toBe('no-cache, private');
  expect(answer.headers.get('audit-id')).toMatch(/^\S+$/);
}

/** A-01: nothing tells why, and decision 8: the header that says what is missing. */
export function expectUnauthorized(answer: Answer): void {
  expectStatus(answer, { code: 401, reason: 'Unauthorized', message: 'Unauthorized' });
  expect(answer.text).toBe(
    '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}\n',
  );
  expect(answer.headers.get('www-authenticate')).toBe('Bearer');
}

export const badRequest = (message: string): ExpectedStatus => ({ code: 400, reason: 'BadRequest', message });

export const notFound = (resource: string, name: string, group = ''): ExpectedStatus => ({
  code: 404,
  reason: 'NotFound',
  message: `${resource}${group === '' ? '' : `.${group}`} "${name}" not found`,
  details: { name, ...(group === '' ? {} : { group }), kind: resource },
});
