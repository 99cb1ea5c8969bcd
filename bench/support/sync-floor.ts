/**
 * The floor of `npm run bench -- sync`: reads the pages of the fleet and sends the same requests to the hub, 16 at a
 * time over persistent connections, and parses the responses. It has no comparisons, managers and conflicts.
 */
import { Agent, request as send } from 'node:http';
import { text } from 'node:stream/consumers';
import { HUB_TOKEN } from '../../src/sync/hub.fixture.ts';
import { CLUSTERS_PATH } from './objects.ts';

const { CLUSTERPASS_SERVER: server = '', CLUSTERPASS_TOKEN: token = '' } = process.env;
const [hub = ''] = process.argv.slice(2);
const CONCURRENCY = 16;
const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY });
const headers = { Authorization: `Bearer ${HUB_TOKEN}`, Accept: 'application/json' };
const VERSION = 'multicluster.x-k8s.io/v1alpha2';

async function call(method: string, path: string, body?: object): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const all = body === undefined ? headers : { ...headers, 'Content-Type': 'application/apply-patch+yaml' };
  const sent = send(`${hub}/apis/${VERSION}/namespaces/inventory/clusterprofiles/${path}`, {
    ...{ agent, method, headers: all },
  });
  sent.on('response', (response) => void text(response).then((received) => resolve(JSON.parse(received)), reject));
  sent.on('error', reject);
  const type = { apiVersion: VERSION, kind: 'ClusterProfile' };
  sent.end(body === undefined ? undefined : JSON.stringify({ ...type, ...body }));
  return promise;
}

interface Cluster {
  readonly metadata: { readonly name: string; readonly labels: object };
  readonly spec: { readonly orchestratorApiEndpoints: { readonly caBundle: string } };
}

const clusters: Cluster[] = [];
for (let next: string | undefined = ''; next !== undefined; ) {
  const url = `${server}${CLUSTERS_PATH}?limit=500&continue=${next}`;
  const response = await fetch(url, { headers: { Authorization: `Bearer ${token}` } });
  const page = (await response.json()) as { items: Cluster[]; metadata: { continue?: string } };
  clusters.push(...page.items);
  next = page.metadata.continue || undefined;
}

async function exportOne({ metadata: { name, labels }, spec }: Cluster): Promise<void> {
  await call('GET', name);
  const metadata = { name, namespace: 'inventory' };
  const query = 'fieldManager=clusterpass&fieldValidation=Strict';
  const clusterManager = { name: 'clusterpass' };
  const profile = { metadata: { ...metadata, labels }, spec: { displayName: name, clusterManager } };
  await call('PATCH', `${name}?${query}`, profile);
  const { caBundle } = spec.orchestratorApiEndpoints;
  const cluster = { server: `https://${name}.example:6443`, 'certificate-authority-data': caBundle };
  const conditions = [{ type: 'ControlPlaneHealthy', status: 'True', reason: 'Probed', message: '' }];
  const status = { conditions, accessProviders: [{ name: 'clusterpass', cluster }] };
  await call('PATCH', `${name}/status?${query}&force=true`, { metadata, status });
}

const queue = clusters.values();
const worker = async (): Promise<void> => {
  for (const cluster of queue) await exportOne(cluster);
};
await Promise.all(Array.from({ length: CONCURRENCY }, worker));
agent.destroy();
