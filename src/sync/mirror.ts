import { MIRRORED_ANNOTATION } from '../api/domain-keys.ts';
import { type ApiObject, isGone, type ObjectMeta } from '../api/kind.ts';
import type { Transport } from '../client/transport.ts';
import { defined } from '../lib/json.ts';
import { clusterIdentity } from './cluster-identity.ts';
import type { Informer } from './informer.ts';
import { keepInStep, type OpenParts, type Sides } from './keep-in-step.ts';
import { type Desired, keyOf, type Ownership } from './plan.ts';
import type { DesiredState, SyncTarget } from './reconciler.ts';
import { Reporter } from './reporter.ts';

/** Namespaces, service accounts and Pods of a cluster, and their copies in Clusterpass. */

/** By kind, in the order of creation: an account needs its namespace. */
const RESOURCES: Readonly<Record<string, string>> = {
  ...{ Namespace: 'namespaces', ServiceAccount: 'serviceaccounts', Pod: 'pods' },
};

interface PodSpec {
  readonly serviceAccountName?: string;
  readonly nodeName?: string;
}

/** What is kept of an object while it is watched: a Pod of a cluster has many kilobytes. */
export function mirroredPart(kind: string, { metadata, spec }: ApiObject): ApiObject {
  const { name, namespace, uid, resourceVersion, deletionTimestamp, annotations = {} } = metadata;
  const mark = annotations[MIRRORED_ANNOTATION];
  const kept = { name, namespace, uid, resourceVersion, deletionTimestamp };
  const marked = mark === undefined ? kept : { ...kept, annotations: { [MIRRORED_ANNOTATION]: mark } };
  return { apiVersion: 'v1', kind, metadata: defined(marked), ...(kind === 'Pod' ? { spec: podSpec(spec) } : {}) };
}

/** Clusterpass and Kubernetes have the same default for the account. */
const podSpec = (spec: unknown): PodSpec => {
  const { serviceAccountName, nodeName } = (spec ?? {}) as PodSpec;
  return { serviceAccountName: serviceAccountName || 'default', ...(nodeName ? { nodeName } : {}) };
};

/** The copy of an object of the cluster, with the UID that it has there. `id` identifies the cluster. */
function copyOf({ apiVersion, kind, metadata: { name, namespace, uid }, spec }: ApiObject, id: string): Desired {
  const metadata = defined({ annotations: { [MIRRORED_ANNOTATION]: id }, name, namespace, uid });
  return { object: defined({ apiVersion, kind, metadata, spec }) };
}

/** Objects of the three kinds may have the same name. */
const mirrorKeyOf = (object: { readonly kind?: string; readonly metadata: ObjectMeta }): string =>
  `${RESOURCES[object.kind ?? '']}/${keyOf(object)}`;

export function mirroredState(sources: Iterable<ApiObject>, id: string, now: number): DesiredState {
  const objects = new Map<string, Desired>();
  for (const source of sources) {
    // The cluster refuses its own tokens of an account that waits for a finalizer, but would accept passes of its copy.
    if (source.kind === 'ServiceAccount' && source.metadata.deletionTimestamp !== undefined) continue;
    // The time of a Pod is the end of its grace period, in which it needs tokens.
    if (source.kind === 'Pod' && isGone(source.metadata, now)) continue;
    objects.set(mirrorKeyOf(source), copyOf(source, id));
  }
  return { objects, kept: new Set(), problems: new Map() };
}

/** A copy belongs to the cluster that its annotation names. */
export function mirrorOwnership(id: string): Ownership {
  const isOurs = ({ metadata }: ApiObject): boolean => metadata.annotations?.[MIRRORED_ANNOTATION] === id;
  return { mayChange: isOurs, mayRemove: isOurs };
}

const FIELD_MANAGER = 'clusterpass-mirror';

/**
 * The copies in Clusterpass, below the path of the core API of the cluster. They are created by POST, unlike what a
 * synchronization applies: server-side apply cannot create an object with a UID.
 * @param informers by kind
 */
