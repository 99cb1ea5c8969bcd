import { randomUUID } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import type { User } from '../../api/caller.ts';
import { createCatalog } from '../../api/catalog.ts';
import { encodeValue, toJson } from '../../api/codec/encode.ts';
import type { Decision } from '../../api/decision.ts';
import { type ApiObject, type Kind, kindPrefix, REGISTRY_PREFIX } from '../../api/kind.ts';
import { tokenRequestType } from '../../api/kinds/token-request.ts';
import type { ApiRequest } from '../../api/request.ts';
import { ApiError } from '../../api/status.ts';
import { lonelyWork } from '../../lib/work-queue.fixture.ts';
import { ObjectReader } from '../../objects/reader.ts';
import { StoredObject } from '../../objects/stored-object.ts';
import { createObjectWriter, type ObjectWriter } from '../../objects/writer.ts';
import { createLogger } from '../../observability/logger.ts';
import { Freshness } from '../../storage/freshness.ts';
import { Reflector } from '../../storage/reflector.ts';
import { openSqliteStore } from '../../storage/sqlite/sqlite-store.ts';
import { WatchCache } from '../../storage/watch-cache.ts';
import { createIssuers, type TokenClaims } from '../../tokens/claims.ts';
import { createTrackedTokens } from '../../tokens/revocations/tracked-tokens.ts';
import type { Signer } from '../../tokens/signer.ts';
import { createIssueToken, createTokenHandler } from './issue-token.ts';

/** The handler over a real store, with a fixed clock and a signer that records the claims. */

const catalog = createCatalog({ productName: 'orchestrator' });
const JTI = '2b1f7f0e-52a4-4f0a-9c37-3e1f0a2b4c5d';
const NOW = Date.UTC(2026, 7, 1, 12, 0, 0, 999);

const dir = await mkdtemp(join(tmpdir(), 'clusterpass-token-'));
const store = await openSqliteStore({
  file: join(dir, 'a.db'),
  logger: createLogger({ level: 'silent', write: () => {} }),
});
const caches = new Map<Kind, WatchCache<StoredObject>>(
  catalog.storedKinds.map((kind) => [
    kind,
    new WatchCache<StoredObject>({
      prefix: kindPrefix(kind),
      project: (stored) => new StoredObject(kind, stored, undefined),
      indexLabels: kind.indexLabels === true,
      windowSize: 100,
    }),
  ]),
);
const reflector = new Reflector<StoredObject>({
  store,
  prefix: REGISTRY_PREFIX,
  caches: [...caches.values()],
  historyRevisions: 100,
  delay: async () => {},
  onError: () => {},
  work: lonelyWork(),
});
const reader = new ObjectReader(reflector, caches, new Freshness({ store, parts: [reflector] }));
await reflector.start();
const writer = createObjectWriter({
  store,
  reader,
  catalog,
  now: () => NOW,
  randomUUID: randomUUID,
  randomSuffix: () => 'xxxxx',
  computedAnnotations: [],
});
const make = (kind: Kind, cluster: string, namespace: string, name: string) =>
  writer.create(kind, { cluster, namespace }, { metadata: { name } } as ApiObject, { dryRun: false });
await make(catalog.clusters, '', '', 'alpha');
await make(catalog.namespaces, 'alpha', '', 'ci');
await make(catalog.serviceAccounts, 'alpha', 'ci', 'builder');
afterAll(async () => {
  await reflector.stop();
  await store.close();
});

const { issuerFor, peopleIssuerFor, clusterOfIssuer, clusterOfPeopleIssuer } = createIssuers({
  baseUrl: 'https://pass.example',
  productName: 'orchestrator',
});
const NO_PEOPLE = { peopleIssuerOf: peopleIssuerFor, issuesOwnTokens: () => false, actorOf: () => undefined };
const MCP = 'https://pass.example/mcp';
const ISSUERS = { issuerOf: issuerFor, clusterOfIssuer, clusterOfPeopleIssuer, mcpAudience: MCP };

interface Outcome {
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
  readonly json: any;
  readonly text: string;
  readonly annotations: Map<string, string>;
  readonly warnings: string[];
}

