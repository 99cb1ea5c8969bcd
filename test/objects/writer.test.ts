import { expect, it } from 'vitest';
import type { ApiObject } from '../../src/api/kind.ts';
import { ApiError, badRequest, type Status } from '../../src/api/status.ts';
import { lonelyWork } from '../../src/lib/work-queue.fixture.ts';
import { PendingCreations } from '../../src/objects/quota.ts';
import { newDatabase } from '../../src/storage/sqlite/test-store.fixture.ts';
import { at, catalog, make, type Objects, object, openObjects } from './object-store.ts';

const { clusters, namespaces, serviceAccounts } = catalog;

const statusOf = async (work: Promise<unknown>): Promise<Status> => {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApiError)) throw new Error('it was not refused', { cause: error });
  return error.status;
};

it('a create that was validated before its namespace was deleted is not written after', async () => {
  let arrive = (): void => {};
  let release = (): void => {};
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const objects = await openObjects(newDatabase(), async ({ key }, next) => {
    if (!key.endsWith('/late')) return next();
    arrive();
    await released;
    return next();
  });
  await make(objects, clusters, at('', '', 'a'));
  await make(objects, namespaces, at('a', '', 'n'));
  const late = statusOf(make(objects, serviceAccounts, at('a', 'n', 'late')));
  await arrived;
  await objects.writer.remove(namespaces, at('a', '', 'n'), { dryRun: false });
  await objects.propagation.finishDeletions(namespaces, at('a', '', 'n'));
  release();
  expect(await late).toMatchObject({ code: 404, message: 'namespaces "n" not found' });
  expect(await objects.keys()).toEqual(['/registry/clusters/a']);
});

it('M-05: when no unique name can be generated, the error is a retriable conflict', async () => {
  let writes = 0;
  const objects = await openObjects(newDatabase(), (_, next) => {
    writes++;
    return next();
  });
  const generate = (dryRun: boolean) =>
    objects.writer.create(clusters, at('', '', ''), object({ generateName: 'c-' }), { dryRun });
  expect((await generate(false)).metadata.name).toBe('c-xxxxx');
  expect(writes).toBe(1);
  const refused = {
    code: 409,
    reason: 'AlreadyExists',
    message:
      'clusters.clusterregistry.k8s.io "c-" already exists, the server was not able to generate a unique name for the object',
    details: { name: 'c-', group: 'clusterregistry.k8s.io', kind: 'clusters', retryAfterSeconds: 1 },
  };
  expect(await statusOf(generate(false))).toMatchObject(refused);
  expect(writes).toBe(1 + 8);
  expect(await statusOf(generate(true))).toMatchObject(refused);
});

it('a quota that is used up refuses a creation, unless its derived fields are refused', async () => {
  const objects = await openObjects();
  const quota = { pending: new PendingCreations(), key: 'jane', refusal: () => badRequest('the quota is used up') };
  const create = (derive: (prepared: ApiObject) => ApiObject) =>
    statusOf(objects.writer.create(clusters, at('', '', ''), object({ name: 'a' }), { dryRun: false, quota, derive }));
  expect(await create((prepared) => prepared)).toMatchObject({ message: 'the quota is used up' });
  const refusing = (): never => {
    throw badRequest('no such cluster');
  };
  expect(await create(refusing)).toMatchObject({ message: 'no such cluster' });
  expect(await objects.keys()).toEqual([]);
});

it('an error of the store is a 503', async () => {
  const objects = await openObjects();
  await make(objects, clusters, at('', '', 'a'));
  await objects.close();
  expect((await statusOf(make(objects, clusters, at('', '', 'b')))).code).toBe(503);
  expect((await statusOf(objects.writer.remove(clusters, at('', '', 'a'), { dryRun: false }))).code).toBe(503);
});

it('an update with a guard on another key fails once that key has changed', async () => {
  const objects = await openObjects();
  await make(objects, clusters, at('', '', 'a'));
  const held = await objects.store.write({
    key: '/internal/leader',
    value: Buffer.from('x'),
    expect: { absent: true },
  });
  const guards = [{ key: '/internal/leader', expect: { createRevision: held.revision } }];
  const label = (value: string) =>
    objects.writer.update(
      clusters,
      at('', '', 'a'),
      (current) => ({ ...current, metadata: { ...current.metadata, labels: { value } } }),
      { dryRun: false, part: 'object', guards },
    );
  expect((await label('one')).metadata.labels).toEqual({ value: 'one' });
  await objects.store.write({ key: '/internal/leader', value: null, expect: { modRevision: held.revision } });
  expect(await statusOf(label('two'))).toMatchObject({ code: 409 });
  expect(objects.reader.find(clusters, at('', '', 'a'))?.labels).toEqual({ value: 'one' });
});

const label = ({ writer }: Pick<Objects, 'writer'>, key: string, request?: { readonly signal: AbortSignal }) =>
  writer.update(
    clusters,
    at('', '', 'a'),
    ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, labels: { ...metadata.labels, [key]: 'yes' } } }),
    { dryRun: false, part: 'object', request },
  );

it('AP-24: concurrent updates of an object without a version are all stored, and none conflicts', async () => {
  let conflicts = 0;
  const objects = await openObjects(newDatabase(), async (_, next) => {
    const result = await next();
    if (!result.ok) conflicts++;
    return result;
  });
  await make(objects, clusters, at('', '', 'a'));
  await Promise.all(Array.from({ length: 100 }, (_, i) => label(objects, `label-${i}`)));
  expect(Object.keys(objects.reader.find(clusters, at('', '', 'a'))?.labels ?? {})).toHaveLength(100);
  expect(conflicts).toBe(0);
});

it('of two updates that expect the same version, one is refused, while others wait', async () => {
  const objects = await openObjects();
  const { resourceVersion = '' } = (await make(objects, clusters, at('', '', 'a'))).metadata;
  const expecting = (value: string) =>
    objects.writer.update(
      clusters,
      at('', '', 'a'),
      (current) => ({ ...current, metadata: { ...current.metadata, labels: { value } } }),
      { dryRun: false, part: 'object', preconditions: { resourceVersion } },
    );
  const first = expecting('one');
  const second = statusOf(expecting('two'));
  await label(objects, 'three');
  expect((await first).metadata.labels).toEqual({ value: 'one' });
  expect(await second).toMatchObject({ code: 409, reason: 'Conflict' });
  expect(objects.reader.find(clusters, at('', '', 'a'))?.labels).toEqual({ value: 'one', three: 'yes' });
});

it('A19: an update whose change took all of a tick waits for the next one before admission', async () => {
  const objects = await openObjects();
  await make(objects, clusters, at('', '', 'a'));
  let ticked = false;
  const long = (current: ApiObject): ApiObject => {
    for (const end = performance.now() + 6; performance.now() < end; );
    return { ...current, metadata: { ...current.metadata, labels: { env: 'prod' } } };
  };
  let tickedBefore: boolean | undefined;
  const admit = (): void => {
    tickedBefore = ticked;
  };
  const work = lonelyWork();
  setImmediate(() => {
    ticked = true;
  });
  await work.turn();
  await objects.writer.update(clusters, at('', '', 'a'), long, { dryRun: false, part: 'object', admit, work });
  expect(tickedBefore).toBe(true);
});
