import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Secret } from '../observability/secret.ts';
import { buildPersonClaims, type PersonGrant, readPersonClaims } from './claims.ts';
import { TokenRejected } from './jws.ts';
import { assertPayload, createSigner } from './signer.ts';
import { type Fixture, forge, ISSUERS, JTI, openFixture, START } from './tokens.fixture.ts';
import { createPeopleVerifier, type Verifier } from './verifier.ts';

/** Passes for people: the claims, the signer and the verifier. */

const ISSUER = ISSUERS.peopleIssuerFor('alpha');

const grantOf = (grant: Partial<PersonGrant> = {}): PersonGrant => ({
  issuer: ISSUER,
  clusterUid: 'uid-cluster',
  name: 'carl',
  groups: ['devs'],
  expirationSeconds: 3600,
  now: START,
  randomUUID: () => JTI,
  ...grant,
});

const claims = buildPersonClaims(grantOf());

describe('A47: claims', () => {
  it.each([{ name: '' }, { name: 'system:admin' }, { groups: ['devs', 'system:masters'] }])('never: %j', (grant) => {
    expect(() => buildPersonClaims(grantOf(grant))).toThrow('the pass would name the system');
  });

  it.each<[string, object]>([
    ['a name of the system', { sub: 'system:admin' }],
    ['a group of the system', { groups: ['system:masters'] }],
    ['groups as text', { groups: 'devs' }],
    ['a group that is no text', { groups: [1] }],
    ['no subject', { sub: undefined }],
    ['no cluster', { 'clusterpass.dev/cluster-uid': undefined }],
    ['an account', { 'kubernetes.io': {} }],
  ])('are refused with %s', (_, changes) => {
    expect(() => readPersonClaims({ ...claims, ...changes })).toThrow(TokenRejected);
  });

  it('are released only as they were granted', () => {
    const payloadOf = (changes: object): string =>
      Buffer.from(JSON.stringify({ ...claims, ...changes })).toString('base64url');
    expect(() => assertPayload(payloadOf({}), claims)).not.toThrow();
    const others = [{ groups: ['devs', 'admins'] }, { groups: undefined }, { sub: 'dana' }, { exp: 1 }];
    for (const changes of [...others, { 'clusterpass.dev/cluster-uid': 'another' }]) {
      expect(() => assertPayload(payloadOf(changes), claims)).toThrow('does not say what was granted');
    }
  });

  it('issuers of people and of clusters are never taken for each other', () => {
    expect(ISSUERS.clusterOfPeopleIssuer(ISSUER)).toBe('alpha');
    expect(ISSUERS.clusterOfIssuer(ISSUER)).toBeUndefined();
    for (const other of [ISSUERS.issuerFor('alpha'), ISSUERS.issuerFor('people'), `${ISSUER}/`, `${ISSUER}/people`]) {
      expect(ISSUERS.clusterOfPeopleIssuer(other)).toBeUndefined();
    }
  });
});

describe('A47: the verifier', () => {
  let fixture: Fixture;
  let verifier: Verifier<typeof claims>;
  const verify = async (token: string, audiences?: string[]) => verifier.verify(new Secret(token), audiences);
  const signed = () => createSigner(fixture.ring).sign(claims);

  beforeAll(async () => {
    fixture = await openFixture();
    verifier = createPeopleVerifier({
      keyRing: fixture.ring,
      clusterOfIssuer: ISSUERS.clusterOfPeopleIssuer,
      findLive: fixture.world.findLive,
      now: () => fixture.clock.now,
    });
  });
  afterAll(() => fixture.remove());

  it('accepts a pass, until it is revoked, expired or its cluster is gone', async () => {
    const token = await signed();
    expect((await verify(token))?.claims).toEqual(claims);
    fixture.revoked.add(JTI);
    await expect(verify(token)).rejects.toThrow('token of a person has been revoked');
    fixture.revoked.clear();
    fixture.clock.now = START + 3_661_000;
    await expect(verify(token)).rejects.toThrow('token of a person has expired');
    fixture.clock.now = START;
    fixture.world.remove('clusters', 'alpha', '', 'alpha');
    await expect(verify(token)).rejects.toThrow('"alpha" not found');
    // Another cluster of the same name: perhaps its owner issues no pass to this person.
    fixture.world.put('clusters', 'alpha', '', 'alpha', { uid: 'uid-another' });
    await expect(verify(token)).rejects.toThrow('cluster UID (uid-another) does not match claim (uid-cluster)');
    fixture.world.put('clusters', 'alpha', '', 'alpha', { uid: 'uid-cluster' });
  });

  it('refuses another audience, a forged name, and knows no pass of an account', async () => {
    await expect(verify(await signed(), [ISSUERS.issuerFor('alpha')])).rejects.toThrow('audiences');
    await expect(verify(forge(fixture, { payload: { ...claims, sub: 'system:admin' } }))).rejects.toThrow('the system');
    expect(await verify(await fixture.issue())).toBeUndefined();
    expect(await fixture.verifier.verify(new Secret(await signed()))).toBeUndefined();
  });
});
