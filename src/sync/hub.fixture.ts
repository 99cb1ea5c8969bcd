import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Type } from 'typebox';
import { bodySchema } from '../api/codec/shape.ts';
import type { ApiObject } from '../api/kind.ts';
import { typeMeta } from '../api/kinds/meta.ts';
import type { JsonMap, JsonValue } from '../lib/json.ts';
import { plainObject } from '../objects/managed-fields.ts';
import { applyConfig } from '../objects/patches/apply/apply-config.ts';
import { setOf } from '../objects/patches/apply/field-set.ts';
import { readManagers, writeManagers } from '../objects/patches/apply/managers.ts';
import { applyMergePatch } from '../objects/patches/merge-patch.ts';
import { keyOf } from './plan.ts';

/**
 * A hub, or any cluster: an API server that stores objects of any kind, with list, watch, create, update, merge patch,
 * apply and delete over HTTP. Server-side apply is the one of Clusterpass, with the lists of ClusterProfiles.
 */

const TEXT = Type.Optional(Type.String());
const fields = (...names: string[]) => Type.Object(Object.fromEntries(names.map((name) => [name, TEXT])));
const { shape: SHAPE } = bodySchema(
  Type.Object({
    ...typeMeta,
    spec: Type.Optional(Type.Object({ displayName: TEXT, clusterManager: Type.Optional(fields('name')) })),
    status: Type.Optional(
      Type.Object({
        conditions: Type.Optional(
          Type.Array(fields('type', 'status', 'reason', 'message', 'lastTransitionTime'), { listMapKeys: ['type'] }),
        ),
        version: Type.Optional(fields('kubernetes')),
        properties: Type.Optional(Type.Array(fields('name', 'value'), { listMapKeys: ['name'] })),
        accessProviders: Type.Optional(
          Type.Array(Type.Object({ name: TEXT, cluster: Type.Optional(Type.Any()) }), { listMapKeys: ['name'] }),
        ),
      }),
    ),
  }),
);

export const HUB_TOKEN = 'token-of-the-hub-0123456789';

/** `code`: answers with it. `disconnect`: closes the connection before the request is handled, or after it. */
export type Fault = { readonly code: number } | 'disconnect' | 'lose-answer' | undefined;

export interface HubRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly accept: string;
}

export interface HubAnswer {
  readonly code: number;
  readonly value: unknown;
}

interface Entry {
  readonly collection: string;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: ApiObject;
  readonly revision: number;
}

interface Watcher {
  readonly matches: (entry: Entry) => boolean;
  readonly response: ServerResponse;
}

const PATH =
  /^\/(?:api\/v1|apis\/(?<group>[^/]+)\/[^/]+)(?:\/namespaces\/(?<namespace>[^/]+))?\/(?<resource>[a-z]+)(?:\/(?<name>[^/]+))?(?<status>\/status)?$/;

export class FakeHub {
  /** Served versions by group. */
  readonly groups: Record<string, readonly string[]>;
  /** Called for each request. */
  fault: (method: string, path: string) => Fault = () => undefined;
  /** Answers a request that is not about stored objects: a path without a resource, or a subresource. */
  answer: (request: HubRequest) => HubAnswer | undefined | Promise<HubAnswer | undefined> = () => undefined;
  /** Called after a GET of one object, before its answer: for clients that write in between. */
  afterGet: (path: string) => void = () => {};
  /** Called with each object that is created, changed or deleted. */
  onChange: (collection: string, type: 'ADDED' | 'MODIFIED' | 'DELETED', object: ApiObject) => void = () => {};
  /** Every write that was handled: `PATCH /apis/...`. */
  readonly writes: string[] = [];
  /** Every request. */
  readonly requests: string[] = [];
  readonly #collections = new Map<string, Map<string, ApiObject>>();
  readonly #history: Entry[] = [];
  readonly #watchers = new Set<Watcher>();
  #oldest = 0;
  #revision = 100;
  #server: Server | undefined;
  #port = 0;

