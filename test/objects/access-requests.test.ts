import { describe, expect, it } from 'vitest';
import { type ApiObject, storageKey } from '../../src/api/kind.ts';
import { requestSpec, requestStatus } from '../../src/api/kinds/access-request-spec.ts';
import type { ApiRequest } from '../../src/api/request.ts';
import { Fleet, person } from '../../src/authz/policy/rbac.fixture.ts';
import {
  type AccessRequestParts,
  accessRequests,
  createRequestCompletion,
} from '../../src/handlers/access-requests/access-request.ts';
import { createGrantStore, grantObjects } from '../../src/handlers/access-requests/grant-objects.ts';
import { createDecisionHandler } from '../../src/handlers/approvals/decide.ts';
import { createApprovalSweep } from '../../src/handlers/approvals/sweep.ts';
import { createViews } from '../../src/handlers/views.ts';
import { StorageError, soleLeadership } from '../../src/storage/contract.ts';
import { newDatabase } from '../../src/storage/sqlite/test-store.fixture.ts';
import { apiRequest } from './api-request.ts';
import { at, catalog, make, type Objects, object, openObjects } from './object-store.ts';

/**
 * Decisions, crashes between their writes, and the end of requests, in a real database and with a manual clock.
 */

const START = Date.UTC(2026, 10, 16, 12);
const HOUR = 3_600_000;
const KIND = catalog.accessRequests;
const NAME = 'jane-1';
/** To see the cluster, and for the passes in the namespace. */
const SEEING = `clusterpass:access-request:${NAME}`;
const GRANT = `${SEEING}:ci`;

interface World extends Objects {
  /** Its time is trusted, unless it has jumped. */
  readonly clock: { now: number; hasJumped: boolean };
  /** Keys whose writes fail. */
  readonly broken: Set<string>;
  /** What the sweep has logged. */
  readonly logged: readonly object[];
  ask(name?: string): Promise<ApiObject>;
  decide(type: string): Promise<number>;
  sweep(): Promise<void>;
  /** The phase, the reason of the last condition, and the grant that is stored. */
  state(): [string | undefined, string | undefined, string[]];
}

const BUILDER = { cluster: 'a', serviceAccount: { namespace: 'ci', name: 'builder' }, reason: 'x' };

interface WorldOptions {
  readonly labels?: Record<string, string>;
  readonly spec?: object;
  readonly limits?: { readonly retentionMs?: number };
}

async function openWorld({ labels, spec = BUILDER, limits = {} }: WorldOptions = {}): Promise<World> {
  const clock = { now: START, hasJumped: false };
  const broken = new Set<string>();
  const logged: object[] = [];
  const objects = await openObjects(newDatabase(), (write, next) => {
    if (broken.has(write.key)) throw new StorageError('unavailable', 'the disk is full');
    return next();
  });
  const { reader, writer } = objects;
  const now = () => clock.now;
  const grants = createGrantStore({ catalog, reader, writer });
  const allow = () => undefined;
  const parts: AccessRequestParts = {
    catalog,
    reader,
    writer,
    views: createViews(catalog, new Fleet().policy, () => 0, now),
    publicView: (whole) => whole,
    rules: { checkRequest: allow, checkApproval: allow },
    holds: () => false,
    decisionRefusal: allow,
    grants,
    issuesOwnTokens: () => false,
    limits: { maxDurationSeconds: 7_200, maxOpenPerCaller: 5, retentionMs: 24 * HOUR, ...limits },
    refusalOf: allow,
    requireRightClock: () => {},
    now,
  };
  const row = accessRequests(parts);
  const sweeping = {
    ...parts,
    leadership: soleLeadership,
    removalTime: () => (clock.hasJumped ? Number.NEGATIVE_INFINITY : clock.now),
    logger: { warn: (fields: object) => logged.push(fields) },
  };
  const sweep = createApprovalSweep(sweeping, row);
  const handle = createDecisionHandler(parts, row);
  const complete = createRequestCompletion(parts);
  const world: World = {
    ...objects,
    clock,
    broken,
    logged,
    sweep,
    ask: async (name = NAME) => {
      const { derive, quota } = complete(requestOf('jane', 'create'), KIND) ?? {};
      const sent = { ...object({ name, ...(labels === undefined ? {} : { labels }) }), spec };
      return writer.create(KIND, at('', '', name), sent, { dryRun: false, derive, quota });
    },
    decide: async (type) => {
      const body = { status: { conditions: [{ type, status: 'True' }] } };
      const answer = await handle(requestOf('lea', 'patch', body)).catch((error) => error.status);
      return answer.code;
    },
    state: () => {
      const found = reader.find(KIND, at('', '', NAME))?.object();
      const { phase, conditions } = found === undefined ? {} : requestStatus(found);
      const { clusterRoles, roles, fleetRoleBindings } = catalog;
      const grants = [clusterRoles, roles, fleetRoleBindings].flatMap((kind) =>
        [SEEING, GRANT]
          .filter((name) => reader.find(kind, at('', kind.namespaced ? 'ci' : '', name)))
          .map(() => kind.kind),
      );
      return [phase, conditions?.at(-1)?.reason, grants];
    },
  };
  await make(objects, catalog.clusters, at('', '', 'a'));
  await world.ask();
  return world;
}

