import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import type { Caller } from '../api/caller.ts';
import { Secret } from '../observability/secret.ts';
import type { TokenGrant } from '../tokens/claims.ts';
import { ACCOUNT, API, ISSUERS, JTI, openFixture, POD, SECRET, START } from '../tokens/tokens.fixture.ts';
import { createAuthenticator } from './authenticator.ts';
import { createIssuedTokenAuthenticator } from './issued-token-authenticator.ts';
import { plainCaller } from './token-authenticator.ts';

const fixture = await openFixture();
afterAll(() => fixture.remove());
beforeEach(() => {
  fixture.clock.now = START;
  fixture.world.put('serviceaccounts', 'alpha', 'ci', ACCOUNT.name, { uid: ACCOUNT.uid });
});

async function callerOf(grant: Partial<TokenGrant> = {}): Promise<Caller> {
  const issued = createIssuedTokenAuthenticator({ verifier: fixture.verifier });
  const caller = await issued.authenticateToken(new Secret(await fixture.issue(grant)));
  if (caller === undefined) throw new Error('a token of another issuer');
  return caller;
}

const ID = { 'authentication.kubernetes.io/credential-id': [`JTI=${JTI}`] };

describe('identity', () => {
  test('K-30, K-31: at home a service account by its local name', async () => {
    expect((await callerOf()).as('alpha')).toEqual({
      name: 'system:serviceaccount:ci:builder',
      uid: 'uid-account',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:ci', 'system:authenticated'],
      extra: ID,
    });
  });

  test.each([['beta'], ['alpha2'], ['Alpha'], [''], [undefined]])('elsewhere (%j) by its full one', async (cluster) => {
    expect((await callerOf()).as(cluster)).toEqual({
      name: 'system:cluster:alpha:serviceaccount:ci:builder',
      uid: 'uid-account',
      groups: ['system:cluster:alpha:serviceaccounts', 'system:authenticated'],
      extra: ID,
    });
  });

  test('K-31: a pod and its node show, a secret does not', async () => {
    const bound = await callerOf({ pod: POD, node: { name: 'n1', uid: 'uid-node' } });
    expect(bound.as('alpha').extra).toEqual({
      ...ID,
      'authentication.kubernetes.io/pod-name': ['web-0'],
      'authentication.kubernetes.io/pod-uid': ['uid-pod'],
      'authentication.kubernetes.io/node-name': ['n1'],
      'authentication.kubernetes.io/node-uid': ['uid-node'],
    });
    expect(bound.as('beta').extra).toEqual(ID);
    const unknownNode = await callerOf({ pod: POD, node: { name: 'n1' } });
    expect(Object.keys(unknownNode.as('alpha').extra)).not.toContain('authentication.kubernetes.io/node-uid');
    expect((await callerOf({ secret: SECRET })).as('alpha').extra).toEqual(ID);
  });

  test('B15: the service accounts of a cluster have one flow, which is that of no user', async () => {
    const { flow } = await callerOf();
    expect((await callerOf({ pod: POD })).flow).toBe(flow);
    // Neither is it that of a task of the server, or of an address: a cluster may have any of these names.
    expect(flow).toBe('cluster alpha');
    const user = { name: flow, uid: '', groups: [], extra: {} };
    expect(plainCaller(user, () => true).flow).not.toBe(flow);
  });

  test('the key is that of the account, not of the token: a renewed token is the same caller', async () => {
    const key = (await callerOf()).key;
    expect((await callerOf({ secret: SECRET, expirationSeconds: 700 })).key).toBe(key);
    expect((await callerOf({ pod: POD })).key).toBe(key);
    expect((await callerOf({ randomUUID: () => 'other' })).key).toBe(key);
  });
});

describe('the end of a credential', () => {
  test('dependsOn names every object that the credential depends on', async () => {
    const common = [
      `/registry/revokedtokens/${JTI}`,
      '/registry/clusters/alpha',
      '/registry/namespaces/alpha/ci',
      '/registry/serviceaccounts/alpha/ci/builder',
    ];
    expect((await callerOf()).dependsOn).toEqual(common);
    expect((await callerOf({ pod: POD })).dependsOn).toEqual([...common, '/registry/pods/alpha/ci/web-0']);
    expect((await callerOf({ secret: SECRET })).dependsOn).toEqual([...common, '/registry/secrets/alpha/ci/tls']);
  });

  test('isLive follows the clock and the objects', async () => {
    const caller = await callerOf();
    expect(caller.home).toBe('alpha');
    expect(caller.expiresAt).toBe(START + 3_660_000);
    expect(caller.isLive()).toBe(true);
    fixture.clock.now = START + 3_660_001;
    expect(caller.isLive()).toBe(false);
    fixture.clock.now = START;
    fixture.world.remove('serviceaccounts', 'alpha', 'ci', ACCOUNT.name);
    expect(caller.isLive()).toBe(false);
    fixture.world.put('serviceaccounts', 'alpha', 'ci', ACCOUNT.name, { uid: 'uid-new' });
    expect(caller.isLive()).toBe(false);
  });

  test('isLive follows revocation', async () => {
    const caller = await callerOf();
    expect(caller.isLive()).toBe(true);
    fixture.revoked.add(JTI);
    expect(caller.isLive()).toBe(false);
    fixture.revoked.clear();
  });
});

describe('A5: the end of a token is the same moment wherever it is shown', () => {
  const HOUR = 3600;
  const authenticator = () => {
    const issued = [createIssuedTokenAuthenticator({ verifier: fixture.verifier })];
    return createAuthenticator({
      forRequests: issued,
      forReviews: issued,
      forPasses: issued,
      audienceOf: ISSUERS.issuerFor,
    });
  };

  test.each([
    [-1, true],
    [0, true],
    [59, true],
    [60, true],
    [61, false],
  ])('%d seconds after exp: %s', async (seconds, accepted) => {
    const token = await fixture.issue({ expirationSeconds: HOUR });
    const { authenticate, review } = authenticator();
    const open = await callerOf({ expirationSeconds: HOUR });
    fixture.clock.now = START + (HOUR + seconds) * 1000;
    const findings = {
      bearer: await Promise.resolve(authenticate(`Bearer ${token}`, () => {})).then(
        () => true,
        () => false,
      ),
      watch: open.isLive(),
      reviewInCluster: (await review(new Secret(token), { cluster: 'alpha', audiences: [] })).authenticated,
      reviewForAudience: (await review(new Secret(token), { cluster: 'alpha', audiences: [API] })).authenticated,
      reviewAtFleet: (await review(new Secret(token), { cluster: undefined, audiences: [] })).authenticated,
    };
    expect(new Set(Object.values(findings)), JSON.stringify(findings)).toEqual(new Set([accepted]));
  });
});

describe('A3: only tokens addressed to us are a way in', () => {
  test('among several audiences ours is enough', async () => {
    expect((await callerOf({ audiences: ['vault', API] })).home).toBe('alpha');
  });

  test.each([['vault'], [`${API}/`], ['https://pass.example/orchestrator/beta'], ['https://pass.example']])(
    'a token for %s is none',
    async (audience) => {
      await expect(callerOf({ audiences: [audience] })).rejects.toThrow(/token audiences .* is invalid/);
    },
  );

  test('tokens of other issuers are left to other authenticators', async () => {
    const issued = createIssuedTokenAuthenticator({ verifier: fixture.verifier });
    expect(await issued.authenticateToken(new Secret('opaque'))).toBeUndefined();
  });
});
