/**
 * How long is a caller accepted after its right was revoked, under load? A token is revoked, the pod of a token is
 * deleted, or a binding is removed. The caller sends requests without a pause. The figure is the time from the response
 * to the revocation until the first refusal. The floor is the latency of any request under this load.
 *
 *   npm run bench -- revocation [--etcd] [rounds] [requests a second]
 *
 * One server on SQLite. With `--etcd`, two replicas on one etcd: the right is revoked at one and used at the other
 * (`node scripts/setup-etcd.mjs` fetches etcd).
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts, startEtcd } from '../../test/conformance/etcd-process.ts';
import { type Answer, type Server, startServer, tokenOf } from '../../test/e2e/support/server.ts';
import { percentile } from '../support/numbers.ts';

const numbers = process.argv.slice(2).filter((argument) => argument !== '--etcd');
const [rounds = 50, rate = 200] = numbers.map(Number);
const withEtcd = process.argv.includes('--etcd');

const CLUSTERS = '/apis/clusterregistry.k8s.io/v1alpha1/clusters';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const NAMESPACE = '/orchestrator/alpha/api/v1/namespaces/ci';
const TOKEN = `${NAMESPACE}/serviceaccounts/builder/token`;
const LIST = '/auth/v1/clusters?limit=1';

async function expectSuccess(answer: Promise<Answer>): Promise<Answer> {
  const { code, text } = await answer;
  if (code >= 300) throw new Error(`${code}: ${text}`);
  return answer;
}

const create = (server: Server, path: string, body: object) => expectSuccess(server.call('POST', path, { body }));

async function fill(server: Server): Promise<void> {
  const type = { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster' };
  for (const name of ['alpha', 'beta']) await create(server, CLUSTERS, { ...type, metadata: { name } });
  await create(server, '/orchestrator/alpha/api/v1/namespaces', { metadata: { name: 'ci' } });
  await create(server, `${NAMESPACE}/serviceaccounts`, { metadata: { name: 'builder' } });
}

const issue = async (server: Server, spec: object = {}): Promise<string> =>
  (await create(server, TOKEN, { spec: { audiences: [], ...spec } })).json.status.token;

/** A right: how it is used, and how it is revoked. */
interface Right {
  readonly use: (server: Server) => Promise<Answer>;
  readonly revoke: (server: Server) => Promise<unknown>;
}

const bearer =
  (token: string): Right['use'] =>
  (server) =>
    server.call('GET', LIST, { token });
const remove =
  (path: string): Right['revoke'] =>
  (server) =>
    expectSuccess(server.call('DELETE', path));

const RIGHTS: Readonly<Record<string, (server: Server, round: number) => Promise<Right>>> = {
  'a token is revoked': async (server) => {
    const token = await issue(server);
    const { jti } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { jti: string };
    return { use: bearer(token), revoke: remove(`/apis/clusterpass.dev/v1alpha1/issuedtokens/${jti}`) };
  },
  'the pod of a token is deleted': async (server, round) => {
    const name = `pod-${round}`;
    await create(server, `${NAMESPACE}/pods`, { metadata: { name }, spec: { serviceAccountName: 'builder' } });
    const token = await issue(server, { boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name } });
    return { use: bearer(token), revoke: remove(`${NAMESPACE}/pods/${name}`) };
  },
  'a binding is removed': async (server, round) => {
    const name = `jane-${round}`;
    await create(server, `${RBAC}/clusterrolebindings`, {
      metadata: { name },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'jane' }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'clusterpass:token-creator' },
    });
    const sent = { body: { spec: { audiences: [] } }, token: tokenOf('jane') };
    return { use: (other) => other.call('POST', TOKEN, sent), revoke: remove(`${RBAC}/clusterrolebindings/${name}`) };
  },
};

interface Outcome {
  /** Milliseconds from the response to the revocation to the first refusal; 0 when the refusal came first. */
  readonly until: number;
  /** Requests that were sent after that response and accepted. */
  readonly late: number;
}

