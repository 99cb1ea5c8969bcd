import { randomUUID } from 'node:crypto';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { User } from '../../src/api/caller.ts';
import { REQUESTER_LABEL } from '../../src/api/kinds/issued-token.ts';
import type { ApiRequest } from '../../src/api/request.ts';
import { ApiError } from '../../src/api/status.ts';
import { Fleet } from '../../src/authz/policy/rbac.fixture.ts';
import { issuedTokenVerbs } from '../../src/handlers/issued-tokens/issued-token-verbs.ts';
import { createViews } from '../../src/handlers/views.ts';
import { toTimestamp } from '../../src/lib/utc-second.ts';
import { createLogger } from '../../src/observability/logger.ts';
import { LEADER_KEY, type Store } from '../../src/storage/contract.ts';
import { openTestStore } from '../../src/storage/sqlite/test-store.fixture.ts';
import { buildClaims } from '../../src/tokens/claims.ts';
import { createRevocations, recordLongestLifetime } from '../../src/tokens/revocations/revocations.ts';
import { createSweep, obsoleteRecords, openTokenRecords } from '../../src/tokens/revocations/token-records.ts';
import { createTrackedTokens, requesterId } from '../../src/tokens/revocations/tracked-tokens.ts';
import { at, catalog, openReplica } from './object-store.ts';

/** Records of tokens, in a real database that several replicas share. */

const JANE: User = { name: 'jane', uid: 'u-1', groups: ['a'], extra: {} };
const person = (user: User) => ({ as: () => user, home: undefined });
const START = Date.UTC(2026, 7, 1, 12);
const HOUR = 3_600_000;

interface Program extends Awaited<ReturnType<typeof start>> {}

async function start(store: Store, { max = 3600, perCaller = 3 } = {}) {
  const clock: { now: number; removal?: number } = { now: START };
  const now = () => clock.now;
  const replica = await openReplica(store, now);
  onTestFinished(replica.stop);
  const { reader, writer } = replica;
  const longestLifetime = await recordLongestLifetime(store, max);
  const revocations = createRevocations({ catalog, reader, writer, longestLifetime, maxPerCaller: perCaller, now });
  const kinds = [catalog.issuedTokens, catalog.revokedTokens];
  const recordOf = (jti: string) => reader.find(catalog.revokedTokens, at('', '', jti))?.object().spec;
  return {
    ...replica,
    clock,
    revocations,
    recordOf,
    tracked: createTrackedTokens({ catalog, reader, writer, maxPerCaller: perCaller, now }),
    sweep: createSweep({
      kinds,
      reader,
      store,
      isObsolete: obsoleteRecords(catalog, revocations),
      removalTime: () => clock.removal ?? clock.now,
      longestLifetime,
    }),
    longestLifetime,
  };
}

const keys = async (store: Store): Promise<string[]> =>
  (await store.list({ prefix: '/registry/' })).items.map(({ key }) => key.replace('/registry/', ''));

const claimsOf = (jti: string, expirationSeconds = 3600) =>
  buildClaims({
    issuer: 'https://pass.example/orchestrator/alpha',
    audiences: ['vault'],
    namespace: 'ci',
    serviceAccount: { name: 'builder', uid: 'u' },
    secret: { name: 'tls', uid: 's' },
    expirationSeconds,
    now: START,
    randomUUID: () => jti,
  });

async function track({ tracked }: Program, jti = randomUUID(), user = JANE): Promise<string> {
  await tracked.requireRoom(person(user), false)('alpha', claimsOf(jti));
  return jti;
}

// On a busy machine a second may pass, but hardly three times in a row.
const TIMED = { retry: 2 };

it('A18: a revocation made by one program holds in another within a second, and after a restart', TIMED, async () => {
  const store = await openTestStore();
  const [one, other] = [await start(store), await start(store)];
  const jti = randomUUID();
  expect(other.revocations.isRevoked(jti)).toBe(false);
  await one.revocations.revoke(jti, JANE, START + HOUR);
  expect(one.revocations.isRevoked(jti)).toBe(true);
  await vi.waitFor(() => expect(other.revocations.isRevoked(jti)).toBe(true), { timeout: 60_000, interval: 5 });
  await Promise.all([one.stop(), other.stop()]);
  const later = await start(store);
  expect(later.revocations.isRevoked(jti)).toBe(true);
});

