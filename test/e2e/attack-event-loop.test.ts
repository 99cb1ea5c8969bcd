import { beforeAll, describe, expect, it } from 'vitest';
import { create, createCluster, createNamespace, inNamespace, tokenPath } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { sharedServer } from './support/shared-server.ts';

/**
 * A19, C-B: one request must not delay the others, nor get a response of many times its size. These tests check the
 * limits. `npm run bench -- ticks` measures requests within them.
 */

const server = sharedServer();
const ACCOUNTS = inNamespace('serviceaccounts');
const STRATEGIC = { 'Content-Type': 'application/strategic-merge-patch+json' };
const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

beforeAll(async () => {
  await createCluster(server, 'alpha');
  await createNamespace(server, 'ci');
  await create(server, ACCOUNTS, { metadata: { name: 'builder' } });
});

describe('A19: a request that would take too long is refused', () => {
  it.each<[string, string, object, Record<string, string>]>([
    ['finalizers', ACCOUNTS, { metadata: { name: 'x', finalizers: times(101, (i) => `a.io/${i}`) } }, {}],
    ['owners', ACCOUNTS, { metadata: { name: 'x', ownerReferences: times(101, (i) => ({ uid: `${i}` })) } }, {}],
    [
      'labels',
      ACCOUNTS,
      { metadata: { name: 'x', labels: Object.fromEntries(times(1_001, (i) => [`l${i}`, 'x'])) } },
      {},
    ],
    ['secrets', ACCOUNTS, { metadata: { name: 'x' }, secrets: times(1_001, (i) => ({ name: `s${i}` })) }, {}],
    [
      'requirements',
      REVIEWS,
      { spec: { resourceAttributes: { labelSelector: { requirements: times(101, () => ({})) } } } },
      { Accept: 'application/yaml' },
    ],
  ])('too many %s', async (field, path, body, headers) => {
    const { code, json } = await server.call('POST', path, { body, headers });
    expect(code).toBe(422);
    expect(json.details.causes).toHaveLength(1);
    expect(json.details.causes[0].reason).toBe('FieldValueTooMany');
    expect(json.details.causes[0].field.toLowerCase()).toContain(field.slice(0, 5));
  });

  const long = (length: number): string => '<'.repeat(length + 1);
  const reviewed = (resourceAttributes: object) => ({ spec: { resourceAttributes } });
  const requirements = times(50, () => ({ key: 'a', operator: 'In', values: times(50, () => long(32)) }));
  const TOKEN_REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews';
  it.each<[string, number, string, object]>([
    ['spec.resourceAttributes.name', 1_024, REVIEWS, reviewed({ name: long(1_024) })],
    ['spec.nonResourceAttributes.path', 8_192, REVIEWS, { spec: { nonResourceAttributes: { path: long(8_192) } } }],
    [
      'spec.resourceAttributes.labelSelector.rawSelector',
      65_536,
      REVIEWS,
      reviewed({ labelSelector: { rawSelector: long(65_536) } }),
    ],
    [
      'spec.resourceAttributes.fieldSelector.requirements',
      65_536,
      REVIEWS,
      reviewed({ fieldSelector: { requirements } }),
    ],
    ['spec.token', 65_536, TOKEN_REVIEWS, { spec: { token: long(65_536) } }],
    [
      'metadata.annotations',
      262_144,
      TOKEN_REVIEWS,
      { metadata: { annotations: { a: long(262_144) } }, spec: { token: 'x' } },
    ],
    ['metadata.labels', 262_144, tokenPath(), { metadata: { labels: { a: long(262_144) } }, spec: { audiences: [] } }],
    ['metadata.generateName', 1_024, tokenPath(), { metadata: { generateName: long(1_024) }, spec: { audiences: [] } }],
    [
      'metadata.ownerReferences[0].uid',
      1_024,
      tokenPath(),
      { metadata: { ownerReferences: [{ uid: long(1_024) }] }, spec: { audiences: [] } },
    ],
    ['metadata.finalizers[0]', 1_024, ACCOUNTS, { metadata: { name: 'x', finalizers: [long(1_024)] } }],
  ])('a text that the response would repeat: %s above %i', async (field, limit, path, body) => {
    const { code, json } = await server.call('POST', path, { body });
    expect(code).toBe(422);
    expect(json.details.causes).toEqual([
      { reason: 'FieldValueTooLong', field, message: `Too long: may not be more than ${limit} bytes` },
    ]);
  });

  it.each<[string, number, object]>([
    ['status.type', 1_024, { type: long(1_024) }],
    ['status.version', 1_024, { version: long(1_024) }],
    ['status.conditions[0].type', 316, { conditions: [{ type: long(316), status: 'True' }] }],
    ['status.conditions[0].reason', 1_024, { conditions: [{ type: 'A', status: 'True', reason: long(1_024) }] }],
    ['status.conditions[0].message', 32_768, { conditions: [{ type: 'A', status: 'True', message: long(32_768) }] }],
    [
      'status.conditions',
      262_144,
      { conditions: times(9, (i) => ({ type: `A${i}`, status: 'True', message: long(30_000) })) },
    ],
  ])('%s of a cluster above %i', async (field, limit, status) => {
    const { code, json } = await server.call('PATCH', `${CLUSTERS}/alpha/status`, { body: { status } });
    expect(code).toBe(422);
    expect(json.details.causes).toEqual([
      { reason: 'FieldValueTooLong', field, message: `Too long: may not be more than ${limit} bytes` },
    ]);
  });

  it('too many audiences, though they are equal', async () => {
    const body = { spec: { token: 'x', audiences: times(129, () => '<') } };
    const { code, json } = await server.call('POST', TOKEN_REVIEWS, { body });
    expect(code).toBe(422);
    expect(json.details.causes[0].field).toBe('spec.audiences');
  });

  it('a patch of more elements than the list may have', async () => {
    await create(server, ACCOUNTS, { metadata: { name: 'many' }, secrets: times(1_000, (i) => ({ name: `s${i}` })) });
    const body = { secrets: times(1_001, (i) => ({ $patch: 'delete', name: `t${i}` })) };
    const answer = await server.call('PATCH', `${ACCOUNTS}/many?dryRun=All`, { body, headers: STRATEGIC });
    expect(answer.code).toBe(400);
    expect(answer.json.message).toBe('a list of the patch has more than 1000 elements');
  });
});