async function revoke(right: Right, at: Server, usedAt: Server): Promise<Outcome> {
  while ((await right.use(usedAt)).code >= 400) await sleep(1);
  let revokedAt = Number.POSITIVE_INFINITY;
  const revoking = right.revoke(at).then(() => {
    revokedAt = performance.now();
  });
  for (let late = 0; ; ) {
    const sentAt = performance.now();
    if ((await right.use(usedAt)).code >= 400) {
      const refusedAt = performance.now();
      await revoking;
      return { until: Math.max(0, refusedAt - revokedAt), late };
    }
    if (sentAt > revokedAt) late++;
  }
}

/** Load of other callers: half lists, half tokens. `times` are the milliseconds of each request. */
function startLoad(servers: readonly Server[]): { readonly times: number[]; stop: () => Promise<void> } {
  const times: number[] = [];
  const pending = new Set<Promise<void>>();
  let stopped = false;
  const one = async (index: number): Promise<void> => {
    const server = servers[index % servers.length] as Server;
    const sentAt = performance.now();
    await (index % 4 < 2 ? server.call('GET', LIST) : issue(server));
    times.push(performance.now() - sentAt);
  };
  const run = async (): Promise<void> => {
    const start = performance.now();
    for (let index = 0; !stopped; index++) {
      const due = start + (index * 1000) / rate;
      if (due > performance.now()) await sleep(due - performance.now());
      const request = one(index).finally(() => pending.delete(request));
      pending.add(request);
    }
  };
  const running = run();
  return {
    times,
    stop: async () => {
      stopped = true;
      await running;
      await Promise.all(pending);
    },
  };
}

const columns = (values: readonly string[]): string => values.map((value) => value.padStart(9)).join('');

function row(name: string, times: readonly number[], late?: number): string {
  const figures = [0.5, 0.99, 1].map((share) => percentile(times, share).toFixed(1));
  return `${name.padEnd(32)}${columns([...figures, late === undefined ? '' : String(late)])}`;
}

const folder = await mkdtemp(join(tmpdir(), 'clusterpass-bench-'));
const etcd = withEtcd ? await startEtcd() : undefined;
const servers: Server[] = [];
try {
  const store = etcd === undefined ? [] : ['--store', `etcd://${etcd.endpoints.join(',')}/bench`];
  const args = [...store, '--base-url', 'https://pass.example', '--log-level', 'error'];
  for (const port of await freePorts(withEtcd ? 2 : 1)) {
    servers.push(await startServer({ dataDir: folder, port, args, users: { jane: [] } }));
  }
  const [first = undefined, second = first] = servers;
  if (first === undefined || second === undefined) throw new Error('no server');
  await fill(first);
  const where = withEtcd ? 'revoked at one replica, used at another, one etcd' : 'one server, SQLite';
  console.log(`${where}; ${rounds} rounds, ${rate} other requests a second, ${cpus().length} processors`);
  const load = startLoad(servers);
  await sleep(2_000);
  const results: string[] = [];
  for (const [name, grant] of Object.entries(RIGHTS)) {
    const outcomes: Outcome[] = [];
    for (let round = 0; round < rounds; round++) outcomes.push(await revoke(await grant(first, round), first, second));
    const late = outcomes.reduce((sum, outcome) => sum + outcome.late, 0);
    results.push(
      row(
        name,
        outcomes.map(({ until }) => until),
        late,
      ),
    );
  }
  await load.stop();
  console.log(
    `${'refused after'.padEnd(32)}${columns(['p50', 'p99', 'max', 'accepted'])}  ms; requests after the revocation`,
  );
  for (const line of results) console.log(line);
  console.log(row('floor: any request', load.times));
} finally {
  await Promise.all(servers.map((server) => server.kill()));
  await etcd?.destroy();
  await rm(folder, { recursive: true, force: true });
}
