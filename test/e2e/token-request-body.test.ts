import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from './support/expect-status.ts';
import { ASK, createObjects, post, tokenPath } from './support/objects.ts';
import { envelope, message, type Proto } from './support/protobuf.ts';
import type { Answer } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';

/** TokenRequest: paths, media types and bodies, well-formed and hostile. */

const server = sharedServer();

beforeAll(() => createObjects(server));

/** The paths and methods of the token operation, and the responses of similar ones. */

/** The media types of requests and responses. */

describe('protobuf', () => {
  /** kubectl requests tokens in protobuf, and accepts errors in JSON. */

  const PROTOBUF = 'application/vnd.kubernetes.protobuf';

  let podUid: string;

  beforeAll(async () => {
    podUid = (await server.call('GET', '/orchestrator/alpha/api/v1/namespaces/ci/pods/web-0')).json.metadata.uid;
  });

  const post = (body: Uint8Array, path = tokenPath(), accept = `${PROTOBUF},application/json`): Promise<Answer> =>
    server.call('POST', path, { body, headers: { 'Content-Type': PROTOBUF, Accept: accept } });
  const ask = (fields: Proto): Uint8Array => envelope('authentication.k8s.io/v1', 'TokenRequest', message(fields));

  describe('a request in protobuf', () => {
    it('X-01: gets its token, in JSON', async () => {
      const boundObjectRef = { 1: 'Pod', 2: 'v1', 3: 'web-0', 4: podUid };
      const answer = await post(ask({ 1: { 1: '' }, 2: { 1: ['vault'], 3: boundObjectRef, 4: 600 } }));
      expect([answer.code, answer.headers.get('content-type')]).toEqual([201, 'application/json']);
      expect(answer.json).toMatchObject({
        kind: 'TokenRequest',
        metadata: { name: 'builder', namespace: 'ci' },
        spec: { audiences: ['vault'], expirationSeconds: 600, boundObjectRef: { kind: 'Pod', name: 'web-0' } },
        status: { token: expect.stringMatching(/^eyJ/) },
      });
      expect(answer.warnings).toEqual([]);
    });

    it('has the same checks as JSON', async () => {
      expect((await post(ask({ 2: { 1: ['a'], 4: 1 } }))).code).toBe(422);
      expect((await post(ask({ 1: { 3: 'elsewhere' }, 2: {} }))).code).toBe(400);
      expect((await post(ask({ 2: { 3: { 1: 'Node', 3: 'n' } } }))).code).toBe(400);
    });
  });

  describe('other objects in protobuf', () => {
    it('are accepted for kinds of Kubernetes', async () => {
      const body = envelope('v1', 'Namespace', message({ 1: { 1: 'from-protobuf', 11: [{ 1: 'a', 2: 'b' }] } }));
      const answer = await post(body, '/orchestrator/alpha/api/v1/namespaces');
      expect([answer.code, answer.json.metadata.labels]).toEqual([201, { a: 'b' }]);
      const options = envelope('v1', 'DeleteOptions', message({ 2: { 1: 'another-uid' } }));
      const path = '/orchestrator/alpha/api/v1/namespaces/from-protobuf';
      const headers = { 'Content-Type': PROTOBUF };
      expect((await server.call('DELETE', path, { body: options, headers })).code).toBe(409);
    });

    it('are refused for a custom resource: 415, without protobuf in the list of media types', async () => {
      const body = envelope('clusterregistry.k8s.io/v1alpha1', 'Cluster', message({ 1: { 1: 'x' } }));
      expectStatus(await post(body, '/apis/clusterregistry.k8s.io/v1alpha1/clusters'), {
        code: 415,
        reason: 'UnsupportedMediaType',
        message:
          'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml',
      });
    });
  });
});

describe('JSON and YAML', () => {
  /** Bodies that cannot be parsed, and hostile bodies. */

  afterAll(async () => {
    expect((await post(server, ASK)).code, 'the server still serves').toBe(201);
    expect(server.output.stdout + server.output.stderr).not.toContain('request failed');
  });

  it('T-36: attestations of Kubernetes 1.37 are dropped, and a warning says so', async () => {
    const spec = { ...ASK.spec, attestations: [{ type: 'x' }] };
    const answer = await post(server, { spec }, { path: `${tokenPath()}?fieldValidation=Strict` });
    expect([answer.code, answer.warnings]).toEqual([
      201,
      ['Clusterpass keeps only a part of a TokenRequest; dropped: spec.attestations'],
    ]);
    expect(answer.json.spec).not.toHaveProperty('attestations');
  });

  it('hostile bodies: a name, a uid and a reference of a megabyte are plain errors', async () => {
    const long = 'x'.repeat(1_000_000);
    for (const body of [
      { metadata: { name: long }, ...ASK },
      { metadata: { uid: long }, ...ASK },
      { spec: { audiences: [], boundObjectRef: { kind: 'Pod', name: long } } },
      { spec: { audiences: [], boundObjectRef: { kind: long } } },
      { spec: { audiences: [long] } },
    ]) {
      const { code } = await post(server, body);
      expect([400, 404, 409, 422]).toContain(code);
    }
  });
});