it.each(['', '{"metadata":', '{}', '{"metadata":{}}', '{"metadata":5}', '{"metadata":{"name":"x"},"spec":"x"}'])(
  'A18: a revocation whose value was damaged holds, and is not removed: %j',
  async (damaged) => {
    const store = await openTestStore();
    const program = await start(store);
    const jti = randomUUID();
    await program.revocations.revoke(jti, JANE, START + HOUR);
    const key = `/registry/revokedtokens/${jti}`;
    const { modRevision = 0 } = (await store.get(key)) ?? {};
    await store.write({ key, value: Buffer.from(damaged), expect: { modRevision } });
    await program.reader.catchUp();
    expect(program.revocations.isRevoked(jti)).toBe(true);
    await program.stop();
    const later = await start(store);
    expect(later.revocations.isRevoked(jti)).toBe(true);
    // Nothing says when its token expires.
    later.clock.now = START + 72 * HOUR;
    await later.sweep();
    await later.reader.catchUp();
    expect(later.revocations.isRevoked(jti)).toBe(true);
    await later.revocations.revoke(jti, JANE, START + HOUR);
    expect(later.revocations.isRevoked(jti)).toBe(true);
  },
);

/** The code of the DELETE of an issued token by jane, who has no rule that allows it. */
async function revokeAsRequester({ clock, reader, revocations }: Program, jti: string): Promise<number> {
  const refusalOf = () => new ApiError(403, 'Forbidden', '');
  const views = createViews(
    catalog,
    new Fleet().policy,
    () => 0,
    () => clock.now,
  );
  const verbs = issuedTokenVerbs({ kind: catalog.issuedTokens, reader, revocations, views, refusalOf });
  const request = {
    caller: person(JANE),
    target: { name: jti },
    query: new URLSearchParams(),
    annotate: () => {},
  };
  const answer = verbs.get(catalog.issuedTokens)?.delete?.(request as unknown as ApiRequest);
  return Promise.resolve(answer).then(
    (answered) => (answered as { code: number }).code,
    (error) => error.status.code,
  );
}

// The clock may be ahead, and the token still accepted elsewhere.
it('A18: a requester revokes a token after its end by the clock of this server', async () => {
  const store = await openTestStore();
  const program = await start(store);
  const jti = await track(program);
  program.clock.now = START + 2 * HOUR;
  expect([await revokeAsRequester(program, jti), program.revocations.isRevoked(jti)]).toEqual([200, true]);
  expect(program.recordOf(jti)).toMatchObject({ expirationTimestamp: '2026-08-01T13:05:00Z' });
});

it('A18: a requester revokes a token whose record has an invalid expiry', async () => {
  const store = await openTestStore();
  const program = await start(store);
  const jti = await track(program);
  const key = `/registry/issuedtokens/${jti}`;
  const { value, modRevision } = (await store.get(key)) ?? { value: Buffer.from(''), modRevision: 0 };
  const damaged = Buffer.from(String(Buffer.from(value)).replace('"2026-08-01T13:00:00Z"', '"damaged"'));
  await store.write({ key, value: damaged, expect: { modRevision } });
  expect([await revokeAsRequester(program, jti), program.revocations.isRevoked(jti)]).toEqual([200, true]);
  expect(program.recordOf(jti)).toMatchObject({ expirationTimestamp: '2026-08-01T13:05:00Z' });
});

/** With a timer that the test controls: `sweep` resolves when a round has ended. */
async function openRecords(
  { reader, writer }: Program,
  { store, leads }: { store: Pick<Store, 'get' | 'write'>; leads: boolean },
) {
  const lines: string[] = [];
  let tick = (): void => {};
  const records = await openTokenRecords({
    catalog,
    reader,
    writer,
    store,
    maxTokenExpirationSeconds: 3600,
    maxTrackedTokensPerCaller: 3,
    maxRevocationsPerCaller: 3,
    leadership: { leads: () => leads, fence: () => undefined },
    now: () => START,
    removalTime: () => START,
    every: (_ms, act) => {
      tick = act;
      return () => {};
    },
    logger: createLogger({ level: 'warn', write: (line) => lines.push(JSON.parse(line).msg) }),
  });
  const sweep = async (): Promise<void> => {
    tick();
    await records.close();
  };
  return { lines, sweep };
}

