/**
 * Can somebody who may see nothing tell what exists from how long a refusal takes? Pairs of requests, one about what is
 * there and one about what is not, in random order, over one connection; status and body must be the same, and the two
 * distributions are printed. `difference` is that of the medians, and `noise` how much the medians of two halves of the
 * same requests differ: what lies within the noise says nothing.
 *
 *   node bench/existence.ts [pairs]
 */
import { Agent, request } from 'node:http';
import { cpus, loadavg } from 'node:os';
import { startServer, tokenOf } from '../test/e2e/support/server.ts';
import { at, median } from './support/numbers.ts';

const [pairs = 1000] = process.argv.slice(2).map(Number);
const CLUSTERS = '/apis/clusterregistry.k8s.io/v1alpha1/clusters';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

const server = await startServer({ args: ['--log-level', 'error'], users: { nora: [], rob: [] } });

async function create(path: string, body: object): Promise<void> {
  const { code, text } = await server.call('POST', path, { body });
  if (code !== 201) throw new Error(text);
}

/** Names of the same length, so that the bytes that come back are as many. */
const THERE = { cluster: 'alpha', namespace: 'ci', account: 'builder' };
const ABSENT = { cluster: 'omega', namespace: 'xy', account: 'nobody-' };
const tokenOfAccount = ({ cluster, namespace, account }: typeof THERE): string =>
  `/orchestrator/${cluster}/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;

const type = { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster' };
for (let index = 0; index < 100; index++) {
  await create(CLUSTERS, { ...type, metadata: { name: `other-${index}`, labels: { env: 'dev' } } });
}
await create(CLUSTERS, { ...type, metadata: { name: THERE.cluster, labels: { env: 'prod', region: 'eu' } } });
await create(`/orchestrator/${THERE.cluster}/api/v1/namespaces`, { metadata: { name: THERE.namespace } });
await create(`/orchestrator/${THERE.cluster}/api/v1/namespaces/${THERE.namespace}/serviceaccounts`, {
  metadata: { name: THERE.account },
});
// Rob has rights elsewhere, so that his bindings have to be looked at: by the labels of the cluster, if it has any.
await create(`${RBAC}/clusterrolebindings`, {
  metadata: { name: 'rob', annotations: { 'clusterpass.dev/clusters': 'env=dev' } },
  subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'rob' }],
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'clusterpass:token-creator' },
});

const agent = new Agent({ keepAlive: true, maxSockets: 1 });

/** Microseconds, and what was answered, without the names in it. */
function ask(method: string, path: string, user: string): Promise<{ took: number; said: string }> {
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${tokenOf(user)}`, 'Content-Type': 'application/json' };
    const begun = performance.now();
    const sent = request(`${server.url}${path}`, { agent, method, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => {
        const took = (performance.now() - begun) * 1000;
        const body = Object.entries(ABSENT).reduce(
          (text, [what, name]) => text.replaceAll(`"${name}"`, `"${THERE[what as keyof typeof THERE]}"`),
          Buffer.concat(chunks).toString().replaceAll('\\"', '"'),
        );
        resolve({ took, said: `${answer.statusCode} ${body}` });
      });
    });
    sent.on('error', reject);
    sent.end(method === 'POST' ? '{"spec":{"audiences":[]}}' : undefined);
  });
}

const QUESTIONS: readonly (readonly [string, string, string, string, string])[] = [
  ['token: account', 'POST', tokenOfAccount(THERE), tokenOfAccount({ ...THERE, account: ABSENT.account }), 'nora'],
  [
    'token: namespace',
    'POST',
    tokenOfAccount(THERE),
    tokenOfAccount({ ...THERE, namespace: ABSENT.namespace }),
    'nora',
  ],
  ['token: cluster', 'POST', tokenOfAccount(THERE), tokenOfAccount({ ...THERE, cluster: ABSENT.cluster }), 'nora'],
  [
    'token: cluster, by labels',
    'POST',
    tokenOfAccount(THERE),
    tokenOfAccount({ ...THERE, cluster: ABSENT.cluster }),
    'rob',
  ],
  ['cluster', 'GET', `${CLUSTERS}/${THERE.cluster}`, `${CLUSTERS}/${ABSENT.cluster}`, 'nora'],
];

const columns = (values: readonly string[]): string => values.map((value) => value.padStart(11)).join('');
console.log(
  `${pairs} pairs each, ${cpus().length} processors, load ${(loadavg()[0] ?? 0).toFixed(1)}; times in microseconds`,
);
console.log(`${''.padEnd(28)}${columns(['there p50', 'p90', 'absent p50', 'p90', 'difference', 'noise'])}`);
let different = 0;
try {
  for (const [name, method, there, absent, user] of QUESTIONS) {
    for (let warm = 0; warm < 200; warm++) await ask(method, warm % 2 === 0 ? there : absent, user);
    const times: Record<'there' | 'absent', number[]> = { there: [], absent: [] };
    for (let pair = 0; pair < pairs; pair++) {
      const said = new Set<string>();
      const order = Math.random() < 0.5 ? (['there', 'absent'] as const) : (['absent', 'there'] as const);
      for (const which of order) {
        const answer = await ask(method, which === 'there' ? there : absent, user);
        times[which].push(answer.took);
        said.add(answer.said);
      }
      if (said.size !== 1 || ![...said][0]?.startsWith('403 ')) different++;
    }
    const halves = [0, 1].map((half) => median(times.there.filter((_, index) => index % 2 === half)));
    const share = (a: number, b: number): string => `${((Math.abs(a - b) / b) * 100).toFixed(1)} %`;
    const shown = [times.there, times.absent]
      .flatMap((list) => [at(list, 0.5), at(list, 0.9)])
      .map((us) => us.toFixed(0));
    const [one = 0, two = 1] = halves;
    console.log(
      `${name.padEnd(28)}${columns([...shown, share(median(times.there), median(times.absent)), share(one, two)])}`,
    );
  }
  console.log(`pairs whose status or body differ: ${different}`);
} finally {
  agent.destroy();
  await server.destroy();
}
process.exitCode = different === 0 ? 0 : 1;