function requestOf(user: string, verb: 'create' | 'patch', body?: object): ApiRequest {
  const { group, version, resource } = KIND;
  const subresource = verb === 'patch' ? 'approval' : '';
  return apiRequest({
    caller: person(user),
    target: { verb, group, version, resource, subresource, name: NAME },
    body,
  });
}

const BINDING = storageKey(catalog.fleetRoleBindings, at('', '', GRANT));
const SEEING_BINDING = storageKey(catalog.fleetRoleBindings, at('', '', SEEING));
const ROLES = ['ClusterRole', 'Role'];
const ALL = [...ROLES, 'FleetRoleBinding', 'FleetRoleBinding'];

describe('a crash', () => {
  it('between an approval and its binding leaves nothing granted, and the approval can be repeated', async () => {
    const { broken, decide, state } = await openWorld();
    broken.add(SEEING_BINDING);
    expect(await decide('Approved')).toBe(503);
    expect(state()).toEqual(['Approved', undefined, ROLES]);
    broken.clear();
    expect(await decide('Approved')).toBe(200);
    expect(state()).toEqual(['Approved', undefined, ALL]);
  });

  it('after which no one repeats the approval: the request expires', async () => {
    const { broken, clock, decide, state, sweep } = await openWorld();
    broken.add(BINDING);
    await decide('Approved');
    await sweep();
    expect(state()).toEqual(['Approved', undefined, [...ROLES, 'FleetRoleBinding']]);
    clock.now += 60_000;
    await sweep();
    expect(state()).toEqual(['Expired', 'BindingDeleted', []]);
  });

  it('during a withdrawal or a denial is completed by the sweep, and by repeating it', async () => {
    for (const complete of ['sweep', 'sweep after a jump of the clock', 'repeat']) {
      const { broken, clock, decide, state, sweep } = await openWorld();
      await decide('Approved');
      broken.add(BINDING);
      expect(await decide('Withdrawn')).toBe(503);
      expect(state()).toEqual(['Withdrawn', undefined, ALL]);
      broken.clear();
      clock.hasJumped = complete === 'sweep after a jump of the clock';
      if (complete !== 'repeat') await sweep();
      else expect(await decide('Withdrawn')).toBe(200);
      expect(state()).toEqual(['Withdrawn', undefined, []]);
    }
  });
});

