import { expect, it } from 'vitest';
import { bootstrapToken, bootstrapTokenDigest } from '../../src/api/bootstrap-credential.ts';
import type { Caller } from '../../src/api/caller.ts';
import { type ApiObject, storageKey } from '../../src/api/kind.ts';
import { bootstrapStatus } from '../../src/api/kinds/bootstrap-token.ts';
import type { ApiRequest } from '../../src/api/request.ts';
import { unavailable } from '../../src/api/status.ts';
import { createBootstrapTokenAuthenticator } from '../../src/authn/bootstrap-token-authenticator.ts';
import { Fleet, person } from '../../src/authz/policy/rbac.fixture.ts';
import { createTokenCompletion } from '../../src/handlers/join/complete-token.ts';
import { createJoinHandler } from '../../src/handlers/join/join-cluster.ts';
import { createViews } from '../../src/handlers/views.ts';
import type { ObjectReader } from '../../src/objects/reader.ts';
import { Secret } from '../../src/observability/secret.ts';
import { StorageError } from '../../src/storage/contract.ts';
import { newDatabase } from '../../src/storage/sqlite/test-store.fixture.ts';
import { apiRequest } from './api-request.ts';
import { at, catalog, make, type Objects, object, openObjects } from './object-store.ts';

/** Other writes between the steps of a registration with a bootstrap token, in a real database. */

const TOKENS = catalog.bootstrapTokens;
const TOKEN = at('', '', 'edge');
const CLUSTER = at('', '', 'edge-1');
const TOKEN_KEY = storageKey(TOKENS, TOKEN);
const CLUSTER_KEY = storageKey(catalog.clusters, CLUSTER);

interface JoinOptions {
  readonly name?: string;
  readonly dryRun?: boolean;
}

interface World extends Objects {
  /** Runs once, before the next write of this key, which then goes on. */
  before(key: string, run: () => Promise<unknown>): void;
  /** A token of the same name, with another secret. */
  replace(createdBy?: object): Promise<void>;
  status(): object;
  /** The caller of the present token. */
  authenticate(): Caller;
  join(caller: Caller, options?: JoinOptions): Promise<number>;
  /** The whole answer, or the Status of the error. */
  answer(caller: Caller, options?: JoinOptions): Promise<object>;
}

async function openWorld(): Promise<World> {
  let hook: { key: string; run: () => Promise<unknown> } | undefined;
  const objects = await openObjects(newDatabase(), async (write, next) => {
    const { key, run } = hook ?? {};
    if (write.key === key) {
      hook = undefined;
      await run?.();
    }
    return next();
  });
  const { reader, writer } = objects;
  let secret = 0;
  const textOf = (): string => bootstrapToken(TOKEN.name, Buffer.alloc(32, secret));
  const find = () => reader.find(TOKENS, TOKEN)?.object();
  const { authenticateToken } = createBootstrapTokenAuthenticator({ find, now: Date.now });
  const parts = {
    catalog,
    reader,
    views: createViews(catalog, new Fleet().policy, () => 0),
    publicView: (whole: ApiObject) => whole,
    productName: 'orchestrator',
    checkJoin: () => undefined,
    tellNames: () => undefined,
    verifyConnector: () => Promise.reject(new Error('no connector registers here')),
    requireRightClock: () => {},
    now: Date.now,
  };
  /** Each request at another process. */
  const handle = (request: ApiRequest) => createJoinHandler({ ...parts, writer: objects.otherWriter() })(request);
  const create = async (createdBy: object = { username: 'jane' }): Promise<void> => {
    secret += 1;
    const spec = {
      tokenDigest: bootstrapTokenDigest(textOf()),
      namePattern: 'edge-*',
      expirationTimestamp: new Date(Date.now() + 60_000).toISOString(),
      createdBy,
    };
    await writer.create(TOKENS, TOKEN, { ...object({ name: TOKEN.name }), spec }, { dryRun: false });
  };
  await create();
  return {
    ...objects,
    before: (key, run) => {
      hook = { key, run };
    },
    replace: async (createdBy) => {
      await objects.otherWriter().remove(TOKENS, TOKEN, { dryRun: false });
      await create(createdBy);
    },
    status: () => bootstrapStatus(find() ?? object()),
    authenticate: () => authenticateToken(new Secret(textOf())) as Caller,
    join: async (caller, options) => (await handle(requestOf(caller, options)).catch((error) => error.status)).code,
    answer: (caller, options) => handle(requestOf(caller, options)).catch((error) => error.status),
  };
}

