import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from './support/expect-status.ts';
import { createHomes, details, KINDS, type KindCase, objectOf, qualified } from './support/kinds.ts';
import { type Server, startServer } from './support/server.ts';
import { create } from './support/token-world.ts';

let server: Server;

beforeAll(async () => {
  server = await startServer();
  await createHomes(server);
});
afterAll(() => server.destroy());

const PATCH = { 'Content-Type': 'application/merge-patch+json' };
const DRY = '?dryRun=All';
const named = (of: KindCase, name: string) => `${of.path}/${name}`;
/** Every object with its version. Not the version of the list: the server writes down the time now and then. */
const stored = async (of: KindCase): Promise<object[]> => (await server.call('GET', of.path)).json.items;

describe.each(KINDS)('Z-04: a dry run on $kind', (of) => {
  it('of create checks everything and keeps nothing', async () => {
    const before = await stored(of);
    const answer = await server.call('POST', `${of.path}${DRY}`, { body: objectOf(of, { name: 'dry' }) });
    expect(answer.code, answer.text).toBe(201);
    expect(answer.json).toMatchObject({ ...of.content, ...of.defaults, metadata: { name: 'dry' } });
    expect(answer.json.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(answer.json.metadata.resourceVersion).toBeUndefined();
    expect((await server.call('GET', named(of, 'dry'))).code).toBe(404);
    const generated = await server.call('POST', `${of.path}${DRY}`, { body: objectOf(of, { generateName: 'dry-' }) });
    expect(generated.json.metadata.name).toMatch(/^dry-.{5}$/);
    const invalid = await server.call('POST', `${of.path}${DRY}`, { body: objectOf(of, { name: 'a/b' }) });
    expect(invalid.code).toBe(422);
    expect(await stored(of)).toEqual(before);
  });

  it('of create meets what exists', async () => {
    await create(server, of.path, objectOf(of, { name: 'there' }));
    expectStatus(await server.call('POST', `${of.path}${DRY}`, { body: objectOf(of, { name: 'there' }) }), {
      code: 409,
      reason: 'AlreadyExists',
      message: `${qualified(of)} "there" already exists`,
      details: details(of, 'there'),
    });
  });

  it('of update and patch shows the outcome', async () => {
    const made = await create(server, of.path, objectOf(of, { name: 'stays' }));
    const body = { ...made, ...of.changed };
    const put = await server.call('PUT', `${named(of, 'stays')}${DRY}`, { body });
    expect(put.code, put.text).toBe(200);
    expect(put.json).toMatchObject(of.changed);
    expect(put.json.metadata.generation).toBe(of.countsGenerations ? 2 : undefined);
    const patched = await server.call('PATCH', `${named(of, 'stays')}${DRY}`, { body: of.changed, headers: PATCH });
    expect(patched.json).toEqual(put.json);
    expect((await server.call('GET', named(of, 'stays'))).json).toEqual(made);
    const stale = { ...body, metadata: { ...made.metadata, resourceVersion: '1' } };
    expect((await server.call('PUT', `${named(of, 'stays')}${DRY}`, { body: stale })).code).toBe(409);
  });

  it('of delete answers like a deletion', async () => {
    const made = await create(server, of.path, objectOf(of, { name: 'kept' }));
    const asked = [
      await server.call('DELETE', `${named(of, 'kept')}${DRY}`),
      await server.call('DELETE', named(of, 'kept'), { body: { dryRun: ['All'] } }),
      // With a body kube-apiserver looks at the query no more, and would delete.
      await server.call('DELETE', `${named(of, 'kept')}${DRY}`, { body: { gracePeriodSeconds: 0 } }),
    ];
    for (const answer of asked) {
      expect(answer.code, answer.text).toBe(200);
      expect(answer.json).toMatchObject({ status: 'Success', details: { uid: made.metadata.uid } });
    }
    expect((await server.call('GET', named(of, 'kept'))).json).toEqual(made);

    const held = await create(server, of.path, objectOf(of, { name: 'held', finalizers: ['example.com/a'] }));
    const waits = await server.call('DELETE', `${named(of, 'held')}${DRY}`);
    expect(waits.json.metadata.deletionTimestamp).toMatch(/Z$/);
    expect((await server.call('GET', named(of, 'held'))).json).toEqual(held);
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE'])('Q-03: of %s must say All', async (method) => {
    const path = method === 'POST' ? of.path : named(of, 'there');
    const headers = method === 'PATCH' ? PATCH : {};
    const body = method === 'DELETE' ? undefined : objectOf(of, { name: 'there' });
    const options = { POST: 'Create', PUT: 'Update', PATCH: 'Patch', DELETE: 'Delete' }[method];
    for (const [query, shown] of [
      ['dryRun=', '[""]'],
      ['dryRun=true', '["true"]'],
      ['dryRun=All&dryRun=all', '["All","all"]'],
    ]) {
      const answer = await server.call(method, `${path}?${query}`, { ...(body ? { body } : {}), headers });
      const message = `Unsupported value: ${shown}: supported values: "All"`;
      expectStatus(answer, {
        code: 422,
        reason: 'Invalid',
        message: `${options}Options.meta.k8s.io "" is invalid: dryRun: ${message}`,
        details: {
          group: 'meta.k8s.io',
          kind: `${options}Options`,
          causes: [{ reason: 'FieldValueNotSupported', message, field: 'dryRun' }],
        },
      });
    }
    expect((await server.call('GET', named(of, 'there'))).code).toBe(200);
  });
});
