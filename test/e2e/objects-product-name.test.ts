import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Person } from './support/cli.ts';
import { ASK } from './support/objects.ts';
import { FAST_INTERVALS, type Server, startServer } from './support/server.ts';

let server: Server;
let folder: string;
const ADDRESS = 'https://api.dev-eu-1.example.com:6443';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clusterpass-word-'));
  const manifest = (name: string, word: string) =>
    `apiVersion: clusterregistry.k8s.io/v1alpha1\nkind: Cluster\nmetadata: { name: ${name} }\nspec: { ${word}ApiEndpoints: {} }\n`;
  await writeFile(
    join(folder, 'a.yaml'),
    `${manifest('right', 'kubernetes')}---\n${manifest('wrong', 'orchestrator')}`,
  );
  const lifetime = ['--service-account-max-token-expiration', '2h'];
  const args = ['--demo', '--manifests', folder, '--product-name', 'kubernetes', ...lifetime];
  server = await startServer({ args, env: FAST_INTERVALS });
});
afterAll(() => server.destroy());

it('the demo is there under another word, in the list, the objects and the paths', async () => {
  const { json } = await server.call('GET', '/auth/v1/clusters');
  expect(json.items).toHaveLength(13);
  const found = json.items.find((item: { metadata: { name: string } }) => item.metadata.name === 'dev-eu-1');
  expect(found.spec.kubernetesApiEndpoints.serverEndpoints[1].serverAddress).toBe(ADDRESS);
  expect(JSON.stringify(json)).not.toContain('orchestrator');
  expect(found.metadata.annotations['clusterpass.dev/issuer']).toBe(`${server.url}/kubernetes/dev-eu-1`);
  const path = '/dev-eu-1/api/v1/namespaces/ci/serviceaccounts/builder/token';
  const issued = await server.call('POST', `/kubernetes${path}`, { body: ASK });
  expect(issued.code, issued.text).toBe(201);
  expect(issued.json.spec.audiences).toEqual([`${server.url}/kubernetes/dev-eu-1`]);
  const accepted = await server.call('GET', '/auth/v1/clusters', { token: issued.json.status.token });
  expect(accepted.code).toBe(200);
  expect((await server.call('POST', `/orchestrator${path}`, { body: ASK })).code).toBe(404);
});

it('a kubeconfig tells the plugin the word, and the plugin gets its token with it', async () => {
  const { json } = await server.call('GET', '/auth/v1/clusters/dev-eu-1/kubeconfig?as=ci/builder');
  const { args } = json.users[0].user.exec;
  expect(args.slice(-2)).toEqual(['--product-name', 'kubernetes']);
  // Without a login, which would have told it too.
  const person = await Person.as(server);
  expect(JSON.parse(await person.ok(args)).status.token).toMatch(/^eyJ/);
  // A login stores it.
  await person.ok(['login', '--server', server.url, '--token', server.adminToken]);
  const { logins } = JSON.parse(await readFile(person.loginsFile, 'utf8'));
  expect(logins[server.url]).toEqual({ token: server.adminToken, productName: 'kubernetes' });
});