function requestOf(caller: Caller, { name = CLUSTER.name, dryRun = false }: JoinOptions = {}): ApiRequest {
  const { group, version, kind } = catalog.clusters;
  const tokens = { group: TOKENS.group, version: TOKENS.version, resource: TOKENS.resource };
  return apiRequest({
    caller,
    target: { verb: 'create', ...tokens, subresource: 'cluster', name: TOKEN.name },
    query: new URLSearchParams(dryRun ? { dryRun: 'All' } : {}),
    body: { apiVersion: `${group}/${version}`, kind, metadata: { name } },
  });
}

/** The answer without the values that differ from one request to the next. */
function withoutStamp({ value, schema: _, ...rest }: { value?: unknown; schema?: unknown }): { value: unknown } {
  const text = JSON.stringify(value)
    .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UID')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:]+Z/g, 'TIME');
  return { ...rest, value: JSON.parse(text) };
}

it('A49: a dry run does not tell whether the name is taken, and spends nothing', async () => {
  const world = await openWorld();
  const { answer, authenticate, join, status } = world;
  const free = await answer(authenticate(), { dryRun: true });
  expect([free, status()]).toEqual([expect.objectContaining({ code: 201 }), {}]);
  await make(world, catalog.clusters, CLUSTER);
  const taken = await answer(authenticate(), { dryRun: true });
  expect(withoutStamp(taken)).toEqual(withoutStamp(free));
  expect(withoutStamp(free).value).toMatchObject({ metadata: { uid: 'UID', creationTimestamp: 'TIME' } });
  expect(status()).toEqual({});
  expect(await join(authenticate(), { name: 'edge-2' })).toBe(201);
});

it('A49: a token learns that a name is taken by using itself for that name', async () => {
  const world = await openWorld();
  const { authenticate, join, status, writer } = world;
  await make(world, catalog.clusters, CLUSTER);
  expect([await join(authenticate()), await join(authenticate())]).toEqual([409, 409]);
  expect(status()).toMatchObject({ cluster: CLUSTER.name });
  expect(await join(authenticate(), { name: 'edge-2' })).toBe(409);
  await writer.remove(catalog.clusters, CLUSTER, { dryRun: false, onlyIfEmpty: true });
  expect([await join(authenticate()), await join(authenticate())]).toEqual([201, 200]);
});

it('A49: a token that is replaced by another of its name does not use the other one', async () => {
  const { authenticate, join, keys, replace, status } = await openWorld();
  const old = authenticate();
  await replace();
  expect([await join(old), status()]).toEqual([409, {}]);
  expect(await keys()).not.toContain(CLUSTER_KEY);
  expect(await join(authenticate())).toBe(201);
});

it.each([
  ['is used', TOKEN_KEY, 409],
  ['creates the cluster', CLUSTER_KEY, 409],
])('a token that is replaced when it %s spends nothing of the other one', async (_, key, code) => {
  const { authenticate, before, join, replace, status } = await openWorld();
  before(key, () => replace());
  expect([await join(authenticate()), status()]).toEqual([code, {}]);
});

it('a token that is replaced when its cluster exists does not mark the other one as done', async () => {
  const { authenticate, before, join, replace, status } = await openWorld();
  before(CLUSTER_KEY, async () => before(TOKEN_KEY, () => replace()));
  expect([await join(authenticate()), status()]).toEqual([201, {}]);
});

