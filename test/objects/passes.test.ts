import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type ApiObject, type Kind, kindPrefix } from '../../src/api/kind.ts';
import { type PassApproval, passStatus } from '../../src/api/kinds/pass-spec.ts';
import type { ApiRequest, Verb } from '../../src/api/request.ts';
import { ApiError } from '../../src/api/status.ts';
import { Fleet, fleetBinding, person } from '../../src/authz/policy/rbac.fixture.ts';
import { createDecisionHandler } from '../../src/handlers/approvals/decide.ts';
import { createApprovalSweep } from '../../src/handlers/approvals/sweep.ts';
import { approvalVerbs } from '../../src/handlers/approvals/verbs.ts';
import { createPassHandler } from '../../src/handlers/passes/create-pass.ts';
import { type PassParts, passes } from '../../src/handlers/passes/pass.ts';
import { createRedeemHandler } from '../../src/handlers/passes/redeem-pass.ts';
import { createViews } from '../../src/handlers/views.ts';
import { StorageError, soleLeadership, type Write } from '../../src/storage/contract.ts';
import { newDatabase } from '../../src/storage/sqlite/test-store.fixture.ts';
import { createRevocations } from '../../src/tokens/revocations/revocations.ts';
import { apiRequest } from './api-request.ts';
import { at, catalog, make, object, openObjects } from './object-store.ts';

/** Passes over time, and crashes between their writes, in a real database and with a manual clock. */

const START = Date.UTC(2026, 10, 16, 12);
const MINUTE = 60_000;
const KIND = catalog.passes;
const BINDING = at('', '', 'reviewed');

type World = Awaited<ReturnType<typeof openWorld>>;

