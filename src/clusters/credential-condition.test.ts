import { expect, it, onTestFinished } from 'vitest';
import { at, catalog, object, openObjects } from '../../test/objects/object-store.ts';
import type { Conclusion } from '../api/clusters/conditions.ts';
import { CONFIRMED_ANNOTATION, endpointDigest } from '../api/clusters/confirmed-endpoint.ts';
import type { ClusterStatus } from '../api/kinds/cluster-spec.ts';
import { lonelyWork } from '../lib/work-queue.fixture.ts';
import { createLogger } from '../observability/logger.ts';
import { newDatabase } from '../storage/sqlite/test-store.fixture.ts';
import { createCredentialConditions } from './credential-condition.ts';

const NOW = Date.UTC(2026, 7, 1);
const ACCEPTED: Conclusion = { status: 'True', reason: 'Accepted', message: 'Fine.' };
const REFUSED: Conclusion = { status: 'False', reason: 'Refused', message: 'Not fine.' };
const CONTROLLER = { authInfo: { controller: { namespace: 'fleet', name: 'x' } } };

const reasonIn = (status: unknown): string | undefined =>
  (status as ClusterStatus | undefined)?.conditions?.[0]?.reason;

/** Clusters over a real store, some of which name a credential. */
async function openClusters(count: number) {
  const world = await open(newDatabase());
  onTestFinished(() => world.conditions.close());
  await Promise.all(
    Array.from({ length: count }, (_, index) =>
      world.writer.create(
        catalog.clusters,
        { cluster: '', namespace: '' },
        { ...object({ name: `c-${index}` }), ...(index % 2 === 0 ? { spec: CONTROLLER } : {}) },
        { dryRun: false },
      ),
    ),
  );
  return world;
}

async function open(file: string) {
  const objects = await openObjects(file);
  const { reader, writer, reflector } = objects;
  const logger = createLogger({ level: 'silent', write: () => {} });
  const conditions = createCredentialConditions({
    catalog,
    reader,
    writer,
    productName: 'orchestrator',
    now: () => NOW,
    work: lonelyWork(),
    logger,
  });
  const stored = (name: string) => {
    const found = reader.find(catalog.clusters, at('', '', name));
    if (found === undefined) throw new Error(`there is no ${name}`);
    return found;
  };
  const conditionsOf = (name: string) => ((stored(name).object().status ?? {}) as ClusterStatus).conditions;
  const confirm = (name: string) =>
    writer.update(
      catalog.clusters,
      at('', '', name),
      (current) => {
        const annotations = { [CONFIRMED_ANNOTATION]: endpointDigest(current, 'orchestrator') };
        return { ...current, metadata: { ...current.metadata, annotations } };
      },
      { dryRun: false, part: 'object' },
    );
  /** The reasons that readers of a cluster see from now on, in order. */
  const reasonsOf = (name: string) => {
    const reasons: (string | undefined)[] = [];
    reflector.listen({
      onEvent: ({ after }) => {
        if (after?.name === name) reasons.push(reasonIn(after.object().status));
      },
      onProgress: () => {},
      onReset: () => {},
    });
    return reasons;
  };
  return { ...objects, conditions, stored, conditionsOf, confirm, reasonsOf };
}

it('checkAll writes the condition of every cluster that names a credential', async () => {
  const { conditions, conditionsOf } = await openClusters(250);
  await conditions.checkAll();
  await expect.poll(() => conditionsOf('c-248')?.[0]?.reason).toBe('NotConfirmed');
  await expect
    .poll(() => Array.from({ length: 250 }, (_, index) => conditionsOf(`c-${index}`)?.length ?? 0))
    .toEqual(Array.from({ length: 250 }, (_, index) => (index % 2 === 0 ? 1 : 0)));
});

it('a finding is written once, and only if it is about this generation of the cluster', async () => {
  const { conditions, conditionsOf, confirm, stored, reflector, writer } = await openClusters(1);
  reflector.listen(conditions);
  const before = stored('c-0');
  conditions.report(before, ACCEPTED);
  // The credential is not confirmed, which takes precedence.
  await expect.poll(() => conditionsOf('c-0')?.[0]?.reason).toBe('NotConfirmed');
  await confirm('c-0');
  await expect.poll(() => conditionsOf('c-0')?.[0]?.reason).toBe('NotUsedYet');
  conditions.report(stored('c-0'), REFUSED);
  await expect
    .poll(() => conditionsOf('c-0')?.[0])
    .toEqual({
      type: 'CredentialUsable',
      ...REFUSED,
      lastHeartbeatTime: '2026-08-01T00:00:00Z',
      lastTransitionTime: '2026-08-01T00:00:00Z',
    });
  const { revision } = stored('c-0');
  conditions.report(stored('c-0'), REFUSED);
  // A write after which a second write of the condition would have been seen.
  await writer.create(catalog.clusters, { cluster: '', namespace: '' }, object({ name: 'z' }), { dryRun: false });
  expect(stored('c-0').revision).toBe(revision);

  const old = stored('c-0');
  await writer.update(
    catalog.clusters,
    at('', '', 'c-0'),
    (current) => ({ ...current, spec: { authInfo: { controller: { namespace: 'fleet', name: 'y' } } } }),
    { dryRun: false, part: 'object' },
  );
  conditions.report(old, ACCEPTED);
  await expect.poll(() => conditionsOf('c-0')?.[0]?.reason).toBe('NotConfirmed');
});

it('a new reason or message is written, and a finding is never shown that does not hold', async () => {
  const { conditions, conditionsOf, confirm, stored, reasonsOf, reflector, writer } = await openClusters(1);
  const shown = reasonsOf('c-0');
  reflector.listen(conditions);
  conditions.report(stored('c-0'), ACCEPTED);
  await expect.poll(() => conditionsOf('c-0')?.[0]?.reason).toBe('NotConfirmed');
  await confirm('c-0');
  await expect.poll(() => conditionsOf('c-0')?.[0]?.reason).toBe('NotUsedYet');
  const old = stored('c-0');
  await writer.update(
    catalog.clusters,
    at('', '', 'c-0'),
    (current) => ({ ...current, spec: { ...CONTROLLER, other: 'field' } }),
    { dryRun: false, part: 'object' },
  );
  conditions.report(old, ACCEPTED);
  conditions.report(stored('c-0'), REFUSED);
  for (const next of [
    { ...REFUSED, reason: 'Unusable' },
    { ...REFUSED, message: 'Still not fine.' },
  ] as const) {
    await expect.poll(() => conditionsOf('c-0')?.[0]?.status).toBe('False');
    conditions.report(stored('c-0'), next);
    await expect.poll(() => conditionsOf('c-0')?.[0]).toMatchObject(next);
  }
  expect(shown).not.toContain('Accepted');
});

it('a finding about a cluster that was deleted is not shown by the next one of the name', async () => {
  const { conditions, conditionsOf, confirm, stored, reasonsOf, writer } = await openClusters(1);
  const shown = reasonsOf('c-0');
  await confirm('c-0');
  const old = stored('c-0');
  await writer.remove(catalog.clusters, at('', '', 'c-0'), { dryRun: false, onlyIfEmpty: true });
  const again = { ...object({ name: 'c-0' }), spec: CONTROLLER };
  await writer.create(catalog.clusters, { cluster: '', namespace: '' }, again, { dryRun: false });
  await confirm('c-0');
  conditions.report(old, REFUSED);
  conditions.report(stored('c-0'), ACCEPTED);
  await expect.poll(() => conditionsOf('c-0')?.[0]?.reason).toBe('Accepted');
  expect(shown).not.toContain('Refused');
});
