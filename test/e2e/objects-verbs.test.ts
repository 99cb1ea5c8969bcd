import { beforeAll, describe, expect, it } from 'vitest';
import type { ObjectMeta } from '../../src/api/kind.ts';
import { expectStatus } from './support/expect-status.ts';
import { settled } from './support/fleet.ts';
import { createParents, details, KINDS, type KindCase, kindCase, objectOf, qualified } from './support/kinds.ts';
import { create } from './support/objects.ts';
import { envelope, message, type Proto } from './support/protobuf.ts';
import { sharedServer } from './support/shared-server.ts';
import { brief, Watch } from './support/watch.ts';

/** Every verb on every kind: what it does, what a dry run shows, and which preconditions hold. */

const server = sharedServer();

beforeAll(() => createParents(server));

/** With the status that the leader writes to a binding: from then on nothing but the test changes the object. */
async function createSettled(of: KindCase, metadata: ObjectMeta & { readonly name: string }) {
  const made = await create(server, of.path, objectOf(of, metadata));
  if (of.kind !== 'FleetRoleBinding') return made;
  await settled(server);
  return (await server.call('GET', `${of.path}/${metadata.name}`)).json;
}

/** The object is stored as it was answered. The leader may have written the status of a binding since. */
async function expectStored(of: KindCase, answered: { readonly metadata: ObjectMeta }): Promise<void> {
  const { json } = await server.call('GET', `${of.path}/${answered.metadata.name}`);
  if (of.kind !== 'FleetRoleBinding') expect(json).toEqual(answered);
  else
    expect(json).toMatchObject({
      ...answered,
      metadata: { ...answered.metadata, resourceVersion: expect.any(String) },
    });
}

const withoutManagedFields = ({ metadata, ...rest }: { metadata: object }) => {
  const { managedFields: _, ...others } = metadata as { managedFields?: unknown };
  return { ...rest, metadata: others };
};

