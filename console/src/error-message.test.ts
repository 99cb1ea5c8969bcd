import { expect, it } from 'vitest';
import { ConnectionError, StatusError } from '../../src/client/index.ts';
import { errorMessage } from './error-message.ts';

const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 403 } as const;

it.each([
  new TypeError('Failed to fetch'),
  new ConnectionError('https://x cannot be reached: Failed to fetch', { cause: new TypeError('Failed to fetch') }),
  new ConnectionError('https://x cannot be reached: timed out', { cause: new DOMException('x', 'TimeoutError') }),
])('says in words that the server does not answer: %s', (error) => {
  expect(errorMessage(error)).toMatch(/^The server does not answer/);
});

it('keeps what the server says, and what the client found out', () => {
  expect(errorMessage(new StatusError({ ...status, message: 'clusters is forbidden' }))).toBe('clusters is forbidden');
  expect(errorMessage(new ConnectionError('the response contains no token'))).toBe('the response contains no token');
  expect(errorMessage('text')).toBe('text');
});