async function openWorld() {
  /** Its time is trusted, unless it has jumped. */
  const clock = { now: START, hasJumped: false };
  const disk = { fails: (_: Write): boolean => false, before: async (_: Write): Promise<void> => {} };
  const objects = await openObjects(newDatabase(), async (write, next) => {
    await disk.before(write);
    if (disk.fails(write)) throw new StorageError('unavailable', 'the disk is full');
    return next();
  });
  const { reader, writer } = objects;
  const now = () => clock.now;
  const approval = { needed: 'none' as PassApproval };
  const grant = {
    kind: 'FleetRoleBinding' as const,
    ...BINDING,
    roleRef: { namespace: '', kind: '', name: '' },
    subjects: [],
  };
  const revocations = createRevocations({
    catalog,
    reader,
    writer,
    longestLifetime: { read: async () => 900 },
    maxPerCaller: 100,
    now,
  });
  const lifetimes: number[] = [];
  /** The UIDs in the token requests. */
  const askedUids: (string | undefined)[] = [];
  const forwarding = { isOn: false };
  /** Of the responses to deletions. */
  const warnings: string[] = [];
  const parts: PassParts = {
    catalog,
    reader,
    writer,
    views: createViews(catalog, new Fleet().policy, () => 0, now),
    publicView: (whole) => whole,
    rules: {
      decide: () => ({ allowed: true, reason: '', approval: approval.needed, grant }),
      refusal: () => new ApiError(403, 'Forbidden', ''),
    },
    decisionRefusal: () => undefined,
    holds: () => true,
    limits: { maxHandles: 4, maxPending: 3 },
    revocations,
    issueToken: async ({ sent }, grant) => {
      const pass = grant?.pass;
      askedUids.push(sent.metadata?.uid);
      const endsAt = pass?.endsAt ?? 0;
      lifetimes.push(Math.floor((endsAt - clock.now) / 1000));
      const issuer = forwarding.isOn ? 'cluster' : 'ours';
      await pass?.recordToken(randomUUID(), endsAt, issuer);
      const spec = { audiences: [], expirationSeconds: 600, boundObjectRef: null };
      return {
        apiVersion: '',
        kind: 'TokenRequest',
        metadata: {},
        spec,
        status: { token: 'a-token', expirationTimestamp: '' },
      };
    },
    clusterOfIssuer: () => undefined,
    clusterOfPeopleIssuer: () => undefined,
    mcpAudience: 'https://pass.example/mcp',
    issuesOwnTokens: () => forwarding.isOn,
    randomBytes,
    refusalOf: () => new ApiError(403, 'Forbidden', ''),
    requireRightClock: () => {},
    now,
  };
  const row = passes(parts);
  const verbs = approvalVerbs(parts, [row]).get(KIND);
  const create = createPassHandler(parts);
  const redeem = createRedeemHandler(parts);
  /** Those of other processes, which do not know of the requests in flight here. */
  const createElsewhere = createPassHandler({ ...parts, writer: objects.otherWriter() });
  const redeemElsewhere = createRedeemHandler({ ...parts, writer: objects.otherWriter() });
  const decide = createDecisionHandler(parts, row);
  const removalTime = () => (clock.hasJumped ? Number.NEGATIVE_INFINITY : clock.now);
  const sweep = createApprovalSweep(
    { ...parts, leadership: soleLeadership, removalTime, logger: { warn: () => {} } },
    row,
  );
  const codeOf = (answer: Promise<unknown>): Promise<number> =>
    answer.then(
      (value) => (value as { code: number }).code,
      (error) => error.status.code,
    );
  await make(objects, catalog.clusters, at('', '', 'a'));
  await make(objects, catalog.namespaces, at('a', '', 'ci'));
  await make(objects, catalog.serviceAccounts, at('a', 'ci', 'builder'));
  const binding = fleetBinding(BINDING.name, 'ClusterRole/x', []);
  await writer.create(catalog.fleetRoleBindings, BINDING, binding, { dryRun: false });
  const find = (name: string): ApiObject | undefined => reader.find(KIND, at('', '', name))?.object();
  return {
    ...objects,
    clock,
    disk,
    approval,
    lifetimes,
    askedUids,
    forwarding,
    warnings,
    sweep,
    revocations,
    find,
    ask: async (purpose = 'read the logs', at: 'here' | 'elsewhere' = 'here') => {
      const spec = { cluster: 'a', serviceAccount: { namespace: 'ci', name: 'builder' }, purpose };
      const type = { apiVersion: 'clusterpass.dev/v1alpha1', kind: 'Pass' };
      const answer = await (at === 'here' ? create : createElsewhere)(
        requestOf('jane', 'create', '', { ...type, metadata: {}, spec }),
      );
      if (answer.type !== 'value') throw new Error('no pass');
      return answer.value as ApiObject & { metadata: { name: string } };
    },
    redeem: (name: string) => codeOf(redeem(requestOf('jane', 'create', name))),
    redeemElsewhere: (name: string) => codeOf(redeemElsewhere(requestOf('jane', 'create', name))),
    remove: (name: string) => {
      const request = { ...requestOf('jane', 'delete', name), warn: (text: string) => void warnings.push(text) };
      return codeOf(Promise.resolve(verbs?.delete?.(request)));
    },
    approve: (name: string, by = 'lea', condition: object = { type: 'Approved' }) => {
      const conditions = [{ status: 'True', ...condition }];
      return codeOf(decide(requestOf(by, 'patch', name, { status: { conditions } })));
    },
    state: (name: string) => {
      const { phase, conditions } = passStatus(find(name) ?? ({} as ApiObject));
      return [phase, conditions?.at(-1)?.reason];
    },
    tokens: (name: string) => (passStatus(find(name) ?? ({} as ApiObject)).tokens ?? []).map(({ id = '' }) => id),
  };
}

function requestOf(user: string, verb: Verb, name: string, body?: object): ApiRequest {
  const { group, version, resource } = KIND;
  return apiRequest({ caller: person(user), target: { verb, group, version, resource, name }, body });
}