interface Asked {
  /** The account. */
  readonly name?: string;
  readonly now?: number;
  readonly query?: string;
  readonly spec?: object;
  readonly annotations?: Record<string, string>;
  readonly metadata?: object | undefined;
  readonly create?: ObjectWriter['create'];
  readonly jti?: string;
  readonly user?: User;
  readonly requireRightClock?: () => void;
  readonly willAnswer?: ApiRequest['willAnswer'];
  readonly trackAll?: boolean;
  readonly permission?: Decision | undefined;
}

async function ask(signer: Signer, asked: Asked = {}): Promise<Outcome> {
  const { name = 'builder', now = NOW } = asked;
  const { query = '', spec = { audiences: [] }, jti = JTI, create = (...args) => writer.create(...args) } = asked;
  const metadata = 'metadata' in asked ? asked.metadata : { annotations: asked.annotations ?? {} };
  const annotations = new Map<string, string>();
  const warnings: string[] = [];
  const request = {
    target: { cluster: 'alpha', namespace: 'ci', name },
    permission: 'permission' in asked ? asked.permission : { allowed: true, reason: '' },
    query: new URLSearchParams(query),
    body: {
      bytes: Buffer.from(JSON.stringify({ metadata, spec })),
      mediaType: 'application/json',
    },
    caller: { as: () => asked.user ?? { name: 'jane', uid: 'u', groups: [], extra: {} } },
    warn: (text: string) => warnings.push(text),
    annotate: (key: string, value: string) => annotations.set(key, value),
    willAnswer: asked.willAnswer ?? (async () => {}),
    accept: { mediaType: 'application/json', as: 'object' },
  } as unknown as ApiRequest;
  const issueToken = createIssueToken({
    catalog,
    reader,
    productName: 'orchestrator',
    signer,
    requireRightClock: asked.requireRightClock ?? (() => {}),
    tracked: createTrackedTokens({ catalog, reader, writer: { create }, maxPerCaller: 2, now: () => NOW }),
    trackAll: asked.trackAll ?? false,
    forward: () => Promise.reject(new Error('not forwarded')),
    ...ISSUERS,
    authorizer: { decide: () => ({ allowed: false, reason: '' }) },
    actorClaim: () => undefined,
    ...NO_PEOPLE,
    maxExpirationSeconds: 7200,
    now: () => now,
    maxPerMinute: 0,
    randomUUID: () => jti,
  });
  const response = await createTokenHandler(issueToken)(request);
  if (response.type !== 'value') throw new Error('an object was expected');
  const { value, schema } = response;
  const text = schema === undefined ? toJson(value) : encodeValue(value, schema.shape, schema.style);
  return { json: JSON.parse(text), text, annotations, warnings };
}

function recorder(): { signer: Signer; signed: TokenClaims[] } {
  const signed: TokenClaims[] = [];
  const signer: Signer = {
    isLocal: true,
    check: () => ({}),
    async sign(claims) {
      if (!('kubernetes.io' in claims)) throw new Error('the pass of a person');
      signed.push(claims);
      return 'the-token';
    },
  };
  return { signer, signed };
}

describe('the answer', () => {
  test.each([
    ['for a request without metadata', undefined],
    ['for a request with metadata', { uid: '', name: 'builder' }],
  ])('F-12: is in the order of the schema, %s', async (_, metadata) => {
    const { text, json } = await ask(recorder().signer, { metadata, spec: { audiences: ['a<b', 'c'] } });
    const { shape, style } = tokenRequestType;
    expect(text).toBe(encodeValue(json, shape, style));
    expect(text).toContain('"audiences":["a\\u003cb","c"]');
  });
});

test('MC-43: a token for /mcp is for nothing else', async () => {
  const { signer, signed } = recorder();
  for (const audiences of [
    [MCP, 'vault'],
    ['https://pass.example/orchestrator/alpha', MCP],
  ]) {
    await expect(ask(signer, { spec: { audiences } })).rejects.toMatchObject({
      status: { code: 422, details: { causes: [{ field: `spec.audiences[${audiences.indexOf(MCP)}]` }] } },
    });
  }
  await ask(signer, { spec: { audiences: [MCP, MCP] } });
  expect(signed.map(({ aud }) => aud)).toEqual([[MCP]]);
});

