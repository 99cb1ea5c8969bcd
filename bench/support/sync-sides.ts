import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** Both sides of `clusterpass sync export`: a fleet that is listed, and a hub that stores what is applied. */

const PAGE = 500;
const CA_BUNDLE = Buffer.from('-----BEGIN CERTIFICATE-----\n'.padEnd(1_200, 'A')).toString('base64');

const clusterOf = (index: number): object => ({
  apiVersion: 'clusterregistry.k8s.io/v1alpha1',
  kind: 'Cluster',
  metadata: {
    name: `cluster-${index}`,
    uid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    resourceVersion: String(index + 1),
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { env: index % 2 === 0 ? 'prod' : 'dev', region: `region-${index % 20}` },
  },
  spec: {
    orchestratorApiEndpoints: {
      caBundle: CA_BUNDLE,
      serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: `https://cluster-${index}.example:6443` }],
    },
  },
  status: {
    version: 'v1.36.4',
    conditions: [{ type: 'Ready', status: 'True', reason: 'Probed', lastTransitionTime: '2026-01-01T00:00:00Z' }],
  },
});

interface Stored {
  apiVersion: string;
  kind: string;
  metadata: Record<string, unknown>;
  [field: string]: unknown;
}

const MANAGED = ['apiVersion', 'kind', 'metadata'];
const PROFILE = /\/clusterprofiles(?:\/([^/?]+)(\/status)?)?(?:\?|$)/;

export class SyncSides {
  readonly #pages: readonly string[];
  readonly #profiles = new Map<string, Stored>();
  readonly #server: Server = createServer((request, response) => void this.#serve(request, response));
  readonly #size: number;
  /** Requests that changed a profile. */
  writes = 0;
  #revision = 1;

  constructor(size: number) {
    this.#size = size;
    const clusters = Array.from({ length: size }, (_, index) => JSON.stringify(clusterOf(index)));
    const starts = Array.from({ length: Math.ceil(size / PAGE) }, (_, page) => page * PAGE);
    this.#pages = starts.map((start) => {
      const next = start + PAGE < size ? String(start / PAGE + 1) : '';
      const metadata = { resourceVersion: String(size + 1), continue: next };
      const head = JSON.stringify({ apiVersion: 'v1', kind: 'ClusterList', metadata }).slice(0, -1);
      return `${head},"items":[${clusters.slice(start, start + PAGE).join(',')}]}`;
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Profiles with a spec and a status. */
  get complete(): number {
    return [...this.#profiles.values()].filter(({ spec, status }) => spec !== undefined && status !== undefined).length;
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  clear(): void {
    this.#profiles.clear();
    this.writes = 0;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = '' } = request;
    const found = PROFILE.exec(url);
    if (method === 'PATCH') return this.#apply(response, found?.[1] ?? '', JSON.parse(await text(request)), found?.[2]);
    request.resume();
    if (url.includes('/clusters')) {
      const page = new URL(url, this.url).searchParams.get('continue') ?? '';
      return send(response, 200, this.#pages[Number(page)] ?? '');
    }
    if (found === null) return send(response, 200, JSON.stringify({ versions: [{ version: 'v1alpha2' }] }));
    const profile = found[1] === undefined ? undefined : this.#profiles.get(found[1]);
    if (profile !== undefined) return send(response, 200, JSON.stringify(profile));
    if (found[1] !== undefined) return send(response, 404, '{"kind":"Status","code":404,"message":"not found"}');
    const items = [...this.#profiles.values()];
    return send(response, 200, JSON.stringify({ kind: 'List', metadata: { resourceVersion: '1' }, items }));
  }

  /** The parts of server-side apply that the export uses: the fields and their manager. */
  #apply(response: ServerResponse, name: string, config: Stored, isStatus: string | undefined): void {
    const before = this.#profiles.get(name);
    const part = isStatus === undefined ? 'spec' : 'status';
    const owned = Object.keys(config).filter((field) => !MANAGED.includes(field));
    const entry = {
      manager: 'clusterpass',
      operation: 'Apply',
      ...(isStatus === undefined ? {} : { subresource: 'status' }),
      fieldsV1: Object.fromEntries(owned.map((field) => [`f:${field}`, {}])),
    };
    const known = (before?.metadata.managedFields ?? []) as { subresource?: string }[];
    const others = known.filter(({ subresource }) => subresource !== entry.subresource);
    const metadata = {
      ...before?.metadata,
      ...config.metadata,
      uid: before?.metadata.uid ?? `uid-of-${name}`,
      resourceVersion: String(++this.#revision),
      managedFields: [...others, entry],
    };
    const profile = { ...before, ...config, [part]: config[part], metadata };
    this.#profiles.set(name, profile);
    this.writes++;
    send(response, before === undefined ? 201 : 200, JSON.stringify(profile));
  }

  /** A kubeconfig of the hub. */
  get kubeconfig(): string {
    return JSON.stringify({
      'current-context': 'hub',
      contexts: [{ name: 'hub', context: { cluster: 'hub', user: 'hub' } }],
      clusters: [{ name: 'hub', cluster: { server: this.url } }],
      users: [{ name: 'hub', user: { token: 'token-of-the-hub' } }],
    });
  }

  get size(): number {
    return this.#size;
  }
}

function send(response: ServerResponse, code: number, body: string): void {
  response.writeHead(code, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }).end(body);
}
