import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readAuthenticationConfig } from '../authn/jwt/read-configuration.ts';
import { buildClaims, type Grant } from '../tokens/claims.ts';
import { grantOf, POD } from '../tokens/tokens.fixture.ts';
import { authenticationConfiguration } from './trust-configuration.ts';

const ISSUER = 'https://desk.example/orchestrator/alpha';
const CA = readFileSync(new URL('../../test/e2e/support/tls/ca.crt', import.meta.url), 'utf8');
const FACTS = { cluster: 'alpha', issuer: ISSUER, audience: ISSUER, certificateAuthority: CA, without: '' };

const provider = () => {
  const [only] = readAuthenticationConfig(Buffer.from(authenticationConfiguration(FACTS)), { isOurs: () => false });
  if (only === undefined) throw new Error('no provider');
  return only;
};

const asMap = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? new Map(Object.entries(value).map(([key, member]) => [key, asMap(member)]))
    : value;

/** Who the API server takes the bearer for, by the expressions as they were read back from the file. */
function userFor(grant: Partial<Grant>, changes: object = {}) {
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
  test('is of the version that kube-apiserver reads, and names issuer, audience and authority', () => {
    const { apiVersion, kind, jwt } = parse(authenticationConfiguration(FACTS));
    expect([apiVersion, kind, jwt.length]).toEqual(['apiserver.config.k8s.io/v1', 'AuthenticationConfiguration', 1]);
    expect(jwt[0].issuer).toEqual({
      url: ISSUER,
      certificateAuthority: CA,
      audiences: [ISSUER],
      audienceMatchPolicy: 'MatchAny',
    });
  });

  test('says why there is no authority, if there is none', () => {
    const text = authenticationConfiguration({ ...FACTS, certificateAuthority: undefined, without: 'it is public' });
    expect(text).toContain('# No certificateAuthority: it is public.\n');
    expect(parse(text).jwt[0].issuer).not.toHaveProperty('certificateAuthority');
  });

  test('no key of extra is below a domain that is reserved', () => {
    for (const { key } of parse(authenticationConfiguration(FACTS)).jwt[0].claimMappings.extra) {
      expect(key).toMatch(/^clusterpass\.dev\/[a-z-]+$/);
    }
  });
});

describe('the bearer of a token', () => {
  test('K-30: is the account, as with a token of the cluster itself', () => {
    expect(userFor({})).toEqual({
      username: 'system:serviceaccount:ci:builder',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:ci'],
      uid: 'uid-account',
      extra: { 'clusterpass.dev/pod-name': '', 'clusterpass.dev/pod-uid': '' },
      valid: true,
    });
  });

  test('of a pod: the pod is told, too', () => {
    expect(userFor({ pod: POD }).extra).toEqual({
      'clusterpass.dev/pod-name': 'web-0',
      'clusterpass.dev/pod-uid': 'uid-pod',
    });
  });

  test('K-23: is refused when sub names somebody else', () => {
    expect(userFor({}, { sub: 'system:serviceaccount:kube-system:root' }).valid).toBe(false);
  });
});