test('a request that was not authorized gets no token', async () => {
  const { signer, signed } = recorder();
  for (const permission of [undefined, { allowed: false, reason: '' }]) {
    await expect(ask(signer, { permission })).rejects.toThrow('was not authorized');
  }
  expect(signed).toEqual([]);
});

describe('time', () => {
  test.each(['', 'dryRun=All'])(
    'B13: while the clock is wrong nothing is signed and nothing predicted (%s)',
    async (query) => {
      const { signer, signed } = recorder();
      const requireRightClock = () => {
        throw new ApiError(503, 'ServiceUnavailable', 'the clock is wrong');
      };
      await expect(ask(signer, { query, requireRightClock })).rejects.toThrow('the clock is wrong');
      // Errors of the request come first: trying again later would not help.
      const spec = { audiences: [], expirationSeconds: 1 };
      await expect(ask(signer, { query, spec, requireRightClock })).rejects.toMatchObject({ status: { code: 422 } });
      expect(signed).toEqual([]);
    },
  );

  test('B10, T-10: the answer and the token agree to the second, whatever the milliseconds', async () => {
    const { signer, signed } = recorder();
    const { json } = await ask(signer, { spec: { audiences: [], expirationSeconds: 600 } });
    const second = Math.floor(NOW / 1000);
    expect(signed).toMatchObject([{ iat: second, nbf: second, exp: second + 600, jti: JTI }]);
    expect(json.metadata.creationTimestamp).toBe('2026-08-01T12:00:00Z');
    expect(json.status).toEqual({ token: 'the-token', expirationTimestamp: '2026-08-01T12:10:00Z' });
  });

  test('T-27: nothing longer than the maximum is ever signed', async () => {
    const { signer, signed } = recorder();
    const { warnings } = await ask(signer, { spec: { audiences: [], expirationSeconds: 2 ** 32 } });
    expect(signed.map(({ iat, exp }) => exp - iat)).toEqual([7200]);
    expect(warnings).toEqual(['requested expiration of 4294967296 seconds shortened to 7200 seconds']);
  });
});

test('T-12k, T-16: no admission plugin: a node gets an unbound token like any other caller', async () => {
  const user = { name: 'system:node:n1', uid: 'u', groups: ['system:nodes'], extra: {} };
  const { json } = await ask(recorder().signer, { user, spec: { audiences: ['a', 'b'] } });
  expect(json.spec).toEqual({ audiences: ['a', 'b'], expirationSeconds: 3600, boundObjectRef: null });
  expect(json.status.token).toBe('the-token');
});

describe('A4, K-20: what waits for its finalizers after its deletion', () => {
  const LEEWAY_MS = 60_000;
  const REFUSED = { status: { code: 403, message: expect.stringContaining('was deleted') } };
  const deleted = async (kind: Kind, name: string): Promise<void> => {
    const metadata = { name, finalizers: ['example.com/wait'] };
    const object = { metadata, ...(kind === catalog.pods ? { spec: { serviceAccountName: 'builder' } } : {}) };
    const key = { cluster: 'alpha', namespace: 'ci' };
    await writer.create(kind, key, object as unknown as ApiObject, { dryRun: false });
    await writer.remove(kind, { ...key, name }, { dryRun: false });
  };

  test.each(['', 'dryRun=All'])('T-34: an account gets no token that would be refused here (%s)', async (query) => {
    const name = `leaving${query === '' ? '' : '-dry'}`;
    await deleted(catalog.serviceAccounts, name);
    const { signer, signed } = recorder();
    await ask(signer, { name, query, now: NOW + LEEWAY_MS - 999 });
    signed.length = 0;
    await expect(ask(signer, { name, query, now: NOW + LEEWAY_MS + 1 })).rejects.toMatchObject(REFUSED);
    expect(signed).toEqual([]);
  });

  test.each(['Pod', 'Secret'])('no token is bound to a %s that would make it invalid', async (kind) => {
    await deleted(kind === 'Pod' ? catalog.pods : catalog.secrets, 'leaving');
    const spec = { audiences: [], boundObjectRef: { kind, name: 'leaving' } };
    const { signer, signed } = recorder();
    await ask(signer, { spec, now: NOW + LEEWAY_MS - 999 });
    signed.length = 0;
    await expect(ask(signer, { spec, now: NOW + LEEWAY_MS + 1 })).rejects.toMatchObject(REFUSED);
    expect(signed).toEqual([]);
  });
});

