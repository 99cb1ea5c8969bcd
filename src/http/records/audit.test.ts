import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { auditLine } from './audit.ts';
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
        fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
      ),
      maxLength: 40,
    });
    // safe-line.test.ts has the redaction of tokens.
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