it('the leader removes the record of a revoked token, and never the revocation', async () => {
  const store = await openTestStore();
  const program = await start(store);
  const jti = randomUUID();
  await program.revocations.revoke(jti, JANE, START + HOUR);
  // As after a crash, or where the record was written late.
  await track(program, jti);
  const sweepAs = async (leads: boolean): Promise<string[]> => {
    const { lines, sweep } = await openRecords(program, { store, leads });
    await sweep();
    expect(lines).toEqual([]);
    return keys(store);
  };
  expect(await sweepAs(false)).toEqual([`issuedtokens/${jti}`, `revokedtokens/${jti}`]);
  expect(await sweepAs(true)).toEqual([`revokedtokens/${jti}`]);
});

it('the leader revokes the token of a binding that was deleted by other means than a request', async () => {
  const store = await openTestStore();
  const program = await start(store);
  const kind = catalog.fleetRoleBindings;
  const spec = {
    subjects: [{ kind: 'User', name: 'jane' }],
    roleRef: { kind: 'ClusterRole', name: 'tokens' },
    clusters: { all: true },
  };
  const made = { apiVersion: '', kind: '', metadata: { name: 'stays' }, spec };
  const { metadata } = await program.writer.create(kind, at('', '', 'stays'), made, { dryRun: false });
  const delayed = { ...made, metadata: { name: 'ends', finalizers: ['example.com/wait'] } };
  const { uid = '' } = (await program.writer.create(kind, at('', '', 'ends'), delayed, { dryRun: false })).metadata;
  await program.writer.remove(kind, at('', '', 'ends'), { dryRun: false });
  const trackFor = async (binding: { name: string; uid: string }, caller = JANE): Promise<string> => {
    const jti = randomUUID();
    await program.tracked.requireRoom(person(caller), false)('alpha', claimsOf(jti), binding);
    return jti;
  };
  const kept = await trackFor({ name: 'stays', uid: metadata.uid ?? '' });
  const lost = [
    await trackFor({ name: 'gone', uid: 'u-1' }),
    await trackFor({ name: 'stays', uid: 'u-of-another' }),
    await trackFor({ name: 'ends', uid }, { ...JANE, name: 'kim' }),
  ];
  const { lines, sweep } = await openRecords(program, { store, leads: true });
  await sweep();
  expect(lines).toEqual([]);
  const left = [`issuedtokens/${kept}`, ...lost.map((jti) => `revokedtokens/${jti}`)];
  expect((await keys(store)).filter((key) => key.includes('tokens/')).toSorted()).toEqual(left.toSorted());
});

it('the leader deletes orders that have ended: in time, with their token, and with its revocation', async () => {
  const store = await openTestStore();
  const program = await start(store);
  const cluster = { apiVersion: '', kind: '', metadata: { name: 'alpha' } };
  await program.writer.create(catalog.clusters, at('', '', 'alpha'), cluster, { dryRun: false });
  const order = async (seconds: number, status: object = {}): Promise<string> => {
    const name = randomUUID();
    const spec = { order: 'a.b.c', expirationTimestamp: toTimestamp(START + seconds * 1000) };
    const made = { apiVersion: '', kind: '', metadata: { name }, spec, status };
    const options = { dryRun: false, keepStatus: true };
    await program.writer.create(catalog.tokenOrders, at('alpha', '', name), made, options);
    return name;
  };
  const issued = (seconds: number) => ({ phase: 'Issued', expirationTimestamp: toTimestamp(START + seconds * 1000) });
  const kept = [await order(5), await order(-60, issued(600))];
  await order(-1);
  await order(-60, issued(-1));
  const revoked = await order(-60, issued(600));
  // As by a server that has crashed before it deleted the order.
  await program.revocations.revoke(revoked, JANE, START + HOUR);
  const { lines, sweep } = await openRecords(program, { store, leads: true });
  await sweep();
  expect(lines).toEqual([]);
  const left = (await keys(store)).filter((key) => key.startsWith('tokenorders/'));
  expect(left.toSorted()).toEqual(kept.map((name) => `tokenorders/alpha/${name}`).toSorted());
});

it('a former leader that has not noticed removes nothing', async () => {
  const store = await openTestStore();
  const program = await start(store);
  const jti = await track(program);
  program.clock.now += 10 * HOUR;
  const sweepAs = (createRevision: number) =>
    createSweep({
      kinds: [catalog.issuedTokens],
      reader: program.reader,
      store,
      isObsolete: () => false,
      guards: () => [{ key: LEADER_KEY, expect: { createRevision } }],
      removalTime: () => program.clock.now,
      longestLifetime: program.longestLifetime,
    })();
  const { revision } = await store.write({ key: LEADER_KEY, value: new Uint8Array(1), expect: { absent: true } });
  await sweepAs(revision - 1);
  expect(await keys(store)).toEqual([expect.stringContaining(jti)]);
  await sweepAs(revision);
  expect(await keys(store)).toEqual([]);
});