export function mirrorTarget(transport: Transport, root: string, informers: ReadonlyMap<string, Informer>): SyncTarget {
  const collectionOf = ({ kind, metadata: { namespace } }: ApiObject): string =>
    `${root}${namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`}/${RESOURCES[kind]}`;
  const pathOf = (object: ApiObject): string =>
    `${collectionOf(object)}/${encodeURIComponent(object.metadata.name ?? '')}`;
  const create = async ({ object }: Desired): Promise<void> => {
    const query = { fieldManager: FIELD_MANAGER, fieldValidation: 'Strict' };
    const options = { body: object, query, expects: 'object' } as const;
    const { value } = await transport.request<ApiObject>('POST', collectionOf(object), options);
    informers.get(object.kind)?.put(value);
  };
  const remove = async (actual: ApiObject): Promise<void> => {
    await informers.get(actual.kind)?.delete(actual, pathOf(actual));
  };
  return {
    fieldManager: FIELD_MANAGER,
    get objects() {
      const all = [...informers.values()].flatMap(({ objects }) => [...objects.values()]);
      return new Map(all.map((object) => [mirrorKeyOf(object), object]));
    },
    /** Namespaces are created first and deleted last. */
    order: ({ kind }) => Object.keys(RESOURCES).indexOf(kind),
    create,
    remove,
    /** An object of the same name and another UID is another object: tokens of the old one end with it. */
    async update({ desired, actual }) {
      const { uid, resourceVersion } = actual.metadata;
      const { metadata, spec } = desired.object;
      if (uid !== metadata.uid) {
        await remove(actual);
        return create(desired);
      }
      const { value } = await transport.request<ApiObject>('PATCH', pathOf(actual), {
        body: { metadata: { uid, resourceVersion, annotations: metadata.annotations }, spec },
        contentType: 'application/merge-patch+json',
        expects: 'object',
        query: { fieldManager: FIELD_MANAGER },
      });
      informers.get(actual.kind)?.put(value);
    },
  };
}

interface MirrorParts {
  /** The API server of the cluster. */
  readonly api: Transport;
  /** Clusterpass. */
  readonly server: Transport;
  readonly cluster: string;
  readonly productName: string;
  /** The UID of the namespace kube-system. */
  readonly id: string;
  readonly pods: boolean;
  readonly log: (line: string) => void;
}

/**
 * Keeps copies of the namespaces, service accounts and Pods of a cluster. Deletions have no bound: Pods come and go in
 * hundreds, and an account that is deleted in the cluster must not get tokens here. A cluster answers 403 to a caller
 * that lost its permissions, not with an empty list.
 */
export async function mirrorCluster(parts: MirrorParts, signal: AbortSignal): Promise<void> {
  const { api, server, cluster: resource, productName, id, pods, log } = parts;
  const kinds = Object.keys(RESOURCES).filter((kind) => kind !== 'Pod' || pods);
  const root = `/${productName}/${encodeURIComponent(resource)}/api/v1`;
  // The address may lead to another cluster after an interruption: all objects of the first would look deleted.
  const connections = { opened: 0, checked: 0 };
  const onConnection = (): void => {
    connections.opened += 1;
  };
  const optionsOf = (kind: string, transport: Transport, base: string) => {
    const transform = (object: ApiObject): ApiObject => mirroredPart(kind, object);
    return { transport, path: `${base}/${RESOURCES[kind]}`, transform };
  };
  const open = async ({ informer }: OpenParts): Promise<Sides> => {
    const sources = kinds.map((kind) =>
      informer('SourceConnected', { ...optionsOf(kind, api, '/api/v1'), onConnection }),
    );
    const copies = new Map(kinds.map((kind) => [kind, informer('TargetConnected', optionsOf(kind, server, root))]));
    const desired = async (): Promise<DesiredState> => {
      const { opened } = connections;
      if (opened !== connections.checked && (await clusterIdentity(api)) !== id)
        throw new Error('the API server is another cluster now: nothing is written');
      connections.checked = opened;
      const found = sources.flatMap(({ objects }) => [...objects.values()]);
      return mirroredState(found, id, Date.now());
    };
    const target = mirrorTarget(server, root, copies);
    const targets = [...copies.values()];
    return { sources, targets, desired, target, keyOf: mirrorKeyOf, ownership: mirrorOwnership(id) };
  };
  const reporter = new Reporter({ resource, pruneWindow: '0s', out: log, err: log, now: Date.now, note: '' });
  const flags = { prune: true, maxDelete: Number.POSITIVE_INFINITY, pruneWindowMs: 0, planOnly: false };
  await keepInStep({ ...flags, reporter, clusterSide: 'SourceConnected', open }, signal);
}
