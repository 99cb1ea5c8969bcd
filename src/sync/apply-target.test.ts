import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { PROFILE_GROUP } from '../api/clusters/profile-of-cluster.ts';
import type { ApiObject } from '../api/kind.ts';
import { Transport } from '../client/transport.ts';
import { realTiming } from '../lib/backoff.ts';
import { applyTarget } from './apply-target.ts';
import { EXPORT_FIELD_MANAGER, profilesPath } from './export-profiles.ts';
import { FakeHub, HUB_TOKEN } from './hub.fixture.ts';
import { Informer } from './informer.ts';
import type { Desired } from './plan.ts';

const PROFILES = `${PROFILE_GROUP}/clusterprofiles`;
const PATH = profilesPath('v1alpha2', 'inventory');

const hub = await new FakeHub({ [PROFILE_GROUP]: ['v1alpha2'] }).start();
afterAll(() => hub.stop());
beforeEach(() => {
  hub.objects(PROFILES).clear();
  hub.writes.length = 0;
  hub.fault = () => undefined;
});

const profile = (displayName: string, metadata: object = {}): ApiObject => ({
  apiVersion: `${PROFILE_GROUP}/v1alpha2`,
  kind: 'ClusterProfile',
  metadata: { name: 'a', namespace: 'inventory', ...metadata },
  spec: { displayName },
});
const desired = (displayName: string): Desired => ({
  object: profile(displayName),
  status: { version: { kubernetes: displayName } },
});
const stored = () => hub.objects(PROFILES).get('inventory/a');
/** Another object of the name, by another client. */
const replace = (): void => {
  hub.remove(PROFILES, 'inventory/a');
  hub.put(PROFILES, profile('theirs'));
};

async function open({ dryRun = false } = {}) {
  const transport = new Transport({
    ...{ server: hub.url, tokenProvider: () => HUB_TOKEN, fetch: globalThis.fetch, timing: realTiming },
    ...{ userAgent: undefined, onWarning: undefined },
  });
  const informer = new Informer({
    ...{ transport, path: PATH, timing: realTiming },
    ...{ onChange: () => {}, onConnection: () => {} },
  });
  const target = applyTarget({ transport, path: PATH, informer, fieldManager: EXPORT_FIELD_MANAGER, dryRun });
  const actual = (): ApiObject => target.objects.get('inventory/a') as ApiObject;
  return { transport, informer, target, actual };
}

const update = (displayName: string, actual: ApiObject, parts = { object: true, status: false }) => ({
  desired: desired(displayName),
  actual,
  ...parts,
});
const CONFLICT = { code: 409 };

describe('a target', () => {
  it('creates no object that exists, whatever the list said', async () => {
    const { target } = await open();
    const theirs = hub.put(PROFILES, { ...profile('theirs'), spec: {} });
    await expect(target.create(desired('ours'))).rejects.toThrow('inventory/a exists, and was not in the list');
    expect([stored(), hub.writes]).toEqual([theirs, []]);
    // So the next plan knows of it.
    expect(target.objects.size).toBe(1);
  });

  it('does not take a failure to read for the absence of an object', async () => {
    const { target } = await open();
    hub.fault = (method) => (method === 'GET' ? { code: 403 } : undefined);
    await expect(target.create(desired('ours'))).rejects.toMatchObject({ code: 403 });
    expect(hub.writes).toEqual([]);
  });

  it('changes and removes only what it has read', async () => {
    const { target, actual } = await open();
    await target.create(desired('one'));
    const read = actual();
    const theirs = hub.put(PROFILES, { ...(stored() as ApiObject), spec: { displayName: 'theirs' } });
    await expect(target.update(update('two', read))).rejects.toMatchObject(CONFLICT);
    await expect(target.remove(read)).rejects.toMatchObject(CONFLICT);
    expect(stored()).toEqual(theirs);
  });

  it('leaves another object of the name alone', async () => {
    const { target, actual } = await open();
    await target.create(desired('one'));
    const read = actual();
    replace();
    const { resourceVersion: _, ...metadata } = read.metadata;
    await expect(target.update(update('two', { ...read, metadata }))).rejects.toMatchObject(CONFLICT);
    const statusOnly = { object: false, status: true };
    await expect(target.update(update('two', read, statusOnly))).rejects.toMatchObject(CONFLICT);
    await expect(target.remove({ ...read, metadata })).rejects.toMatchObject(CONFLICT);
    expect(stored()).toMatchObject({ spec: { displayName: 'theirs' } });
    expect(stored()).not.toHaveProperty('status');
  });

  it('takes its fields back from another manager', async () => {
    const { transport, target, informer, actual } = await open();
    await target.create(desired('ours'));
    await transport.request('PATCH', `${PATH}/a`, {
      body: profile('theirs'),
      contentType: 'application/apply-patch+yaml',
      query: { fieldManager: 'others', force: true },
    });
    await informer.list();
    await target.update(update('ours', actual()));
    expect(stored()).toMatchObject({ spec: { displayName: 'ours' } });
  });

  it('knows what it has removed, and what waits for a finalizer', async () => {
    const { target, actual } = await open();
    await target.create(desired('one'));
    await target.remove(actual());
    expect([stored(), target.objects.size]).toEqual([undefined, 0]);
    await target.create(desired('one'));
    hub.remove(PROFILES, 'inventory/a');
    await target.remove(actual());
    expect(target.objects.size).toBe(0);
    await target.create(desired('one'));
    hub.fault = (method) => (method === 'DELETE' ? { code: 403 } : undefined);
    await expect(target.remove(actual())).rejects.toMatchObject({ code: 403 });
    expect(target.objects.size).toBe(1);
    hub.fault = () => undefined;
    const held = hub.put(PROFILES, { ...actual(), metadata: { ...actual().metadata, finalizers: ['example.com/x'] } });
    await target.remove(held);
    expect(actual().metadata).toMatchObject({ deletionTimestamp: expect.any(String) });
  });
});