describe('verbs', () => {
  const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
  const PATCH = { 'Content-Type': 'application/merge-patch+json' };
  const JSON_PATCH = { 'Content-Type': 'application/json-patch+json' };

  const named = (of: KindCase, name: string) => `${of.path}/${name}`;
  const namesIn = async (of: KindCase, query = ''): Promise<string[]> => {
    const { json } = await server.call('GET', `${of.path}${query}`);
    return json.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
  };

  it('AP-66, AP-67: a PUT in protobuf replaces or clears managedFields', async () => {
    const of = kindCase('ServiceAccount');
    await create(server, `${of.path}?fieldManager=me`, objectOf(of, { name: 'in-protobuf', labels: { a: '1' } }));
    const managersAfter = async (entry: Proto) => {
      const body = message({ 1: { 1: 'in-protobuf', 3: of.namespace ?? '', 11: [{ 1: 'a', 2: '1' }], 17: [entry] } });
      const answer = await server.call('PUT', named(of, 'in-protobuf'), {
        body: envelope('v1', 'ServiceAccount', body),
        headers: { 'Content-Type': 'application/vnd.kubernetes.protobuf' },
      });
      expect(answer.code, answer.text).toBe(200);
      const { managedFields = [] } = answer.json.metadata;
      return managedFields.map(({ manager, operation }: Record<string, string>) => `${manager} ${operation}`);
    };
    const owned = Buffer.from('{"f:metadata":{"f:labels":{"f:a":{}}}}');
    const entry = { 1: 'applier', 2: 'Apply', 3: 'v1', 6: 'FieldsV1', 7: { 1: owned }, 8: '' };
    expect(await managersAfter({ ...entry, 7: { 1: Buffer.from('{') } })).toEqual(['me Update']);
    expect(await managersAfter(entry)).toEqual(['applier Apply']);
    expect(await managersAfter({})).toEqual([]);
  });

  it('a response with a pod has an empty list of containers, which is not stored', async () => {
    const of = kindCase('Pod');
    const sent = { ...objectOf(of, { name: 'no-containers' }), spec: { nodeName: 'n', containers: [] } };
    const spec = { serviceAccountName: 'default', nodeName: 'n', containers: [] };
    const created = await server.call('POST', of.path, { body: sent });
    expect([created.code, created.headers.get('warning'), created.json.spec]).toEqual([201, null, spec]);
    const read = await server.call('GET', named(of, 'no-containers'));
    const list = await server.call('GET', `${of.path}?fieldSelector=metadata.name=no-containers`);
    expect([read.json.spec, list.json.items[0].spec]).toEqual([spec, spec]);
    const watch = await Watch.open(server, `${of.path}?watch=true&fieldSelector=metadata.name=no-containers`);
    expect((await watch.next())?.object.spec).toEqual(spec);
    watch.close();
    // Neither a patch, whose base is the object, nor a PUT of the object as it was read stores it: no manager owns it.
    const labels = { a: '1' };
    for (const headers of [PATCH, { 'Content-Type': 'application/strategic-merge-patch+json' }]) {
      await server.call('PATCH', named(of, 'no-containers'), { body: { metadata: { labels } }, headers });
    }
    const { json } = await server.call('GET', named(of, 'no-containers'));
    const put = await server.call('PUT', named(of, 'no-containers'), { body: json });
    expect([put.code, put.headers.get('warning'), put.json.spec]).toEqual([200, null, spec]);
    expect(put.json.metadata.managedFields[0].fieldsV1['f:metadata']).toBeDefined();
    expect(JSON.stringify(put.json.metadata.managedFields)).not.toContain('containers');
  });

  describe.each(KINDS)('$kind', (of) => {
    it('Z-01: is created with the fields of the server, whatever the client sent for them', async () => {
      const sent = objectOf(of, {
        name: 'made',
        labels: { app: 'x' },
        uid: 'mine',
        creationTimestamp: '2001-01-01T00:00:00Z',
        deletionTimestamp: '2001-01-01T00:00:00Z',
        deletionGracePeriodSeconds: 5,
        selfLink: '/x',
        generation: 7,
      });
      const answer = await server.call('POST', of.path, { body: sent });
      expect(answer.code, answer.text).toBe(201);
      const { apiVersion, kind, metadata, ...content } = answer.json;
      expect({ apiVersion, kind }).toEqual({ apiVersion: of.apiVersion, kind: of.kind });
      const { uid, resourceVersion, creationTimestamp, managedFields, ...rest } = metadata;
      expect(managedFields).toMatchObject([{ manager: 'clusterpass-test', operation: 'Update' }]);
      expect(uid).toMatch(UUID_V4);
      expect(creationTimestamp).toMatch(TIMESTAMP);
      expect(Date.parse(creationTimestamp)).toBeGreaterThan(Date.now() - 60_000);
      expect(resourceVersion).toMatch(/^[1-9][0-9]*$/);
      expect(rest).toEqual({
        name: 'made',
        labels: { app: 'x' },
        ...(of.namespace === undefined ? {} : { namespace: of.namespace }),
        ...(of.countsGenerations ? { generation: 1 } : {}),
      });
      expect(content).toEqual({ ...of.content, ...of.defaults });
      await expectStored(of, answer.json);
    });

    it('AP-55, AP-68: a create is owned by its fieldManager, whatever managers the client sent', async () => {
      const managedFields = [{ manager: 'x', operation: 'Update', fieldsType: 'FieldsV1', fieldsV1: {} }];
      const answer = await server.call('POST', `${of.path}?fieldManager=me`, {
        body: objectOf(of, { name: 'managed', labels: { a: '1' }, managedFields }),
      });
      expect(answer.code).toBe(201);
      const { apiVersion } = of;
      const entry = { manager: 'me', operation: 'Update', apiVersion, fieldsType: 'FieldsV1' };
      expect(answer.json.metadata.managedFields).toMatchObject([entry]);
      expect(answer.json.metadata.managedFields[0].fieldsV1['f:metadata']).toEqual({
        'f:labels': { '.': {}, 'f:a': {} },
      });
      await expectStored(of, answer.json);
    });

    it('Z-02: is created once', async () => {
      await create(server, of.path, objectOf(of, { name: 'twice' }));
      expectStatus(await server.call('POST', of.path, { body: objectOf(of, { name: 'twice' }) }), {
        code: 409,
        reason: 'AlreadyExists',
        message: `${qualified(of)} "twice" already exists`,
        details: details(of, 'twice'),
      });
    });

    it('Z-03: is not created from a version of itself (400 here)', async () => {
      const body = objectOf(of, { name: 'versioned', resourceVersion: '5' });
      expectStatus(await server.call('POST', of.path, { body }), {
        code: 400,
        reason: 'BadRequest',
        message: 'resourceVersion should not be set on objects to be created',
      });
    });

    it('M-05: gets a generated name', async () => {
      const first = await create(server, of.path, objectOf(of, { generateName: 'gen-' }));
      const second = await create(server, of.path, objectOf(of, { generateName: 'gen-' }));
      expect(first.metadata.name).toMatch(/^gen-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
      expect(second.metadata.name).not.toBe(first.metadata.name);
      expect(first.metadata.generateName).toBe('gen-');
      const long = await create(server, of.path, objectOf(of, { generateName: 'a'.repeat(100) }));
      expect(long.metadata.name).toMatch(/^a{58}.{5}$/);
    });

    it('is 404 if it does not exist', async () => {
      const expected = {
        code: 404,
        reason: 'NotFound',
        message: `${qualified(of)} "absent" not found`,
        details: details(of, 'absent'),
      };
      expectStatus(await server.call('GET', named(of, 'absent')), expected);
      expectStatus(await server.call('DELETE', named(of, 'absent')), expected);
      expectStatus(await server.call('PATCH', named(of, 'absent'), { body: {} }), expected);
      const body = objectOf(of, { name: 'absent', resourceVersion: '1' });
      // Z-05: an update never creates.
      expectStatus(await server.call('PUT', named(of, 'absent'), { body }), expected);
    });

    it('is listed and watched', async () => {
      const label = `watched-${of.kind.toLowerCase()}`;
      const labels = { set: label };
      const list = await server.call('GET', `${of.path}?labelSelector=set%3D${label}`);
      expect(list.json).toMatchObject({ kind: `${of.kind}List`, apiVersion: of.apiVersion, items: [] });
      const watch = await Watch.open(
        server,
        `${of.path}?watch=true&labelSelector=set%3D${label}&resourceVersion=${list.json.metadata.resourceVersion}`,
      );
      await create(server, of.path, objectOf(of, { name: 'seen', labels }));
      const patched = await server.call('PATCH', named(of, 'seen'), { body: of.changed });
      expect(patched.code, patched.text).toBe(200);
      expect(await namesIn(of, `?labelSelector=set%3D${label}`)).toEqual(['seen']);
      expect((await server.call('DELETE', named(of, 'seen'))).code).toBe(200);
      const events = await watch.until(({ type }) => type === 'DELETED');
      const order = events.map(brief).filter((text, index, all) => text !== all[index - 1]);
      // An object that contains others is marked before it is deleted.
      expect(order).toEqual(['ADDED seen', 'MODIFIED seen', 'DELETED seen']);
      expect(events.map(({ object }) => object)).toContainEqual(patched.json);
      expect(await namesIn(of, `?labelSelector=set%3D${label}`)).toEqual([]);
      watch.close();
    });

    it('is replaced', async () => {
      const made = await createSettled(of, { name: 'replaced', labels: { a: '1' } });
      const { resourceVersion, uid } = made.metadata;
      const body = objectOf(of, { name: 'replaced', resourceVersion, annotations: { note: 'x' } }, of.changed);
      const answer = await server.call('PUT', named(of, 'replaced'), { body });
      expect(answer.code, answer.text).toBe(200);
      expect(answer.json).toMatchObject(of.changed);
      expect(answer.json.metadata).toMatchObject({ uid, annotations: { note: 'x' } });
      expect(answer.json.metadata.labels).toBeUndefined();
      expect(answer.json.metadata.creationTimestamp).toBe(made.metadata.creationTimestamp);
      expect(Number(answer.json.metadata.resourceVersion)).toBeGreaterThan(Number(resourceVersion));
      expect(answer.json.metadata.generation).toBe(of.countsGenerations ? 2 : undefined);
      expect((await server.call('GET', named(of, 'replaced'))).json).toEqual(answer.json);
    });

    it('keeps its version when an update changes nothing', async () => {
      const made = await createSettled(of, { name: 'same', labels: { a: '1' } });
      const again = await server.call('PUT', named(of, 'same'), { body: made });
      expect(again.json).toEqual(made);
      const patched = await server.call('PATCH', named(of, 'same'), {
        body: { metadata: { labels: { a: '1', b: null } } },
      });
      expect(patched.json).toEqual(made);
    });

    it('is patched with a merge patch, in which null removes a field', async () => {
      await create(server, of.path, objectOf(of, { name: 'merged', labels: { a: '1', b: '2' } }));
      const body = { metadata: { labels: { a: null, c: '3' } }, ...of.changed };
      const answer = await server.call('PATCH', named(of, 'merged'), { body });
      expect(answer.code, answer.text).toBe(200);
      expect(answer.json.metadata.labels).toEqual({ b: '2', c: '3' });
      expect(answer.json).toMatchObject(of.changed);
    });

    it('is patched with a JSON patch, completely or not at all', async () => {
      await createSettled(of, { name: 'stepped', labels: { a: '1' } });
      const body = [
        { op: 'test', path: '/metadata/labels/a', value: '1' },
        { op: 'add', path: '/metadata/labels/b', value: '2' },
      ];
      const answer = await server.call('PATCH', named(of, 'stepped'), { body, headers: JSON_PATCH });
      expect(answer.json.metadata.labels).toEqual({ a: '1', b: '2' });
      const failing = [
        { op: 'remove', path: '/metadata/labels/a' },
        { op: 'test', path: '/metadata/labels/b', value: 'other' },
      ];
      const refused = await server.call('PATCH', named(of, 'stepped'), { body: failing, headers: JSON_PATCH });
      expect(refused.code).toBe(422);
      expect((await server.call('GET', named(of, 'stepped'))).json).toEqual(answer.json);
    });

    it('is deleted, and the response has its name and UID', async () => {
      const { metadata } = await create(server, of.path, objectOf(of, { name: 'deleted' }));
      const answer = await server.call('DELETE', named(of, 'deleted'));
      expect(answer.code).toBe(200);
      expect(answer.json).toEqual({
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Success',
        details: { ...details(of, 'deleted'), uid: metadata.uid },
      });
      expect((await server.call('GET', named(of, 'deleted'))).code).toBe(404);
      const again = await create(server, of.path, objectOf(of, { name: 'deleted' }));
      expect(again.metadata.uid).not.toBe(metadata.uid);
    });

    it('waits for its finalizers, and accepts no new ones meanwhile', async () => {
      const made = await createSettled(of, { name: 'held', finalizers: ['example.com/a'] });
      const answer = await server.call('DELETE', named(of, 'held'));
      expect(answer.code).toBe(200);
      expect(answer.json.metadata).toMatchObject({ name: 'held', uid: made.metadata.uid });
      expect(answer.json.metadata.deletionTimestamp).toMatch(TIMESTAMP);
      const again = await server.call('DELETE', named(of, 'held'));
      expect(again.json).toEqual(answer.json);
      expectStatus(await server.call('POST', of.path, { body: objectOf(of, { name: 'held' }) }), {
        code: 409,
        reason: 'AlreadyExists',
        message: `object is being deleted: ${qualified(of)} "held" already exists`,
        details: details(of, 'held'),
      });
      const more = { metadata: { finalizers: ['example.com/a', 'example.com/b'] } };
      const refused = await server.call('PATCH', named(of, 'held'), { body: more });
      expect(refused.code).toBe(422);
      expect(refused.json.details.causes).toEqual([
        {
          reason: 'FieldValueForbidden',
          message:
            'Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/b"}',
          field: 'metadata.finalizers',
        },
      ]);
      const released = await server.call('PATCH', named(of, 'held'), {
        body: { metadata: { finalizers: null } },
      });
      expect(released.code).toBe(200);
      expect((await server.call('GET', named(of, 'held'))).code).toBe(404);
    });

    it('is deleted by collection, with a selector and up to a limit', async () => {
      if (of.kind === 'Namespace') {
        // As in Kubernetes, all namespaces at once is too much for one request.
        const refused = await server.call('DELETE', `${of.path}?labelSelector=bulk`);
        expectStatus(refused, {
          code: 405,
          reason: 'MethodNotAllowed',
          message: 'the server does not allow this method on the requested resource',
          details: {},
        });
        return;
      }
      for (const name of ['bulk-1', 'bulk-2', 'bulk-3']) {
        await create(server, of.path, objectOf(of, { name, labels: { bulk: name } }));
      }
      const dry = await server.call('DELETE', `${of.path}?labelSelector=bulk&dryRun=All`);
      expect(dry.json.items).toHaveLength(3);
      const one = await server.call('DELETE', `${of.path}?labelSelector=bulk&limit=1`);
      expect(one.json.items.map((item: { metadata: { name: string } }) => item.metadata.name)).toEqual(['bulk-1']);
      expect(await namesIn(of, '?labelSelector=bulk')).toEqual(['bulk-2', 'bulk-3']);
      const two = await server.call('DELETE', `${of.path}?labelSelector=bulk+in+(bulk-2,other)`);
      expect(two.code).toBe(200);
      expect(two.json).toMatchObject({ kind: `${of.kind}List`, apiVersion: of.apiVersion });
      expect(await namesIn(of, '?labelSelector=bulk')).toEqual(['bulk-3']);
      expect(await namesIn(of)).toContain('made');
    });
  });
});

describe('dry run', () => {
  const DRY = '?dryRun=All';
  const named = (of: KindCase, name: string) => `${of.path}/${name}`;
  /** Every object with its version. Not the version of the list: the server itself stores the time now and then. */
  const stored = async (of: KindCase): Promise<object[]> => (await server.call('GET', of.path)).json.items;

  describe.each(KINDS)('Z-04: a dry run on $kind', (of) => {
    it('of create runs all checks and stores nothing', async () => {
      await settled(server);
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

    it('of update and patch has the result in the response', async () => {
      const made = await createSettled(of, { name: 'stays' });
      const body = { ...made, ...of.changed };
      const put = await server.call('PUT', `${named(of, 'stays')}${DRY}`, { body });
      expect(put.code, put.text).toBe(200);
      expect(put.json).toMatchObject(of.changed);
      expect(put.json.metadata.generation).toBe(of.countsGenerations ? 2 : undefined);
      const patched = await server.call('PATCH', `${named(of, 'stays')}${DRY}`, { body: of.changed });
      // A second may begin between the two, and managedFields have the time.
      expect(withoutManagedFields(patched.json)).toEqual(withoutManagedFields(put.json));
      expect((await server.call('GET', named(of, 'stays'))).json).toEqual(made);
      const stale = { ...body, metadata: { ...made.metadata, resourceVersion: '1' } };
      expect((await server.call('PUT', `${named(of, 'stays')}${DRY}`, { body: stale })).code).toBe(409);
    });

    it('of delete has the response of a deletion', async () => {
      const made = await createSettled(of, { name: 'kept' });
      const asked = [
        await server.call('DELETE', `${named(of, 'kept')}${DRY}`),
        await server.call('DELETE', named(of, 'kept'), { body: { dryRun: ['All'] } }),
        // With a body, kube-apiserver ignores the query, and would delete the object.
        await server.call('DELETE', `${named(of, 'kept')}${DRY}`, { body: { gracePeriodSeconds: 0 } }),
      ];
      for (const answer of asked) {
        expect(answer.code, answer.text).toBe(200);
        expect(answer.json).toMatchObject({ status: 'Success', details: { uid: made.metadata.uid } });
      }
      expect((await server.call('GET', named(of, 'kept'))).json).toEqual(made);

      const held = await createSettled(of, { name: 'dry-held', finalizers: ['example.com/a'] });
      const waits = await server.call('DELETE', `${named(of, 'dry-held')}${DRY}`);
      expect(waits.json.metadata.deletionTimestamp).toMatch(/Z$/);
      expect(waits.json.metadata.generation).toBe(of.countsGenerations ? 2 : undefined);
      expect((await server.call('GET', named(of, 'dry-held'))).json).toEqual(held);
    });
  });
});

describe('preconditions', () => {
  const named = (of: KindCase, name: string) => `${of.path}/${name}`;

  const modified = (of: KindCase, name: string) => ({
    code: 409,
    reason: 'Conflict',
    message: `Operation cannot be fulfilled on ${qualified(of)} "${name}": the object has been modified; please apply your changes to the latest version and try again`,
    details: details(of, name),
  });

  const otherUid = (of: KindCase, name: string, uid: string) => ({
    code: 409,
    reason: 'Conflict',
    message: `Operation cannot be fulfilled on ${qualified(of)} "${name}": Precondition failed: UID in precondition: other, UID in object meta: ${uid}`,
    details: details(of, name),
  });

  describe.each(KINDS)('$kind', (of) => {
    it('Z-05: is not changed from an old version', async () => {
      const first = await createSettled(of, { name: 'moving' });
      const body = { ...first, ...of.changed };
      const second = await server.call('PUT', named(of, 'moving'), { body });
      expect(second.code, second.text).toBe(200);
      expectStatus(await server.call('PUT', named(of, 'moving'), { body }), modified(of, 'moving'));
      const { resourceVersion } = first.metadata;
      const patch = { metadata: { resourceVersion, labels: { late: 'yes' } } };
      expectStatus(await server.call('PATCH', named(of, 'moving'), { body: patch }), modified(of, 'moving'));
      const preconditions = { preconditions: { resourceVersion } };
      expectStatus(await server.call('DELETE', named(of, 'moving'), { body: preconditions }), modified(of, 'moving'));
      expect((await server.call('GET', named(of, 'moving'))).json).toEqual(second.json);
      const current = { preconditions: { resourceVersion: second.json.metadata.resourceVersion } };
      expect((await server.call('DELETE', named(of, 'moving'), { body: current })).code).toBe(200);
    });

    it('Z-05: is not changed from a version that is none', async () => {
      await create(server, of.path, objectOf(of, { name: 'strange' }));
      const body = objectOf(of, { name: 'strange', resourceVersion: 'abc' });
      const APPLY = { 'Content-Type': 'application/apply-patch+yaml' };
      const answers = [
        await server.call('PUT', named(of, 'strange'), { body }),
        await server.call('PATCH', named(of, 'strange'), { body }),
        await server.call('PATCH', `${named(of, 'strange')}?fieldManager=me&force=true`, { body, headers: APPLY }),
      ];
      const why = 'must be the resourceVersion of the object as it was read';
      for (const { code, json } of answers) {
        expect([code, json.message]).toEqual([
          422,
          expect.stringContaining(`metadata.resourceVersion: Invalid value: "abc": ${why}`),
        ]);
      }
    });

    it('is refused with the UID of another object of its name', async () => {
      const { metadata } = await create(server, of.path, objectOf(of, { name: 'namesake' }));
      const { uid, resourceVersion } = metadata;
      const body = objectOf(of, { name: 'namesake', uid: 'other', resourceVersion }, of.changed);
      expectStatus(await server.call('PUT', named(of, 'namesake'), { body }), otherUid(of, 'namesake', uid));
      expectStatus(
        await server.call('PATCH', named(of, 'namesake'), { body: { metadata: { uid: 'other' } } }),
        otherUid(of, 'namesake', uid),
      );
      expectStatus(
        await server.call('DELETE', named(of, 'namesake'), { body: { preconditions: { uid: 'other' } } }),
        otherUid(of, 'namesake', uid),
      );
      if (of.kind !== 'Namespace') {
        const bulk = await server.call('DELETE', `${of.path}?fieldSelector=metadata.name%3Dnamesake`, {
          body: { preconditions: { uid: 'other' } },
        });
        expectStatus(bulk, otherUid(of, 'namesake', uid));
      }
      expect((await server.call('DELETE', named(of, 'namesake'), { body: { preconditions: { uid } } })).code).toBe(200);
    });

    it.each(['', '0', undefined])(
      'Z-05: is overwritten blindly only when it is built in (version %j)',
      async (version) => {
        const name = `blind-${version ?? 'none'}`.replace(/-$/, '');
        await create(server, of.path, objectOf(of, { name }));
        const body = objectOf(of, { name, ...(version === undefined ? {} : { resourceVersion: version }) }, of.changed);
        const answer = await server.call('PUT', named(of, name), { body });
        if (of.style === 'builtin') {
          expect(answer.code, answer.text).toBe(200);
          return;
        }
        const message = 'Invalid value: 0: must be specified for an update';
        expectStatus(answer, {
          code: 422,
          reason: 'Invalid',
          message: `${qualified(of)} "${name}" is invalid: metadata.resourceVersion: ${message}`,
          // As in kube-apiserver, here it is the resource.
          details: {
            ...details(of, name),
            causes: [{ reason: 'FieldValueInvalid', message, field: 'metadata.resourceVersion' }],
          },
        });
      },
    );

    it('M-09: is not updated under another name or namespace', async () => {
      const { metadata } = await createSettled(of, { name: 'addressed' });
      const { resourceVersion } = metadata;
      const put = (sent: object) =>
        server.call('PUT', named(of, 'addressed'), { body: objectOf(of, { resourceVersion, ...sent }, of.changed) });
      const refused = (message: string) => ({ code: 400, reason: 'BadRequest', message });
      expectStatus(
        await put({ name: 'other' }),
        refused('the name of the object (other) does not match the name on the URL (addressed)'),
      );
      expectStatus(
        await put({}),
        refused('the name of the object (addressed based on URL) was undeterminable: name must be provided'),
      );
      const elsewhere = await put({ name: 'addressed', namespace: 'elsewhere' });
      if (of.namespace === undefined) {
        // Where a kind has no namespaces, the word is dropped.
        expect(elsewhere.code, elsewhere.text).toBe(200);
        expect(elsewhere.json.metadata.namespace).toBeUndefined();
      } else {
        expectStatus(
          elsewhere,
          refused('the namespace of the object (elsewhere) does not match the namespace on the request (ci)'),
        );
      }
      const renamed = await server.call('PATCH', named(of, 'addressed'), {
        body: { metadata: { name: 'other' } },
      });
      expectStatus(renamed, refused('the name of the object (other) does not match the name on the URL (addressed)'));
    });

    it('T-12h: is created in the namespace of the path', async () => {
      const body = objectOf(of, { name: 'placed', namespace: 'elsewhere' });
      const answer = await server.call('POST', of.path, { body });
      if (of.namespace === undefined) {
        expect(answer.code, answer.text).toBe(201);
        expect(answer.json.metadata.namespace).toBeUndefined();
        return;
      }
      expectStatus(answer, {
        code: 400,
        reason: 'BadRequest',
        message: 'the namespace of the provided object does not match the namespace sent on the request',
      });
      const { namespace: _, ...metadata } = objectOf(of, { name: 'placed' }).metadata;
      const without = await create(server, of.path, { ...objectOf(of, {}), metadata });
      expect(without.metadata.namespace).toBe('ci');
    });
  });

  it('B8: a caller reads its own writes, also in lists and over other connections', async () => {
    const of = kindCase('ServiceAccount');
    for (let round = 0; round < 50; round++) {
      const name = `mine-${round}`;
      await create(server, of.path, objectOf(of, { name }));
      const [got, listed] = await Promise.all([
        server.call('GET', named(of, name), { headers: { Connection: 'close' } }),
        server.call('GET', `${of.path}?fieldSelector=metadata.name%3D${name}`),
      ]);
      expect(got.code).toBe(200);
      expect(listed.json.items).toHaveLength(1);
      expect((await server.call('DELETE', named(of, name))).code).toBe(200);
      expect((await server.call('GET', named(of, name))).code).toBe(404);
    }
  });
});
