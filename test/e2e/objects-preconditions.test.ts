import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from './support/expect-status.ts';
import { createHomes, details, KINDS, type KindCase, kindCase, objectOf, qualified } from './support/kinds.ts';
import { type Server, startServer } from './support/server.ts';
import { create } from './support/token-world.ts';

let server: Server;

beforeAll(async () => {
  server = await startServer();
  await createHomes(server);
});
afterAll(() => server.destroy());

const PATCH = { 'Content-Type': 'application/merge-patch+json' };
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
    const first = await create(server, of.path, objectOf(of, { name: 'moving' }));
    const body = { ...first, ...of.changed };
    const second = await server.call('PUT', named(of, 'moving'), { body });
    expect(second.code, second.text).toBe(200);
    expectStatus(await server.call('PUT', named(of, 'moving'), { body }), modified(of, 'moving'));
    const { resourceVersion } = first.metadata;
    const patch = { metadata: { resourceVersion, labels: { late: 'yes' } } };
    expectStatus(
      await server.call('PATCH', named(of, 'moving'), { body: patch, headers: PATCH }),
      modified(of, 'moving'),
    );
    const preconditions = { preconditions: { resourceVersion } };
    expectStatus(await server.call('DELETE', named(of, 'moving'), { body: preconditions }), modified(of, 'moving'));
    expect((await server.call('GET', named(of, 'moving'))).json).toEqual(second.json);
    const current = { preconditions: { resourceVersion: second.json.metadata.resourceVersion } };
    expect((await server.call('DELETE', named(of, 'moving'), { body: current })).code).toBe(200);
  });

  it('is not taken for a namesake with another uid', async () => {
    const { metadata } = await create(server, of.path, objectOf(of, { name: 'namesake' }));
    const { uid, resourceVersion } = metadata;
    const body = objectOf(of, { name: 'namesake', uid: 'other', resourceVersion }, of.changed);
    expectStatus(await server.call('PUT', named(of, 'namesake'), { body }), otherUid(of, 'namesake', uid));
    expectStatus(
      await server.call('PATCH', named(of, 'namesake'), { body: { metadata: { uid: 'other' } }, headers: PATCH }),
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

  it('is refused a version that no object can have', async () => {
    await create(server, of.path, objectOf(of, { name: 'odd' }));
    for (const resourceVersion of ['abc', '-1', '1e3', '9'.repeat(40)]) {
      const body = objectOf(of, { name: 'odd', resourceVersion }, of.changed);
      expect((await server.call('PUT', named(of, 'odd'), { body })).code, resourceVersion).toBe(422);
    }
  });

  it('M-09: is not updated under another name or namespace', async () => {
    const { metadata } = await create(server, of.path, objectOf(of, { name: 'addressed' }));
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
      headers: PATCH,
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

it('one of many writers wins each version', async () => {
  const of = kindCase('ServiceAccount');
  const made = await create(server, of.path, objectOf(of, { name: 'contested' }));
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      server.call('PUT', named(of, 'contested'), {
        body: { ...made, metadata: { ...made.metadata, labels: { writer: String(index) } } },
      }),
    ),
  );
  const codes = answers.map(({ code }) => code).sort();
  expect(codes).toEqual([200, ...Array.from({ length: 19 }, () => 409)]);
});

it('patches without a version are all applied, one after the other', async () => {
  const of = kindCase('ServiceAccount');
  await create(server, of.path, objectOf(of, { name: 'busy' }));
  const keys = Array.from({ length: 8 }, (_, index) => `k${index}`);
  const answers = await Promise.all(
    keys.map((key) =>
      server.call('PATCH', named(of, 'busy'), { body: { metadata: { labels: { [key]: 'x' } } }, headers: PATCH }),
    ),
  );
  expect(answers.map(({ code }) => code)).toEqual(keys.map(() => 200));
  const { json } = await server.call('GET', named(of, 'busy'));
  expect(Object.keys(json.metadata.labels).sort()).toEqual(keys);
});

it('B8: whoever has written reads it, also in lists and with other connections', async () => {
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
