import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import type { Caller } from '../../../src/api/caller.ts';
import { type Catalog, createCatalog } from '../../../src/api/catalog.ts';
import type { ApiObject, Kind } from '../../../src/api/kind.ts';
import type { ApiRequest, ApiResponse, Target, Verb } from '../../../src/api/request.ts';
import { createChangeCheck } from '../../../src/authz/change-check.ts';
import { questionOf, refusalOf, requirePermission } from '../../../src/authz/forbidden.ts';
import { person } from '../../../src/authz/policy/rbac.fixture.ts';
import { createContinueTokens } from '../../../src/handlers/continue-token.ts';
import { createDispatcher, findResource } from '../../../src/handlers/dispatch.ts';
import { createViews } from '../../../src/handlers/views.ts';
import type { Broadcaster } from '../../../src/handlers/watch/broadcaster.ts';
import { MemoryAccount } from '../../../src/lib/memory-account.ts';
import { lonelyWork } from '../../../src/lib/work-queue.fixture.ts';
import { WorkQueue } from '../../../src/lib/work-queue.ts';
import type { ObjectReader } from '../../../src/objects/reader.ts';
import { createObjects } from '../../../src/server/create-objects.ts';
import type { Store } from '../../../src/storage/contract.ts';
import { openSqliteStore } from '../../../src/storage/sqlite/sqlite-store.ts';

/** May do everything; applies the mutations. */
export const ROOT = person('root', 'system:masters');

export interface CoreRequest {
  readonly caller: Caller;
  readonly verb: Verb;
  readonly kind: Kind;
  readonly name?: string;
  readonly subresource?: string;
  readonly query?: Record<string, string>;
  readonly body?: unknown;
  readonly mediaType?: string;
  readonly alwaysPublic?: boolean;
  /** Aborted when the client disconnects. */
  readonly signal?: AbortSignal;
}

/** The parts between HTTP and the store, composed as in the program. */
export interface ApiCore {
  readonly catalog: Catalog;
  readonly store: Store;
  readonly reader: ObjectReader;
  readonly broadcaster: Broadcaster;
  /** Errors of the reflector. */
  readonly errors: readonly unknown[];
  readonly publicView: (object: ApiObject) => ApiObject;
  /** Dispatches one request to its handler. */
  request(request: CoreRequest): Promise<ApiResponse>;
  close(): Promise<void>;
}

/** One with a SQLite store for all tests of a file. */
export function sqliteApiCore(windowSize: number): () => ApiCore {
  let dir: string;
  let store: Store;
  let core: ApiCore;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'clusterpass-property-'));
    store = await openSqliteStore({ file: join(dir, 'store.db') });
    core = await openApiCore(store, windowSize);
  });
  afterAll(async () => {
    await core.close();
    await store.close();
    await rm(dir, { recursive: true });
  });
  return () => core;
}

export async function openApiCore(store: Store, windowSize: number, now: () => number = Date.now): Promise<ApiCore> {
  const catalog = createCatalog({ productName: 'orchestrator' });
  const errors: unknown[] = [];
  const { publicView, reflector, reader, writer, policy, broadcaster, propagation } = createObjects({
    catalog,
    store,
    issuesOwnTokens: () => false,
    productName: 'orchestrator',
    issuerOf: (cluster) => `https://passes.example/orchestrator/${cluster}`,
    maxExpirationSeconds: 3_600,
    historyRevisions: windowSize,
    bookmarkIntervalMs: 3_600_000,
    delay: () => Promise.resolve(),
    now,
    onError: (error) => errors.push(error),
    work: new WorkQueue(),
    memory: new MemoryAccount({ perFlow: 2 ** 26, total: 2 ** 28 }),
  });
  const views = createViews(catalog, policy, () => broadcaster.labelsChangedAt);
  const notAsked = () => Promise.reject(new Error('only objects are asked for here'));
  const dispatch = createDispatcher({
    catalog,
    reader,
    writer,
    propagation,
    views,
    broadcaster,
    publicView,
    continueTokens: createContinueTokens({ key: randomBytes(32) }),
    hasChangedSince: createChangeCheck({ catalog, reader, policy, changedAt: views.changedAt }),
    refusal: (request, kind) => (kind === catalog.clusters ? undefined : refusalOf(policy, request, 'watch')),
    productName: 'orchestrator',
    holdsEndpoints: false,
    checkAdmission: () => {},
    warnOfBinding: () => Promise.resolve(),
    afterDeletion: () => Promise.resolve(),
    completion: () => undefined,
    checkCreate: (request) => requirePermission(policy, request.caller, questionOf(request, 'create')),
    checkUnreadableDelete: () => {},
    now: Date.now,
    random: () => 0,
    createReview: notAsked,
    verbOverrides: new Map(),
    subresources: { token: notAsked, userpass: notAsked, kubeconfig: notAsked, accounts: notAsked, cluster: notAsked },
    decisions: new Map(),
    redeemPass: notAsked,
  });
  await reflector.start();

  return {
    catalog,
    store,
    reader,
    broadcaster,
    errors,
    publicView,
    request: (coreRequest) => {
      const request = toApiRequest(coreRequest);
      const resource = findResource(catalog, request.target);
      if (resource === undefined) throw new Error(`nothing is served at ${request.path}`);
      return dispatch(request, resource);
    },
    close: async () => {
      broadcaster.shutDown();
      await reflector.stop();
    },
  };
}

function toApiRequest({
  caller,
  verb,
  kind,
  name = '',
  subresource = '',
  alwaysPublic = false,
  ...rest
}: CoreRequest): ApiRequest {
  const { group, version, resource } = kind;
  const target: Target = {
    verb,
    cluster: undefined,
    group,
    version,
    resource,
    subresource,
    namespace: '',
    name,
    alwaysPublic,
  };
  const { body, mediaType = 'application/json', signal = new AbortController().signal } = rest;
  return {
    caller,
    target,
    query: new URLSearchParams(rest.query),
    body: body === undefined ? undefined : { bytes: Buffer.from(JSON.stringify(body)), mediaType },
    warn: () => {},
    clientAddress: '127.0.0.1',
    userAgent: 'property-test',
    path: `/apis/${group}/${version}/${resource}`,
    signal,
    work: lonelyWork({ signal }),
    accept: { mediaType: 'application/json', as: 'object' },
    auditId: '',
    annotate: () => {},
    nameObject: () => {},
    willAnswer: async () => {},
  };
}