it('A49: a crash before the token is marked as done: repeating the request marks it, a dry run does not', async () => {
  const { authenticate, before, join, keys, status, writer } = await openWorld();
  const crash = async () => {
    throw new StorageError('unavailable', 'the disk is full');
  };
  before(CLUSTER_KEY, async () => before(TOKEN_KEY, crash));
  expect([await join(authenticate()), await keys()]).toEqual([503, expect.arrayContaining([CLUSTER_KEY])]);
  expect([await join(authenticate(), { dryRun: true }), status()]).toEqual([
    200,
    expect.not.objectContaining({ registeredTimestamp: expect.anything() }),
  ]);
  expect([await join(authenticate()), status()]).toEqual([
    200,
    expect.objectContaining({ registeredTimestamp: expect.any(String) }),
  ]);
  await writer.remove(catalog.clusters, CLUSTER, { dryRun: false, onlyIfEmpty: true });
  expect(await join(authenticate())).toBe(409);
});

/** No quota is asked for. */
const NO_READER = {} as ObjectReader;

it('A49: a token is created by its creator, not by a caller who impersonates one', () => {
  const parts = { catalog, reader: NO_READER, checkJoin: () => undefined, now: Date.now };
  const complete = createTokenCompletion({ ...parts, requireRightClock: () => {} }, 10);
  const [jane, max] = [person('jane'), person('max')];
  const derive = (caller: Caller) =>
    complete({ caller, annotate: () => {} } as unknown as ApiRequest, TOKENS)?.derive(object({ name: 'x' }));
  expect(derive(jane)?.spec).toMatchObject({ createdBy: { username: 'jane' } });
  expect(() => derive({ ...jane, impersonator: max })).toThrow('a caller who impersonates creates no bootstrap tokens');
});

it('B13: no token is created while the clock is wrong: its expiry would be too late', () => {
  const requireRightClock = () => {
    throw unavailable('the clock is ahead', 5);
  };
  const parts = { catalog, reader: NO_READER, checkJoin: () => undefined, now: Date.now };
  const complete = createTokenCompletion({ ...parts, requireRightClock }, 10);
  const request = { caller: person('jane'), annotate: () => {} } as unknown as ApiRequest;
  expect(() => complete(request, TOKENS)?.derive(object({ name: 'x' }))).toThrow('the clock is ahead');
  expect(complete(request, catalog.clusters)).toBeUndefined();
});

it('of two requests at the same time, the second does not register the cluster again after its deletion', async () => {
  const { authenticate, before, join, keys, writer } = await openWorld();
  const caller = authenticate();
  before(TOKEN_KEY, async () => {
    expect(await join(caller)).toBe(201);
    await writer.remove(catalog.clusters, CLUSTER, { dryRun: false, onlyIfEmpty: true });
  });
  expect(await join(caller)).toBe(409);
  expect(await keys()).not.toContain(CLUSTER_KEY);
});

it('a token of a service account ends with the account, also if there is another of its name', async () => {
  const world = await openWorld();
  const { authenticate, join, replace, writer } = world;
  const account = at('home', 'ci', 'registrar');
  await make(world, catalog.clusters, at('', '', 'home'));
  await make(world, catalog.namespaces, at('home', '', 'ci'));
  const { uid } = (await make(world, catalog.serviceAccounts, account)).metadata;
  await replace({ username: 'system:cluster:home:serviceaccount:ci:registrar', uid });
  const caller = authenticate();
  await writer.remove(catalog.serviceAccounts, account, { dryRun: false });
  expect(await join(caller)).toBe(403);
  await writer.create(catalog.serviceAccounts, account, object({ name: account.name }), { dryRun: false });
  expect(await join(caller)).toBe(403);
  await writer.remove(catalog.serviceAccounts, account, { dryRun: false });
  await writer.create(catalog.serviceAccounts, account, object({ name: account.name }), { dryRun: false, uid });
  expect(await join(caller)).toBe(201);
});