describe('A48: a pass ends', () => {
  it('MC-77: with its time, after which it gives no token, and none that was given outlives it', async () => {
    const { ask, redeem, clock, lifetimes, sweep, state, find } = await openWorld();
    const { name } = (await ask()).metadata;
    for (const minutes of [0, 4, 9]) {
      clock.now = START + minutes * MINUTE;
      expect(await redeem(name)).toBe(201);
    }
    expect(lifetimes).toEqual([600, 360, 60]);
    clock.now = START + 10 * MINUTE;
    expect(await redeem(name)).toBe(409);
    await sweep();
    expect([...state(name), await redeem(name)]).toEqual(['Ended', 'TimeOver', 409]);
    clock.now += 60 * MINUTE;
    await sweep();
    expect([find(name), await redeem(name)]).toEqual([undefined, 404]);
  });

  it('MC-92: undecided after ten minutes, and cannot be approved from then on', async () => {
    const { ask, approve, approval, clock, sweep, state } = await openWorld();
    approval.needed = 'review';
    const { name } = (await ask()).metadata;
    clock.now += 10 * MINUTE;
    expect(await approve(name)).toBe(409);
    await sweep();
    expect(state(name)).toEqual(['Ended', 'NotDecided']);
  });

  it('not with its time while the clock has jumped, but with its cluster', async () => {
    const { ask, clock, sweep, state, find, store } = await openWorld();
    const { name } = (await ask()).metadata;
    clock.now += 10 * MINUTE;
    clock.hasJumped = true;
    await sweep();
    expect(state(name)).toEqual(['Ready', undefined]);
    const key = '/registry/clusters/a';
    const modRevision = (await store.get(key))?.modRevision ?? 0;
    await store.write({ key, value: null, expect: { modRevision } });
    await expect.poll(() => sweep().then(() => state(name))).toEqual(['Ended', 'ClusterDeleted']);
    const [ended] = passStatus(find(name) ?? ({} as ApiObject)).conditions ?? [];
    expect(ended?.lastTransitionTime).toBe('2026-11-16T12:10:00Z');
  });

  it('with its cluster, also if another one has the name at once', async () => {
    const world = await openWorld();
    const { ask, redeem, sweep, state, store } = world;
    const { name } = (await ask()).metadata;
    const key = '/registry/clusters/a';
    const modRevision = (await store.get(key))?.modRevision ?? 0;
    await store.write({ key, value: null, expect: { modRevision } });
    await make(world, catalog.clusters, at('', '', 'a'));
    expect(await redeem(name)).toBe(409);
    await sweep();
    expect(state(name)).toEqual(['Ended', 'ClusterDeleted']);
  });

  it('with its service account, also if another one has the name at once', async () => {
    const ACCOUNT = at('a', 'ci', 'builder');
    const uidOf = ({ reader }: World) => reader.find(catalog.serviceAccounts, ACCOUNT)?.uid ?? '';
    const recreate = async ({ writer }: World, uid?: string) => {
      await writer.remove(catalog.serviceAccounts, ACCOUNT, { dryRun: false });
      await writer.create(catalog.serviceAccounts, ACCOUNT, object({ name: ACCOUNT.name }), { dryRun: false, uid });
    };
    for (const needed of ['none', 'review'] as const) {
      const world = await openWorld();
      const { approval, approve, ask, redeem, state, sweep } = world;
      approval.needed = needed;
      const { name } = (await ask()).metadata;
      if (needed === 'review') expect(await approve(name)).toBe(200);
      await recreate(world);
      expect(await redeem(name)).toBe(409);
      await sweep();
      expect(state(name)).toEqual(['Ended', 'AccountDeleted']);
    }
    {
      const world = await openWorld();
      const { approval, approve, ask, state, sweep } = world;
      approval.needed = 'review';
      const { name } = (await ask()).metadata;
      await recreate(world);
      expect(await approve(name)).toBe(409);
      expect((await ask()).metadata.name).not.toBe(name);
      await sweep();
      expect(state(name)).toEqual(['Ended', 'AccountDeleted']);
    }
    // A copy that is written again has the UID of its account.
    {
      const world = await openWorld();
      const uid = uidOf(world);
      const { name } = (await world.ask()).metadata;
      await recreate(world, uid);
      expect([await world.redeem(name), world.askedUids]).toEqual([201, [uid]]);
    }
    // A cluster that issues its own tokens may have accounts that are not stored here when a pass is requested.
    {
      const world = await openWorld();
      const { approval, approve, ask, askedUids, forwarding, redeem, writer } = world;
      forwarding.isOn = true;
      approval.needed = 'review';
      await writer.remove(catalog.serviceAccounts, ACCOUNT, { dryRun: false });
      const { name } = (await ask()).metadata;
      await make(world, catalog.serviceAccounts, ACCOUNT);
      expect([await approve(name), await redeem(name), askedUids]).toEqual([200, 201, [undefined]]);
      await recreate(world);
      expect(await redeem(name)).toBe(409);
    }
  });

  it('its time begins with the approval', async () => {
    const { ask, approve, approval, clock, redeem, lifetimes } = await openWorld();
    approval.needed = 'review';
    const { name } = (await ask()).metadata;
    clock.now += 9 * MINUTE;
    expect([await redeem(name), await approve(name), await redeem(name)]).toEqual([409, 200, 201]);
    expect(lifetimes).toEqual([600]);
  });

  it('MC-94: pending, when its binding changes; approved, it needs no more than was approved', async () => {
    {
      const { ask, approve, approval, redeem, sweep, state, writer } = await openWorld();
      const update = (part: 'object' | 'status', change: object) =>
        writer.update(catalog.fleetRoleBindings, BINDING, (current) => ({ ...current, ...change }), {
          dryRun: false,
          part,
        });
      approval.needed = 'review';
      const [first, second] = [await ask('the first one'), await ask('the second one')];
      // The leader writes the status.
      await update('status', { status: { clusters: 1 } });
      expect(await approve(second.metadata.name)).toBe(200);
      const { spec } = fleetBinding(BINDING.name, 'ClusterRole/x', [], { clusters: 'env=dev' });
      await update('object', { spec });
      expect(await approve(first.metadata.name)).toBe(409);
      await sweep();
      expect(state(first.metadata.name)).toEqual(['Ended', 'BindingChanged']);
      expect([await redeem(second.metadata.name), state(second.metadata.name)[0]]).toEqual([201, 'Ready']);
    }
    {
      const { ask, approval, redeem } = await openWorld();
      const { name } = (await ask()).metadata;
      approval.needed = 'review';
      expect(await redeem(name)).toBe(403);
    }
  });
});

