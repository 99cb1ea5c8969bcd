import { CLUSTER_ID_ANNOTATION } from '../../api/domain-keys.ts';
import type { ApiObject } from '../../api/kind.ts';
import { FULL_CLUSTERS } from '../../client/list-clusters.ts';
import type { Transport } from '../../client/transport.ts';
import type { Informer } from '../../sync/informer.ts';
import {
  MIRRORED_KINDS,
  type MirroredKind,
  MirrorTarget,
  mirroredPart,
  mirroredState,
  mirrorKeyOf,
  mirrorOwnership,
} from '../../sync/mirror.ts';
import { clusterIdentity } from '../cluster-identity.ts';
import { CliError, type Invocation, type Run } from '../command.ts';
import { resolveConnection } from '../connection/connection.ts';
import { type ClusterConnection, connectCluster, connectServer } from '../sync/cluster-connection.ts';
import { onceFlags, runSync, ServerRequestError, type Sides, type SyncFlags } from '../sync/run-sync.ts';

/** Keeps copies of the namespaces, service accounts and Pods of a cluster. */
export const run: Run = async (context, invocation) => {
  const cluster = invocation.required('cluster');
  const kinds = MIRRORED_KINDS.filter(({ resource }) => resource !== 'pods' || !invocation.is('withoutPods'));
  const connection = await resolveConnection(context, invocation);
  const server = connectServer(context, connection);
  const source = await connectCluster(context, invocation);
  const root = `/${connection.productName}/${encodeURIComponent(cluster)}/api/v1`;
  return runSync(context, invocation, {
    resource: cluster,
    clusterSide: 'SourceConnected',
    flags: mirrorFlags(invocation),
    open: async ({ informer, signal }): Promise<Sides> => {
      const id = await registeredIdentity(source, server, cluster, signal);
      const identity = new CheckedIdentity(source, id);
      const transform = (kind: MirroredKind) => (object: ApiObject) => mirroredPart(kind, object);
      const sources = kinds.map((kind) =>
        informer('SourceConnected', {
          transport: source.transport,
          path: `/api/v1/${kind.resource}`,
          transform: transform(kind),
          onConnection: () => identity.doubt(),
        }),
      );
      const copies = new Map(
        kinds.map((kind) => {
          const options = { transport: server, path: `${root}/${kind.resource}`, transform: transform(kind) };
          return [kind, informer('TargetConnected', options)];
        }),
      );
      return {
        sources,
        targets: [...copies.values()],
        desired: async () => {
          await identity.check();
          return mirroredState(objectsOf(sources), id, context.now());
        },
        target: new MirrorTarget({ transport: server, root, informers: copies }),
        keyOf: mirrorKeyOf,
        ownership: mirrorOwnership(id),
      };
    },
  });
};

function* objectsOf(informers: Iterable<Informer>): Generator<ApiObject> {
  for (const { objects } of informers) yield* objects.values();
}

/**
 * Deletions have no bound: Pods come and go in hundreds, and an account that is deleted in the cluster must not get
 * tokens here. A cluster answers 403 to a caller that lost its permissions, not with an empty list.
 */
const mirrorFlags = (invocation: Invocation): SyncFlags => ({
  prune: true,
  maxDelete: Number.POSITIVE_INFINITY,
  pruneWindow: '0s',
  ...onceFlags(invocation),
});

/** The identity of the cluster, which must be the registered one. */
async function registeredIdentity(
  source: ClusterConnection,
  server: Transport,
  cluster: string,
  signal: AbortSignal,
): Promise<string> {
  const path = `${FULL_CLUSTERS}/${encodeURIComponent(cluster)}`;
  const [id, { value }] = await Promise.all([
    clusterIdentity(source.transport, signal),
    server.request<ApiObject>('GET', path, { expects: 'object', signal }).catch((error: Error) => {
      throw new ServerRequestError(error);
    }),
  ]);
  const registered = value.metadata.annotations?.[CLUSTER_ID_ANNOTATION];
  if (registered !== undefined && registered !== id) {
    throw new CliError(
      `${source.server} is another cluster than ${cluster}: its namespace kube-system has the UID ${id}, and ` +
        `${CLUSTER_ID_ANNOTATION} of ${cluster} is ${registered}`,
    );
  }
  return id;
}

/** The address may lead to another cluster after an interruption: all objects of the first would look deleted. */
class CheckedIdentity {
  readonly #source: ClusterConnection;
  readonly #id: string;
  #isCertain = true;

  constructor(source: ClusterConnection, id: string) {
    this.#source = source;
    this.#id = id;
  }

  doubt(): void {
    this.#isCertain = false;
  }

  async check(): Promise<void> {
    if (this.#isCertain) return;
    this.#isCertain = true;
    try {
      const id = await clusterIdentity(this.#source.transport);
      if (id !== this.#id) throw new Error(`${this.#source.server} is another cluster now: nothing is written`);
    } catch (error) {
      this.#isCertain = false;
      throw error;
    }
  }
}
