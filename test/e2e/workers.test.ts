import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { copyFile, mkdtemp, writeFile } from 'node:fs/promises';
import { get, type IncomingMessage, request as post } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { selfSigned } from '../../src/clusters/upstream/certificates.fixture.ts';
import { checkTraces } from '../chaos/trace-checker.ts';
import { connectorOf } from './support/connector.ts';
import { addCluster, PUBLIC_LIST, touch } from './support/fleet.ts';
import { createAccount, createNamespace, issue, remove, tokenPath } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { FAST_INTERVALS, type Server, startServer, TLS } from './support/server.ts';
import { Watch } from './support/watch.ts';

const ISSUED_TOKENS = '/apis/clusterpass.dev/v1alpha1/issuedtokens';
const WORKERS = ['--workers', '2', '--log-level', 'debug'];

const workersOf = ({ pid }: Server): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);

/** The workers that have served requests so far. */
const servedBy = ({ output }: Server): Set<string> =>
  new Set([...output.stderr.matchAll(/"worker":(\d+).*"msg":"request"/g)].map(([, worker]) => worker ?? ''));

/** On a new connection, so that either worker may serve it. */
async function noteOf(server: Server, name: string): Promise<string> {
  const headers = { Authorization: `Bearer ${server.adminToken}`, 'User-Agent': 'clusterpass-test' };
  const request = get(`${server.url}${CLUSTERS}?fieldSelector=metadata.name=${name}`, { headers, agent: false });
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  const body = await text(answer);
  expect(answer.statusCode, body).toBe(200);
  return JSON.parse(body).items[0].metadata.annotations.note;
}

/** On a new connection; the value of the one series that the pattern finds. */
async function metric(server: Server, series: RegExp): Promise<number> {
  const headers = { Authorization: `Bearer ${server.adminToken}`, 'User-Agent': 'clusterpass-test' };
  const [answer] = (await once(get(`${server.url}/metrics`, { headers, agent: false }), 'response')) as [
    IncomingMessage,
  ];
  const body = await text(answer);
  expect(answer.statusCode, body).toBe(200);
  return Number(new RegExp(`^${series.source} (\\S+)$`, 'm').exec(body)?.[1] ?? Number.NaN);
}
/** Requests for one cluster by its name. */
const GETS = /apiserver_request_total\{verb="GET",[^}]*resource="clusters",[^}]*code="404"\}/;

