import { beforeAll, describe, expect, it } from 'vitest';
import { type Aim, splitRequests } from './support/hostile-wire.ts';
import { bind, createObjects } from './support/objects.ts';
import { sendRaw } from './support/raw-http.ts';
import { tokenOf } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';

/** A16, A22, C-C, C-H against the real program. Tests of the listener alone are in wire.test.ts. */

const server = sharedServer();
const TOKEN_PATH = '/orchestrator/alpha/api/v1/namespaces/ci/serviceaccounts/builder/token';
const TYPE = 'Content-Type: application/json\r\n';
const NAMES = splitRequests({ get: '', post: '', head: '' }, '').map(({ name }) => name);
const LIVE = 'GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';

beforeAll(async () => {
  await createObjects(server);
  // The other cluster is hidden from this caller.
  await bind(server, 'carl-beta', { kind: 'User', name: 'carl' }, undefined, 'env=dev');
});

const codes = async (bytes: string): Promise<string[]> =>
  [...(await sendRaw(server, bytes)).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code ?? '');
const authorization = (): string => `Host: x\r\nAuthorization: Bearer ${server.adminToken}\r\n`;
const smuggled = (): string => `GET /auth/v1/clusters HTTP/1.1\r\n${authorization()}\r\n`;

describe('A22: a body is never read as a request', () => {
  it('the request after the body gets a response, and the body gets none', async () => {
    const inner = smuggled();
    const head = `GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: ${inner.length}\r\n\r\n`;
    expect(await codes(`${head}${inner}${LIVE}`)).toEqual(['200', '200']);
  });

  it('of a request that was refused before its body was read', async () => {
    const inner = smuggled();
    const post = `POST ${TOKEN_PATH} HTTP/1.1\r\nHost: x\r\n${TYPE}`;
    const answers = [
      await codes(`${post}Content-Length: ${inner.length}\r\n\r\n${inner}${LIVE}`),
      await codes(
        `${post}Transfer-Encoding: chunked\r\n\r\n${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n${LIVE}`,
      ),
    ];
    for (const answer of answers) expect(['401', '401,200']).toContain(answer.join());
  });

  const aim = (): Aim => ({ get: '/livez', post: TOKEN_PATH, head: `${authorization()}Connection: close\r\n` });
  it.each(NAMES)('%s', async (name) => {
    const request = splitRequests(aim(), smuggled()).find((one) => one.name === name);
    if (request === undefined) throw new Error(`there is no request named ${name}`);
    const text = await sendRaw(server, Buffer.from(request.bytes, 'latin1'));
    // The response that the request between the two ends would have got.
    expect(text).not.toContain('ClusterList');
    const answers = [...text.matchAll(/HTTP\/1\.1 (?!100 )(\d+)/g)].map(([, code]) => code);
    if (request.lawful) expect(answers).toHaveLength(1);
    else expect(answers).toEqual(['400']);
  });
});

describe('C-C: only one header says who is calling', () => {
  it('headers do not change the method or the path', async () => {
    const head = `GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n`;
    const text = await sendRaw(
      server,
      `${head}X-HTTP-Method-Override: DELETE\r\nX-Original-URL: /auth/v1/clusters\r\n\r\n`,
    );
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    expect(text.endsWith('\r\n\r\nok')).toBe(true);
  });
});

describe('A16: one reading of a path', () => {
  it.each([
    ['/apis/clusterregistry.k8s.io/v1alpha1/clusters/NAME'],
    ['/apis/clusterregistry.k8s.io/v1alpha1/clusters/NAME/status'],
    ['/apis/clusterregistry.k8s.io/v1alpha1/clusters/NAME/anything'],
    ['/apis/clusterregistry.k8s.io/v1alpha1/namespaces/x/clusters/NAME'],
    ['/apis/clusterregistry.k8s.io/v2/clusters/NAME'],
    ['/auth/v1/clusters/NAME/kubeconfig?as=ci/builder'],
    ['/orchestrator/NAME/api/v1/namespaces'],
  ])('A7: %s has the same response for a hidden object and for one that does not exist', async (path) => {
    const ask = async (name: string): Promise<[number, string]> => {
      const { code, text } = await server.call('GET', path.replace('NAME', name), { token: tokenOf('carl') });
      return [code, text.replaceAll(name, 'NAME')];
    };
    const [hidden, absent] = [await ask('alpha'), await ask('gone')];
    expect(hidden[0]).toBe(403);
    expect(hidden).toEqual(absent);
  });
});