describe('signing', () => {
  test('the audit event names the id of the credential, never the credential', async () => {
    const { annotations } = await ask(recorder().signer);
    expect([...annotations]).toEqual([['authentication.kubernetes.io/issued-credential-id', `JTI=${JTI}`]]);
  });

  test('decision 3: a dry run signs nothing', async () => {
    const { signer, signed } = recorder();
    const { json, annotations } = await ask(signer, { query: 'dryRun=All' });
    expect(signed).toEqual([]);
    expect(annotations.size).toBe(0);
    expect(json.status).toEqual({ token: '', expirationTimestamp: '2026-08-01T13:00:00Z' });
  });

  test('T-25: a failure is a 500 without its cause', async () => {
    const cause = new Error('/data/keys/es256.pem is gone');
    const failing: Signer = { isLocal: true, check: () => ({}), sign: () => Promise.reject(cause) };
    const error = (await ask(failing).catch((thrown: unknown) => thrown)) as ApiError;
    expect(error.status).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'Internal error occurred: failed to generate token',
      reason: 'InternalError',
      details: { causes: [{ message: 'failed to generate token' }] },
      code: 500,
    });
    expect(error.cause).toBe(cause);
  });
});

describe('a signature that the audiences cannot have', () => {
  test('is refused before a dry run succeeds, and names the field', async () => {
    const signer: Signer = { ...recorder().signer, check: () => ({ problem: 'they take two algorithms' }) };
    const refused = ask(signer, { query: 'dryRun=All', spec: { audiences: ['a', 'b'] } });
    const error = await refused.catch((thrown: unknown) => thrown as ApiError);
    if (!(error instanceof ApiError)) throw new Error('an error was expected');
    expect(error.status).toMatchObject({
      code: 422,
      details: {
        causes: [{ field: 'spec.audiences', message: 'Invalid value: ["a","b"]: they take two algorithms' }],
      },
    });
  });

  test('is a warning while a new algorithm does not sign', async () => {
    const signer: Signer = { ...recorder().signer, check: () => ({ warning: 'signed with ES256' }) };
    expect((await ask(signer)).warnings).toEqual(['signed with ES256']);
  });
});

describe('A9: the audit event', () => {
  const steps: string[] = [];
  const willAnswer = async (code: number) => void steps.push(`${code} to be written`);
  const signer: Signer = {
    isLocal: true,
    check: () => ({}),
    sign: async () => {
      steps.push('to be signed');
      return 'the-token';
    },
  };
  beforeEach(() => {
    steps.length = 0;
  });

  test('is written while the token is signed', async () => {
    await ask(signer, { willAnswer });
    expect(steps).toEqual(['201 to be written', 'to be signed']);
  });

  test('is not written before the request can no longer fail', async () => {
    const create = () => Promise.reject(new Error('the disk is full'));
    const tracked = { annotations: { 'clusterpass.dev/tracked': 'true' }, create };
    await expect(ask(signer, { willAnswer, ...tracked })).rejects.toThrow('the disk is full');
    await expect(ask(signer, { willAnswer, spec: { audiences: [], expirationSeconds: 1 } })).rejects.toThrow(
      'may not specify a duration',
    );
    expect(steps.splice(0)).toEqual(['to be signed']);
    await ask({ ...signer, isLocal: false }, { willAnswer });
    expect(steps).toEqual(['to be signed', '201 to be written']);
  });

  const zoe = { name: 'zoe', uid: 'z', groups: [], extra: {} };
  const tracked = { annotations: { 'clusterpass.dev/tracked': 'true' }, user: zoe };

  test.each<Asked>([{}, { query: 'dryRun=All' }, { ...tracked, jti: '2b1f7f0e-52a4-4f0a-9c37-0000000000aa' }])(
    'without it there is no answer: %j',
    async (asked) => {
      const failing = () => Promise.reject(new ApiError(503, 'ServiceUnavailable', 'the disk is full'));
      await expect(ask(signer, { ...asked, willAnswer: failing })).rejects.toThrow('the disk is full');
    },
  );
});