it('a revocation lasts as long as the token, or as any token that can be valid', async () => {
  const store = await openTestStore();
  // The first program grants a day, a later one an hour, and a third two days.
  const day = await start(store, { max: 86_400 });
  await day.stop();
  const hour = await start(store, { max: 3600 });
  const [known, unknown, later] = [randomUUID(), randomUUID(), randomUUID()];
  await hour.revocations.revoke(known, JANE, START + HOUR);
  await hour.revocations.revoke(unknown, JANE, undefined);
  expect(hour.recordOf(known)).toEqual({
    revokedBy: { username: 'jane', uid: 'u-1' },
    expirationTimestamp: '2026-08-01T13:05:00Z',
  });
  expect(hour.recordOf(unknown)).toMatchObject({ expirationTimestamp: '2026-08-02T12:05:00Z' });
  await start(store, { max: 2 * 86_400 });
  await hour.revocations.revoke(later, JANE, undefined);
  expect(hour.recordOf(later)).toMatchObject({ expirationTimestamp: '2026-08-03T12:05:00Z' });

  // A second revocation may extend the record, never shorten it.
  await hour.revocations.revoke(known, JANE, undefined);
  expect(hour.recordOf(known)).toMatchObject({ expirationTimestamp: '2026-08-03T12:05:00Z' });
  await hour.revocations.revoke(known, JANE, START + HOUR);
  expect(hour.recordOf(known)).toMatchObject({ expirationTimestamp: '2026-08-03T12:05:00Z' });
});

it('programs that start together agree on the longest lifetime', async () => {
  const store = await openTestStore();
  const opened = await Promise.all([7200, 600, 86_400, 3600].map((own) => recordLongestLifetime(store, own)));
  expect(await Promise.all(opened.map((one) => one.read()))).toEqual([86_400, 86_400, 86_400, 86_400]);
});

it.each(['{}', '{"seconds":"3600"}', '{"seconds":0}', '3600'])(
  'a longest lifetime that reads %s is an error: a default could shorten revocations',
  async (text) => {
    const store = await openTestStore();
    const program = await start(store);
    const key = '/internal/longest-token-lifetime';
    const { modRevision = 0 } = (await store.get(key)) ?? {};
    await store.write({ key, value: Buffer.from(text), expect: { modRevision } });
    await expect(recordLongestLifetime(store, 60)).rejects.toMatchObject({ code: 'unreadable' });
    const revoked = randomUUID();
    await expect(program.revocations.revoke(revoked, JANE, undefined)).rejects.toThrow(ApiError);
    expect(program.revocations.isRevoked(revoked)).toBe(false);
    // Its expiry is known, so the stored lifetime is not needed.
    await program.revocations.revoke(revoked, JANE, START + HOUR);
    expect(program.revocations.isRevoked(revoked)).toBe(true);
  },
);

it('expired records are swept by any program, and no others', async () => {
  const store = await openTestStore();
  const [one, other] = [await start(store), await start(store)];
  const [ends, stays, left] = [await track(one), randomUUID(), await track(one)];
  await one.revocations.revoke(stays, JANE, START + 10 * HOUR);
  await other.reader.catchUp();
  await Promise.all([one.sweep(), other.sweep()]);
  expect(await keys(store)).toHaveLength(3);
  // As after a crash between the revocation and the removal of the record.
  await one.revocations.revoke(left, JANE, START + HOUR);
  await one.sweep();
  expect(await keys(store)).not.toContain(`issuedtokens/${left}`);
  // An hour after its expiry by every sign, and the longest lifetime more.
  for (const program of [one, other]) program.clock.now = START + 3 * HOUR - 1;
  await Promise.all([one.sweep(), other.sweep()]);
  expect(await keys(store)).toContain(`issuedtokens/${ends}`);
  for (const program of [one, other]) program.clock.now = START + 3 * HOUR;
  await other.reader.catchUp();
  await Promise.all([one.sweep(), other.sweep()]);
  expect(await keys(store)).not.toContain(`issuedtokens/${ends}`);
  expect(await keys(store)).toEqual([`revokedtokens/${left}`, `revokedtokens/${stays}`].sort());
  one.clock.now = START + 13 * HOUR;
  await one.reader.catchUp();
  await one.sweep();
  expect(await keys(store)).toEqual([]);
});

