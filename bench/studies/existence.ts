/**
 * Does the time of a refusal reveal what exists? A caller without rights sends pairs of requests over one connection:
 * one for an object that exists and one for an object that does not, in random order. Status and body must be equal.
 * `difference` is that of the two medians. `noise` is that of the medians of two halves of the same requests: a
 * difference within the noise reveals nothing.
 *
 *   npm run bench -- existence [pairs]
 */
import { Agent, request } from 'node:http';
import { cpus, loadavg } from 'node:os';
import { startServer, tokenOf } from '../../test/e2e/support/server.ts';
import { median, percentile } from '../support/numbers.ts';
import { BINDINGS_PATH, CLUSTERS_PATH, tokenPath } from '../support/objects.ts';

const [pairs = 1000] = process.argv.slice(2).map(Number);
const WARM_UP = 200;

const server = await startServer({ args: ['--log-level', 'error'], users: { nora: [], rob: [] } });

async function create(path: string, body: object): Promise<void> {
  const { code, text } = await server.call('POST', path, { body });
  if (code !== 201) throw new Error(text);
}

/** Names of equal length, so that the responses have equal length. */
const PRESENT = { cluster: 'alpha', namespace: 'ci', account: 'builder' };
const ABSENT = { cluster: 'omega', namespace: 'xy', account: 'missing' };
const pathOf = ({ cluster, namespace, account }: typeof PRESENT): string => tokenPath(cluster, namespace, account);

const type = { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster' };
for (let index = 0; index < 100; index++) {
  await create(CLUSTERS_PATH, { ...type, metadata: { name: `other-${index}`, labels: { env: 'dev' } } });
}
await create(CLUSTERS_PATH, { ...type, metadata: { name: PRESENT.cluster, labels: { env: 'prod', region: 'eu' } } });
await create(`/orchestrator/${PRESENT.cluster}/api/v1/namespaces`, { metadata: { name: PRESENT.namespace } });
await create(`/orchestrator/${PRESENT.cluster}/api/v1/namespaces/${PRESENT.namespace}/serviceaccounts`, {
  metadata: { name: PRESENT.account },
});
// Rob has rights in other clusters, so the server compares his bindings with the labels of the cluster.
await create(BINDINGS_PATH, {
  metadata: { name: 'rob', annotations: { 'clusterpass.dev/clusters': 'env=dev' } },
  subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'rob' }],
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'clusterpass:token-creator' },
});

const agent = new Agent({ keepAlive: true, maxSockets: 1 });

/** Microseconds, and the status and body with the names of absent objects replaced by those of existing ones. */
function send(method: string, path: string, user: string): Promise<{ took: number; response: string }> {
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${tokenOf(user)}`, 'Content-Type': 'application/json' };
    const begun = performance.now();
    const outgoing = request(`${server.url}${path}`, { agent, method, headers }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        const took = (performance.now() - begun) * 1000;
        const body = Object.entries(ABSENT).reduce(
          (text, [part, name]) => text.replaceAll(`"${name}"`, `"${PRESENT[part as keyof typeof PRESENT]}"`),
          Buffer.concat(chunks).toString().replaceAll('\\"', '"'),
        );
        resolve({ took, response: `${incoming.statusCode} ${body}` });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(method === 'POST' ? '{"spec":{"audiences":[]}}' : undefined);
  });
}

interface Question {
  readonly name: string;
  readonly method: string;
  readonly present: string;
  readonly absent: string;
  readonly user: string;
}

const tokenQuestion = (name: string, part: keyof typeof PRESENT, user: string): Question => ({
  name,
  method: 'POST',
  present: pathOf(PRESENT),
  absent: pathOf({ ...PRESENT, [part]: ABSENT[part] }),
  user,
});

const QUESTIONS: readonly Question[] = [
  tokenQuestion('token: account', 'account', 'nora'),
  tokenQuestion('token: namespace', 'namespace', 'nora'),
  tokenQuestion('token: cluster', 'cluster', 'nora'),
  tokenQuestion('token: cluster, by labels', 'cluster', 'rob'),
  {
    name: 'cluster',
    method: 'GET',
    present: `${CLUSTERS_PATH}/${PRESENT.cluster}`,
    absent: `${CLUSTERS_PATH}/${ABSENT.cluster}`,
    user: 'nora',
  },
];

const columns = (values: readonly string[]): string => values.map((value) => value.padStart(12)).join('');
console.log(
  `${pairs} pairs each, ${cpus().length} processors, load ${(loadavg()[0] ?? 0).toFixed(1)}; times in microseconds`,
);
console.log(`${''.padEnd(28)}${columns(['present p50', 'p90', 'absent p50', 'p90', 'difference', 'noise'])}`);
let different = 0;
try {
  for (const { name, method, present, absent, user } of QUESTIONS) {
    for (let warm = 0; warm < WARM_UP; warm++) await send(method, warm % 2 === 0 ? present : absent, user);
    const times: Record<'present' | 'absent', number[]> = { present: [], absent: [] };
    for (let pair = 0; pair < pairs; pair++) {
      const responses = new Set<string>();
      const order = Math.random() < 0.5 ? (['present', 'absent'] as const) : (['absent', 'present'] as const);
      for (const which of order) {
        const { took, response } = await send(method, which === 'present' ? present : absent, user);
        times[which].push(took);
        responses.add(response);
      }
      if (responses.size !== 1 || ![...responses][0]?.startsWith('403 ')) different++;
    }
    const [one = 0, two = 1] = [0, 1].map((half) => median(times.present.filter((_, index) => index % 2 === half)));
    const difference = (a: number, b: number): string => `${((Math.abs(a - b) / b) * 100).toFixed(1)} %`;
    const shown = [times.present, times.absent]
      .flatMap((list) => [percentile(list, 0.5), percentile(list, 0.9)])
      .map((microseconds) => microseconds.toFixed(0));
    const ofMedians = difference(median(times.present), median(times.absent));
    console.log(`${name.padEnd(28)}${columns([...shown, ofMedians, difference(one, two)])}`);
  }
  console.log(`pairs whose status or body differ: ${different}`);
} finally {
  agent.destroy();
  await server.destroy();
}
process.exitCode = different === 0 ? 0 : 1;
