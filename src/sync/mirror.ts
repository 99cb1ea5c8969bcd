import { MIRRORED_ANNOTATION } from '../api/domain-keys.ts';
import { type ApiObject, isGone, type ObjectMeta } from '../api/kind.ts';
import type { Transport } from '../client/transport.ts';
import { defined } from '../lib/json.ts';
import type { Informer } from './informer.ts';
import { type Desired, keyOf, type Ownership, type Update } from './plan.ts';
import type { DesiredState, SyncTarget } from './reconciler.ts';

/** Namespaces, service accounts and Pods of a cluster, and their copies in Clusterpass. */

export interface MirroredKind {
  readonly resource: 'namespaces' | 'serviceaccounts' | 'pods';
  readonly kind: 'Namespace' | 'ServiceAccount' | 'Pod';
}

/** In the order of creation: an account needs its namespace. */
export const MIRRORED_KINDS: readonly MirroredKind[] = [
  { resource: 'namespaces', kind: 'Namespace' },
  { resource: 'serviceaccounts', kind: 'ServiceAccount' },
  { resource: 'pods', kind: 'Pod' },
];

const RESOURCES: ReadonlyMap<string, string> = new Map(MIRRORED_KINDS.map(({ kind, resource }) => [kind, resource]));

interface PodSpec {
  readonly serviceAccountName?: string;
  readonly nodeName?: string;
}

/** What is kept of an object while it is watched: a Pod of a cluster has many kilobytes. */
export function mirroredPart({ kind }: MirroredKind, { metadata, spec }: ApiObject): ApiObject {
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
export const mirrorKeyOf = (object: { readonly kind?: string; readonly metadata: ObjectMeta }): string =>
  `${RESOURCES.get(object.kind ?? '')}/${keyOf(object)}`;

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

const MERGE_PATCH = 'application/merge-patch+json';

interface MirrorTargetOptions {
  readonly transport: Transport;
  /** The path of the core API of the cluster in Clusterpass. */
  readonly root: string;
  /** By kind. */
  readonly informers: ReadonlyMap<string, Informer>;
}

/**
 * The copies in Clusterpass. They are created by POST, unlike what a synchronization applies: server-side apply cannot
 * create an object with a UID.
 */
export class MirrorTarget implements SyncTarget {
  readonly fieldManager = 'clusterpass-mirror';
  readonly #options: MirrorTargetOptions;

  constructor(options: MirrorTargetOptions) {
    this.#options = options;
  }

  get objects(): ReadonlyMap<string, ApiObject> {
    const all = new Map<string, ApiObject>();
    for (const informer of this.#options.informers.values()) {
      for (const object of informer.objects.values()) all.set(mirrorKeyOf(object), object);
    }
    return all;
  }

  /** Namespaces are created first and deleted last. */
  order({ kind }: ApiObject): number {
    return MIRRORED_KINDS.findIndex((each) => each.kind === kind);
  }

  async create({ object }: Desired): Promise<void> {
    const { transport } = this.#options;
    const query = { fieldManager: this.fieldManager, fieldValidation: 'Strict' };
    const options = { body: object, query, expects: 'object' } as const;
    const reply = await transport.request<ApiObject>('POST', this.#collection(object), options);
    this.#put(object, reply.value);
  }

  /** An object of the same name and another UID is another object: tokens of the old one end with it. */
  async update({ desired, actual }: Update): Promise<void> {
    const { uid, resourceVersion } = actual.metadata;
    if (uid !== desired.object.metadata.uid) {
      await this.remove(actual);
      return this.create(desired);
    }
    const { metadata, spec } = desired.object;
    const body = { metadata: { uid, resourceVersion, annotations: metadata.annotations }, spec };
    const reply = await this.#options.transport.request<ApiObject>('PATCH', this.#pathOf(actual), {
      body,
      contentType: MERGE_PATCH,
      expects: 'object',
      query: { fieldManager: this.fieldManager },
    });
    this.#put(actual, reply.value);
  }

  async remove(actual: ApiObject): Promise<void> {
    await this.#options.informers.get(actual.kind)?.delete(actual, this.#pathOf(actual));
  }

  #put({ kind }: ApiObject, received: ApiObject): void {
    this.#options.informers.get(kind)?.put(received);
  }

  #collection({ kind, metadata: { namespace } }: ApiObject): string {
    const scope = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
    return `${this.#options.root}${scope}/${RESOURCES.get(kind)}`;
  }

  #pathOf(object: ApiObject): string {
    return `${this.#collection(object)}/${encodeURIComponent(object.metadata.name ?? '')}`;
  }
}
