import { chmod, cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../conformance/etcd-process.ts';
import { createCluster, issue } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { type Server, startServer } from './support/server.ts';
import { brief, Watch } from './support/watch.ts';

/** A data directory of 0.1.0; see the README in the folder. */
const FIXTURE = fileURLToPath(new URL('../fixtures/data-0.1.0', import.meta.url));

interface Issued {
  readonly token: string;
  readonly resourceVersion: string;
  readonly uids: Readonly<Record<string, string>>;
}

let folder: string;
let server: Server;
let issued: Issued;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clusterpass-upgrade-'));
  const dataDir = join(folder, 'data');
  await cp(FIXTURE, dataDir, { recursive: true });
  // Git does not keep these.
  for (const name of ['admin.token', 'clusterpass.db', 'keys/encryption.key']) await chmod(join(dataDir, name), 0o600);
  issued = JSON.parse(await readFile(join(FIXTURE, 'issued.json'), 'utf8')) as Issued;
  const [port = 0] = await freePorts(1);
  server = await startServer({ dataDir, port, args: ['--base-url', 'http://desk.example'] });
});
afterAll(async () => {
  await server.destroy();
  await rm(folder, { recursive: true, force: true });
});

describe('B16: a start on the data of release 0.1.0', () => {
  it('has every object unchanged', async () => {
    const { json } = await server.call('GET', CLUSTERS);
    const uids = json.items.map(({ metadata }: { metadata: { name: string; uid: string } }) => [
      metadata.name,
      metadata.uid,
    ]);
    expect(Object.fromEntries(uids)).toEqual(issued.uids);
    expect(json.items[0]).toMatchObject({
      metadata: { labels: { env: 'prod' }, annotations: { note: 'kept since 0.1.0' } },
      spec: { orchestratorApiEndpoints: { serverEndpoints: [{ serverAddress: 'https://192.0.2.10:6443' }] } },
    });
  });

  it('accepts its administrator and the tokens that were issued, with the rights they had', async () => {
    const { code, json } = await server.call('GET', '/auth/v1/clusters', { token: issued.token });
    expect(code).toBe(200);
    expect(json.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toEqual(['alpha']);
  });

  it('continues with the next revision, so that a watch resumes', async () => {
    const watch = await Watch.open(server, `${CLUSTERS}?watch=true&resourceVersion=${issued.resourceVersion}`);
    const { metadata } = await createCluster(server, 'gamma');
    expect(Number(metadata.resourceVersion)).toBeGreaterThan(Number(issued.resourceVersion));
    expect((await watch.take(1)).map(brief)).toEqual(['ADDED gamma']);
    watch.close();
  });

  it('issues tokens, and starts again', async () => {
    const token = await issue(server);
    expect(await server.stop()).toBe(0);
    server = await server.restart();
    for (const one of [token, issued.token]) {
      expect((await server.call('GET', '/auth/v1/clusters', { token: one })).code).toBe(200);
    }
  });
});