const SMALL = 256 * 1024;

/** Two megabytes that take a while to put in quotes. */
const LONG = '\u{1f600}'.repeat(500_000);
const about = (boundObjectRef: object) => ({ spec: { audiences: [], boundObjectRef } });

describe('a response does not repeat megabytes of the request', () => {
  it.each<[string, string, object]>([
    ['the name of an object', ACCOUNTS, { metadata: { name: LONG } }],
    ['a label', ACCOUNTS, { metadata: { name: 'x', labels: { a: LONG } } }],
    ['the key of a label', ACCOUNTS, { metadata: { name: 'x', labels: { [LONG]: 'a' } } }],
    ['the name in a token request', tokenPath(), { metadata: { name: LONG }, spec: { audiences: [] } }],
    ['the uid in a token request', tokenPath(), { metadata: { uid: LONG }, spec: { audiences: [] } }],
    ['the name of a bound object', tokenPath(), about({ kind: 'Pod', name: LONG })],
    ['a bad name of a bound object', tokenPath(), about({ kind: 'Pod', name: `${LONG}/` })],
    ['the kind of a bound object', tokenPath(), about({ kind: LONG, name: 'x' })],
  ])('%s', async (_, path, body) => {
    const { code, text } = await server.call('POST', path, { body });
    expect(code).toBeGreaterThanOrEqual(400);
    expect(text.length).toBeLessThan(SMALL);
  });

  it.each<[string, object]>([
    [
      'a selector',
      { spec: { resourceAttributes: { labelSelector: { rawSelector: LONG, requirements: [{ key: 'a' }] } } } },
    ],
    ['metadata', { metadata: { name: LONG }, spec: { resourceAttributes: {} } }],
    ['a path', { spec: { resourceAttributes: {}, nonResourceAttributes: { path: LONG } } }],
  ])('%s in a review', async (_, body) => {
    const { code, text } = await server.call('POST', REVIEWS, { body });
    expect(code).toBe(422);
    expect(text.length).toBeLessThan(SMALL);
  });

  it('the uid and the version of an update', async () => {
    for (const metadata of [{ uid: LONG }, { resourceVersion: LONG }]) {
      const body = { metadata: { name: 'builder', ...metadata } };
      const { code, text } = await server.call('PUT', `${ACCOUNTS}/builder`, { body });
      expect([409, 422]).toContain(code);
      expect(text.length).toBeLessThan(SMALL);
    }
  });
});
