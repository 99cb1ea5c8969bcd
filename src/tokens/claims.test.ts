import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { buildClaims, createIssuers, readClaims } from './claims.ts';
import { API, grantOf, JTI, POD, SECRET, START } from './tokens.fixture.ts';

describe('claims', () => {
  test('K-03, K-04, K-05, K-06, K-07: the plain token, key by key', () => {
    const second = START / 1000;
    expect(JSON.stringify(buildClaims(grantOf({ now: START + 999 })))).toBe(
      `{"aud":["${API}"],"exp":${second + 3600},"iat":${second},"iss":"${API}","jti":"${JTI}",` +
        `"kubernetes.io":{"namespace":"ci","serviceaccount":{"name":"builder","uid":"uid-account"}},` +
        `"nbf":${second},"sub":"system:serviceaccount:ci:builder"}`,
    );
  });

  test('K-03, K-07: bound to a pod, with its node', () => {
    const claims = buildClaims(grantOf({ pod: POD, node: { name: 'n1', uid: 'uid-node' } }));
    expect(JSON.stringify(claims['kubernetes.io'])).toBe(
      '{"namespace":"ci","node":{"name":"n1","uid":"uid-node"},"pod":{"name":"web-0","uid":"uid-pod"},' +
        '"serviceaccount":{"name":"builder","uid":"uid-account"}}',
    );
  });

  test('T-32: a node that is not known has no uid', () => {
    expect(buildClaims(grantOf({ pod: POD, node: { name: 'n1' } }))['kubernetes.io'].node).toEqual({ name: 'n1' });
  });

  test('K-07: bound to a secret', () => {
    expect(JSON.stringify(buildClaims(grantOf({ secret: SECRET }))['kubernetes.io'])).toBe(
      '{"namespace":"ci","secret":{"name":"tls","uid":"uid-secret"},"serviceaccount":{"name":"builder","uid":"uid-account"}}',
    );
  });

  test('K-06: the jti is what the source of randomness gives, a UUID v4', () => {
    expect(buildClaims(grantOf({ randomUUID })).jti).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-/,
    );
  });

  test('K-08, K-22: no warnafter, whatever the lifetime and the binding', () => {
    const claims = buildClaims(grantOf({ pod: POD, expirationSeconds: 3607 }));
    expect(claims['kubernetes.io']).not.toHaveProperty('warnafter');
    expect(claims.exp - claims.iat).toBe(3607);
  });

  test('K-07: what must not be combined is refused', () => {
    expect(() => buildClaims(grantOf({ pod: POD, secret: SECRET }))).toThrow(TypeError);
    expect(() => buildClaims(grantOf({ node: { name: 'n1' } }))).toThrow(TypeError);
    expect(() => buildClaims(grantOf({ audiences: [] }))).toThrow(TypeError);
  });
});

describe('RFC 8693 section 4.1: act', () => {
  const iss = 'https://pass.example';
  const nested = (depth: number): object =>
    depth === 1 ? { iss, sub: 'a' } : { act: nested(depth - 1), iss, sub: 'a' };
  const CLAIMS = JSON.parse(JSON.stringify(buildClaims(grantOf())));
  const payload = (act: unknown) => ({ ...CLAIMS, act });

  test('K-03: is the first claim', () => {
    expect(Object.keys(buildClaims(grantOf({ actor: { iss, sub: 'carl' } })))[0]).toBe('act');
  });

  test('is read as it was written, and may be absent', () => {
    expect(readClaims(payload({ act: { iss, sub: 'jane' }, iss, sub: 'carl' })).act).toEqual({
      act: { iss, sub: 'jane' },
      iss,
      sub: 'carl',
    });
    expect(readClaims(CLAIMS)).not.toHaveProperty('act');
    expect(readClaims(payload(nested(8)))).toHaveProperty('act');
  });

  test.each([null, 'carl', [], {}, { iss }, { sub: 'carl' }, { iss, sub: 7 }, { iss, sub: '', act: {} }, nested(9)])(
    'of another shape is refused: %j',
    (act) => {
      expect(() => readClaims(payload(act))).toThrow('token claim act');
    },
  );
});

describe('K-09: issuers', () => {
  const issuers = createIssuers({ baseUrl: 'https://pass.example/fleet', productName: 'orchestrator' });

  test('are the base URL, the product and the cluster', () => {
    const named = (baseUrl: string): string => createIssuers({ baseUrl, productName: 'kubernetes' }).issuerFor('a');
    expect(named('https://pass.example')).toBe('https://pass.example/kubernetes/a');
    expect(issuers.issuerFor('eu-1.prod')).toBe('https://pass.example/fleet/orchestrator/eu-1.prod');
    expect(named('https://pass.example/')).toBe('https://pass.example/kubernetes/a');
  });

  test('lead back to the cluster', () => {
    for (const cluster of ['a', 'eu-1.prod', 'x'.repeat(253)]) {
      expect(issuers.clusterOfIssuer(issuers.issuerFor(cluster))).toBe(cluster);
    }
  });

  test.each([
    'https://pass.example/fleet/orchestrator/a/',
    'https://pass.example/fleet/orchestrator/',
    'https://pass.example/fleet/orchestrator',
    'https://pass.example/fleet/orchestrator/a/b',
    'https://pass.example/fleet/orchestrator/../a',
    'https://pass.example/fleet/orchestrator/A',
    'https://pass.example/fleet/orchestrator/%61',
    'https://pass.example/fleet/orchestrator/a?x',
    'https://pass.example/fleet/orchestrator/a#x',
    'https://pass.example/fleet/orchestrator/a\n',
    'https://pass.example/fleet/orchestrator/-a',
    'https://pass.example/fleet/orchestrator/a..b',
    'https://pass.example/fleet/orchestrator/a.-b',
    `https://pass.example/fleet/orchestrator/${'x'.repeat(254)}`,
    'HTTPS://pass.example/fleet/orchestrator/a',
    'https://pass.example:443/fleet/orchestrator/a',
    ' https://pass.example/fleet/orchestrator/a',
    'kubernetes/serviceaccount',
    '',
  ])('and nothing but their exact text does: %j', (issuer) => {
    expect(issuers.clusterOfIssuer(issuer)).toBeUndefined();
  });
});