function serveTogether(start: (args: readonly string[]) => Promise<Server>): void {
  let server: Server;
  let folder: string;
  const trace = (): string => join(folder, 'steps.ndjson');
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clusterpass-workers-'));
    server = await start([...WORKERS, '--trace-file', trace()]);
  });
  afterAll(() => server?.destroy());

  it('a write that one process has acknowledged is in the next list of any process', async () => {
    await Promise.all(
      Array.from({ length: 8 }, async (_, writer) => {
        const name = `writer-${writer}`;
        await addCluster(server, name);
        for (let round = 0; round < 6; round++) {
          await touch(server, name, `${round}`);
          expect(await Promise.all([noteOf(server, name), noteOf(server, name)])).toEqual([`${round}`, `${round}`]);
        }
      }),
    );
    expect(servedBy(server).size).toBe(2);
  });

  it('an order is answered, whichever process the connector and the caller have reached', async () => {
    const connector = await (await connectorOf(server, 'ordered')).start();
    const path = tokenPath('builder', 'ci', 'ordered');
    const claimedAgain: number[] = [];
    connector.act = async (order) => {
      const { code } = await connector.patch(order.name, { claimedBy: 'pod-2', claimTime: new Date().toISOString() });
      claimedAgain.push(code);
      return connector.issue(order);
    };
    const codes = await Promise.all(
      Array.from({ length: 16 }, async () => {
        const headers = { Authorization: `Bearer ${server.adminToken}`, 'Content-Type': 'application/json' };
        const request = post(`${server.url}${path}`, { method: 'POST', headers, agent: false });
        request.end(JSON.stringify({ spec: { audiences: [] } }));
        const [answer] = (await once(request, 'response')) as [IncomingMessage];
        answer.resume();
        return answer.statusCode;
      }),
    );
    expect(codes).toEqual(codes.map(() => 201));
    expect(claimedAgain).toEqual(codes.map(() => 422));
    await connector.stop();
    await remove(server, `${CLUSTERS}/ordered`);
  });

  it('B30: a revoked token is refused by both as soon as one has acknowledged it', async () => {
    await createNamespace(server, 'ci', 'writer-0');
    await createAccount(server, 'builder', 'ci', 'writer-0');
    const statusOf = async (token: string): Promise<number | undefined> => {
      const headers = { Authorization: `Bearer ${token}`, 'User-Agent': 'clusterpass-test' };
      const request = get(`${server.url}${PUBLIC_LIST}?resourceVersion=0`, { headers, agent: false });
      const [answer] = (await once(request, 'response')) as [IncomingMessage];
      answer.resume();
      return answer.statusCode;
    };
    for (let round = 0; round < 10; round++) {
      const token = await issue(server, tokenPath('builder', 'ci', 'writer-0'));
      const tries = () => Promise.all(Array.from({ length: 6 }, () => statusOf(token)));
      expect(new Set(await tries())).toEqual(new Set([200]));
      const { code } = await server.call('DELETE', `${ISSUED_TOKENS}/${decodeJwt(token).jti}`);
      expect(code).toBe(200);
      expect(new Set(await tries())).toEqual(new Set([401]));
    }
  });

  it('/metrics of any process shows all of them, and continues to count when one dies', {
    timeout: 180_000,
  }, async () => {
    const before = workersOf(server);
    const ASKED = 30;
    for (let i = 0; i < ASKED; i++)
      await server.call('GET', `${CLUSTERS}/nobody`, { headers: { Connection: 'close' } });
    // A request is counted when its connection is done with it, which may be after its answer has arrived.
    await expect.poll(() => metric(server, GETS)).toBe(ASKED);
    const counts = await Promise.all([1, 2, 3, 4].map(() => metric(server, GETS)));
    expect(counts).toEqual([ASKED, ASKED, ASKED, ASKED]);
    expect(await metric(server, /clusterpass_workers/)).toBe(2);
    // One of them leads. Each has a copy of the stored objects, which are not counted twice.
    await expect.poll(() => metric(server, /clusterpass_leader/)).toBe(1);
    expect(await metric(server, /apiserver_resource_objects\{[^}]*resource="clusters"\}/)).toBe(8);
    process.kill(before[1] ?? 0, 'SIGKILL');
    const replaced = () => workersOf(server).filter((pid) => !before.includes(pid)).length;
    await expect.poll(replaced, { timeout: 60_000, interval: 50 }).toBe(1);
    const workers = () => metric(server, /clusterpass_workers/).catch(() => 0);
    await expect.poll(workers, { timeout: 60_000, interval: 50 }).toBe(2);
    expect(await metric(server, GETS)).toBe(ASKED);
  });

  it('a process that is killed is replaced, and nothing that was acknowledged is lost', {
    timeout: 180_000,
  }, async () => {
    const before = workersOf(server);
    expect(before).toHaveLength(2);
    const known = servedBy(server);
    const version = await addCluster(server, 'steady');
    const path = `${CLUSTERS}?watch=1&fieldSelector=metadata.name=steady&resourceVersion=${version}`;
    const watches = await Promise.all([1, 2, 3, 4].map(() => Watch.open(server, path)));
    process.kill(before[0] ?? 0, 'SIGKILL');
    // A connection to the killed process breaks; the next connection reaches the other one.
    const touched = (note: string) =>
      expect.poll(() => touch(server, 'steady', note).catch(() => 0), { timeout: 60_000, interval: 10 }).not.toBe(0);
    await touched('after');
    const replaced = () => workersOf(server).filter((pid) => !before.includes(pid)).length;
    await expect.poll(replaced, { timeout: 60_000, interval: 50 }).toBe(1);
    expect(workersOf(server)).toContain(before[1]);
    for (const watch of watches) {
      const seen = await watch.next().catch(() => undefined);
      // The watch continued, or broke and resumed at the other process.
      const event = seen ?? (await (await Watch.open(server, path)).next());
      expect(event?.object.metadata.annotations.note).toBe('after');
      watch.close();
    }
    const burst = () => Promise.all(Array.from({ length: 16 }, () => noteOf(server, 'steady')));
    const served = async (): Promise<boolean> => {
      await burst();
      return [...servedBy(server)].some((worker) => !known.has(worker));
    };
    await expect.poll(served, { timeout: 60_000, interval: 10 }).toBe(true);
  });

  it('SIGTERM stops all of them cleanly', async () => {
    const all = workersOf(server);
    expect(await server.stop()).toBe(0);
    for (const pid of all) expect(() => process.kill(pid, 0)).toThrow(/ESRCH/);
    expect(server.output.stderr.split('\n').filter((line) => line.includes('"level":"error"'))).toEqual([]);
  });

  it('their steps are those of the models', async () => {
    const { steps, problems } = await checkTraces([trace()]);
    expect(problems).toEqual([]);
    for (const step of ['acknowledged', 'read', 'decides', 'applied', 'sent']) expect(steps, step).toHaveProperty(step);
  });
}

describe('workers on SQLite', () => {
  serveTogether((args) => startServer({ args, launcher: true }));

  it('all use a renewed certificate', { timeout: 180_000 }, async () => {
    const dir = await mkdtemp(join(tmpdir(), 'clusterpass-workers-'));
    const files = { certFile: join(dir, 'tls.crt'), keyFile: join(dir, 'tls.key') };
    await copyFile(TLS.certFile, files.certFile);
    await copyFile(TLS.keyFile, files.keyFile);
    const args = [...WORKERS, '--tls-cert-file', files.certFile, '--tls-private-key-file', files.keyFile];
    const server = await startServer({ args, env: FAST_INTERVALS });
    onTestFinished(() => server.destroy());
    const port = Number(new URL(server.url).port);
    const served = (): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
          resolve(socket.getPeerCertificate().raw.toString('base64'));
          socket.destroy();
        }).on('error', reject);
      });
    const many = async (): Promise<number> => new Set(await Promise.all(Array.from({ length: 24 }, served))).size;
    const old = await served();
    const renewed = selfSigned('renewed');
    await writeFile(files.certFile, renewed.cert);
    await writeFile(files.keyFile, renewed.key);
    const reloaded = (): number =>
      new Set([...server.output.stderr.matchAll(/"worker":(\d+).*certificate reloaded/g)].map(([, id]) => id)).size;
    await expect.poll(reloaded, { timeout: 60_000, interval: 50 }).toBe(2);
    expect(await many()).toBe(1);
    expect(await served()).not.toBe(old);
  });
});
