/**
 * The floor of `npm run bench -- sync`: reads the pages of the fleet and sends the same requests to the hub, 16 at a
 * time over persistent connections, and parses the responses. It has no comparisons, managers and conflicts.
 */
import { Agent, request as send } from 'node:http';
import { text } from 'node:stream/consumers';

const [base = ''] = process.argv.slice(2);
const CONCURRENCY = 16;
const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY });
const headers = { Authorization: 'Bearer token-of-the-hub', Accept: 'application/json' };

async function call(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const { promise, resolve, reject } = Promise.withResolvers<Record<string, unknown>>();
  const all = body === undefined ? headers : { ...headers, 'Content-Type': 'application/apply-patch+yaml' };
  const sent = send(`${base}${path}`, { agent, method, headers: all }, (response) => {
    text(response).then((received) => resolve(JSON.parse(received) as Record<string, unknown>), reject);
  });
  sent.on('error', reject);
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  return promise;
}

interface Cluster {
  readonly metadata: { readonly name: string; readonly labels: object };
  readonly spec: { readonly orchestratorApiEndpoints: { readonly caBundle: string } };
}

const clusters: Cluster[] = [];
for (let next: string | undefined = ''; next !== undefined; ) {
  const page = await call('GET', `/apis/clusterregistry.k8s.io/v1alpha1/clusters?limit=500&continue=${next}`);
  clusters.push(...(page.items as Cluster[]));
  next = (page.metadata as { continue?: string }).continue || undefined;
}

const COLLECTION = '/apis/multicluster.x-k8s.io/v1alpha2/namespaces/inventory/clusterprofiles';
const QUERY = '?fieldManager=clusterpass&fieldValidation=Strict';

async function exportOne({ metadata: { name, labels }, spec }: Cluster): Promise<void> {
  const path = `${COLLECTION}/${name}`;
  const type = { apiVersion: 'multicluster.x-k8s.io/v1alpha2', kind: 'ClusterProfile' };
  await call('GET', path);
  const metadata = { name, namespace: 'inventory' };
  const clusterManager = { name: 'clusterpass' };
  await call('PATCH', `${path}${QUERY}`, {
    ...type,
    metadata: { ...metadata, labels },
    spec: { displayName: name, clusterManager },
  });
  const { caBundle } = spec.orchestratorApiEndpoints;
  const cluster = { server: `https://${name}.example:6443`, 'certificate-authority-data': caBundle };
  const status = {
    conditions: [{ type: 'ControlPlaneHealthy', status: 'True', reason: 'Probed', message: '' }],
    accessProviders: [{ name: 'clusterpass', cluster }],
  };
  await call('PATCH', `${path}/status${QUERY}&force=true`, { ...type, metadata, status });
}

let at = 0;
const worker = async (): Promise<void> => {
  for (let cluster = clusters[at++]; cluster !== undefined; cluster = clusters[at++]) await exportOne(cluster);
};
await Promise.all(Array.from({ length: CONCURRENCY }, worker));
agent.destroy();
