import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { mapClaims } from '../../authn/jwt/map-claims.ts';
import { readAuthenticationConfig } from '../../authn/jwt/read-configuration.ts';
import { buildClaims, type TokenGrant } from '../../tokens/claims.ts';
import { grantOf, POD } from '../../tokens/tokens.fixture.ts';
import { authenticationConfiguration } from './trust-configuration.ts';

const ISSUER = 'https://pass.example/orchestrator/alpha';
const CA = readFileSync(new URL('../../../test/e2e/support/tls/ca.crt', import.meta.url), 'utf8');
const OPTIONS = {
  cluster: 'alpha',
  issuer: ISSUER,
  audience: ISSUER,
  certificateAuthority: CA,
  reasonForNoCa: '',
  allowedNamespaces: [],
};

const provider = () => {
  const [only] = readAuthenticationConfig(Buffer.from(authenticationConfiguration(OPTIONS)), { isOurs: () => false });
  if (only === undefined) throw new Error('no provider');
  return only;
};

const asMap = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? new Map(Object.entries(value).map(([key, member]) => [key, asMap(member)]))
    : value;

/** The user of a token, by the expressions in the generated file. */
function userFor(grant: Partial<TokenGrant>, changes: object = {}) {
  const { mappings } = provider();
  const variables = { claims: asMap({ ...buildClaims(grantOf(grant)), ...changes }) };
  const value = (source: unknown): unknown =>
    (source as { expression: { evaluate(given: object): unknown } }).expression.evaluate(variables);
  return {
    username: value(mappings.username),
    groups: value(mappings.groups),
    uid: value(mappings.uid),
    extra: Object.fromEntries(mappings.extra.map(({ key, expression }) => [key, expression.evaluate(variables)])),
    valid: mappings.claimValidationRules.every(({ expression }) => expression.evaluate(variables) === true),
  };
}

describe('the configuration', () => {
  test('has the version that kube-apiserver reads, the issuer, the audience and the CA', () => {
    const { apiVersion, kind, jwt } = parse(authenticationConfiguration(OPTIONS));
    expect([apiVersion, kind, jwt.length]).toEqual(['apiserver.config.k8s.io/v1', 'AuthenticationConfiguration', 1]);
    expect(jwt[0].issuer).toEqual({
      url: ISSUER,
      certificateAuthority: CA,
      audiences: [ISSUER],
      audienceMatchPolicy: 'MatchAny',
    });
  });

  test('refuses accounts of kube-system, unless they are allowed', () => {
    const { userValidationRules } = provider().mappings;
    const refused = ['kube-system', 'kube-system-x'].map((namespace) => {
      const user = asMap({ username: `system:serviceaccount:${namespace}:root`, groups: [] });
      return userValidationRules.map(({ expression }) => expression.evaluate({ user }));
    });
    expect(refused).toEqual([[false], [true]]);
    const [entry] = parse(authenticationConfiguration({ ...OPTIONS, allowedNamespaces: ['kube-system'] })).jwt;
    expect(entry).not.toHaveProperty('userValidationRules');
  });
});

describe('TX-73: the entry for people', () => {
  const peopleIssuer = `${ISSUER}/people`;
  const { jwt } = parse(authenticationConfiguration({ ...OPTIONS, peopleIssuer }));

  test('has an issuer and an audience of people, a prefix, and no claim of an account', () => {
    expect(jwt[0]).toEqual(parse(authenticationConfiguration(OPTIONS)).jwt[0]);
    expect(jwt[1]).toEqual({
      issuer: { ...jwt[0].issuer, url: `${ISSUER}/people`, audiences: [`${ISSUER}/people`] },
      claimMappings: {
        username: { claim: 'sub', prefix: 'clusterpass:' },
        groups: { claim: 'groups', prefix: 'clusterpass:' },
        extra: [{ key: 'clusterpass.dev/requested-by', valueExpression: 'claims.?act.?sub.orValue("")' }],
      },
      userValidationRules: [expect.anything(), expect.anything()],
    });
  });

  test.each([
    [{ username: 'clusterpass:system:admin', groups: ['clusterpass:system:masters'] }, [true, true]],
    [{ username: 'system:admin', groups: [] }, [false, true]],
    [{ username: 'carl', groups: ['devs', 'system:masters'] }, [true, false]],
  ])('TX-95: its rules guard an edited prefix: %j', (user, holds) => {
    const text = Buffer.from(authenticationConfiguration({ ...OPTIONS, peopleIssuer }));
    const [, entry] = readAuthenticationConfig(text, { isOurs: () => false });
    const rules = entry?.mappings.userValidationRules ?? [];
    expect(rules.map(({ expression }) => expression.evaluate({ user: asMap(user) }))).toEqual(holds);
  });
});

describe('the user of a token', () => {
  test('K-30: is the service account, as with a token of the cluster itself', () => {
    expect(userFor({})).toEqual({
      username: 'system:serviceaccount:ci:builder',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:ci'],
      uid: 'uid-account',
      extra: {
        'clusterpass.dev/pod-name': '',
        'clusterpass.dev/pod-uid': '',
        'clusterpass.dev/requested-by': ['', '', ''],
      },
      valid: true,
    });
  });

  test('has the name and the UID of a bound pod', () => {
    expect(userFor({ pod: POD }).extra).toMatchObject({
      'clusterpass.dev/pod-name': 'web-0',
      'clusterpass.dev/pod-uid': 'uid-pod',
    });
  });

  test.each([
    [{ iss: 'i', sub: 'carl' }, ['carl', '', '']],
    [{ act: { iss: 'i', sub: 'carl' }, iss: 'i', sub: 'client:agent' }, ['client:agent', 'carl', '']],
    [{ act: { act: { iss: 'i', sub: 'a' }, iss: 'i', sub: 'b' }, iss: 'i', sub: 'c' }, ['c', 'b', 'a']],
  ])('has its requesters, the newest first; kube-apiserver drops empty texts: %j', (act, names) => {
    expect(userFor({}, { act }).extra).toMatchObject({ 'clusterpass.dev/requested-by': names });
  });

  test('TX-93: act that is a text names no requester, and act.sub that is a number refuses the token', () => {
    expect(userFor({}, { act: 'carl' }).extra).toMatchObject({ 'clusterpass.dev/requested-by': ['', '', ''] });
    const peopleIssuer = `${ISSUER}/people`;
    const text = Buffer.from(authenticationConfiguration({ ...OPTIONS, peopleIssuer }));
    const entry = readAuthenticationConfig(text, { isOurs: () => false })[1];
    if (entry === undefined) throw new Error('no entry for people');
    const user = (act: unknown) => mapClaims(entry.mappings, { sub: 'carl', groups: [], act });
    expect(user('carl')).toMatchObject({ name: 'clusterpass:carl', extra: {} });
    expect(user({ sub: 'agent' }).extra).toEqual({ 'clusterpass.dev/requested-by': ['agent'] });
    expect(() => user({ sub: 7 })).toThrow('clusterpass.dev/requested-by');
  });

  test('K-23: is refused when sub names another account', () => {
    expect(userFor({}, { sub: 'system:serviceaccount:kube-system:root' }).valid).toBe(false);
  });
});