const isUnder = (kind: Kind, { key }: Write): boolean => key.startsWith(kindPrefix(kind));

describe('A48: a revocation', () => {
  it.each<[string, (write: Write) => boolean]>([
    ['is whole', () => false],
    ['is interrupted before the first token', (write) => isUnder(catalog.revokedTokens, write)],
    ['is interrupted before the removal', (write) => write.value === null && isUnder(KIND, write)],
  ])('%s: every token is revoked, at the latest by the sweep', async (_, fails) => {
    const { ask, clock, redeem, remove, tokens, disk, sweep, find, revocations } = await openWorld();
    const { name } = (await ask()).metadata;
    expect([await redeem(name), await redeem(name)]).toEqual([201, 201]);
    const ids = tokens(name);
    disk.fails = fails;
    const code = await remove(name);
    disk.fails = () => false;
    if (code !== 200) {
      expect([code, await redeem(name)]).toEqual([503, 409]);
      // A server that was off for a while does not trust its clock for an hour.
      clock.hasJumped = true;
      await sweep();
    }
    expect([find(name), ids.map((id) => revocations.isRevoked(id))]).toEqual([undefined, [true, true]]);
  });
});

it.each([
  ['while it is still accepted', MINUTE, [expect.stringContaining('refuse the tokens of this pass from now on')]],
  // The clock may be ahead, and the token still accepted elsewhere.
  ['when it is no longer accepted by the clock of this server', MINUTE + 1, []],
])('A48: a pass that is deleted revokes a token %s', async (_, sinceExpiryMs, expectedWarnings) => {
  const { ask, redeem, remove, tokens, find, clock, revocations, warnings } = await openWorld();
  const { name } = (await ask()).metadata;
  expect(await redeem(name)).toBe(201);
  const [id = ''] = tokens(name);
  const [token] = passStatus(find(name) ?? ({} as ApiObject)).tokens ?? [];
  clock.now = Date.parse(token?.expirationTimestamp ?? '') + sinceExpiryMs;
  expect(await remove(name)).toBe(200);
  expect(revocations.isRevoked(id)).toBe(true);
  expect(warnings).toEqual(expectedWarnings);
});

