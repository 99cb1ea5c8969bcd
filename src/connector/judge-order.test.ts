import { describe, expect, it } from 'vitest';
import type { OrderClaims } from '../api/connector.ts';
import type { ConnectorRules } from './configuration.ts';
import { judgeOrder } from './judge-order.ts';

const RULES: ConnectorRules = {
  orders: true,
  revocable: true,
  mirror: { accounts: true, pods: true },
  allow: [
    { namespace: 'shop', accounts: ['deployer'], maxSeconds: 900 },
    { namespace: 'ci', accounts: ['*'], maxSeconds: 3600 },
  ],
  people: [{ group: 'devs', maxSeconds: 1200 }],
};

const request = (more: object = {}): OrderClaims['request'] => ({
  namespace: 'shop',
  serviceAccount: 'deployer',
  audiences: [],
  expirationSeconds: 600,
  ...more,
});
const order = (more: object): OrderClaims =>
  ({ requester: { user: 'jane', groups: [] }, revocable: true, ...more }) as unknown as OrderClaims;
const judge = (more: object, rules: object = {}) => judgeOrder({ ...RULES, ...rules }, order(more));

describe('A52: an order for an account', () => {
  it('is done for the accounts that the configuration names', () => {
    const task = { namespace: 'shop', account: 'deployer', audiences: [], seconds: 600, isRevocable: true };
    expect(judge({ request: request() })).toEqual(task);
    expect(judge({ request: request({ namespace: 'ci', serviceAccount: 'any' }) })).toMatchObject({ account: 'any' });
    expect(judge({ request: request({ serviceAccount: 'default' }) })).toEqual({
      reason: 'Forbidden',
      message:
        'the owner of the cluster does not allow its connector to issue tokens for the service account shop/default (allow)',
    });
    expect(judge({ request: request({ namespace: 'kube-system' }) })).toMatchObject({ reason: 'Forbidden' });
    for (const serviceAccount of ['*', '..', '../../secrets/x']) {
      expect(judge({ request: request({ namespace: 'ci', serviceAccount }) })).toMatchObject({ reason: 'Forbidden' });
    }
  });

  it('is shortened to what is allowed, and never lengthened', () => {
    expect(judge({ request: request({ expirationSeconds: 86_400 }) })).toMatchObject({ seconds: 900 });
    expect(judge({ request: request({ expirationSeconds: 10 }) })).toMatchObject({ seconds: 10 });
  });

  it('keeps the object that the request binds it to, and is not bound to a Secret then', () => {
    const boundObjectRef = { kind: 'Pod', name: 'web-0', uid: 'u' };
    expect(judge({ request: request({ boundObjectRef }) })).toMatchObject({ boundObjectRef, isRevocable: false });
    expect(judge({ request: request() }, { revocable: false })).toMatchObject({ isRevocable: false });
    expect(judge({ request: request(), revocable: false })).toMatchObject({ isRevocable: false });
  });
});

it('A52: an order for a person is for an account that stands for them, in a group that is allowed', () => {
  const person = { name: 'Jane Doe', group: 'devs', audiences: [], expirationSeconds: 7200 };
  expect(judge({ person })).toEqual({
    namespace: 'clusterpass-people-devs',
    account: expect.stringMatching(/^jane-doe-[0-9a-f]{20}$/),
    person: 'Jane Doe',
    audiences: [],
    seconds: 1200,
    isRevocable: true,
  });
  expect(judge({ person: { ...person, group: 'ops' } })).toMatchObject({ reason: 'Forbidden' });
});

it.each([
  ['asks for nothing', {}],
  ['has no lifetime', { request: request({ expirationSeconds: null }) }],
])('an order that %s is not done', (_, more) => {
  expect(() => judge(more)).toThrow();
});