describe('A31: a request ends', () => {
  it('undecided after 72 hours, and cannot be approved from then on', async () => {
    const { clock, decide, state, sweep } = await openWorld();
    clock.now = START + 72 * HOUR - 1_000;
    await sweep();
    expect(state()).toEqual(['Pending', undefined, []]);
    clock.now += 1_000;
    // Before the sweep.
    expect(await decide('Approved')).toBe(409);
    await sweep();
    expect(state()).toEqual(['Expired', 'NotDecided', []]);
    expect([await decide('Approved'), await decide('Withdrawn')]).toEqual([409, 409]);
  });

  it('with its access, and is removed after the retention with nothing left', async () => {
    const { clock, decide, state, sweep, keys } = await openWorld();
    await decide('Approved');
    clock.now += HOUR - 1_000;
    await sweep();
    expect(state()).toEqual(['Approved', undefined, ALL]);
    clock.now += 1_000;
    expect(await decide('Approved')).toBe(409);
    await sweep();
    expect(state()).toEqual(['Expired', 'TimeOver', []]);
    clock.now += 24 * HOUR - 1_000;
    await sweep();
    expect(state()[0]).toBe('Expired');
    clock.now += 1_000;
    await sweep();
    expect(await keys()).toEqual(['/registry/clusters/a']);
  });

  it('and its denial can be read for a day, however short the retention is', async () => {
    const short = { retentionMs: 60_000 };
    const { clock, decide, state, sweep } = await openWorld({ limits: short });
    await decide('Denied');
    clock.now += 24 * HOUR - 1_000;
    await sweep();
    expect(state()[0]).toBe('Denied');
    clock.now += 1_000;
    await sweep();
    expect(state()[0]).toBeUndefined();
  });

  it('when one of its bindings or its cluster is deleted by others', async () => {
    for (const name of [SEEING, GRANT]) {
      const { clock, decide, state, sweep, writer } = await openWorld();
      await decide('Approved');
      await writer.remove(catalog.fleetRoleBindings, at('', '', name), { dryRun: false });
      clock.now += 61_000;
      await sweep();
      expect(state()).toEqual(['Expired', 'BindingDeleted', []]);
    }
    const world = await openWorld();
    await world.decide('Approved');
    await removeCluster(world);
    await expectClusterDeleted(world);
  });
});

it('A31: a grant is for one cluster, not for another that is created with its name', async () => {
  const world = await openWorld();
  await world.decide('Approved');
  await removeCluster(world);
  await make(world, catalog.clusters, at('', '', 'a'));
  expect(await world.decide('Approved')).toBe(409);
  await expectClusterDeleted(world);
});

it('A31: a stored approval that does not say which cluster it is for ends', async () => {
  const world = await openWorld();
  await world.decide('Approved');
  const withoutUid = (current: ApiObject): ApiObject => {
    const { clusterUID: _, ...status } = requestStatus(current);
    return { ...current, status };
  };
  await world.writer.update(KIND, at('', '', NAME), withoutUid, { dryRun: false, part: 'status' });
  await expectClusterDeleted(world);
});

it('a stored request whose status cannot be updated does not keep the others from ending', async () => {
  const { clock, logged, reader, reflector, state, store, sweep } = await openWorld();
  const value = reader.find(KIND, at('', '', NAME))?.object();
  if (value === undefined) throw new Error('the request is gone');
  // As another writer of the store would: the API refuses such a request. Its key is the first.
  const spec = { ...requestSpec(value), durationSeconds: -1 };
  const broken = { ...value, spec, metadata: { ...value.metadata, name: 'broken' } };
  const key = storageKey(KIND, at('', '', 'broken'));
  const stored = { key, value: Buffer.from(JSON.stringify(broken)), expect: { absent: true } } as const;
  await reflector.waitFor((await store.write(stored)).revision);
  clock.now += 72 * HOUR;
  for (let round = 0; round < 3; round++) await sweep();
  expect(state()).toEqual(['Expired', 'NotDecided', []]);
  expect(logged).toEqual([expect.objectContaining({ resource: 'accessrequests', name: 'broken' })]);
});

async function removeCluster({ store }: World): Promise<void> {
  const key = '/registry/clusters/a';
  await store.write({ key, value: null, expect: { modRevision: (await store.get(key))?.modRevision ?? 0 } });
}

