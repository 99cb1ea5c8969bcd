import { execFile } from 'node:child_process';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCatalog } from '../../src/api/catalog.ts';
import { kindPrefix } from '../../src/api/kind.ts';
import { openEtcdStore } from '../../src/storage/etcd/open-etcd-store.ts';
import { TcpProxy } from '../chaos/tcp-proxy.ts';
import { describeWithEtcd, type Etcd, etcdCall, startEtcd } from '../conformance/etcd-process.ts';
import { createOfEveryKind, type EveryRequest, type Existing, everyRequest, PERSON } from './support/every-request.ts';
import { createParents } from './support/kinds.ts';
import { CLUSTERS } from './support/paths.ts';
import { type Server, startServer } from './support/server.ts';

/** More than all requests of this test, so that none is refused for another reason. */
const AMPLE = [
  ...['--max-requests-inflight', '2000', '--max-mutating-requests-inflight', '2000'],
  ...['--max-token-requests-inflight', '2000', '--caller-concurrency-percent', '100'],
];

/** Requests whose time is measured: each waits for its timeout, and a busy machine answers all of them slowly. */
const AT_ONCE = 48;

const catalog = createCatalog({ productName: 'orchestrator' });
const USERS = { [PERSON]: ['system:masters'] };

interface Outcome {
  readonly label: string;
  readonly method: string;
  readonly code: number;
  readonly retryAfter: string | null;
  readonly text: string;
  readonly ms: number;
}

async function send(
  server: Server,
  { label, method, path, body, headers = {}, token }: EveryRequest,
): Promise<Outcome> {
  const begun = performance.now();
  const answer = await server.call(method, path, {
    headers,
    ...(body === undefined ? {} : { body }),
    ...(token === undefined ? {} : { token }),
  });
  const ms = performance.now() - begun;
  return { label, method, code: answer.code, retryAfter: answer.headers.get('retry-after'), text: answer.text, ms };
}

/**
 * What a fault of the store may lead to: 503 with Retry-After, which clients repeat. A request that writes may also be
 * 504 without Retry-After: what it wrote may be stored.
 */
const isExpected = ({ method, code, retryAfter }: Outcome): boolean =>
  (code === 503 && retryAfter !== null) || (code === 504 && retryAfter === null && method !== 'GET');

/** Sends every request during the fault. */
async function expectNoInternalError(server: Server, existing: Existing): Promise<Outcome[]> {
  const outcomes = await Promise.all(everyRequest(existing).map((request) => send(server, request)));
  const wrong = outcomes.filter((outcome) => {
    const { label, code, text } = outcome;
    // The failure of a watch is an event, and health checks are read by load balancers.
    if (/"code":\s*500/.test(text)) return true;
    if (code < 500) return false;
    return label.endsWith('z') ? code !== 503 : !isExpected(outcome);
  });
  expect(wrong.map(({ label, code, text }) => `${label}: ${code} ${text}`)).toEqual([]);
  expect(server.output.stderr).not.toContain('"request failed"');
  return outcomes;
}

const failed = (outcomes: readonly Outcome[], label: string): boolean =>
  outcomes.some((outcome) => outcome.label === label && isExpected(outcome));

/** Requests that write to the store, each from another handler. */
const WRITING = [
  ...['an approval', 'a registration by a bootstrap token', 'a redemption', 'a revocation of a pass'],
  ...['a pass for a person', 'an exchange', 'an exchange for a person', 'an exchange of a handle'],
  'an OAuth revocation',
];

describe('B32: no fault of an embedded store is a 500', () => {
  let server: Server;
  let existing: Existing;
  beforeAll(async () => {
    server = await startServer({ users: USERS, args: [...AMPLE, '--audit-log-path', '/dev/null'] });
    await createParents(server);
    existing = await createOfEveryKind(server);
  });
  afterAll(() => server.destroy());

  it('a full disk', async () => {
    const allow = (bytes: string) =>
      promisify(execFile)('prlimit', ['--pid', String(server.pid), `--fsize=${bytes}:unlimited`]);
    await allow('4096');
    const outcomes = await expectNoInternalError(server, existing);
    expect(failed(outcomes, 'create signingkeys')).toBe(true);
    expect(failed(outcomes, 'delete issuedtokens')).toBe(true);
    expect(WRITING.filter((label) => !failed(outcomes, label))).toEqual([]);
    // Each item has its own status code.
    expect(outcomes.find(({ label }) => label === 'a list of passes')?.text).toMatch(/"code":\s*503/);
    await allow('unlimited');
  });

  it('a file that was removed', async () => {
    const file = join(server.dataDir, 'clusterpass.db');
    await rename(file, `${file}.away`);
    const outcomes = await expectNoInternalError(server, existing);
    expect(failed(outcomes, 'create signingkeys')).toBe(true);
    expect(failed(outcomes, 'a tracked pass')).toBe(true);
    await rename(`${file}.away`, file);
  });
});

