import { beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { expectStatus } from './support/expect-status.ts';
import {
  createParents,
  KINDS,
  type KindCase,
  kindCase,
  kindDetails,
  objectOf,
  qualifiedKind,
} from './support/kinds.ts';
import { ASK, asUser, create, createAccount, inNamespace, tokenPath } from './support/objects.ts';
import { CLUSTERS, RBAC } from './support/paths.ts';
import { rawCall } from './support/raw-http.ts';
import type { Server } from './support/server.ts';
import { beforeAllWithServer } from './support/shared-server.ts';

/** Paths, names and encodings of objects. */

let server: Server;

beforeAllWithServer(async (shared) => {
  server = shared;
  await createParents(server);
});

describe('paths', () => {
  beforeAll(async () => {
    await createAccount(server, 'builder');
  });

  const badPath = (message: string) => ({ code: 400, message });
  const refusedEscape = (text: string) => badPath(`the request path must not contain the escape "${text}"`);

  describe('A16, C-G, M-06, M-07: a path is decoded once, and never normalized', () => {
    it.each<[string, { code: number; message: string }]>([
      [`${CLUSTERS}/..%2fsecrets`, refusedEscape('%2f')],
      [`${CLUSTERS}/a%2Fb`, refusedEscape('%2F')],
      [`${inNamespace('serviceaccounts')}/a%2Fb/token`, refusedEscape('%2F')],
      [`${CLUSTERS}/%2e%2e`, refusedEscape('%2e')],
      [`${CLUSTERS}/a%5cb`, refusedEscape('%5c')],
      [`${CLUSTERS}/a%00b`, refusedEscape('%00')],
      [`${CLUSTERS}/a%0d%0aX:y`, refusedEscape('%0d')],
      [`${CLUSTERS}/a%7f`, refusedEscape('%7f')],
      [`${CLUSTERS}/a%25b`, badPath(`Name parameter invalid: "a%b": may not contain '%'`)],
      [`${CLUSTERS}/a%252e`, badPath(`Name parameter invalid: "a%2e": may not contain '%'`)],
      [`${CLUSTERS}/..`, badPath(`Name parameter invalid: "..": may not be '..'`)],
      [`${CLUSTERS}/.`, badPath(`Name parameter invalid: ".": may not be '.'`)],
      ['/orchestrator/../apis', badPath(`Name parameter invalid: "..": may not be '..'`)],
      [inNamespace('pods', '..'), badPath(`Name parameter invalid: "..": may not be '..'`)],
      [tokenPath('..'), badPath(`Name parameter invalid: "..": may not be '..'`)],
      [`${CLUSTERS}/a\\b`, badPath('the request path must not contain a backslash')],
      [`${CLUSTERS}/a%zz`, badPath('the request path contains an invalid percent-escape')],
      [`${CLUSTERS}/a%`, badPath('the request path contains an invalid percent-escape')],
      [`${CLUSTERS}/%ff`, badPath('the request path is not valid UTF-8 when decoded')],
      [`${CLUSTERS}/%c0%af`, badPath('the request path is not valid UTF-8 when decoded')],
      [`${CLUSTERS}/%c2%85`, badPath('the request path must not contain control characters')],
      [`http://x${CLUSTERS}`, badPath('the request target must be a path that starts with "/"')],
    ])('%s', async (path, { code, message }) => {
      for (const method of ['GET', 'POST', 'DELETE']) {
        const answer = await rawCall(server, method, path, { body: method === 'GET' ? '' : '{}' });
        expect(answer.code).toBe(code);
        expect(JSON.parse(answer.text)).toMatchObject({ kind: 'Status', reason: 'BadRequest', message, code });
      }
    });

    it.each([
      '//apis/clusterregistry.k8s.io/v1alpha1/clusters',
      '/apis//v1alpha1/clusters',
      '/apis//v1/namespaces/ci/pods',
      '/orchestrator//api/v1/pods',
      '/orchestrator/alpha//api/v1/pods',
      '/orchestrator/alpha/api//pods',
      '/orchestrator/alpha/api/v1//pods',
      '/orchestrator/alpha/api/v1/namespaces//pods',
      '/auth/v1//clusters',
      '/auth//v1/clusters',
    ])('R-07: an empty segment is not skipped: %s', async (path) => {
      const answer = await rawCall(server, 'GET', path);
      expect(answer.code, answer.text).toBe(404);
    });

    it('T-12a: an empty name before a subresource is a missing name', async () => {
      const answer = await rawCall(server, 'POST', tokenPath(''), { body: '{}' });
      expect(answer.code).toBe(400);
      expect(JSON.parse(answer.text).message).toBe('name must be provided');
    });

    it('R-07: a slash at the end changes nothing', async () => {
      const { text } = await server.call('GET', inNamespace('serviceaccounts'));
      for (const path of ['serviceaccounts/', 'serviceaccounts//']) {
        expect((await rawCall(server, 'GET', inNamespace(path))).text).toBe(text);
      }
      expect((await rawCall(server, 'GET', '/auth/v1/clusters/')).code).toBe(200);
    });

    it('M-08: case matters everywhere', async () => {
      for (const path of [
        '/Auth/v1/clusters',
        '/auth/v1/Clusters',
        `${CLUSTERS.replace('clusters', 'Clusters')}`,
        '/orchestrator/alpha/api/v1/Pods',
        '/Orchestrator/alpha/api/v1/pods',
        inNamespace('serviceaccounts').replace('/namespaces/', '/Namespaces/'),
      ]) {
        expect((await server.call('GET', path)).code, path).toBe(404);
      }
      expect((await server.call('GET', inNamespace('serviceaccounts', 'CI'))).json.items).toEqual([]);
      // An unknown parameter is ignored.
      expect((await server.call('GET', `${CLUSTERS}?LIMIT=abc`)).code).toBe(200);
    });
  });

  describe('routing', () => {
    const notFound = {
      code: 404,
      reason: 'NotFound',
      message: 'the server could not find the requested resource',
      details: {},
    };
    const notAllowed = {
      code: 405,
      reason: 'MethodNotAllowed',
      message: 'the server does not allow this method on the requested resource',
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
      // R-03
      inNamespace('serviceaccounts/builder/scale'),
      inNamespace('pods/web-0/status'),
      inNamespace('serviceaccounts/builder/token/x'),
      '/orchestrator/alpha',
      // L-05: clusters are built in.
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    ])('R-01, R-02, R-03, L-05, decision 11: nothing is served at %s', async (path) => {
      expectStatus(await server.call('GET', path), notFound);
    });

    it.each<[string, string]>([
      ['GET', tokenPath()],
      ['PUT', tokenPath()],
      ['DELETE', tokenPath()],
      ['POST', inNamespace('serviceaccounts/builder')],
      ['PUT', inNamespace('serviceaccounts')],
      ['PATCH', inNamespace('serviceaccounts')],
      ['POST', '/orchestrator/alpha/api/v1/pods'],
      ['DELETE', '/orchestrator/alpha/api/v1/pods'],
      ['DELETE', '/orchestrator/alpha/api/v1/namespaces'],
      // R-09: built-in paths do not answer HEAD.
      ['HEAD', inNamespace('serviceaccounts')],
    ])('R-04: %s %s is 405, without Allow', async (method, path) => {
      const answer = await server.call(method, path, ['POST', 'PUT', 'PATCH'].includes(method) ? { body: {} } : {});
      if (method === 'HEAD') expect(answer.code).toBe(405);
      else expectStatus(answer, notAllowed);
      expect(answer.headers.get('allow')).toBeNull();
    });

    it.each<[string, string, string]>([
      ['POST', `${CLUSTERS}/alpha`, 'create'],
      ['POST', '/auth/v1/clusters', 'create'],
      ['PATCH', '/auth/v1/clusters', 'patch'],
      ['DELETE', '/auth/v1/clusters', 'deletecollection'],
    ])('R-05: %s %s is 405', async (method, path, verb) => {
      expectStatus(await server.call(method, path, method === 'DELETE' ? {} : { body: {} }), {
        code: 405,
        reason: 'MethodNotAllowed',
        message: `${verb} is not supported on resources of kind "clusters.clusterregistry.k8s.io"`,
        details: { group: 'clusterregistry.k8s.io', kind: 'clusters' },
      });
      expect((await server.call('GET', `${CLUSTERS}/alpha`)).code).toBe(200);
    });

    it.each(['PUT', 'PATCH'])('AP-09: %s of the collection of a custom resource lacks a name', async (method) => {
      const body = { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster', metadata: { name: 'alpha' } };
      const headers = method === 'PATCH' ? { 'Content-Type': 'application/apply-patch+yaml' } : {};
      const answer = await server.call(method, `${CLUSTERS}?fieldManager=one`, { body, headers });
      expectStatus(answer, { code: 400, reason: 'BadRequest', message: 'name must be provided' });
    });

    it.each([
      ['rolebindings', `${RBAC}/namespaces/ci/rolebindings`],
      ['clusterroles', `${RBAC}/clusterroles`],
    ])(
      'R-03: the error for a create of %s below the path of a cluster names the right path',
      async (resource, path) => {
        const { code, json } = await server.call('POST', `/orchestrator/alpha${path}`);
        expect([code, json.reason, json.details]).toEqual([404, 'NotFound', {}]);
        expect(json.message).toContain(`${resource} are of the fleet: send this request to the address of the server`);
        expect((await server.call('POST', `/orchestrator/alpha${path}`, asUser('nobody'))).code).toBe(403);
      },
    );

    it('R-06: an unknown subresource of a cluster is not found', async () => {
      expectStatus(await server.call('GET', `${CLUSTERS}/alpha/scale`), {
        code: 404,
        reason: 'NotFound',
        message: 'clusters.clusterregistry.k8s.io "alpha" not found',
        details: { name: 'alpha', group: 'clusterregistry.k8s.io', kind: 'clusters' },
      });
    });

    it('R-08: a watch of one object is a get', async () => {
      const plain = await server.call('GET', `${CLUSTERS}/alpha`);
      expect((await server.call('GET', `${CLUSTERS}/alpha?watch=true`)).text).toBe(plain.text);
    });

    it('R-09: HEAD is answered for clusters', async () => {
      const head = await server.call('HEAD', CLUSTERS);
      expect(head.code).toBe(200);
      expect(head.text).toBe('');
      expect((await server.call('HEAD', `${CLUSTERS}/alpha`)).code).toBe(200);
      expect((await server.call('HEAD', `${CLUSTERS}/absent`)).code).toBe(404);
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
  const SUBDOMAIN =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
  const LABEL =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

  const SUBDOMAIN_KINDS = ['Cluster', 'ServiceAccount', 'Pod', 'Secret'];
  const RBAC_KINDS = ['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'];

  async function expectRefused(of: KindCase, name: string, problems: readonly string[]): Promise<void> {
    const causes = problems.map((problem) => ({
      reason: 'FieldValueInvalid',
      message: `Invalid value: ${JSON.stringify(name)}: ${problem}`,
      field: 'metadata.name',
    }));
    const [first] = causes;
    const texts = causes.map(({ message, field }) => `${field}: ${message}`);
    expectStatus(await server.call('POST', of.path, { body: objectOf(of, { name }) }), {
      code: 422,
      reason: 'Invalid',
      message: `${qualifiedKind(of)} ${JSON.stringify(name)} is invalid: ${texts.length === 1 ? `${first?.field}: ${first?.message}` : `[${texts.join(', ')}]`}`,
      details: kindDetails(of, name, causes),
    });
  }

  describe('M-01, M-03, M-04: names that are subdomains', () => {
    describe.each(SUBDOMAIN_KINDS)('%s', (kind) => {
      it.each(['Foo', 'a_b', '-a', 'a-', '.a', 'a.', 'a..b', 'a b', 'ü', 'a/b', 'a%b', '..', 'ſ', 'K'])(
        '%j is refused',
        (name) => expectRefused(kindCase(kind), name, [SUBDOMAIN]),
      );

      it('holds no control characters', async () => {
        const of = kindCase(kind);
        for (const name of ['a\u0000', 'a\n', '\u001b[31m']) {
          expect((await server.call('POST', of.path, { body: objectOf(of, { name }) })).code).toBe(422);
        }
      });

      it('has at most 253 bytes, and no limit on its parts', async () => {
        const of = kindCase(kind);
        await expectRefused(of, 'a'.repeat(254), ['must be no more than 253 bytes']);
        await expectRefused(of, 'ü'.repeat(127), ['must be no more than 253 bytes', SUBDOMAIN]);
        for (const name of ['a'.repeat(253), 'a', '0', 'a.b-c.d', `${'a'.repeat(64)}.b`]) {
          const made = await create(server, `${of.path}?dryRun=All`, objectOf(of, { name }));
          expect(made.metadata.name).toBe(name);
        }
      });
    });
  });

  describe('M-02: names that are labels', () => {
    const of = kindCase('Namespace');

    it.each(['Foo', 'a_b', '-a', 'a-', '.', '..', 'ü', 'a/b'])('%j is refused', (name) =>
      expectRefused(of, name, [LABEL]),
    );

    it('has no dots and at most 63 bytes', async () => {
      await expectRefused(of, 'a.b', ['must not contain dots']);
      await expectRefused(of, 'a'.repeat(64), ['must be no more than 63 bytes']);
      await create(server, `${of.path}?dryRun=All`, objectOf(of, { name: 'a'.repeat(63) }));
    });
  });

  describe('names of rules are any one segment of a path', () => {
    it.each(RBAC_KINDS)('%s', async (kind) => {
      const of = kindCase(kind);
      await expectRefused(of, '.', ["may not be '.'"]);
      await expectRefused(of, '..', ["may not be '..'"]);
      await expectRefused(of, 'a/b%c', ["may not contain '/'", "may not contain '%'"]);
      expect((await server.call('POST', of.path, { body: objectOf(of, { name: 'a\nb' }) })).code).toBe(422);
      const name = 'system:Node_Admin @x';
      const made = await create(server, of.path, objectOf(of, { name }));
      const read = await server.call('GET', `${of.path}/${encodeURIComponent(name)}`);
      expect(read.json).toEqual(made);
    });
  });

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

    it('that is generated is checked whole', async () => {
      const of = kindCase('ServiceAccount');
      const answer = await server.call('POST', of.path, { body: objectOf(of, { generateName: 'Upper-' }) });
      expect(answer.code).toBe(422);
      expect(answer.json.details.name).toMatch(/^Upper-.{5}$/);
    });

    it('M-01: in a path is only looked up', async () => {
      const answer = await server.call('POST', tokenPath('Not_A_Name'), { body: ASK });
      expectStatus(answer, {
        code: 404,
        reason: 'NotFound',
        message: 'serviceaccounts "Not_A_Name" not found',
        details: { name: 'Not_A_Name', kind: 'serviceaccounts' },
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

  describe.each(KINDS)('$kind', (of) => {
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

    it('F-13, Q-10: is one line, or indented on request', async () => {
      const { text } = await server.call('POST', of.path, { body: JSON.stringify(objectOf(of, { name: 'pretty' })) });
      expect(text).toMatch(/^[^\n]+\n$/);
      const value = JSON.parse(text);
      for (const path of [`${named(of, 'pretty')}?pretty=true`, `${named(of, 'pretty')}?pretty=1`]) {
        const pretty = await server.call('GET', path);
        expect(pretty.text).toBe(JSON.stringify(value, null, 2));
      }
      const curl = await server.call('GET', named(of, 'pretty'), { headers: { 'User-Agent': 'curl/8' } });
      expect(curl.text).toBe(JSON.stringify(value, null, 2));
      const off = await server.call('GET', `${named(of, 'pretty')}?pretty=false`, {
        headers: { 'User-Agent': 'curl/8' },
      });
      expect(off.text).toBe(text);
    });

    it('fieldValidation=Ignore drops what is unknown, and keeps the last of what is repeated', async () => {
      const answer = await server.call('POST', `${of.path}?fieldValidation=Ignore`, { body: sloppy(of, 'ignored') });
      expect(answer.code, answer.text).toBe(201);
      expect(answer.warnings).toEqual([]);
      expect(answer.json.metadata.labels).toEqual({ a: '2' });
      expect(answer.text).not.toMatch(/bogus|extra/);
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
      const headers = { 'Content-Type': 'application/merge-patch+json' };
      const body = { bogus: 1, metadata: { labels: { a: 'b' } } };
      const strict = await server.call('PATCH', `${named(of, 'checked')}?fieldValidation=Strict`, { body, headers });
      expect(strict.code).toBe(400);
      expect(strict.json.message).toContain('strict decoding error: unknown field "bogus"');
      const warned = await server.call('PATCH', named(of, 'checked'), { body, headers });
      expect(warned.code).toBe(200);
      expect(warned.warnings).toEqual(['unknown field "bogus"']);
    });

    it('W-05: warnings come with errors too', async () => {
      const answer = await server.call('PATCH', named(of, 'checked'), {
        body: { bogus: 1, metadata: { labels: { '-': '-' } } },
        headers: { 'Content-Type': 'application/merge-patch+json' },
      });
      expect(answer.code).toBe(422);
      expect(answer.warnings).toEqual(['unknown field "bogus"']);
    });

    it('D-04, D-12: needs no apiVersion and kind if its kind is built in', async () => {
      const { apiVersion: _, kind: __, ...rest } = objectOf(of, { name: 'typeless' });
      const answer = await server.call('POST', of.path, { body: rest });
      if (of.style === 'builtin') {
        expect(answer.code, answer.text).toBe(201);
        return;
      }
      const body = JSON.stringify(rest);
      expectStatus(answer, {
        code: 400,
        reason: 'BadRequest',
        message: `the object provided is unrecognized (must be of type ${of.kind}): Object 'Kind' is missing in '${body}' (${body.slice(0, 30)} ...)`,
      });
    });

    it('D-07, D-08, D-13: is refused with the apiVersion or kind of another type', async () => {
      const otherVersion = { ...objectOf(of, { name: 'typed' }), apiVersion: 'example.com/v9' };
      const otherKind = { ...objectOf(of, { name: 'typed' }), kind: 'Gadget' };
      const refused = (message: string) => ({ code: 400, reason: 'BadRequest', message });
      const version = await server.call('POST', of.path, { body: otherVersion });
      const kind = await server.call('POST', of.path, { body: otherKind });
      if (of.style === 'builtin') {
        expectStatus(
          version,
          refused(
            `${of.kind} in version "v9" cannot be handled as a ${of.kind}: no kind "${of.kind}" is registered for version "example.com/v9"`,
          ),
        );
        expectStatus(
          kind,
          refused(
            `Gadget in version "${versionOf(of)}" cannot be handled as a ${of.kind}: no kind "Gadget" is registered for version "${of.apiVersion}"`,
          ),
        );
        return;
      }
      expectStatus(
        version,
        refused(
          `the API version in the data (example.com/v9) does not match the expected API version (${of.apiVersion})`,
        ),
      );
      const message = `Invalid value: "Gadget": must be ${of.kind}`;
      expectStatus(kind, {
        code: 422,
        reason: 'Invalid',
        message: `Cluster.${of.group} "typed" is invalid: kind: ${message}`,
        details: kindDetails(of, 'typed', [{ reason: 'FieldValueInvalid', message, field: 'kind' }]),
      });
    });
  });

  it('C-B: names that are special in JavaScript are plain names', async () => {
    const of = kindCase('ServiceAccount');
    const body =
      '{"metadata":{"name":"proto","labels":{"__proto__":"x","constructor":"y"}},"__proto__":{"admin":true},"constructor":{"prototype":{}}}';
    const answer = await server.call('POST', of.path, { body });
    expect(answer.warnings).toEqual(['unknown field "__proto__"', 'unknown field "constructor"']);
    // A label may not begin with an underscore.
    expect(answer.code).toBe(422);
    const good = await server.call('POST', of.path, {
      body: '{"metadata":{"name":"proto","labels":{"constructor":"y","toString":"z"},"annotations":{"hasOwnProperty":"x"}}}',
    });
    expect(good.code, good.text).toBe(201);
    const { json } = await server.call('GET', named(of, 'proto'));
    expect(json.metadata.labels).toEqual({ constructor: 'y', toString: 'z' });
    expect(json.metadata.annotations).toEqual({ hasOwnProperty: 'x' });
    const patched = await server.call('PATCH', named(of, 'proto'), {
      body: '{"metadata":{"annotations":{"constructor":"x"}},"__proto__":{"polluted":true}}',
      headers: { 'Content-Type': 'application/merge-patch+json' },
    });
    expect(patched.code, patched.text).toBe(200);
    expect(patched.json.metadata.annotations).toEqual({ hasOwnProperty: 'x', constructor: 'x' });
  });

  it('any text survives in an annotation', async () => {
    const of = kindCase('Cluster');
    const text = '\u0000\u001f"\\<>&\u2028\u2029é😀\ufffd\n';
    const made = await create(server, of.path, objectOf(of, { name: 'texts', annotations: { text } }));
    expect(made.metadata.annotations.text).toBe(text);
    const { text: raw } = await server.call('GET', named(of, 'texts'));
    // F-12
    expect(raw).toContain('\\u003c\\u003e\\u0026\\u2028\\u2029é😀');
  });
});