  constructor(groups: Record<string, readonly string[]>) {
    this.groups = groups;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** A kubeconfig with the token of the hub. */
  get kubeconfig(): string {
    return JSON.stringify({
      'current-context': 'hub',
      contexts: [{ name: 'hub', context: { cluster: 'hub', user: 'hub' } }],
      clusters: [{ name: 'hub', cluster: { server: this.url } }],
      users: [{ name: 'hub', user: { token: HUB_TOKEN } }],
    });
  }

  async start(): Promise<this> {
    this.#server = createServer((request, response) => void this.#serve(request, response));
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
    return this;
  }

  async stop(): Promise<void> {
    this.#watchers.clear();
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve));
  }

  /** Objects by key. `collection`: `group/resource`, e.g. `/secrets`. */
  objects(collection: string): Map<string, ApiObject> {
    const found = this.#collections.get(collection) ?? new Map<string, ApiObject>();
    this.#collections.set(collection, found);
    return found;
  }

  /** Writes an object as another client. */
  put(collection: string, object: ApiObject): ApiObject {
    return this.#store(collection, object);
  }

  /** Removes an object as another client. */
  remove(collection: string, key: string): void {
    const object = this.objects(collection).get(key);
    if (object === undefined) throw new Error(`no ${key}`);
    this.objects(collection).delete(key);
    this.#publish(collection, 'DELETED', object);
  }

  disconnectWatches(): void {
    for (const { response } of this.#watchers) response.destroy();
    this.#watchers.clear();
  }

  /** Watches from any version before now get a 410. */
  forgetHistory(): void {
    this.#oldest = ++this.#revision;
    this.disconnectWatches();
  }

  #store(collection: string, object: ApiObject): ApiObject {
    const key = keyOf(object);
    const before = this.objects(collection).get(key);
    const metadata = {
      ...object.metadata,
      uid: before?.metadata.uid ?? object.metadata.uid ?? randomUUID(),
      creationTimestamp:
        before?.metadata.creationTimestamp ?? object.metadata.creationTimestamp ?? '2026-01-01T00:00:00Z',
    };
    const stored = this.#publish(collection, before === undefined ? 'ADDED' : 'MODIFIED', { ...object, metadata });
    this.objects(collection).set(key, stored);
    return stored;
  }

  #publish(collection: string, type: Entry['type'], { metadata, ...rest }: ApiObject): ApiObject {
    const revision = ++this.#revision;
    const object = { ...rest, metadata: { ...metadata, resourceVersion: String(revision) } } as ApiObject;
    const entry = { collection, type, object, revision };
    this.#history.push(entry);
    this.onChange(collection, type, object);
    for (const { matches, response } of this.#watchers) if (matches(entry)) send(response, entry);
    return object;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const { method = '' } = request;
    const url = new URL(request.url ?? '', this.url);
    this.requests.push(`${method} ${url.pathname}${url.search}`);
    const body = await text(request).catch(() => '');
    const fault = this.fault(method, url.pathname);
    if (fault === 'disconnect') {
      return request.socket.destroy();
    }
    const failure =
      typeof fault === 'object'
        ? fault.code
        : request.headers.authorization === `Bearer ${HUB_TOKEN}`
          ? undefined
          : 401;
    if (failure !== undefined) return status(response, failure, 'refused');
    const { accept = '' } = request.headers;
    const answered = await this.answer({ method, path: url.pathname, body, accept });
    if (answered !== undefined) return reply(response, answered.code, answered.value);
    const [, discovered] = /^\/apis\/([^/]+)$/.exec(url.pathname) ?? [];
    if (discovered !== undefined) return this.#discover(response, discovered);
    const { group = '', namespace, resource = '', name, status: subresource } = PATH.exec(url.pathname)?.groups ?? {};
    if (group !== '' && !this.groups[group]?.some((each) => url.pathname.includes(`/${each}/`)))
      return status(response, 404, 'the server could not find the requested resource');
    const collection = `${group}/${resource}`;
    if (name === undefined && method === 'POST') {
      this.writes.push(`POST ${url.pathname}`);
      const object = JSON.parse(body) as ApiObject;
      const metadata = { ...object.metadata, ...(namespace === undefined ? {} : { namespace }) };
      const isTaken = this.objects(collection).has(keyOf({ metadata }));
      if (isTaken) return status(response, 409, 'it already exists');
      return reply(response, 201, this.#store(collection, { ...object, metadata }));
    }
    if (name === undefined) return this.#list(response, collection, namespace, url.searchParams);
    const key = namespace === undefined ? name : `${namespace}/${name}`;
    if (method === 'GET') {
      const found = this.objects(collection).get(key);
      this.afterGet(url.pathname);
      return found === undefined ? status(response, 404, `${key} not found`) : reply(response, 200, found);
    }
    const isDryRun = url.searchParams.get('dryRun') === 'All';
    if (!isDryRun) this.writes.push(`${method} ${url.pathname}`);
    const answer = fault === 'lose-answer' ? undefined : response;
    const isMerge = request.headers['content-type'] === 'application/merge-patch+json';
    if (method === 'PUT' || isMerge) this.#update(response, collection, key, { isMerge, body });
    else if (method === 'PATCH')
      this.#apply(answer, collection, key, JSON.parse(body), { subresource, query: url.searchParams, isDryRun });
    else this.#delete(answer, collection, key, JSON.parse(body || '{}'), isDryRun);
    return answer ?? request.socket.destroy();
  }

  #discover(response: ServerResponse, group: string): unknown {
    const versions = this.groups[group];
    if (versions === undefined) return status(response, 404, 'the server could not find the requested resource');
    return reply(response, 200, { kind: 'APIGroup', name: group, versions: versions.map((version) => ({ version })) });
  }

  #list(response: ServerResponse, collection: string, namespace: string | undefined, query: URLSearchParams): unknown {
    const isHere = (object: ApiObject): boolean => namespace === undefined || object.metadata.namespace === namespace;
    if (query.get('watch') !== 'true') {
      const items = [...this.objects(collection).values()].filter(isHere);
      const limit = Number(query.get('limit') ?? 0) || items.length;
      const start = Number(query.get('continue') ?? 0);
      const next = start + limit < items.length ? String(start + limit) : '';
      const metadata = { resourceVersion: String(this.#revision), continue: next };
      return reply(response, 200, { kind: 'List', metadata, items: items.slice(start, start + limit) });
    }
    const from = Number(query.get('resourceVersion'));
    if (from < this.#oldest) return status(response, 410, 'too old resource version');
    const matches = (entry: Entry): boolean => entry.collection === collection && isHere(entry.object);
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.flushHeaders();
    for (const entry of this.#history) if (entry.revision > from && matches(entry)) send(response, entry);
    const watcher = { matches, response };
    this.#watchers.add(watcher);
    return response.on('close', () => this.#watchers.delete(watcher));
  }

  #apply(
    response: ServerResponse | undefined,
    collection: string,
    key: string,
    config: ApiObject,
    options: { subresource: string | undefined; query: URLSearchParams; isDryRun: boolean },
  ): unknown {
    const live = this.objects(collection).get(key);
    const { uid, resourceVersion } = config.metadata;
    const { subresource, query, isDryRun } = options;
    if (live === undefined && subresource !== undefined) return status(response, 404, `${key} not found`);
    if ((uid !== undefined && uid !== live?.metadata.uid) || isStale(resourceVersion, live))
      return status(response, 409, 'the object has been modified');
    const part = subresource === undefined ? 'status' : 'spec';
    const { object, managers, conflicts } = applyConfig(
      { shape: SHAPE, apiVersion: config.apiVersion, ignored: setOf([[`f:${part}`]]), alwaysPresent: {} },
      {
        live: live === undefined ? undefined : plainObject(live),
        managers: readManagers(live?.metadata.managedFields ?? []),
        config: config as unknown as JsonMap,
        manager: query.get('fieldManager') ?? '',
        subresource: subresource === undefined ? '' : 'status',
        force: query.get('force') === 'true',
        now: '2026-01-01T00:00:00Z',
      },
    );
    if (conflicts.length > 0) return status(response, 409, `Apply failed with ${conflicts.length} conflicts`);
    const { spec, status: newStatus, metadata } = object as unknown as ApiObject;
    const kept = subresource === undefined ? { spec, status: live?.status } : { spec: live?.spec, status: newStatus };
    const result = {
      ...{ apiVersion: config.apiVersion, kind: config.kind },
      metadata: { ...metadata, managedFields: writeManagers(managers) ?? [] },
      ...Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined)),
    } as ApiObject;
    const same = live !== undefined && JSON.stringify(withoutVersion(live)) === JSON.stringify(withoutVersion(result));
    const stored = isDryRun || same ? result : this.#store(collection, result);
    return response === undefined ? undefined : reply(response, live === undefined ? 201 : 200, stored);
  }

  #update(
    response: ServerResponse,
    collection: string,
    key: string,
    { isMerge, body }: { readonly isMerge: boolean; readonly body: string },
  ): unknown {
    const live = this.objects(collection).get(key);
    const sent = JSON.parse(body) as ApiObject;
    if (live === undefined) return status(response, 404, `${key} not found`);
    if (isStale(sent.metadata?.resourceVersion, live)) return status(response, 409, 'the object has been modified');
    const merged = isMerge ? applyMergePatch(live as unknown as JsonValue, sent as unknown as JsonValue) : sent;
    return reply(response, 200, this.#store(collection, merged as unknown as ApiObject));
  }

  #delete(
    response: ServerResponse | undefined,
    collection: string,
    key: string,
    options: { preconditions?: { uid?: string; resourceVersion?: string } },
    isDryRun: boolean,
  ): unknown {
    const live = this.objects(collection).get(key);
    const { uid, resourceVersion } = options.preconditions ?? {};
    if (live === undefined) return status(response, 404, `${key} not found`);
    if ((uid !== undefined && uid !== live.metadata.uid) || isStale(resourceVersion, live))
      return status(response, 409, 'Precondition failed');
    if (isDryRun) return status(response, 200, 'deleted');
    if ((live.metadata.finalizers ?? []).length > 0) {
      const metadata = { ...live.metadata, deletionTimestamp: '2026-01-02T00:00:00Z' };
      const stored = this.#store(collection, { ...live, metadata });
      return response === undefined ? undefined : reply(response, 200, stored);
    }
    this.remove(collection, key);
    return status(response, 200, 'deleted');
  }
}

const isStale = (resourceVersion: string | undefined, live: ApiObject | undefined): boolean =>
  resourceVersion !== undefined && resourceVersion !== live?.metadata.resourceVersion;

const withoutVersion = ({ metadata: { resourceVersion: _, ...metadata }, ...rest }: ApiObject): object => ({
  ...rest,
  metadata,
});

const send = (response: ServerResponse, { type, object }: Entry): void =>
  void response.write(`${JSON.stringify({ type, object })}\n`);

function reply(response: ServerResponse, code: number, value: unknown): void {
  response.writeHead(code, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
}

function status(response: ServerResponse | undefined, code: number, message: string): void {
  if (response === undefined) return;
  const value = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: code < 400 ? 'Success' : 'Failure',
    message,
    code,
  };
  reply(response, code, value);
}
