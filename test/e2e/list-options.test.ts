import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from './support/expect-status.ts';
import { addCluster, CLUSTERS, listAs, namesIn, PUBLIC_LIST, revisionNow } from './support/fleet.ts';
import { type Answer, type Server, startServer } from './support/server.ts';
import { Watch } from './support/watch.ts';

let server: Server;
let current: number;

beforeAll(async () => {
  server = await startServer({ users: { nobody: [] } });
  for (const name of ['a', 'b', 'c']) await addCluster(server, name);
  current = await revisionNow(server);
});
afterAll(() => server.destroy());

const list = (query: string): Promise<Answer> => server.call('GET', `${PUBLIC_LIST}?${query}`);

function expectBadRequest(answer: Answer, message: string): void {
  expectStatus(answer, { code: 400, reason: 'BadRequest', message });
}

describe('C-G, L-20, L-26, V-04: what cannot be read is 400, in the words of Go', () => {
  it.each([
    ['limit=abc', 'strconv.ParseInt: parsing "abc": invalid syntax'],
    ['limit=', 'strconv.ParseInt: parsing "": invalid syntax'],
    ['limit=9223372036854775808', 'strconv.ParseInt: parsing "9223372036854775808": value out of range'],
    ['limit=1.5', 'strconv.ParseInt: parsing "1.5": invalid syntax'],
    ['timeoutSeconds=x', 'strconv.ParseInt: parsing "x": invalid syntax'],
    // C-G: stricter than kube-apiserver.
    ['limit=-1', 'limit: Invalid value: -1: must be greater than or equal to 0'],
    ['timeoutSeconds=-1', 'timeoutSeconds: Invalid value: -1: must be greater than or equal to 0'],
  ])('%s', async (query, message) => {
    expectBadRequest(await list(query), message);
    expectBadRequest(await list(`watch=true&${query}`), message);
    // Also for who may see nothing: the filter comes after the options.
    expectBadRequest(await listAs(server, 'nobody', `?${query}`), message);
  });

  it('the first of several values counts', async () => {
    expect(namesIn(await list('limit=1&limit=abc'))).toEqual(['a']);
  });
});

describe('L-21: booleans', () => {
  it.each(['watch=0', 'watch=false', 'watch=FALSE'])('%s is a list', async (query) => {
    expect((await list(query)).json.kind).toBe('ClusterList');
  });

  it.each(['watch', 'watch=', 'watch=1', 'watch=no', 'watch=TRUE'])('%s is a watch', async (query) => {
    const watch = await Watch.open(server, `${PUBLIC_LIST}?${query}&timeoutSeconds=1`);
    expect((await watch.rest()).map(({ type, object }) => `${type} ${object.metadata.name}`)).toEqual([
      'ADDED a',
      'ADDED b',
      'ADDED c',
    ]);
  });
});

describe('L-22: which fault is reported', () => {
  it.each([
    ['numbers before label selectors', 'labelSelector=,&limit=x', 'strconv.ParseInt: parsing "x": invalid syntax'],
    [
      'label before field selectors',
      'fieldSelector=x&labelSelector=,',
      "found ',', expected: !, identifier, or 'end of string'",
    ],
    [
      'reading before combining',
      'resourceVersionMatch=x&fieldSelector=x',
      "invalid selector: 'x'; can't understand 'x'",
    ],
  ])('%s', async (_, query, message) => expectBadRequest(await list(query), message));

  it('combining before fields that are not offered', async () => {
    expect((await list('fieldSelector=spec.foo%3Dx&resourceVersionMatch=Exact')).code).toBe(422);
  });

  it('fields that are not offered before the resource version', async () => {
    expectBadRequest(await list('fieldSelector=spec.foo%3Dx&continue=x'), 'field label not supported: spec.foo');
  });
});

