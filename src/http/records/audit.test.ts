import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyCharacter } from '../../lib/any-character.fixture.ts';
import { auditLine, createAuditor } from './audit.ts';
import type { RequestRecord } from './request-record.ts';

const RECORD: RequestRecord = {
  auditId: 'an-id',
  method: 'POST',
  verb: 'create',
  path: '/orchestrator/east/api/v1/namespaces/ci/serviceaccounts/builder/token',
  cluster: 'east',
  resource: 'serviceaccounts/token',
  isRouted: true,
  user: 'ann',
  userInfo: { name: 'ann', uid: '7', groups: ['dev', 'system:authenticated'], extra: { from: ['here'] } },
  impersonatedUser: undefined,
  target: {
    verb: 'create',
    group: '',
    version: 'v1',
    resource: 'serviceaccounts',
    subresource: 'token',
    cluster: 'east',
    namespace: 'ci',
    name: 'builder',
    alwaysPublic: false,
  },
  decision: { allowed: true, why: 'RBAC: allowed by "a"' },
  refusal: undefined,
  failure: undefined,
  auditedCode: undefined,
  started: false,
  dryRun: false,
  trace: undefined,
  clientAddress: '192.0.2.1',
  userAgent: 'kubectl/v1.36.4',
  redact: (text) => text,
  code: 201,
  milliseconds: 1.5,
  annotations: new Map([['authentication.kubernetes.io/issued-credential-id', 'JTI=x']]),
  items: undefined,
};

const NOW = Date.parse('2026-01-02T03:04:05.678Z');
const written = (changes: Partial<RequestRecord> = {}): string =>
  auditLine({ ...RECORD, ...changes }, 'ResponseComplete', NOW);

describe('a line of the audit log', () => {
  it('is an event of audit.k8s.io/v1', () => {
    expect(JSON.parse(written())).toEqual({
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'Metadata',
      auditID: 'an-id',
      stage: 'ResponseComplete',
      requestURI: RECORD.path,
      verb: 'create',
      user: { username: 'ann', uid: '7', groups: ['dev', 'system:authenticated'], extra: { from: ['here'] } },
      sourceIPs: ['192.0.2.1'],
      userAgent: 'kubectl/v1.36.4',
      objectRef: {
        resource: 'serviceaccounts',
        namespace: 'ci',
        name: 'builder',
        apiVersion: 'v1',
        subresource: 'token',
      },
      responseStatus: { metadata: {}, code: 201 },
      requestReceivedTimestamp: '2026-01-02T03:04:05.676500Z',
      stageTimestamp: '2026-01-02T03:04:05.678000Z',
      annotations: {
        'authorization.k8s.io/decision': 'allow',
        'authorization.k8s.io/reason': 'RBAC: allowed by "a"',
        'clusterpass.dev/cluster': 'east',
        'authentication.kubernetes.io/issued-credential-id': 'JTI=x',
      },
    });
  });

  it('leaves out what is not known', () => {
    const nothing = {
      userInfo: undefined,
      target: undefined,
      decision: undefined,
      cluster: undefined,
      annotations: new Map(),
    };
    const event = JSON.parse(written({ ...nothing, clientAddress: '', userAgent: '', code: 0 }));
    expect(event).toMatchObject({ user: {}, annotations: {} });
    expect(event).not.toHaveProperty('sourceIPs');
    expect(event).not.toHaveProperty('userAgent');
    expect(event).not.toHaveProperty('objectRef');
    expect(event.responseStatus).toEqual({
      metadata: {},
      status: 'Failure',
      reason: 'ClientClosedRequest',
      code: 499,
    });
    expect(JSON.parse(written({ failure: 'Forbidden', code: 403 })).responseStatus).toEqual({
      metadata: {},
      status: 'Failure',
      reason: 'Forbidden',
      code: 403,
    });
  });

  it('says whatever a caller can send, in one line that moves no cursor', () => {
    const odd = fc.string({
      unit: fc.oneof(
        fc.constantFrom('"', '\\', '\n', '\u0000', '\u0085', '\u009b', '\u2028', '\u2029', '\ud800', 'ä', '😀'),
        fc.string({ unit: anyCharacter, minLength: 1, maxLength: 1 }),
      ),
      maxLength: 40,
    });
    // text.test.ts has the redaction of tokens.
    const text = odd.filter((value) => !/eyJ|bearer/i.test(value));
    fc.assert(
      fc.property(text, text, text, text, (a, b, c, d) => {
        const line = written({
          auditId: a,
          path: b,
          userInfo: { name: c, uid: d, groups: [a, b], extra: { [c]: [d] } },
          decision: { allowed: false, why: d },
          failure: b,
          cluster: c,
          annotations: new Map([[`x/${a}`, b]]),
        });
        // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
        expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
        const event = JSON.parse(line);
        expect(event).toMatchObject({ auditID: a, requestURI: b, responseStatus: { reason: b } });
        expect(event.user).toEqual({
          username: c,
          ...(d === '' ? {} : { uid: d }),
          groups: [a, b],
          extra: { [c]: [d] },
        });
        expect(event.annotations).toMatchObject({
          'authorization.k8s.io/decision': 'forbid',
          'authorization.k8s.io/reason': d,
          'clusterpass.dev/cluster': c,
          [`x/${a}`]: b,
        });
      }),
    );
  });

  it('A9: holds no token, wherever it came from', () => {
    const line = written({ path: '/x/eyJhbGciOi.eyJzdWIi.c2ln', userAgent: 'bearer abcdefgh12' });
    expect(line).not.toMatch(/eyJ|abcdefgh/);
  });
});

