import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLUSTER_TYPE } from '../../src/api/cluster.fixture.ts';
import { ASK, createCluster, createObjects, issue, post } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { run } from './support/run.ts';
import { type Server, startServer } from './support/server.ts';
import { brief, Watch } from './support/watch.ts';

/** B12 on the embedded store; the same for etcd is in etcd-faults.test.ts. */

const cluster = (name: string): object => ({ ...CLUSTER_TYPE, metadata: { name } });

let server: Server;
let folder: string;
let trouble: string;
let token: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clusterpass-faults-'));
  trouble = join(folder, 'trouble');
  server = await startServer({
    // Without an audit log: a token waits for it, and faults of its disk are tested elsewhere.
    args: ['--audit-log-path', '/dev/null'],
    env: {
      NODE_OPTIONS: `--import=${new URL('./support/slow-disk.mjs', import.meta.url).href}`,
      CLUSTERPASS_TEST_DISK: trouble,
    },
  });
  await createObjects(server);
  token = await issue(server);
});
afterAll(() => server.destroy());

/** Requests that need no store are served during every fault of the store. */
async function expectTheRestToWork(): Promise<void> {
  expect((await server.call('GET', '/livez', { token: null })).code).toBe(200);
  expect((await server.call('GET', CLUSTERS)).json.items).not.toHaveLength(0);
  expect((await server.call('GET', '/auth/v1/clusters', { token })).code).toBe(200);
  expect((await post(server, ASK)).code).toBe(201);
  const keys = '/orchestrator/alpha/openid/v1/jwks';
  expect((await server.call('GET', keys, { token: null })).json.keys).not.toHaveLength(0);
}

describe('B12: a disk that is full', () => {
  /** The largest file that the process may write: the next page of the log of the database does not fit any more. */
  const allow = (bytes: string) =>
    promisify(execFile)('prlimit', ['--pid', String(server.pid), `--fsize=${bytes}:unlimited`]);

  it('refuses writes with 503 and Retry-After, and nothing else; with free space they succeed again', async () => {
    const watch = await Watch.open(server, `${CLUSTERS}?watch=true`);
    await watch.take(2);
    await allow('4096');
    const refused = await server.call('POST', CLUSTERS, { body: cluster('too-much') });
    expect(refused.code, refused.text).toBe(503);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.json).toMatchObject({ kind: 'Status', reason: 'ServiceUnavailable', code: 503 });
    expect(refused.text).not.toContain(server.dataDir);
    await expectTheRestToWork();
    expect((await server.call('GET', '/readyz', { token: null })).code).toBe(200);
    await allow('unlimited');
    await createCluster(server, 'fits-again');
    expect((await watch.take(1)).map(brief)).toEqual(['ADDED fits-again']);
    watch.close();
    const { json } = await server.call('GET', CLUSTERS);
    const names = json.items.map((item: { metadata: { name: string } }) => item.metadata.name);
    expect(names).toEqual(['alpha', 'beta', 'fits-again']);
    await expect.poll(() => server.output.stderr).toMatch(/clusterpass\.db: .*(disk|full|I\/O)/);
  });
});

describe('B12: a disk that does not answer', () => {
  it('delays writes and readiness, and nothing else; then the writes succeed', async () => {
    await writeFile(trouble, '');
    let over = false;
    const waiting = server.call('POST', CLUSTERS, { body: cluster('late') }).finally(() => {
      over = true;
    });
    await expectTheRestToWork();
    const ready = await server.call('GET', '/readyz?verbose', { token: null });
    expect(ready.code).toBe(503);
    expect(ready.text).toContain('[-]storage failed');
    expect(over).toBe(false);
    await rm(trouble);
    expect((await waiting).code).toBe(201);
    expect((await server.call('GET', '/readyz', { token: null })).code).toBe(200);
  });
});

describe('B12: a disk on which each operation takes a second longer', () => {
  const DELAY_MS = 1_000;

  it('delays writes and readiness by that, and nothing else; nothing is refused, and metrics show it', async () => {
    await writeFile(trouble, String(DELAY_MS));
    // One operation, which is less than readiness waits for.
    const asked = performance.now();
    expect((await server.call('GET', '/readyz', { token: null })).code).toBe(200);
    expect(performance.now() - asked).toBeGreaterThanOrEqual(DELAY_MS);
    let over = false;
    const sent = performance.now();
    const waiting = server.call('POST', CLUSTERS, { body: cluster('in-slow-motion') }).finally(() => {
      over = true;
    });
    await expectTheRestToWork();
    // The thread of the database is busy with the write: a read waits longer than the readiness check does.
    const ready = await server.call('GET', '/readyz?verbose', { token: null });
    expect([ready.code, over]).toEqual([503, false]);
    expect(ready.text).toContain('[-]storage failed');
    expect((await waiting).code).toBe(201);
    // At least the read of the key, the row and the commit.
    expect(performance.now() - sent).toBeGreaterThanOrEqual(3 * DELAY_MS);
    const slow = (await server.call('GET', '/metrics')).text.match(
      /^clusterpass_store_request_duration_seconds_bucket\{le="2.5",operation="write"\} (\d+)$/m,
    );
    const all = (await server.call('GET', '/metrics')).text.match(
      /^clusterpass_store_request_duration_seconds_count\{operation="write"\} (\d+)$/m,
    );
    expect(Number(slow?.[1])).toBeLessThan(Number(all?.[1]));
    await rm(trouble);
    expect((await server.call('GET', '/readyz', { token: null })).code).toBe(200);
    expect((await server.call('GET', `${CLUSTERS}/in-slow-motion`)).code).toBe(200);
  });
});

it('B33: a start on a full disk ends with one sentence that names the file, and what to do', async () => {
  await server.stop();
  const copy = join(folder, 'data');
  await cp(server.dataDir, copy, { recursive: true });
  for (const name of ['clusterpass.db-wal', 'clusterpass.db-shm']) await rm(join(copy, name), { force: true });
  const start = ['serve', '--data-dir', copy, '--listen', '127.0.0.1:0'];
  const { code, stderr } = await run(start, {}, ['prlimit', '--fsize=4096']);
  expect(stderr).not.toMatch(/\n\s+at /);
  const said = stderr.split('\n').filter((line) => line.startsWith('clusterpass:'));
  expect([code, said]).toEqual([
    1,
    [
      expect.stringMatching(
        /^clusterpass: .*clusterpass\.db: .*: (make room on|check) the disk.* choose another --data-dir/,
      ),
    ],
  ]);
});