describe('a tracked pass', () => {
  const annotations = { 'clusterpass.dev/tracked': 'true' };
  const recorded = (jti: string) => reader.find(catalog.issuedTokens, { cluster: '', namespace: '', name: jti });
  const idOf = (last: number): string => `2b1f7f0e-52a4-4f0a-9c37-00000000000${last}`;

  test('A9: is released when its record is durable, and not before', async () => {
    const steps: string[] = [];
    const signer: Signer = {
      isLocal: true,
      check: () => ({}),
      sign: async () => {
        steps.push('signed');
        return 'the-token';
      },
    };
    const create: ObjectWriter['create'] = async (...args) => {
      const object = await writer.create(...args);
      steps.push('recorded');
      return object;
    };
    const jti = idOf(1);
    const outcome = ask(signer, { annotations, create, jti }).then(({ json }) => {
      steps.push('released');
      return json;
    });
    expect((await outcome).status.token).toBe('the-token');
    expect(steps).toEqual(['signed', 'recorded', 'released']);
    const record = recorded(jti)?.object();
    expect(record?.spec).toEqual({
      cluster: 'alpha',
      serviceAccount: { namespace: 'ci', name: 'builder', uid: expect.any(String) },
      audiences: ['https://pass.example/orchestrator/alpha'],
      requestedBy: { username: 'jane', uid: 'u' },
      issuedTimestamp: '2026-08-01T12:00:00Z',
      expirationTimestamp: '2026-08-01T13:00:00Z',
    });
    expect(JSON.stringify(record)).not.toContain('the-token');
  });

  test('A9: is not released when the record cannot be written', async () => {
    const create = () => Promise.reject(new Error('the disk is full'));
    await expect(ask(recorder().signer, { annotations, create, jti: idOf(2) })).rejects.toThrow('the disk is full');
    expect(recorded(idOf(2))).toBeUndefined();
  });

  test('leaves no record of a dry run, nor of one that could not be signed', async () => {
    await ask(recorder().signer, { annotations, query: 'dryRun=All', jti: idOf(3) });
    const failing: Signer = { isLocal: true, check: () => ({}), sign: () => Promise.reject(new Error('no key')) };
    await expect(ask(failing, { annotations, jti: idOf(3) })).rejects.toThrow('failed to generate token');
    expect(recorded(idOf(3))).toBeUndefined();
  });

  test('A44: is every token with --track-all-tokens', async () => {
    const user = { name: 'joe', uid: 'j', groups: [], extra: {} };
    const all = { trackAll: true, user, create: writer.create.bind(writer) };
    await ask(recorder().signer, { ...all, jti: idOf(6) });
    await ask(recorder().signer, { ...all, jti: idOf(7), annotations: { 'clusterpass.dev/tracked': 'false' } });
    expect([recorded(idOf(6)), recorded(idOf(7))].every((record) => record !== undefined)).toBe(true);
    const { signer, signed } = recorder();
    await expect(ask(signer, { ...all, jti: idOf(8) })).rejects.toThrow(
      /: use fewer, or wait until \S* when the first/,
    );
    expect(signed).toEqual([]);
  });

  test('is refused to a caller who has as many as one may have', async () => {
    await ask(recorder().signer, { annotations, jti: idOf(4) });
    const { signer, signed } = recorder();
    const error = (await ask(signer, { annotations, jti: idOf(5) }).catch((thrown: unknown) => thrown)) as ApiError;
    expect(error.status).toMatchObject({
      code: 429,
      reason: 'TooManyRequests',
      details: { causes: [{ message: 'trackedTokens' }, { field: 'metadata.annotations[clusterpass.dev/tracked]' }] },
    });
    expect(error.message).toBe(
      'User "jane" has 2 tracked passes, revoked ones included, the most that one caller may have: ask for one that is ' +
        'not tracked, or wait until 2026-08-01T13:00:00Z when the first of them ends ' +
        '(quota trackedTokens, set by --max-tracked-tokens-per-caller)',
    );
    expect(signed).toEqual([]);
    expect((await ask(signer, { jti: idOf(5) })).json.status.token).toBe('the-token');
  });
});