describe('A41: which log an event is in', () => {
  const rbac = { ...(RECORD.target as object), group: 'rbac.authorization.k8s.io', resource: 'roles', subresource: '' };
  const target = rbac as NonNullable<RequestRecord['target']>;
  const refusal = { allowed: false, why: '' };

  async function logOf(changes: Partial<RequestRecord>, call: 'ended' | 'beforeRelease' = 'ended'): Promise<string> {
    const found: string[] = [];
    const log = (name: string) => ({
      write: () => void found.push(name),
      commit: async () => void found.push(name),
    });
    await createAuditor({ requests: log('requests'), security: log('security') }, () => NOW)[call]({
      ...RECORD,
      target,
      ...changes,
    });
    return found.join();
  }

  it('a token, before it is released, and what follows', async () => {
    expect(await logOf({ target: RECORD.target }, 'beforeRelease')).toBe('security');
    expect(await logOf({ target: RECORD.target, auditedCode: 201, code: 504 })).toBe('security');
    expect(await logOf({ target: RECORD.target, auditedCode: 201, code: 201 })).toBe('');
  });

  it.each<[string, Partial<RequestRecord>, string]>([
    ['a change', {}, 'security'],
    ['a change with an unknown result', { code: 504 }, 'security'],
    ['a change whose client left', { code: 0 }, 'security'],
    ['a deletion', { target: { ...target, verb: 'deletecollection' } }, 'security'],
    ['a deletion that ended half-way', { target: { ...target, verb: 'deletecollection' }, code: 409 }, 'security'],
    ['a cluster', { target: { ...target, group: 'clusterregistry.k8s.io', resource: 'clusters' } }, 'security'],
    [
      'the status of a cluster',
      { target: { ...target, group: 'clusterregistry.k8s.io', resource: 'clusters', subresource: 'status' } },
      'requests',
    ],
    ['a key', { target: { ...target, group: 'clusterpass.dev', resource: 'signingkeys' } }, 'security'],
    ['a revocation', { target: { ...target, group: 'clusterpass.dev', resource: 'issuedtokens' } }, 'security'],
    ['a read', { target: { ...target, verb: 'get' } }, 'requests'],
    ['a dry run', { dryRun: true }, 'requests'],
    ['a change that was invalid', { code: 422 }, 'requests'],
    ['a change that was not permitted', { decision: refusal, code: 403 }, 'requests'],
    ['a change of a stranger who left', { decision: undefined, code: 0 }, 'requests'],
    ['a token request that failed', { target: RECORD.target, code: 503 }, 'requests'],
    ['an object', { target: { ...target, group: '', resource: 'serviceaccounts' } }, 'requests'],
    ['the same resource of another group', { target: { ...target, group: 'constructor' } }, 'requests'],
  ])('%s', async (_, changes, expected) => {
    expect(await logOf(changes)).toBe(expected);
  });

  it('little is kept of what a caller sends', () => {
    const long = 'a'.repeat(5_000);
    const sent = { path: `/${long}`, cluster: long, target: { ...target, name: long, namespace: long } };
    for (const code of [200, 403]) expect(written({ ...sent, code }).length).toBeLessThan(2_000);
  });

  it('an event names its object, however long the name is', () => {
    const name = 'a'.repeat(253);
    const event = JSON.parse(written({ code: 504, cluster: name, target: { ...target, name } }));
    expect([event.objectRef.name, event.annotations['clusterpass.dev/cluster']]).toEqual([name, name]);
  });
});