it('B31: nothing is swept while the clock is not to be trusted, nor by an expiry that is too early', async () => {
  const store = await openTestStore();
  const program = await start(store);
  const [tracked, revoked, early] = [await track(program), randomUUID(), randomUUID()];
  await program.revocations.revoke(revoked, JANE, START + HOUR);
  // As if computed with a clock that was a day behind.
  await program.revocations.revoke(early, JANE, START - 24 * HOUR);
  program.clock.removal = Number.NEGATIVE_INFINITY;
  program.clock.now = START + 72 * HOUR;
  await program.sweep();
  await program.reader.catchUp();
  expect(await keys(store)).toHaveLength(3);
  program.clock.removal = START + 2 * HOUR;
  await program.sweep();
  await program.reader.catchUp();
  expect(await keys(store)).toEqual(
    [`issuedtokens/${tracked}`, `revokedtokens/${revoked}`, `revokedtokens/${early}`].sort(),
  );
  delete program.clock.removal;
  await program.sweep();
  await program.reader.catchUp();
  expect(await keys(store)).toEqual([]);
});

it('records that stay do not hide those behind them: a sweep continues where the last one ended', async () => {
  const store = await openTestStore();
  const program = await start(store);
  const revoke = (jti: string, hours: number) => program.revocations.revoke(jti, JANE, START + hours * HOUR);
  const idOf = (first: string, index: number) => `${first}-0000-4000-8000-${String(index).padStart(12, '0')}`;
  await Promise.all(Array.from({ length: 5_000 }, (_, index) => revoke(idOf('00000000', index), 100)));
  const last = idOf('ffffffff', 0);
  await revoke(last, 1);
  program.clock.now = START + 4 * HOUR;
  const isStored = async () => (await keys(store)).includes(`revokedtokens/${last}`);
  await program.sweep();
  expect(await isStored()).toBe(true);
  await program.sweep();
  expect(await isStored()).toBe(false);
});

it('the limit of a caller holds for concurrent requests, and is free again when tokens expire', async () => {
  const store = await openTestStore();
  const programs = [await start(store), await start(store)] as const;
  const [program] = programs;
  const { tracked, clock } = program;
  const tracks = Array.from({ length: 20 }, async (_, i) => track(programs[i % 2 === 0 ? 0 : 1]));
  const outcomes = await Promise.allSettled(tracks);
  const recorded = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  expect(recorded).toHaveLength(3);
  expect(await keys(store)).toEqual(recorded.sort().map((jti) => expect.stringContaining(jti)));
  await program.reader.catchUp();
  const full = 'has 3 tracked passes, revoked ones included, the most that one caller may have';
  expect(() => tracked.requireRoom(person(JANE), false)).toThrow(full);
  // Another uid is another caller; other groups are not.
  expect(() => tracked.requireRoom(person({ ...JANE, groups: [] }), false)).toThrow('tracked passes');
  tracked.requireRoom(person({ ...JANE, uid: 'u-2' }), false);
  clock.now = START + HOUR;
  tracked.requireRoom(person(JANE), false);
});

it('a record says what the token is for, who requested it and when it expires', async () => {
  const store = await openTestStore();
  const program = await start(store);
  const jti = await track(program);
  const record = program.reader.find(catalog.issuedTokens, at('', '', jti));
  expect(record?.object().spec).toEqual({
    cluster: 'alpha',
    serviceAccount: { namespace: 'ci', name: 'builder', uid: 'u' },
    audiences: ['vault'],
    boundObjectRef: { kind: 'Secret', name: 'tls', uid: 's' },
    requestedBy: { username: 'jane', uid: 'u-1' },
    issuedTimestamp: '2026-08-01T12:00:00Z',
    expirationTimestamp: '2026-08-01T13:00:00Z',
  });
  await program.revocations.revoke(jti, JANE, START + HOUR, record?.labels?.[REQUESTER_LABEL]);
  expect(program.revocations.requesterLabelOf(jti)).toBe(requesterId(JANE));
});

