import type { ApiObject } from '../../api/kind.ts';
import type { Transport } from '../../client/transport.ts';
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
import type { Context } from '../command.ts';
import type { ClusterConnection } from './cluster-connection.ts';
import { keepInStep, reporterFor, type Sides, type SyncCommand } from './run-sync.ts';

interface MirrorParts {
  readonly source: ClusterConnection;
  /** Clusterpass. */
  readonly server: Transport;
  readonly productName: string;
  readonly cluster: string;
  /** The UID of the namespace kube-system. */
  readonly id: string;
  readonly pods: boolean;
}

/**
 * Keeps copies of the namespaces, service accounts and Pods of a cluster. Deletions have no bound: Pods come and go in
 * hundreds, and an account that is deleted in the cluster must not get tokens here. A cluster answers 403 to a caller
 * that lost its permissions, not with an empty list.
 */
export async function mirrorCluster(context: Context, parts: MirrorParts, signal: AbortSignal): Promise<void> {
  const command: SyncCommand = {
    resource: parts.cluster,
    clusterSide: 'SourceConnected',
    flags: { prune: true, maxDelete: Number.POSITIVE_INFINITY, pruneWindow: '0s', isOnce: false, dryRun: 'none' },
    open: async ({ informer }) => sidesOf(context, parts, informer),
  };
  await keepInStep(command, { reporter: reporterFor(context, command, { note: '' }), pruneWindowMs: 0 }, signal);
}

function sidesOf(
  context: Context,
  { source, server, productName, cluster, id, pods }: MirrorParts,
  informer: Parameters<SyncCommand['open']>[0]['informer'],
): Sides {
  const kinds = MIRRORED_KINDS.filter(({ resource }) => resource !== 'pods' || pods);
  const root = `/${productName}/${encodeURIComponent(cluster)}/api/v1`;
  // The address may lead to another cluster after an interruption: all objects of the first would look deleted.
  const connections = { opened: 0, checked: 0 };
  const transform = (kind: MirroredKind) => (object: ApiObject) => mirroredPart(kind, object);
  const sources = kinds.map((kind) =>
    informer('SourceConnected', {
      transport: source.transport,
      path: `/api/v1/${kind.resource}`,
      transform: transform(kind),
      onConnection: () => {
        connections.opened += 1;
      },
    }),
  );
  const copies = new Map(
    kinds.map((kind) => {
      const options = { transport: server, path: `${root}/${kind.resource}`, transform: transform(kind) };
      return [kind.kind, informer('TargetConnected', options)];
    }),
  );
  return {
    sources,
    targets: [...copies.values()],
    desired: async () => {
      const { opened } = connections;
      if (opened !== connections.checked && (await clusterIdentity(source.transport)) !== id)
        throw new Error(`${source.server} is another cluster now: nothing is written`);
      connections.checked = opened;
      const found = sources.flatMap(({ objects }) => [...objects.values()]);
      return mirroredState(found, id, context.now());
    },
    target: new MirrorTarget({ transport: server, root, informers: copies }),
    keyOf: mirrorKeyOf,
    ownership: mirrorOwnership(id),
  };
}
