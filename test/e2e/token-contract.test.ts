import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from './support/expect-status.ts';
import { envelope, message } from './support/protobuf.ts';
import { type Server, startServer } from './support/server.ts';
import { createWorld, post, tokenPath } from './support/token-world.ts';

/** What a caller can know of a token before asking for it, and insist on when asking. */

const MIN = 'clusterpass.dev/min-expiration-seconds';
const FOR = 'clusterpass.dev/for';

let server: Server;
let published: Record<string, string>;

beforeAll(async () => {
  server = await startServer({ args: ['--service-account-max-token-expiration', '2h'] });
  await createWorld(server);
  const [alpha] = (await server.call('GET', '/auth/v1/clusters')).json.items;
  published = alpha.metadata.annotations;
});
afterAll(() => server.destroy());

const ask = (annotations: Record<string, string>, spec: object = {}, path = tokenPath()) =>
  post(server, { metadata: { annotations }, spec: { audiences: [], ...spec } }, { path });

/** T-14: the name is empty. */
const refused = (field: string, said: string) => ({
  code: 422,
  reason: 'Invalid',
  message: `TokenRequest.authentication.k8s.io "" is invalid: ${field}: ${said}`,
  details: {
    group: 'authentication.k8s.io',
    kind: 'TokenRequest',
    causes: [{ reason: expect.stringMatching(/^FieldValue/), message: said, field }],
  },
});

describe('what a cluster publishes', () => {
  it('is what is granted: the issuer, the audience and the longest lifetime', async () => {
    const { json, warnings } = await ask({}, { expirationSeconds: 100_000 });
    const claims = decodeJwt(json.status.token);
    expect(claims.iss).toBe(published['clusterpass.dev/issuer']);
    expect(claims.aud).toEqual([published['clusterpass.dev/audience']]);
    const longest = Number(published['clusterpass.dev/max-expiration-seconds']);
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(longest);
    expect(warnings).toEqual([`requested expiration of 100000 seconds shortened to ${longest} seconds`]);
  });

  it('decision 3: a dry run says what will be granted, and signs nothing', async () => {
    const path = `${tokenPath()}?dryRun=All`;
    const spec = { expirationSeconds: 100_000 };
    const before = Date.now();
    const { json, warnings } = await ask({ [MIN]: '7200' }, spec, path);
    const granted = Date.parse(json.status.expirationTimestamp) - 7_200_000;
    expect(granted).toBeGreaterThan(before - 1_000);
    expect(granted).toBeLessThanOrEqual(Date.now());
    expect([json.spec.expirationSeconds, json.status.token]).toEqual([7200, '']);
    expect(warnings).toHaveLength(1);
    expect((await ask({ [MIN]: '7201' }, spec, path)).code).toBe(422);
  });
});

describe('a least lifetime', () => {
  it('is granted, or the request fails and nothing is shortened', async () => {
    expect((await ask({ [MIN]: '7200' }, { expirationSeconds: 100_000 })).code).toBe(201);
    const answer = await ask({ [MIN]: '7201' }, { expirationSeconds: 100_000 });
    expectStatus(
      answer,
      refused(
        `metadata.annotations[${MIN}]`,
        'Invalid value: 7201: the longest lifetime that is granted here is 7200 seconds',
      ),
    );
    expect(answer.warnings).toEqual([]);
  });

  it('cannot be more than what is asked for, which without a wish is an hour', async () => {
    for (const spec of [{}, { expirationSeconds: 3600 }]) {
      expectStatus(
        await ask({ [MIN]: '3601' }, spec),
        refused(
          `metadata.annotations[${MIN}]`,
          'Invalid value: 3601: must not be more than the 3600 seconds that are asked for in spec.expirationSeconds',
        ),
      );
    }
  });

  it('that cannot be read is refused together with everything else that is wrong', async () => {
    const { code, json } = await ask({ [MIN]: '8h', [FOR]: 'vault' }, { expirationSeconds: 1 });
    expect(code).toBe(422);
    expect(json.details.causes.map(({ field }: { field: string }) => field)).toEqual([
      'spec.expirationSeconds',
      `metadata.annotations[${MIN}]`,
      `metadata.annotations[${FOR}]`,
    ]);
    expect(json.message).toContain(`must be a whole number of seconds between 1 and 4294967296, e.g. "3600"`);
    expect(json.message).toContain(`Unsupported value: "vault": supported values: "cluster"`);
  });

  it('counts in a protobuf body as well', async () => {
    const body = envelope(
      'authentication.k8s.io/v1',
      'TokenRequest',
      message({ 1: { 12: [{ 1: MIN, 2: '9000' }] }, 2: { 4: 10_000 } }),
    );
    const headers = { 'Content-Type': 'application/vnd.kubernetes.protobuf' };
    expect((await server.call('POST', tokenPath(), { body, headers })).code).toBe(422);
  });
});

describe('a token for the cluster', () => {
  const api = (): string => `${server.url}/orchestrator/alpha`;
  const warning = () => `this token will not open the API of cluster "alpha": its audiences do not include "${api()}"`;

  it('comes with a warning when the cluster will not accept it', async () => {
    const answer = await ask({ [FOR]: 'cluster' }, { audiences: ['vault'] });
    expect([answer.code, answer.warnings]).toEqual([201, [warning()]]);
    const dry = await ask({ [FOR]: 'cluster' }, { audiences: ['vault'] }, `${tokenPath()}?dryRun=All`);
    expect(dry.warnings).toEqual([warning()]);
  });

  it('and without when it will, or when it was not said that it is for the cluster', async () => {
    expect((await ask({ [FOR]: 'cluster' })).warnings).toEqual([]);
    expect((await ask({ [FOR]: 'cluster' }, { audiences: ['vault', api()] })).warnings).toEqual([]);
    expect((await ask({}, { audiences: ['vault'] })).warnings).toEqual([]);
  });
});

it('a wish that nobody knows is named, so that a misspelled one is not taken for granted', async () => {
  const { code, warnings, json } = await ask({ 'clusterpass.dev/min-expiration': '86400', 'example.com/note': 'x' });
  expect([code, warnings]).toEqual([201, ['unknown annotation "clusterpass.dev/min-expiration" is ignored']]);
  expect(json.metadata.annotations['example.com/note']).toBe('x');
});