const MATCH = 'resourceVersionMatch';
const forbidden = (field: string, message: string) => ({
  reason: 'FieldValueForbidden',
  message: `Forbidden: ${message}`,
  field,
});
const unsupported = (value: string, ...supported: string[]) => ({
  reason: 'FieldValueNotSupported',
  message: `Unsupported value: "${value}": supported values: ${supported.map((one) => `"${one}"`).join(', ')}`,
  field: MATCH,
});
const UNLESS_VERSION = forbidden(MATCH, 'resourceVersionMatch is forbidden unless resourceVersion is provided');
const WITH_CONTINUE = forbidden(MATCH, 'resourceVersionMatch is forbidden when continue is provided');
const EXACT_ZERO = forbidden(MATCH, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
const FOR_LIST = forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list');
const NEEDS_MATCH = forbidden(MATCH, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');
const UNLESS_INITIAL = forbidden(
  MATCH,
  'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
);

describe('C-G, L-23: what cannot be combined is 422', () => {
  it.each([
    ['resourceVersionMatch=Exact', [UNLESS_VERSION]],
    ['resourceVersionMatch=NotOlderThan', [UNLESS_VERSION]],
    ['resourceVersionMatch=Exact&resourceVersion=1&continue=x', [WITH_CONTINUE]],
    ['resourceVersionMatch=X&resourceVersion=1', [unsupported('X', 'Exact', 'NotOlderThan', '')]],
    ['resourceVersionMatch=Exact&resourceVersion=0', [EXACT_ZERO]],
    ['sendInitialEvents=true', [FOR_LIST]],
    ['sendInitialEvents=false', [FOR_LIST]],
    [
      'resourceVersionMatch=X&continue=x',
      [UNLESS_VERSION, WITH_CONTINUE, unsupported('X', 'Exact', 'NotOlderThan', '')],
    ],
    ['watch=1&resourceVersionMatch=NotOlderThan', [UNLESS_INITIAL]],
    ['watch=1&resourceVersionMatch=NotOlderThan&continue=x', [UNLESS_INITIAL, WITH_CONTINUE]],
    ['watch=1&sendInitialEvents=true', [NEEDS_MATCH]],
    ['watch=1&sendInitialEvents=true&resourceVersionMatch=Exact', [NEEDS_MATCH, unsupported('Exact', 'NotOlderThan')]],
    ['watch=1&resourceVersionMatch=X', [UNLESS_INITIAL, unsupported('X', 'NotOlderThan')]],
  ])('%s', async (query, causes) => {
    const texts = causes.map(({ field, message }) => `${field}: ${message}`);
    expectStatus(await list(query), {
      code: 422,
      reason: 'Invalid',
      message: `ListOptions.meta.k8s.io "" is invalid: ${texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`}`,
      details: { group: 'meta.k8s.io', kind: 'ListOptions', causes },
    });
  });
});

describe('C-G, L-25: a resource version that is no number', () => {
  it.each([
    ['abc', 'invalid syntax'],
    ['-1', 'invalid syntax'],
    ['1.0', 'invalid syntax'],
    ['18446744073709551616', 'value out of range'],
  ])('%s', async (version, why) => {
    const message = `invalid resource version: resourceVersion: Invalid value: "${version}": strconv.ParseUint: parsing "${version}": ${why}`;
    expectBadRequest(await list(`resourceVersion=${version}`), message);
    expectBadRequest(await list(`resourceVersion=${version}&watch=true`), message);
    expectBadRequest(await server.call('GET', `${CLUSTERS}/a?resourceVersion=${version}`), message);
  });
});

describe('C-G, L-30, L-31, L-32: continue', () => {
  const REFUSED = 'invalid continue token: continue key is not valid: it was not issued for this list';
  const upstream = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

  it.each([
    ['junk', '%25%25%25'],
    ['junk that is base64', 'aGVsbG8'],
    ['very long', 'A'.repeat(9_000)],
    ["kube-apiserver's own", upstream({ v: 'meta.k8s.io/v1', rv: 1, start: 'a\0' })],
    ['one with rv 0', upstream({ v: 'meta.k8s.io/v1', rv: 0, start: 'a\0' })],
    ['one that climbs', upstream({ v: 'meta.k8s.io/v1', rv: 1, start: '../secrets' })],
  ])('%s is 400', async (_, token) => expectBadRequest(await list(`limit=1&continue=${token}`), REFUSED));

  it('L-32: not with a resource version, except 0', async () => {
    const { json } = await list('limit=1');
    const token = json.metadata.continue;
    expectBadRequest(
      await list(`limit=1&continue=${token}&resourceVersion=5`),
      'specifying resource version is not allowed when using continue',
    );
    expect(namesIn(await list(`limit=1&continue=${token}&resourceVersion=0`))).toEqual(['b']);
  });
});

describe('L-37: a version that has not happened yet', () => {
  it('is 504 after a while, and may be tried again', async () => {
    const answer = await list(`resourceVersion=${current + 1_000}`);
    expectStatus(answer, {
      code: 504,
      reason: 'Timeout',
      message: `Timeout: Too large resource version: ${current + 1_000}, current: ${current}`,
      details: {
        causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
        retryAfterSeconds: 1,
      },
    });
    expect(answer.headers.get('retry-after')).toBe('1');
  });

  it('4.2: timeoutSeconds ends the wait of a list before that', async () => {
    expectStatus(await list(`resourceVersion=${current + 1_000}&timeoutSeconds=1`), {
      code: 504,
      reason: 'Timeout',
      message: 'Timeout: request did not complete within requested timeout - context deadline exceeded',
      details: {},
    });
  });
});
