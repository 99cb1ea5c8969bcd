import { beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { expectStatus } from './support/expect-status.ts';
import { createParents, KINDS, type KindCase, kindCase, objectOf, qualifiedKind } from './support/kinds.ts';
import { asUser, create, createAccount, inNamespace } from './support/objects.ts';
import { CLUSTERS, RBAC } from './support/paths.ts';
import { sharedServer } from './support/shared-server.ts';

/** Paths, names and encodings of objects. */

const server = sharedServer();

beforeAll(() => createParents(server));

describe('paths', () => {
  beforeAll(async () => {
    await createAccount(server, 'builder');
  });

  describe('routing', () => {
    const notFound = {
      code: 404,
      reason: 'NotFound',
      message: 'the server could not find the requested resource',
      details: {},
    };

    it.each([
      '/nowhere',
      '/apis/example.com/v1/gadgets',
      '/apis/clusterregistry.k8s.io/v1/clusters',
      '/api/v1/gadgets',
      '/api/v2/pods',
      '/orchestrator/alpha/api/v1/gadgets',
      '/orchestrator/alpha/api/v1/namespaces/ci/gadgets',
      // R-02, CVE-2019-11247: a kind is reached only by paths of its scope.
      '/apis/clusterregistry.k8s.io/v1alpha1/namespaces/ci/clusters',
      '/apis/clusterregistry.k8s.io/v1alpha1/namespaces/ci/clusters/alpha',
      `${RBAC}/namespaces/ci/clusterroles`,
      `${RBAC}/roles/x`,
      '/orchestrator/alpha/api/v1/pods/x',
      '/orchestrator/alpha/apis/clusterregistry.k8s.io/v1alpha1/clusters',
      '/orchestrator/alpha/auth/v1/clusters',
      `/orchestrator/alpha${RBAC}/clusterroles`,
      //
      inNamespace('serviceaccounts/builder/scale'),
      inNamespace('pods/web-0/status'),
      inNamespace('serviceaccounts/builder/token/x'),
      '/orchestrator/alpha',
      // L-05: clusters are built in.
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    ])('R-01, R-02, R-03, L-02, L-05, decision 11: nothing is served at %s', async (path) => {
      expectStatus(await server.call('GET', path), notFound);
    });

    it.each(['PUT', 'PATCH'])('AP-09: %s of the collection of a custom resource lacks a name', async (method) => {
      const body = { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster', metadata: { name: 'alpha' } };
      const headers = method === 'PATCH' ? { 'Content-Type': 'application/apply-patch+yaml' } : {};
      const answer = await server.call(method, `${CLUSTERS}?fieldManager=one`, { body, headers });
      expectStatus(answer, { code: 400, reason: 'BadRequest', message: 'name must be provided' });
    });

    it('R-03: roles are at the fleet, and not below the path of a cluster', async () => {
      const path = `/orchestrator/alpha${RBAC}/clusterroles`;
      const { code, json } = await server.call('POST', path);
      expect([code, json.reason, json.details]).toEqual([404, 'NotFound', {}]);
      expect((await server.call('POST', path, asUser('nobody'))).code).toBe(403);
    });

    it('L-14: the list of a namespace that does not exist is empty', async () => {
      const { code, json } = await server.call('GET', inNamespace('pods', 'nowhere'));
      expect({ code, items: json.items }).toEqual({ code: 200, items: [] });
    });

    it.each(['namespaces', 'serviceaccounts', 'namespaces/ci/pods'])(
      'L-14: a collection of a cluster that does not exist is 404, not empty: %s',
      async (resource) => {
        const path = `/orchestrator/nope/api/v1/${resource}`;
        const missing = {
          code: 404,
          reason: 'NotFound',
          message: 'clusters.clusterregistry.k8s.io "nope" not found',
          details: { name: 'nope', group: 'clusterregistry.k8s.io', kind: 'clusters' },
        };
        expectStatus(await server.call('GET', path), missing);
        expectStatus(await server.call('GET', `${path}?watch=true&timeoutSeconds=1`), missing);
        // Callers without permission do not learn it.
        const [refused, alike] = await Promise.all(
          ['nope', 'alpha'].map((cluster) => server.call('GET', path.replace('nope', cluster), asUser('nobody'))),
        );
        expect(refused?.code).toBe(403);
        expect(refused?.text).toBe(alike?.text);
      },
    );

    it('L-14: a deletion in a cluster that does not exist is an error', async () => {
      expectStatus(await server.call('DELETE', inNamespace('pods', 'ci', 'nope')), {
        code: 404,
        reason: 'NotFound',
        message: 'clusters.clusterregistry.k8s.io "nope" not found',
        details: { name: 'nope', group: 'clusterregistry.k8s.io', kind: 'clusters' },
      });
    });

    it('A16: a name that begins like another is another', async () => {
      await create(server, CLUSTERS, objectOf(kindCase('Cluster'), { name: 'alp' }));
      for (const path of [
        '/orchestrator/alp/api/v1/namespaces',
        '/orchestrator/alp/api/v1/serviceaccounts',
        inNamespace('serviceaccounts', 'c'),
      ]) {
        expect((await server.call('GET', path)).json.items).toEqual([]);
      }
    });
  });
});

describe('names', () => {
  describe('M-05: a name', () => {
    it.each(KINDS)('of a $kind is required', async (of) => {
      const message = 'Required value: name or generateName is required';
      expectStatus(await server.call('POST', of.path, { body: objectOf(of, {}) }), {
        code: 422,
        reason: 'Invalid',
        message: `${qualifiedKind(of)} "" is invalid: metadata.name: ${message}`,
        details: {
          ...(of.group === '' ? {} : { group: of.group }),
          kind: of.kind,
          causes: [{ reason: 'FieldValueRequired', message, field: 'metadata.name' }],
        },
      });
    });

    it('labels, annotations and finalizers have separate rules', async () => {
      const of = kindCase('Cluster');
      const metadata = {
        name: 'labelled',
        labels: { 'a b': 'x', ok: '-' },
        annotations: { '/x': 'y' },
        finalizers: ['a b'],
      };
      const { code, json } = await server.call('POST', of.path, { body: objectOf(of, metadata) });
      expect(code).toBe(422);
      expect(json.details.causes.map(({ field }: { field: string }) => field)).toEqual([
        'metadata.labels',
        'metadata.labels',
        'metadata.annotations',
        'metadata.finalizers[0]',
      ]);
      const large = objectOf(of, { name: 'large', annotations: { a: 'x'.repeat(256 * 1024) } });
      const answer = await server.call('POST', of.path, { body: large });
      expect(answer.json.details.causes).toEqual([
        {
          reason: 'FieldValueTooLong',
          message: 'Too long: may not be more than 262144 bytes',
          field: 'metadata.annotations',
        },
      ]);
    });
  });
});

describe('encodings', () => {
  const YAML = 'application/yaml';
  const named = (of: KindCase, name: string) => `${of.path}/${name}`;
  const versionOf = (of: KindCase): string => of.apiVersion.split('/').at(-1) ?? '';
  /** The object with unknown and repeated fields, as text. */
  const sloppy = (of: KindCase, name: string): string => {
    const { metadata, ...rest } = objectOf(of, { name });
    const body = JSON.stringify({ ...rest, bogus: 1, metadata: { ...metadata, extra: true } });
    return body.replace('"metadata":{', '"metadata":{"labels":{"a":"1","a":"2"},');
  };

  // An unknown field of a FleetRoleBinding is an error whatever a client asks for: it could widen the binding.
  const LENIENT = KINDS.filter(({ kind }) => kind !== 'FleetRoleBinding');

  it('an unknown field of a FleetRoleBinding is 422', async () => {
    const of = kindCase('FleetRoleBinding');
    for (const query of ['', '?fieldValidation=Ignore']) {
      const { code, json } = await server.call('POST', `${of.path}${query}`, { body: sloppy(of, 'wide') });
      expect([code, json.reason]).toEqual([422, 'Invalid']);
    }
  });

  describe.each(LENIENT)('$kind', (of) => {
    it('is accepted and returned as YAML', async () => {
      const made = await server.call('POST', of.path, {
        body: stringify(objectOf(of, { name: 'yaml', labels: { number: '1', yes: 'true' } })),
        headers: { 'Content-Type': YAML, Accept: YAML },
      });
      expect(made.code, made.text).toBe(201);
      expect(made.headers.get('content-type')).toBe(YAML);
      const json = await server.call('GET', named(of, 'yaml'));
      expect(json.headers.get('content-type')).toBe('application/json');
      expect(parse(made.text)).toEqual(json.json);
      expect(json.json.metadata.labels).toEqual({ number: '1', yes: 'true' });
      const list = await server.call('GET', `${of.path}?labelSelector=number`, { headers: { Accept: YAML } });
      expect(parse(list.text).items.map((item: { metadata: object }) => item.metadata)).toEqual([json.json.metadata]);
      const put = await server.call('PUT', named(of, 'yaml'), {
        body: stringify({ ...json.json, ...of.changed }),
        headers: { 'Content-Type': YAML },
      });
      expect(put.code, put.text).toBe(200);
      expect(put.json).toMatchObject(of.changed);
      const missing = await server.call('GET', named(of, 'absent'), { headers: { Accept: YAML } });
      // Decision 11: an error is always JSON.
      expect(missing.headers.get('content-type')).toBe('application/json');
      expect(missing.json).toMatchObject({ kind: 'Status', code: 404, reason: 'NotFound' });
    });

    it('Q-07: fieldValidation=Warn, the default, sends warnings', async () => {
      for (const [query, name] of [
        ['', 'default'],
        ['?fieldValidation=', 'empty'],
        ['?fieldValidation=Warn', 'warned'],
      ] as const) {
        const answer = await server.call('POST', `${of.path}${query}`, { body: sloppy(of, name) });
        expect(answer.code, answer.text).toBe(201);
        expect(answer.warnings.toSorted()).toEqual([
          'duplicate field "metadata.labels.a"',
          'unknown field "bogus"',
          'unknown field "metadata.extra"',
        ]);
      }
    });

    it('S-06: fieldValidation=Strict refuses, and lists everything', async () => {
      const answer = await server.call('POST', `${of.path}?fieldValidation=Strict`, { body: sloppy(of, 'strict') });
      const duplicate = 'duplicate field "metadata.labels.a"';
      const found =
        of.style === 'custom'
          ? // S-05: repeated fields, then metadata, then the rest.
            [duplicate, 'unknown field "metadata.extra"', 'unknown field "bogus"']
          : // S-04: as they come.
            ['unknown field "bogus"', duplicate, 'unknown field "metadata.extra"'];
      expectStatus(answer, {
        code: 400,
        reason: 'BadRequest',
        message: `${of.kind} in version "${versionOf(of)}" cannot be handled as a ${of.kind}: strict decoding error: ${found.join(', ')}`,
      });
      expect((await server.call('GET', named(of, 'strict'))).code).toBe(404);
    });

    it('fieldValidation counts for updates and patches too', async () => {
      const made = await create(server, of.path, objectOf(of, { name: 'checked' }));
      const put = await server.call('PUT', `${named(of, 'checked')}?fieldValidation=Strict`, {
        body: { ...made, bogus: 1 },
      });
      expect(put.code).toBe(400);
      const body = { bogus: 1, metadata: { labels: { a: 'b' } } };
      const strict = await server.call('PATCH', `${named(of, 'checked')}?fieldValidation=Strict`, { body });
      expect(strict.code).toBe(400);
      expect(strict.json.message).toContain('strict decoding error: unknown field "bogus"');
      const warned = await server.call('PATCH', named(of, 'checked'), { body });
      expect(warned.code).toBe(200);
      expect(warned.warnings).toEqual(['unknown field "bogus"']);
    });

    it('W-05: warnings come with errors too', async () => {
      const answer = await server.call('PATCH', named(of, 'checked'), {
        body: { bogus: 1, metadata: { labels: { '-': '-' } } },
      });
      expect(answer.code).toBe(422);
      expect(answer.warnings).toEqual(['unknown field "bogus"']);
    });
  });
});