it('A48: a deleted pass does not claim to revoke tokens that the cluster has issued', async () => {
  const { ask, forwarding, redeem, remove, revocations, tokens, warnings } = await openWorld();
  forwarding.isOn = true;
  const { name } = (await ask()).metadata;
  expect(await redeem(name)).toBe(201);
  const [id = ''] = tokens(name);
  expect(await remove(name)).toBe(200);
  expect(revocations.isRevoked(id)).toBe(false);
  const warning = 'cluster "a" has issued tokens of this pass itself, and accepts them until they expire';
  expect(warnings).toEqual([warning]);
});

it('MC-94: the same request gives an approved pass until it is used, and no longer', async () => {
  {
    const { ask, approve, approval, redeem, state, clock } = await openWorld();
    const nameOf = async (purpose?: string) => (await ask(purpose)).metadata.name;
    approval.needed = 'review';
    const first = await nameOf();
    expect(await approve(first)).toBe(200);
    clock.now += MINUTE;
    expect([await nameOf(), await nameOf('read other logs')]).toEqual([first, expect.not.stringMatching(first)]);
    expect(await redeem(first)).toBe(201);
    const second = await nameOf();
    expect([second === first, state(second)[0]]).toEqual([false, 'Pending']);
  }
  {
    const { ask, approve, approval, state } = await openWorld();
    const nameOf = async () => (await ask()).metadata.name;
    approval.needed = 'confirm';
    const confirmed = await nameOf();
    expect(await approve(confirmed, 'jane')).toBe(200);
    approval.needed = 'review';
    const reviewed = await nameOf();
    expect([reviewed === confirmed, state(reviewed)[0]]).toEqual([false, 'Pending']);
    approval.needed = 'none';
    expect(await nameOf()).toBe(confirmed);
  }
});

it('MC-78: live and pending passes have a bound, and the same request gives the same pass', async () => {
  const { ask, approval, clock, remove, sweep } = await openWorld();
  const failure = (purpose: string) =>
    ask(purpose).catch((error) => [error.status.code, error.status.details.causes[0].message]);
  approval.needed = 'review';
  const first = await ask('purpose 1');
  expect((await ask('purpose 1')).metadata.name).toBe(first.metadata.name);
  await ask('purpose 2');
  await ask('purpose 3');
  clock.now += 4 * MINUTE;
  expect(await failure('purpose 4')).toEqual([429, 'pendingPasses']);
  approval.needed = 'none';
  await ask('purpose 4');
  expect(await failure('purpose 5')).toEqual([429, 'passes']);
  expect(await remove(first.metadata.name)).toBe(200);
  await ask('purpose 5');
  clock.now += 10 * MINUTE;
  await sweep();
  await ask('purpose 6');
});

