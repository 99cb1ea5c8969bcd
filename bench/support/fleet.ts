import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createCatalog } from '../../src/api/catalog.ts';
import type { ApiObject, Kind } from '../../src/api/kind.ts';
import { storageKey } from '../../src/api/object-key.ts';
import { toStoredBytes } from '../../src/objects/stored-object.ts';
import { createLogger } from '../../src/observability/logger.ts';
import { seedSqliteRevision } from '../../src/storage/sqlite/database.ts';
import { openSqliteStore } from '../../src/storage/sqlite/sqlite-store.ts';
import type { ArchiveItem } from '../../src/transfer/archive.ts';
import { type ImportTarget, importStore } from '../../src/transfer/import-store.ts';
import { TLS } from '../../test/e2e/support/server.ts';

/** The fleet that is measured on, written as `clusterpass store import` would. */
export interface FleetSize {
  readonly clusters: number;
  readonly bindings: number;
  /** Of the public view of one cluster. */
  readonly clusterBytes?: number;
  /** Other clusters than those of `clusterBody`. */
  readonly body?: (name: string, labels: Record<string, string>, bytes?: number) => object;
}

/** How many clusters the selector finds, and how many the narrow caller may see, however many there are. */
export const FEW = 200;
export const HOME = 'c-00000000';
export const NAMESPACE = 'ci';
export const ACCOUNT = 'builder';
/** Sees every cluster, and no more of each than the public view. */
export const READER = { name: 'reader', token: 'token-of-reader-0123456789' };
/** Sees FEW clusters, by a binding that names their label. */
export const NARROW = { name: 'narrow', token: 'token-of-narrow-0123456789' };

export const clusterName = (index: number): string => `c-${String(index).padStart(8, '0')}`;

const catalog = createCatalog({ productName: 'orchestrator' });
const CREATED = '2026-01-01T00:00:00Z';

const CA = readFileSync(TLS.caFile).toString('base64');
/** Of the public view without its padding. */
const BARE_BYTES = 1_140 + CA.length;

/** A cluster as somebody would send it; about 2.6 KB in the public view, if nothing else is asked for. */
export function clusterBody(name: string, labels: Record<string, string>, bytes = 2600): object {
  return {
    apiVersion: 'clusterregistry.k8s.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name, labels, annotations: { 'example.com/notes': '.'.repeat(Math.max(1, bytes - BARE_BYTES)) } },
    spec: {
      orchestratorApiEndpoints: {
        serverEndpoints: [
          { clientCIDR: '10.0.0.0/8', serverAddress: `https://api.${name}.internal.example.com:6443` },
          { clientCIDR: '0.0.0.0/0', serverAddress: `https://api.${name}.example.com:6443` },
        ],
        caBundle: CA,
      },
      authInfo: { user: { kind: 'Secret', name: `${name}-user`, namespace: 'fleet' } },
    },
    status: {
      type: 'k3s',
      version: 'v1.34.9+k3s1',
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'Reachable',
          message: 'The API server answers.',
          lastHeartbeatTime: CREATED,
          lastTransitionTime: CREATED,
        },
      ],
    },
  };
}

function* itemsOf({ clusters, bindings, clusterBytes, body = clusterBody }: FleetSize): Generator<ArchiveItem> {
  let revision = 1;
  const item = (kind: Kind, cluster: string, namespace: string, body: object): ArchiveItem => {
    const { metadata, ...rest } = body as ApiObject;
    const name = metadata.name ?? '';
    const full = {
      ...rest,
      metadata: {
        ...metadata,
        uid: randomUUID(),
        creationTimestamp: CREATED,
        ...(kind.countsGenerations ? { generation: 1 } : {}),
      },
    };
    revision += 1;
    return {
      key: storageKey(kind, { cluster, namespace, name }),
      value: toStoredBytes(kind, full as ApiObject),
      createRevision: revision,
    };
  };
  const every = Math.max(1, Math.floor(clusters / FEW));
  for (let index = 0; index < clusters; index++) {
    const few = index % every === 0 && index / every < FEW;
    const few2 = (index + 1) % every === 0 && (index + 1) / every <= FEW;
    const labels = {
      env: ['dev', 'staging', 'prod'][index % 3] ?? '',
      region: `r-${index % 20}`,
      ...(few ? { picked: 'yes' } : {}),
      ...(few2 ? { own: 'yes' } : {}),
    };
    yield item(catalog.clusters, '', '', body(clusterName(index), labels, clusterBytes));
  }
  const core = { apiVersion: 'v1' };
  yield item(catalog.namespaces, HOME, '', { ...core, kind: 'Namespace', metadata: { name: NAMESPACE } });
  for (const name of [ACCOUNT, 'caller']) {
    const metadata = { name, namespace: NAMESPACE };
    yield item(catalog.serviceAccounts, HOME, NAMESPACE, { ...core, kind: 'ServiceAccount', metadata });
  }
  for (const [name, rule] of Object.entries(RULES)) {
    yield item(catalog.clusterRoles, '', '', { ...rbac('ClusterRole', name), rules: [rule] });
  }
  yield item(catalog.clusterRoleBindings, '', '', binding('reader', 'viewer', READER.name));
  yield item(catalog.clusterRoleBindings, '', '', binding('narrow', 'viewer', NARROW.name, 'own=yes'));
  yield item(
    catalog.clusterRoleBindings,
    '',
    '',
    binding('caller', 'issuer', `system:serviceaccount:${NAMESPACE}:caller`),
  );
  for (let index = 3; index < bindings; index++) {
    const role = index % 2 === 0 ? 'viewer' : 'issuer';
    const selector = index % 3 === 0 ? undefined : `region=r-${index % 20}`;
    yield item(catalog.clusterRoleBindings, '', '', binding(`other-${index}`, role, `somebody-${index}`, selector));
  }
}

const RULES = {
  viewer: { verbs: ['get', 'list', 'watch'], apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters'] },
  issuer: { verbs: ['create'], apiGroups: [''], resources: ['serviceaccounts/token'] },
};

const rbac = (kind: string, name: string): { metadata: object } & Record<string, unknown> => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind,
  metadata: { name },
});

export function binding(name: string, role: string, user: string, clusters?: string): object {
  return {
    ...rbac('ClusterRoleBinding', name),
    metadata: { name, ...(clusters === undefined ? {} : { annotations: { 'clusterpass.dev/clusters': clusters } }) },
    subjects: [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }],
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  };
}

/** Fills an empty data directory. */
export async function writeFleet(dataDir: string, size: FleetSize): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const file = join(dataDir, 'clusterpass.db');
  const logger = createLogger({ level: 'silent' });
  const target = {
    open: () => openSqliteStore({ file, logger }),
    seedRevision: async (revision: number) => seedSqliteRevision(file, revision),
  };
  await fillStore(target, size);
}

/** Fills an empty store of any engine. */
export async function fillStore(target: ImportTarget, size: FleetSize): Promise<void> {
  await importStore(target, { revision: 1, items: [...itemsOf(size)] });
}