async function expectClusterDeleted({ state, sweep }: World): Promise<void> {
  const swept = async () => {
    await sweep();
    return state();
  };
  await expect.poll(swept).toEqual(['Expired', 'ClusterDeleted', []]);
}

it('A31: a request for longer than the server allows is invalid', async () => {
  const requested = (durationSeconds: number) => openWorld({ spec: { ...BUILDER, durationSeconds } });
  expect((await requested(7_200)).state()[0]).toBe('Pending');
  await expect(requested(7_201)).rejects.toMatchObject({
    status: {
      code: 422,
      message: expect.stringContaining('spec.durationSeconds: Invalid value: 7201: must be no more than 2h'),
    },
  });
});

it('a role or binding of that name that is not of the request is not used', async () => {
  const world = await openWorld();
  const { decide, state, writer } = world;
  const rules = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }];
  await writer.create(catalog.roles, at('', 'ci', GRANT), { ...object({ name: GRANT }), rules }, { dryRun: false });
  expect(await decide('Approved')).toBe(409);
  expect(state()).toEqual(['Pending', undefined, ROLES]);
  expect(await decide('Denied')).toBe(200);
  expect(state()).toEqual(['Denied', undefined, ['Role']]);
});

it('a binding that names the request as its owner is used only if it grants what the request asks for', async () => {
  const changes = {
    subjects: { subjects: [{ kind: 'Group', name: 'system:authenticated' }] },
    role: { roleRef: { kind: 'ClusterRole', name: 'cluster-admin' }, namespaces: ['ci'] },
    end: { expiresAt: '2099-01-01T00:00:00Z' },
    clusters: { clusters: { selector: { matchLabels: { env: 'prod' } } } },
    cluster: { clusters: { names: ['a'], uid: 'another' } },
    namespaces: { namespaces: ['other'] },
  };
  for (const [what, change] of Object.entries({ nothing: {}, ...changes })) {
    const { broken, decide, reader, writer } = await openWorld();
    broken.add(BINDING);
    await decide('Approved');
    broken.clear();
    const approved = reader.find(KIND, at('', '', NAME))?.object();
    if (approved === undefined) throw new Error('the request is gone');
    const uid = reader.find(catalog.clusters, at('', '', 'a'))?.uid ?? '';
    const binding = grantObjects(approved, START + HOUR, uid).find(({ namespace }) => namespace === 'ci')?.binding;
    if (binding === undefined) throw new Error('the passes have no binding');
    const other = { ...binding, spec: { ...(binding.spec as object), ...change } };
    await writer.create(catalog.fleetRoleBindings, at('', '', GRANT), other, { dryRun: false });
    expect([what, await decide('Approved')]).toEqual([what, what === 'nothing' ? 200 : 409]);
  }
});

describe('A31: labels of the server in a new request', () => {
  const labels = {
    'clusterpass.dev/namespace': 'ci',
    'clusterpass.dev/cluster': 'b',
    'clusterpass.dev/requested-by': 'lea',
    'clusterpass.dev/counted-for': 'lea',
    team: 'shop',
  };

  it('do not part it from its grant: it stays approved while it grants, and can be withdrawn', async () => {
    const binding = at('', '', SEEING);
    const { clock, decide, reader, state, sweep } = await openWorld({
      labels,
      spec: { cluster: 'a', reason: 'see it' },
    });
    const sent = reader.find(KIND, at('', '', NAME))?.labels ?? {};
    expect(Object.keys(sent).sort()).toEqual([
      'clusterpass.dev/cluster',
      'clusterpass.dev/counted-for',
      'clusterpass.dev/requested-by',
      'team',
    ]);
    expect(sent['clusterpass.dev/cluster']).toBe('a');
    expect(await decide('Approved')).toBe(200);
    clock.now += 61_000;
    await sweep();
    expect(state()[0]).toBe('Approved');
    expect(reader.find(catalog.fleetRoleBindings, binding)).toBeDefined();
    expect(await decide('Withdrawn')).toBe(200);
    expect(reader.find(catalog.fleetRoleBindings, binding)).toBeUndefined();
  });
});