it('MC-78: passes that have ended have a bound, too, until they are deleted', async () => {
  const { ask, approval, approve, remove } = await openWorld();
  approval.needed = 'review';
  const ended: string[] = [];
  for (let number = 0; number < 40; number += 1) {
    const { name } = (await ask(`purpose ${number}`)).metadata;
    expect(await approve(name, 'lea', { type: 'Denied' })).toBe(200);
    ended.push(name);
  }
  await expect(ask('one too many')).rejects.toMatchObject({
    status: { code: 429, message: expect.stringContaining('has 40 passes with this client, live and ended') },
  });
  expect(await remove(ended[0] ?? '')).toBe(200);
  await ask('one too many');
});

it('MC-78: requests in the same moment do not exceed the bounds together', async () => {
  const { ask, approval, keys } = await openWorld();
  const outcomes = async (count: number): Promise<(number | undefined)[]> => {
    const asked = Array.from({ length: count }, (_, i) => ask(`purpose ${i} of ${count}`));
    const settled = await Promise.allSettled(asked);
    return settled.map((one) => (one.status === 'rejected' ? one.reason.status.code : undefined));
  };
  approval.needed = 'review';
  const pending = await outcomes(6);
  expect(pending.filter((code) => code === undefined)).toHaveLength(3);
  expect(pending.filter((code) => code === 429)).toHaveLength(3);
  approval.needed = 'none';
  const ready = await outcomes(7);
  expect([ready.filter((code) => code === undefined), ready.filter((code) => code === 429)]).toEqual([
    [undefined],
    Array.from({ length: 6 }, () => 429),
  ]);
  expect((await keys()).filter((key) => key.startsWith(kindPrefix(KIND)))).toHaveLength(4);
});

describe('MC-78: a pass beyond the bound', () => {
  /** Calls `act` with the name of the first pass that is about to be removed. */
  const beforeRemoval = (disk: World['disk'], act: (name: string) => Promise<unknown>): void => {
    disk.before = async ({ key, value }) => {
      if (value !== null || !key.startsWith(kindPrefix(KIND))) return;
      disk.before = async () => {};
      await act(key.slice(kindPrefix(KIND).length));
    };
  };
  const twoBeyondThree = async ({ ask }: World): Promise<(number | undefined)[]> => {
    for (const number of [1, 2, 3]) await ask(`purpose ${number}`);
    const settled = await Promise.allSettled([ask('purpose 4'), ask('purpose 5', 'elsewhere')]);
    return settled.map((one) => (one.status === 'rejected' ? one.reason.status.code : undefined));
  };

  it('that was redeemed meanwhile stays, so that its token can be revoked', async () => {
    const world = await openWorld();
    let redeemed = '';
    beforeRemoval(world.disk, async (name) => {
      redeemed = name;
      expect(await world.redeemElsewhere(name)).toBe(201);
    });
    expect(await twoBeyondThree(world)).toEqual([undefined, undefined]);
    expect(world.tokens(redeemed)).toHaveLength(1);
    expect(await world.remove(redeemed)).toBe(200);
  });

  it('that cannot be removed stays, and its caller is not told to repeat the request', async () => {
    const world = await openWorld();
    for (const number of [1, 2, 3]) await world.ask(`purpose ${number}`);
    world.disk.fails = ({ key, value }) => value === null && key.startsWith(kindPrefix(KIND));
    const settled = await Promise.allSettled([world.ask('purpose 4'), world.ask('purpose 5', 'elsewhere')]);
    const refused = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason.status] : []));
    expect(refused).toMatchObject([{ code: 504, reason: 'Timeout' }]);
    expect(refused[0].details).not.toHaveProperty('retryAfterSeconds');
  });
});

it('a pass is bound to the account that was found, also if it is deleted before the write', async () => {
  const world = await openWorld();
  const account = at('a', 'ci', 'builder');
  world.approval.needed = 'review';
  const { writer } = world;
  const create = writer.create.bind(writer);
  writer.create = async (...args) => {
    writer.create = create;
    await writer.remove(catalog.serviceAccounts, account, { dryRun: false });
    return create(...args);
  };
  const { name } = (await world.ask()).metadata;
  await make(world, catalog.serviceAccounts, account);
  expect(await world.approve(name)).toBe(409);
});
