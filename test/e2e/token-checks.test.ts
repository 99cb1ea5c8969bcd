import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { badRequest, type ExpectedStatus, expectStatus, notFound } from './support/expect-status.ts';
import { type Server, startServer } from './support/server.ts';
import { ASK, create, createAccount, createWorld, inNamespace, issue, post, tokenPath } from './support/token-world.ts';

/** What is refused, in which words, and in which order. */

let server: Server;
let uids: Awaited<ReturnType<typeof createWorld>>;

beforeAll(async () => {
  server = await startServer();
  uids = await createWorld(server);
});
afterAll(() => server.destroy());

const GROUP = 'authentication.k8s.io';
/** T-14: of what is wrong with the request itself, the name stays empty. */
const invalid = (causes: readonly (readonly [reason: string, field: string, message: string])[]): ExpectedStatus => {
  const texts = causes.map(([, field, message]) => `${field}: ${message}`);
  return {
    code: 422,
    reason: 'Invalid',
    message: `TokenRequest.${GROUP} "" is invalid: ${texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`}`,
    details: {
      group: GROUP,
      kind: 'TokenRequest',
      causes: causes.map(([reason, field, message]) => ({ reason, message, field })),
    },
  };
};

const tooShort = (seconds: number) =>
  [
    'FieldValueInvalid',
    'spec.expirationSeconds',
    `Invalid value: ${seconds}: may not specify a duration less than 10 minutes`,
  ] as const;
const tooLong = (seconds: number) =>
  [
    'FieldValueInvalid',
    'spec.expirationSeconds',
    `Invalid value: ${seconds}: may not specify a duration larger than 2^32 seconds`,
  ] as const;
const REQUIRED = ['FieldValueRequired', 'spec.audiences', 'Required value'] as const;
const audience = (index: number, value: string, problem: string) =>
  ['FieldValueInvalid', `spec.audiences[${index}]`, `Invalid value: ${value}: ${problem}`] as const;

const wrongName: ExpectedStatus = {
  code: 422,
  reason: 'Invalid',
  message: `TokenRequest.${GROUP} "builder" is invalid: metadata.name: Invalid value: "x": must match the service account name if specified`,
  details: {
    name: 'builder',
    group: GROUP,
    kind: 'TokenRequest',
    causes: [
      {
        reason: 'FieldValueInvalid',
        message: 'Invalid value: "x": must match the service account name if specified',
        field: 'metadata.name',
      },
    ],
  },
};
const wrongUid = (): ExpectedStatus => ({
  code: 409,
  reason: 'Conflict',
  message: `Operation cannot be fulfilled on TokenRequest.${GROUP} "builder": the UID in the token request (x) does not match the UID of the service account (${uids.builder})`,
  details: { name: 'builder', group: GROUP, kind: 'TokenRequest' },
});
const WRONG_NAMESPACE = badRequest(
  'the namespace of the provided object does not match the namespace sent on the request',
);

describe('C-A: metadata and existence', () => {
  it('T-12h: another namespace is 400', async () => {
    expectStatus(await post(server, { metadata: { namespace: 'shop' }, ...ASK }), WRONG_NAMESPACE);
  });

  it('T-12i: a missing namespace is named itself', async () => {
    expectStatus(await post(server, ASK, { path: tokenPath('builder', 'gone') }), notFound('namespaces', 'gone'));
  });

  it('a missing cluster is named itself', async () => {
    const answer = await post(server, ASK, { path: tokenPath('builder', 'ci', 'gone') });
    expectStatus(answer, notFound('clusters', 'gone', 'clusterregistry.k8s.io'));
  });

  it('T-12l: another name is 422', async () => {
    expectStatus(await post(server, { metadata: { name: 'x' }, ...ASK }), wrongName);
  });

  it('T-12n: a missing account is 404', async () => {
    expectStatus(await post(server, ASK, { path: tokenPath('nobody') }), notFound('serviceaccounts', 'nobody'));
  });

  it('M-01: a name that no account can have is just as missing', async () => {
    const answer = await post(server, ASK, { path: tokenPath('No_Body') });
    expectStatus(answer, notFound('serviceaccounts', 'No_Body'));
  });

  it('F-04: a name from the path can not end its own quotation', async () => {
    expectStatus(await post(server, ASK, { path: tokenPath('a%22%20b%C3%BC%E2%80%A8') }), {
      code: 404,
      reason: 'NotFound',
      message: 'serviceaccounts "a\\" b\u00fc\\u2028" not found',
      details: { name: 'a" b\u00fc\u2028', kind: 'serviceaccounts' },
    });
  });

  it('T-13: another uid is 409', async () => {
    expectStatus(await post(server, { metadata: { uid: 'x' }, ...ASK }), wrongUid());
  });

  it('T-34: an account on its way out can still be asked for', async () => {
    const metadata = { name: 'leaving', finalizers: ['example.com/wait'] };
    await create(server, inNamespace('serviceaccounts'), { metadata });
    expect((await server.call('DELETE', inNamespace('serviceaccounts/leaving'))).json.metadata).toHaveProperty(
      'deletionTimestamp',
    );
    const token = await issue(server, tokenPath('leaving'));
    expect((await server.call('GET', '/auth/v1/clusters', { token })).code, 'K-20: within the leeway').toBe(200);
  });

  it('T-12j: a namespace on its way out takes nothing new', async () => {
    const metadata = { name: 'leaving', finalizers: ['example.com/wait'] };
    await create(server, '/orchestrator/alpha/api/v1/namespaces', { metadata });
    await createAccount(server, 'builder', 'leaving');
    await server.call('DELETE', '/orchestrator/alpha/api/v1/namespaces/leaving');
    expectStatus(await post(server, ASK, { path: tokenPath('builder', 'leaving') }), {
      code: 403,
      reason: 'Forbidden',
      message:
        'serviceaccounts "builder" is forbidden: unable to create new content in namespace leaving because it is being terminated',
      details: {
        name: 'builder',
        kind: 'serviceaccounts',
        causes: [
          {
            reason: 'NamespaceTerminating',
            message: 'namespace leaving is being terminated',
            field: 'metadata.namespace',
          },
        ],
      },
    });
  });
});

describe('C-A: the spec', () => {
  const spec = (rest: object) => ({ spec: { audiences: [], ...rest } });
  it.each<[string, object, Parameters<typeof invalid>[0]]>([
    ['decision 2: no spec', {}, [REQUIRED]],
    ['decision 2: a spec of null', { spec: null }, [REQUIRED]],
    ['decision 2: no audiences', { spec: { expirationSeconds: 3600 } }, [REQUIRED]],
    ['C-A: an empty audience', { spec: { audiences: ['a', ''] } }, [audience(1, '""', 'must not be empty')]],
    ['C-A: null as an audience', { spec: { audiences: [null] } }, [audience(0, '""', 'must not be empty')]],
    [
      'C-A: 1,000 audiences',
      { spec: { audiences: Array.from({ length: 1000 }, (_, index) => `a${index}`) } },
      [['FieldValueTooMany', 'spec.audiences', 'Too many: 1000: must have at most 32 items']],
    ],
    [
      'C-A: CR, LF and NUL in audiences',
      { spec: { audiences: ['a\r\nb', '\0', '\u0085'] } },
      [
        audience(0, '"a\\r\\nb"', 'must not contain control characters'),
        audience(1, '"\\x00"', 'must not contain control characters'),
        audience(2, '"\\u0085"', 'must not contain control characters'),
      ],
    ],
    [
      'decision 2: 1,025 characters; the message shows no kilobyte of them',
      { spec: { audiences: ['x'.repeat(1025)] } },
      [audience(0, `"${'x'.repeat(64)}..."`, 'must be no more than 1024 characters')],
    ],
    [
      'a message never holds half a character',
      { spec: { audiences: [`x${'\u{1f600}'.repeat(1024)}`] } },
      [audience(0, `"x${'\u{1f600}'.repeat(63)}..."`, 'must be no more than 1024 characters')],
    ],
    ['T-14: 599', spec({ expirationSeconds: 599 }), [tooShort(599)]],
    ['T-26: 0 is not the default', spec({ expirationSeconds: 0 }), [tooShort(0)]],
    ['T-14: -1', spec({ expirationSeconds: -1 }), [tooShort(-1)]],
    ['T-15: 2^32 + 1', spec({ expirationSeconds: 4294967297 }), [tooLong(4294967297)]],
    ['F-06: two errors', { spec: { expirationSeconds: 1 } }, [REQUIRED, tooShort(1)]],
  ])('%s', async (_, body, causes) => {
    expectStatus(await post(server, body), invalid(causes));
  });

  it.each([
    ['9223372036854775807', tooLong(9007199254740991)],
    ['-9223372036854775808', tooShort(-9007199254740991)],
  ])('T-15: %s is out of range, and shown as the next number that is safe to show', async (digits, cause) => {
    const answer = await post(server, `{"spec":{"audiences":[],"expirationSeconds":${digits}}}`);
    expectStatus(answer, invalid([cause]));
  });
});

/** Each body has two faults; the first in the order of the checks is the one that is told. */
describe('T-12: the order of the checks', () => {
  const bad = { audiences: [], expirationSeconds: 1 };
  const badRef = { boundObjectRef: { kind: 'ConfigMap' } };
  it.each<[string, string, object | string, number, string]>([
    ['options before the body', `${tokenPath()}?dryRun=x`, '{', 422, 'CreateOptions.meta.k8s.io'],
    [
      'the body before the namespace in it',
      tokenPath(),
      { metadata: { namespace: 'x', labels: 1 } },
      400,
      'cannot unmarshal',
    ],
    [
      'the namespace in the body before that of the path',
      tokenPath('builder', 'gone'),
      { metadata: { namespace: 'x' } },
      400,
      'the namespace of',
    ],
    [
      'the cluster before the namespace',
      tokenPath('builder', 'gone', 'gone'),
      ASK,
      404,
      'clusters.clusterregistry.k8s.io "gone"',
    ],
    [
      'the namespace of the path before the name in the body',
      tokenPath('builder', 'gone'),
      { metadata: { name: 'x' } },
      404,
      'namespaces "gone"',
    ],
    ['the name in the body before the account', tokenPath('nobody'), { metadata: { name: 'x' } }, 422, 'metadata.name'],
    ['the account before its uid', tokenPath('nobody'), { metadata: { uid: 'x' } }, 404, 'serviceaccounts "nobody"'],
    ['the name before the uid', tokenPath(), { metadata: { name: 'x', uid: 'x' } }, 422, 'metadata.name'],
    [
      'the uid before the spec',
      tokenPath(),
      { metadata: { uid: 'x' }, spec: bad },
      409,
      'the UID in the token request',
    ],
    ['the spec before the bound object', tokenPath(), { spec: { ...bad, ...badRef } }, 422, 'less than 10 minutes'],
  ])('%s', async (_, path, body, code, words) => {
    const answer = await post(server, body, { path });
    expect(answer.code).toBe(code);
    expect(answer.json.message).toContain(words);
  });
});
