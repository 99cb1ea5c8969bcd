import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { Secret } from '../observability/secret.ts';
import type { TokenGrant } from './claims.ts';
import { ACCOUNT, type LiveResource, openFixture, POD, SECRET, START } from './tokens.fixture.ts';
import type { VerifiedToken } from './verifier.ts';

/** A4: in every case the signature of the token is cached already, and that must not delay the refusal. */

let token: string;
let earlier: VerifiedToken;

const fixture = await openFixture();
afterAll(() => fixture.remove());

async function bind(grant: Partial<TokenGrant>): Promise<void> {
  token = await fixture.issue(grant);
  earlier = await fixture.accepted(token);
}

beforeEach(() => {
  fixture.clock.now = START;
  for (const [resource, namespace, name, uid] of OBJECTS)
    fixture.world.put(resource, 'alpha', namespace, name, { uid });
});

const OBJECTS: readonly (readonly [LiveResource, string, string, string])[] = [
  ['clusters', '', 'alpha', 'uid-cluster'],
  ['namespaces', '', 'ci', 'uid-namespace'],
  ['serviceaccounts', 'ci', ACCOUNT.name, ACCOUNT.uid],
  ['pods', 'ci', POD.name, POD.uid],
  ['secrets', 'ci', SECRET.name, SECRET.uid],
];

async function expectRefused(text: string): Promise<void> {
  await expect(Promise.try(() => fixture.verifier.verify(new Secret(token)))).rejects.toThrow(text);
  expect(fixture.verifier.isLive(earlier)).toBe(false);
}

async function expectAccepted(): Promise<void> {
  await fixture.accepted(token);
  expect(fixture.verifier.isLive(earlier)).toBe(true);
}

const bindings: Readonly<Record<LiveResource, Partial<TokenGrant>>> = {
  clusters: {},
  namespaces: {},
  serviceaccounts: {},
  pods: { pod: POD },
  secrets: { secret: SECRET },
};

describe('A4: gone', () => {
  test.each([
    ['clusters', 'clusters.clusterregistry.k8s.io "alpha" not found'],
    ['namespaces', 'namespaces "ci" not found'],
    ['serviceaccounts', 'serviceaccounts "builder" not found'],
    ['pods', 'service account token has been invalidated'],
    ['secrets', 'service account token has been invalidated'],
  ] as const)('K-16, K-18: %s', async (resource, text) => {
    await bind(bindings[resource]);
    const [, namespace, name] = OBJECTS.find(([candidate]) => candidate === resource) ?? ['', '', ''];
    fixture.world.remove(resource, 'alpha', namespace, name);
    await expectRefused(text);
  });

  test('K-18: a token that is bound to nothing needs no pod and no secret', async () => {
    await bind({});
    fixture.world.remove('pods', 'alpha', 'ci', POD.name);
    fixture.world.remove('secrets', 'alpha', 'ci', SECRET.name);
    await expectAccepted();
  });
});

describe('A4: recreated under the same name', () => {
  test('K-17: the account', async () => {
    await bind({});
    fixture.world.put('serviceaccounts', 'alpha', 'ci', ACCOUNT.name, { uid: 'uid-new' });
    await expectRefused('service account UID (uid-new) does not match claim (uid-account)');
  });

  test('K-19: the pod', async () => {
    await bind({ pod: POD });
    fixture.world.put('pods', 'alpha', 'ci', POD.name, { uid: 'uid-new' });
    await expectRefused('pod UID (uid-new) does not match service account pod ref claim (uid-pod)');
  });

  test('K-19: the secret', async () => {
    await bind({ secret: SECRET });
    fixture.world.put('secrets', 'alpha', 'ci', SECRET.name, { uid: 'uid-new' });
    await expectRefused('secret UID (uid-new) does not match service account secret ref claim (uid-secret)');
  });

  test.each(['clusters', 'namespaces'] as const)(
    'K-17: %s, and with it everything inside, hence the account under another uid',
    async (resource) => {
      await bind({});
      const [, namespace, name] = OBJECTS.find(([candidate]) => candidate === resource) ?? ['', '', ''];
      fixture.world.put(resource, 'alpha', namespace, name, { uid: 'uid-new-home' });
      fixture.world.remove('serviceaccounts', 'alpha', 'ci', ACCOUNT.name);
      await expectRefused('serviceaccounts "builder" not found');
      fixture.world.put('serviceaccounts', 'alpha', 'ci', ACCOUNT.name, { uid: 'uid-new' });
      await expectRefused('service account UID (uid-new) does not match claim (uid-account)');
    },
  );
});

describe('A4, K-20: being deleted', () => {
  test.each([
    ['clusters', 'service account token has been invalidated'],
    ['namespaces', 'service account token has been invalidated'],
    ['serviceaccounts', 'service account ci/builder has been deleted'],
    ['pods', 'service account token has been invalidated'],
    ['secrets', 'service account token has been invalidated'],
  ] as const)('%s: the token works for 60 seconds more', async (resource, text) => {
    await bind(bindings[resource]);
    const [, namespace, name, uid] = OBJECTS.find(([candidate]) => candidate === resource) ?? ['', '', '', ''];
    fixture.world.put(resource, 'alpha', namespace, name, { uid, deletionTimestamp: new Date(START).toISOString() });
    await expectAccepted();
    fixture.clock.now = START + 60_000;
    await expectAccepted();
    fixture.clock.now += 1;
    await expectRefused(text);
  });

  test('a time that cannot be parsed counts as past', async () => {
    await bind({});
    fixture.world.put('serviceaccounts', 'alpha', 'ci', ACCOUNT.name, { uid: ACCOUNT.uid, deletionTimestamp: 'soon' });
    await expectRefused('has been deleted');
  });
});

test('K-21, T-21: the node of a bound pod is not looked up', async () => {
  await bind({ pod: POD, node: { name: 'no-such-node', uid: 'x' } });
  await expectAccepted();
});

test('an account of the same name in another cluster does not keep a token alive', async () => {
  await bind({});
  fixture.world.remove('serviceaccounts', 'alpha', 'ci', ACCOUNT.name);
  fixture.world.put('serviceaccounts', 'beta', 'ci', ACCOUNT.name, { uid: ACCOUNT.uid });
  await expectRefused('not found');
});
