import { describe, expect, test } from 'vitest';
import { tooManyRequests } from '../../api/status.ts';
import { createLogger } from '../../observability/logger.ts';
import { TokenRejected } from '../../tokens/jws.ts';
import { CLUSTERS_PATH, startFixture } from '../http.fixture.ts';
import { auditLine } from './audit.ts';
import { credentialOf, logRequests, productOf, refusalOf, withoutTokens } from './request-record.ts';

test('B15: the 429s of an overload do not fill the log', async () => {
  const lines: string[] = [];
  const observe = logRequests(createLogger({ level: 'debug', write: (line) => lines.push(line) }));
  const { send } = await startFixture(
    () => {
      throw tooManyRequests('too many', 1);
    },
    { observe },
  );
  await send({ path: CLUSTERS_PATH });
  await expect.poll(() => lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'debug', code: 429 });
});

test('A8: why a credential was refused holds nothing of it', () => {
  expect(refusalOf(new TokenRejected('service account token has expired'))).toBe('service account token has expired');
  const audiences = 'token audiences ["canary" "can\\"ary"] is invalid for the target audiences ["canary"]';
  const token = `eyJ${'canary0A'.repeat(8)}`;
  expect([audiences, `bad ${token}`, `"${token}`].map(refusalOf)).toEqual([
    'token audiences ["..." "..."] is invalid for the target audiences ["..."]',
    'bad <redacted>',
    '"<redacted>',
  ]);
  expect(refusalOf('x '.repeat(10_000)).length).toBeLessThan(300);
});

test('A8: a token in place of a name is not recorded', async () => {
  const lines: string[] = [];
  const observe = logRequests(createLogger({ level: 'debug', write: (line) => lines.push(line) }));
  const { send } = await startFixture(() => ({ type: 'value', code: 200, value: {} }), { observe });
  const token = `eyJhbGciOiJFUzI1NiJ9.${'x'.repeat(40)}.canary`;
  await send({ path: `${CLUSTERS_PATH}/${token}` });
  await send({ path: `${CLUSTERS_PATH}/%20${token}`, token: '' });
  await send({ path: `${CLUSTERS_PATH}/x%2f${token}` });
  await expect.poll(() => lines).toHaveLength(3);
  for (const line of lines) expect(JSON.parse(line).path).toBe(`${CLUSTERS_PATH}/<redacted>`);
  expect(lines.join('')).not.toContain('canary');
});

test('A8: the record of one caller does not depend on who sent the same line before', async () => {
  const { send, records } = await startFixture(() => ({ type: 'value', code: 200, value: {} }));
  const path = `${CLUSTERS_PATH}/this-is-a-static-token`;
  await send({ path, token: 'another-static-token' });
  await send({ path, token: 'this-is-a-static-token' });
  await send({ path: path.replace('static', '%73tatic'), token: 'this-is-a-static-token' });
  await expect.poll(() => records).toHaveLength(3);
  const [stranger, ...owners] = records.map((record) => auditLine(record, 'ResponseComplete', 0));
  expect(stranger).toContain(path);
  for (const line of owners) {
    expect(line).toContain('<redacted>');
    expect(line).not.toMatch(/(s|%73)tatic/);
  }
});

test('A8: the same for a name in a selector: only the record of the caller whose credential it is has it redacted', async () => {
  const { send, records } = await startFixture(() => ({ type: 'value', code: 200, value: {} }));
  const path = (name: string): string => `${CLUSTERS_PATH}?fieldSelector=metadata.name=${name}`;
  await send({ path: path('my-static-token-1'), token: 'another-static-token' });
  await send({ path: path('my-static-token-1'), token: 'my-static-token-1' });
  await send({ path: path('prod-eu-1'), token: 'prod-eu-1' });
  await send({ path: path('prod-eu-1'), token: 'another-static-token' });
  await expect.poll(() => records).toHaveLength(4);
  const named = records.map((record) => {
    const { annotations } = JSON.parse(auditLine(record, 'ResponseComplete', 0)) as { annotations: object };
    return Object.entries(annotations).find(([key]) => key === 'clusterpass.dev/cluster')?.[1];
  });
  expect(named).toEqual(['my-static-token-1', '<redacted>', '<redacted>', 'prod-eu-1']);
});

describe('A8: what stands where a name should', () => {
  const random = 'Zk3vQ9_w-LmNoPqRsTuVwXyZaBcDeFgHiJkLmNoPqRs';
  const cases: [string, string][] = [
    ['/apis/x/v1/things/web-0', '/apis/x/v1/things/web-0'],
    ['/a/0a1b2c3d-0a1b-4c2d-8e3f-0a1b2c3d4e5f/b', '/a/0a1b2c3d-0a1b-4c2d-8e3f-0a1b2c3d4e5f/b'],
    [`/a/${'x'.repeat(253)}/b`, `/a/${'x'.repeat(253)}/b`],
    [`/a/eyJhbGciOiJFUzI1NiJ9.${'x'.repeat(20)}/b`, '/a/<redacted>/b'],
    [`/a/${random}/b`, '/a/<redacted>/b'],
    ['/a/token-of-jane-0123456789/b', '/a/<redacted>/b'],
    ['/a/prefix-token-of-jane-0123456789-suffix', '/a/<redacted>'],
    ['/a/%74oken-of-jane-0123456789', '/a/<redacted>'],
    ['/a/%zz-of-jane-0123456789', '/a/%zz-of-jane-0123456789'],
  ];
  test.each(cases)('%s', (path, redacted) => {
    expect(withoutTokens(path, 'token-of-jane-0123456789')).toBe(redacted);
  });

  test('without a credential only the form of a segment counts', () => {
    expect(withoutTokens('/a/token-of-jane-0123456789', undefined)).toBe('/a/token-of-jane-0123456789');
    expect(withoutTokens(`/a/${random}`, undefined)).toBe('/a/<redacted>');
  });
});

test('the credential of a request, whatever scheme it is sent with', () => {
  expect(credentialOf('Bearer token-of-jane')).toBe('token-of-jane');
  expect(credentialOf('Basic  amFuZTpzZWNyZXQ=')).toBe('amFuZTpzZWNyZXQ=');
  expect(credentialOf('token-without-scheme')).toBe('token-without-scheme');
  // Too short for a token: to leave every `a` out of every path would leave nothing.
  expect(credentialOf('Bearer a')).toBeUndefined();
  expect(credentialOf(undefined)).toBeUndefined();
});

test('A8, A10: of a user agent only the program and its version', () => {
  expect(productOf('kubectl/v1.36.4 (linux/amd64) kubernetes/abcdef')).toBe('kubectl/v1.36.4');
  expect(productOf('node-fetch')).toBe('');
  expect(productOf('curl/8.14.1')).toBe('curl/8.14.1');
  expect(productOf('my-token-Zk3vQ9')).toBe('');
  expect(productOf('curl/canary')).toBe('');
  expect(productOf('curl/8.1.canary')).toBe('');
  expect(productOf('a\n{"level":"info"}')).toBe('');
  expect(productOf(undefined)).toBe('');
});