describeWithEtcd('B32: no fault of etcd is a 500', () => {
  let etcd: Etcd;
  /** Between the server and each member. */
  let proxies: readonly TcpProxy[] = [];
  let server: Server;
  let existing: Existing;
  beforeAll(async () => {
    etcd = await startEtcd({ size: 3 });
    proxies = await Promise.all(etcd.endpoints.map((endpoint) => TcpProxy.to(endpoint)));
    const endpoints = proxies.map(({ endpoint }) => endpoint).join(',');
    server = await startServer({ users: USERS, args: [...AMPLE, '--store', `etcd://${endpoints}/fleet`] });
    await createParents(server);
    existing = await createOfEveryKind(server);
  });
  afterAll(async () => {
    for (const member of etcd?.members ?? []) member.signal('SIGCONT');
    for (const proxy of proxies) proxy.close();
    await server?.destroy();
    await etcd?.destroy();
  });

  const NOSPACE = { alarm: 'NOSPACE', memberID: 0 };

  it('a database that has reached its quota', async () => {
    await etcdCall(etcd, '/v3/maintenance/alarm', { action: 'ACTIVATE', ...NOSPACE });
    const outcomes = await expectNoInternalError(server, existing);
    expect(failed(outcomes, 'create signingkeys')).toBe(true);
    const { alarms } = (await etcdCall(etcd, '/v3/maintenance/alarm', { action: 'GET' })) as {
      alarms: { memberID: string }[];
    };
    for (const { memberID } of alarms)
      await etcdCall(etcd, '/v3/maintenance/alarm', { action: 'DEACTIVATE', alarm: 'NOSPACE', memberID });
  });

  it('A-07: a write that etcd does, and whose answer is late, is not repeated by clients', async () => {
    for (const proxy of proxies) proxy.slow(60_000);
    const metadata = { generateName: 'late-' };
    const body = { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster', metadata };
    const answer = await server.call('POST', CLUSTERS, { body });
    expect([answer.code, answer.headers.get('retry-after')]).toEqual([504, null]);
    expect(answer.json).toMatchObject({ reason: 'Timeout', message: expect.stringMatching(/read the object/) });
    const { store } = await openEtcdStore({ endpoints: etcd.endpoints, prefix: '/fleet', openWithinMs: 10_000 });
    try {
      const { items } = await store.list({ prefix: kindPrefix(catalog.clusters) });
      expect(items.filter(({ key }) => key.includes('/late-'))).toHaveLength(1);
    } finally {
      await store.close();
      for (const proxy of proxies) {
        proxy.slow(0);
        proxy.heal();
      }
    }
    await expect.poll(async () => (await server.call('GET', '/readyz')).code).toBe(200);
  });

  it.each([
    ['members that hang', 'SIGSTOP'],
    ['members that are gone', 'SIGKILL'],
  ] as const)('no quorum: %s; and the answers come within four seconds', async (_, signal) => {
    for (const member of etcd.members.slice(0, 2)) member.signal(signal);
    const outcomes = await expectNoInternalError(server, existing);
    for (const label of ['create signingkeys', 'delete issuedtokens', 'create clusters', 'list pods']) {
      expect(failed(outcomes, label), label).toBe(true);
    }
    const refused = everyRequest(existing).filter(({ label }) => failed(outcomes, label));
    expect(refused.length).toBeGreaterThan(50);
    // Again, a few at a time, and those that were slow once more: a busy machine is slow, but not each time.
    let slow = refused;
    for (let attempt = 1; attempt <= 4 && slow.length > 0; attempt++) {
      const late = new Set<string>();
      for (let start = 0; start < slow.length; start += AT_ONCE) {
        const group = await Promise.all(slow.slice(start, start + AT_ONCE).map((each) => send(server, each)));
        for (const { label, ms } of group) if (ms > 4_000) late.add(label);
      }
      slow = slow.filter(({ label }) => late.has(label));
    }
    expect(slow.map(({ label }) => label)).toEqual([]);
    const ready = (): Promise<Outcome> => send(server, { label: 'readyz', method: 'GET', path: '/readyz' });
    await expect.poll(async () => [(await ready()).code, (await ready()).ms < 2_000]).toEqual([503, true]);
    if (signal === 'SIGSTOP') {
      for (const member of etcd.members) member.signal('SIGCONT');
      await expect.poll(async () => (await server.call('GET', '/readyz')).code).toBe(200);
    }
  });
});