it('a refusal says when the first token expires, and what else a client can do', async () => {
  const store = await openTestStore();
  const { tracked } = await start(store, { perCaller: 2 });
  for (const seconds of [1800, 900]) {
    await tracked.requireRoom(person(JANE), false)('alpha', claimsOf(randomUUID(), seconds));
  }
  const refusalOf = (isRequired: boolean): ApiError['status'] => {
    try {
      tracked.requireRoom(person(JANE), isRequired);
    } catch (error) {
      if (error instanceof ApiError) return error.status;
    }
    throw new Error('it was not refused');
  };
  const first = ', or wait until 2026-08-01T12:15:00Z when the first of them ends';
  const asked = refusalOf(false);
  expect(asked.message).toContain(`: ask for one that is not tracked${first}`);
  expect([asked.code, asked.details?.retryAfterSeconds]).toEqual([429, undefined]);
  const quota = { reason: 'QuotaExceeded', message: 'trackedTokens', field: '--max-tracked-tokens-per-caller' };
  expect(asked.details?.causes).toMatchObject([quota, { field: 'metadata.annotations[clusterpass.dev/tracked]' }]);
  expect(refusalOf(true).message).toContain(first);
  expect(refusalOf(true).details?.causes).toEqual([quota]);
});

it('D7: a revoked token counts until it would have expired, and can always be revoked', async () => {
  const store = await openTestStore();
  const program = await start(store);
  const { revocations, reader, clock } = program;
  const issued = [await track(program), await track(program), await track(program)];
  for (const jti of issued) {
    await revocations.revoke(jti, JANE, START + HOUR, requesterId(JANE));
    await reader.catchUp();
    await expect(track(program)).rejects.toMatchObject({ status: { code: 429 } });
  }
  expect((await keys(store)).map((key) => key.split('/')[0])).toEqual(Array(3).fill('revokedtokens'));
  clock.now = START + HOUR + 10 * 60_000;
  await track(program);
});

it('D7: revocations by id are bounded for each caller, not for administrators, nor for tokens with a record', async () => {
  const store = await openTestStore();
  const program = await start(store);
  const { revocations, reader, clock } = program;
  const revokeAs = async (user: User, jti: string = randomUUID()): Promise<string> => {
    await revocations.revoke(jti, user, undefined, undefined, revocations.quotaFor(person(user)));
    await reader.catchUp();
    return jti;
  };
  const first = await revokeAs(JANE);
  const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => revokeAs(JANE)));
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
  await expect(revokeAs(JANE)).rejects.toMatchObject({
    status: {
      code: 429,
      message: expect.stringContaining('(quota revocations, set by --max-revocations-per-caller)'),
    },
  });
  // Twice is no error, and her tracked passes are counted apart.
  await revokeAs(JANE, first);
  const tracked = await track(program);
  await revocations.revoke(tracked, JANE, START + HOUR, requesterId(JANE), revocations.quotaFor(person(JANE)));
  for (let count = 0; count < 5; count++) await revokeAs({ ...JANE, groups: ['system:masters'] });
  await revokeAs({ ...JANE, name: 'kim' });
  clock.now = START + 2 * HOUR;
  await revokeAs(JANE);
});

it('B15: a person who requests tokens through many accounts has one limit, and so have the accounts of a cluster', async () => {
  const store = await openTestStore();
  const program = await start(store);
  const { tracked } = program;
  const account = (name: string, jti: string) => ({
    as: (): User => ({
      name,
      uid: name,
      groups: [],
      extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${jti}`] },
    }),
    home: 'alpha',
  });
  const request = async (caller: Parameters<typeof tracked.requireRoom>[0]): Promise<string> => {
    const jti = randomUUID();
    await tracked.requireRoom(caller, false)('alpha', claimsOf(jti));
    return jti;
  };
  // Jane's token, the token that was requested with it, and one that was requested with that.
  const first = await request(person(JANE));
  const second = await request(account('a', first));
  const third = await request(account('b', second));
  const full = 'The caller who requested the token of User "c" has 3 tracked passes';
  expect(() => tracked.requireRoom(account('c', third), false)).toThrow(full);
  expect(() => tracked.requireRoom(person(JANE), false)).toThrow('User "jane" has 3 tracked passes');
  // Without a record of the token it is not known who requested it.
  for (const name of ['d', 'e', 'f']) await request(account(name, randomUUID()));
  const together = 'The service accounts of cluster "alpha" together have 3 tracked passes';
  expect(() => tracked.requireRoom(account('g', randomUUID()), false)).toThrow(together);
  tracked.requireRoom({ ...account('g', randomUUID()), home: 'beta' }, false);
});
