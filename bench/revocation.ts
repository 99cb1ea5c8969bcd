/**
 * How long is somebody still let in whose right has been taken away, while others keep the service busy? A token is
 * revoked, the pod of a token is deleted, a binding is removed; the bearer asks without pause, and what counts is the
 * time from the answer to the one who took it away to the first refusal. The floor is the time that any request takes
 * under this load: nobody can be refused faster.
 *
 *   node bench/revocation.ts [--etcd] [rounds] [requests per second]
 *
 * One server on SQLite; with `--etcd` two replicas on one etcd, where the right is taken away at the one and used at
 * the other (`node scripts/setup-etcd.mjs` fetches etcd).
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePorts, startEtcd } from '../test/conformance/etcd-process.ts';
import { type Answer, type Server, startServer, tokenOf } from '../test/e2e/support/server.ts';

const numbers = process.argv.slice(2).filter((argument) => argument !== '--etcd');
const [rounds = 50, rate = 200] = numbers.map(Number);
const withEtcd = process.argv.includes('--etcd');

const CLUSTERS = '/apis/clusterregistry.k8s.io/v1alpha1/clusters';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const NAMESPACE = '/orchestrator/alpha/api/v1/namespaces/ci';
const TOKEN = `${NAMESPACE}/serviceaccounts/builder/token`;
const LIST = '/auth/v1/clusters?limit=1';

async function must(answer: Promise<Answer>): Promise<Answer> {
  const { code, text } = await answer;
  if (code >= 300) throw new Error(`${code}: ${text}`);
  return answer;
}

const create = (server: Server, path: string, body: object) => must(server.call('POST', path, { body }));

async function fill(server: Server): Promise<void> {
  const type = { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster' };
  for (const name of ['alpha', 'beta']) await create(server, CLUSTERS, { ...type, metadata: { name } });
  await create(server, '/orchestrator/alpha/api/v1/namespaces', { metadata: { name: 'ci' } });
  await create(server, `${NAMESPACE}/serviceaccounts`, { metadata: { name: 'builder' } });
}

const issue = async (server: Server, spec: object = {}): Promise<string> =>
  (await create(server, TOKEN, { spec: { audiences: [], ...spec } })).json.status.token;

/** A right: how it is used, and how it is taken away. */
interface Right {
  readonly use: (server: Server) => Promise<Answer>;
  readonly take: (server: Server) => Promise<unknown>;
}

const bearer =
  (token: string): Right['use'] =>
  (server) =>
    server.call('GET', LIST, { token });
const remove =
  (path: string): Right['take'] =>
  (server) =>
    must(server.call('DELETE', path));

const RIGHTS: Readonly<Record<string, (server: Server, round: number) => Promise<Right>>> = {
  'a token is revoked': async (server) => {
    const token = await issue(server);
    const { jti } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { jti: string };
    return { use: bearer(token), take: remove(`/apis/clusterpass.dev/v1alpha1/issuedtokens/${jti}`) };
  },
  'the pod of a token is deleted': async (server, round) => {
    const name = `pod-${round}`;
    await create(server, `${NAMESPACE}/pods`, { metadata: { name }, spec: { serviceAccountName: 'builder' } });
    const token = await issue(server, { boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name } });
    return { use: bearer(token), take: remove(`${NAMESPACE}/pods/${name}`) };
  },
  'a binding is removed': async (server, round) => {
    const name = `jane-${round}`;
    await create(server, `${RBAC}/clusterrolebindings`, {
      metadata: { name },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'jane' }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'clusterpass:token-creator' },
    });
    const asked = { body: { spec: { audiences: [] } }, token: tokenOf('jane') };
    return { use: (other) => other.call('POST', TOKEN, asked), take: remove(`${RBAC}/clusterrolebindings/${name}`) };
  },
};

interface Outcome {
  /** Milliseconds from the answer to the one who took it away to the first refusal; 0 when the refusal came first. */
  readonly until: number;
  /** Requests that were sent after that answer and were let in. */
  readonly late: number;
}

async function takeAway(right: Right, at: Server, usedAt: Server): Promise<Outcome> {
  while ((await right.use(usedAt)).code >= 400) await delay(1);
  let answeredAt = Number.POSITIVE_INFINITY;
  const taken = right.take(at).then(() => {
    answeredAt = performance.now();
  });
  for (let late = 0; ; ) {
    const sentAt = performance.now();
    if ((await right.use(usedAt)).code >= 400) {
      const refusedAt = performance.now();
      await taken;
      return { until: Math.max(0, refusedAt - answeredAt), late };
    }
    if (sentAt > answeredAt) late++;
  }
}

/** Others at work: half of them list, half of them get tokens. Gives how long each request took. */
function startLoad(servers: readonly Server[]): { readonly times: number[]; stop: () => Promise<void> } {
  const times: number[] = [];
  const asked = new Set<Promise<void>>();
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
      if (due > performance.now()) await delay(due - performance.now());
      const request = one(index).finally(() => asked.delete(request));
      asked.add(request);
    }
  };
  const running = run();
  return {
    times,
    stop: async () => {
      stopped = true;
      await running;
      await Promise.all(asked);
    },
  };
}

const columns = (values: readonly string[]): string => values.map((value) => value.padStart(9)).join('');

function row(name: string, unsorted: readonly number[], late?: number): string {
  const times = unsorted.toSorted((a, b) => a - b);
  const at = (part: number): string =>
    (times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0).toFixed(1);
  return `${name.padEnd(32)}${columns([at(0.5), at(0.99), at(1), late === undefined ? '' : String(late)])}`;
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
  const where = withEtcd ? 'taken away at one replica, used at another, one etcd' : 'one server, SQLite';
  console.log(`${where}; ${rounds} rounds, ${rate} other requests in a second, ${cpus().length} processors`);
  const load = startLoad(servers);
  await delay(2_000);
  const results: string[] = [];
  for (const [name, grant] of Object.entries(RIGHTS)) {
    const outcomes: Outcome[] = [];
    for (let round = 0; round < rounds; round++)
      outcomes.push(await takeAway(await grant(first, round), first, second));
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
  console.log(`${'refused after'.padEnd(32)}${columns(['p50', 'p99', 'max', 'let in'])}  ms, requests`);
  for (const line of results) console.log(line);
  console.log(row('floor: any request', load.times));
} finally {
  await Promise.all(servers.map((server) => server.kill()));
  await etcd?.destroy();
  await rm(folder, { recursive: true, force: true });
}
