import { expect } from 'vitest';
import type { Answer } from './server.ts';

export interface ExpectedStatus {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  /** Absent: the response must have none. */
  readonly details?: object;
}

export const failure = ({ code, reason, message, details }: ExpectedStatus): object => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message,
  reason,
  ...(details === undefined ? {} : { details }),
  code,
});

/** The response is a whole Status, with its fields in order (F-01, F-02, decision 11), and with the usual headers. */
export function expectStatus(answer: Answer, wanted: ExpectedStatus): void {
  expect(answer.text.trimStart().startsWith('{'), answer.text).toBe(true);
  const expected = failure(wanted);
  expect(answer.json).toEqual(expected);
  expect(Object.keys(answer.json)).toEqual(Object.keys(expected));
  expect(answer.code).toBe(wanted.code);
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(answer.headers.get('cache-control')).toBe('no-cache, private');
  expect(answer.headers.get('audit-id')).toMatch(/^\S+$/);
}

/** A-01: the message does not say why. Decision 8: a header says what is missing. */
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
