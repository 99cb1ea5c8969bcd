import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { addCluster, grantClusters, PUBLIC_LIST } from './support/fleet.ts';
import {
  authenticationConfig,
  authenticationFileOf,
  type IdentityProvider,
  startProvider,
} from './support/provider.ts';
import { logLines } from './support/run.ts';
import { sharedServer } from './support/shared-server.ts';
import { brief, Watch } from './support/watch.ts';

let file: string;
let provider: IdentityProvider;
/** Accepts connections and never responds. */
let silent: IdentityProvider;
const server = sharedServer();
let started: number;

beforeAll(async () => {
  file = authenticationFileOf(server);
  [provider, silent] = await Promise.all([startProvider(), startProvider()]);
  silent.hang();
  started = Date.now();
  await writeFile(file, authenticationConfig([provider, silent]));
  await addCluster(server, 'alpha');
  await grantClusters(server, 'jane-sees', 'id:jane');
  // Until the server has read the file.
  await vi.waitFor(async () => expect(await whoIs(await provider.sign({ sub: 'jane' }))).not.toBe(401), 30_000);
});
afterAll(() => Promise.all([provider.close(), silent.close()]));

const REVIEW = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

const whoIs = async (token: string): Promise<unknown> => {
  const { code, json } = await server.call('POST', REVIEW, { token, body: {} });
  return code === 201 ? json.status.userInfo : code;
};

/** A watch with a token that ends soon: on a busy machine the first one may have ended before the watch is open. */
async function shortWatch(): Promise<{ watch: Watch; end: number }> {
  for (let patience = 1_500; ; patience *= 3) {
    const end = Date.now() + patience;
    const token = await provider.sign({ sub: 'jane', exp: end / 1000 });
    const watch = await Watch.open(server, `${PUBLIC_LIST}?watch=true`, token);
    if (watch.code === 200) return { watch, end };
    expect([watch.code, patience < 20_000]).toEqual([401, true]);
  }
}

const problems = (): unknown[] => logLines(server.output.stderr).map(({ problem }) => problem);

describe('people from an identity provider', () => {
  it('have a name and groups, and see the clusters that they may see', async () => {
    const token = await provider.sign({ sub: 'jane', groups: ['devs'], jti: 'j1' });
    expect(await whoIs(token)).toEqual({
      username: 'id:jane',
      groups: ['id:devs', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': ['JTI=j1'] },
    });
    const { code, json } = await server.call('GET', PUBLIC_LIST, { token });
    expect([code, json.items.length]).toEqual([200, 1]);
  });

  it('decision 13: a watch ends with the token', async () => {
    const { watch, end } = await shortWatch();
    expect((await watch.rest()).map(brief)).toEqual(['ADDED alpha', 'ERROR 401']);
    expect(Date.now()).toBeGreaterThanOrEqual(end);
  });

  it('a provider that never responded: 401 in limited time, with a line in the log, and the server stays ready', async () => {
    const token = await silent.sign({ sub: 'jane' });
    expect(await whoIs(token)).toBe(401);
    const report = {
      level: 'warn',
      msg: 'the keys of an identity provider cannot be fetched',
      issuer: silent.url,
      problem: `${silent.url}/.well-known/openid-configuration: did not answer in time`,
    };
    const reports = (): unknown[] => logLines(server.output.stderr).filter(({ issuer }) => issuer === silent.url);
    await expect.poll(reports).toEqual([expect.objectContaining(report)]);
    const { text } = await server.call('GET', '/metrics');
    expect(text).toContain(`clusterpass_identity_provider_failing{issuer="${silent.url}"} 1\n`);
    expect(text).toContain(`clusterpass_identity_provider_failing{issuer="${provider.url}"} 0\n`);
    expect((await server.call('GET', '/readyz', { token: null })).code).toBe(200);
    // Nor does the server send it a request for every token.
    expect(await Promise.all([1, 2, 3, 4, 5].map(() => whoIs(token)))).toEqual([401, 401, 401, 401, 401]);
    expect(silent.requests.length).toBeLessThanOrEqual(1 + Math.floor((Date.now() - started) / 10_000));
  });
});

describe('the file', () => {
  it('is read again when it changes; a bad one is reported, and the earlier one stays in use', async () => {
    const token = await provider.sign({ sub: 'jane' });
    await writeFile(file, authenticationConfig([provider], { claimMapping: {} }));
    await expect.poll(problems).toContainEqual(expect.stringContaining('unknown field "jwt[0].claimMapping"'));
    expect(await whoIs(token)).toMatchObject({ username: 'id:jane' });
  });
});
