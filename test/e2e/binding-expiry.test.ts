import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { auditLogOf, readAudit } from './support/audit.ts';
import { FLEET_BINDINGS, fleetBinding } from './support/bindings.ts';
import { asUser, create, createObjects } from './support/objects.ts';
import { RBAC } from './support/paths.ts';
import { inCluster } from './support/reviews.ts';
import { sharedServer } from './support/shared-server.ts';
import { Watch } from './support/watch.ts';

/** Bindings that expire. */

const NAMESPACES = inCluster('/api/v1/namespaces');
const BINDINGS = FLEET_BINDINGS;
const server = sharedServer();
let log: string;

beforeAll(async () => {
  log = auditLogOf(server);
  await createObjects(server);
  const rules = [{ verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['namespaces'] }];
  await create(server, `${RBAC}/clusterroles`, { metadata: { name: 'looks' }, rules });
});

const bindingUntil = (name: string, end: string) =>
  fleetBinding({ name, to: ['jane'], role: 'looks', fields: { expiresAt: end } });
const inSeconds = (seconds: number): string =>
  new Date(Date.now() + seconds * 1000).toISOString().replace(/\.\d+Z$/, 'Z');

describe('spec.expiresAt', () => {
  it('ends permissions, open watches, and the binding itself', async () => {
    await create(server, BINDINGS, bindingUntil('short', inSeconds(3600)));
    const watch = await Watch.open(server, `${NAMESPACES}?watch=true&resourceVersion=0`, asUser('jane').token);
    onTestFinished(() => watch.close());
    expect(watch.code).toBe(200);
    const body = { spec: { expiresAt: inSeconds(2) } };
    expect((await server.call('PATCH', `${BINDINGS}/short`, { body })).code).toBe(200);
    const events = await watch.until(({ type }) => type === 'ERROR');
    expect(events.at(-1)?.object).toMatchObject({ code: 403 });
    expect((await server.call('GET', NAMESPACES, asUser('jane'))).code).toBe(403);
    await expect.poll(async () => (await server.call('GET', `${BINDINGS}/short`)).code).toBe(404);
    const deleted = async () =>
      (await readAudit(log)).find(({ verb, objectRef }) => verb === 'delete' && objectRef?.name === 'short');
    await expect.poll(deleted).toMatchObject({
      user: { username: 'system:clusterpass:binding-expiry' },
      objectRef: { resource: 'fleetrolebindings' },
    });
  });

  it('is a time', async () => {
    for (const end of ['tomorrow', '2026-11-16', '2026-13-16T18:00:00Z', '']) {
      const { code, json } = await server.call('POST', BINDINGS, { body: bindingUntil('bad', end) });
      expect([code, json.details?.causes?.[0]?.field], end).toEqual([422, 'spec.expiresAt']);
    }
  });

  it('is not in the past when the binding is created', async () => {
    const end = inSeconds(-3600);
    const { code, json } = await server.call('POST', BINDINGS, { body: bindingUntil('past', end) });
    expect([code, json.details?.causes]).toEqual([
      422,
      [
        {
          reason: 'FieldValueInvalid',
          message: `Invalid value: "${end}": is in the past: the binding would never grant anything`,
          field: 'spec.expiresAt',
        },
      ],
    ]);
    // An update may end a binding at once.
    await create(server, BINDINGS, bindingUntil('ended', inSeconds(3600)));
    const body = { spec: { expiresAt: end } };
    expect((await server.call('PATCH', `${BINDINGS}/ended`, { body })).code).toBe(200);
  });
});
