import type { Catalog } from '../api/catalog.ts';
import { probeChoice } from '../api/clusters/annotations.ts';
import { type Conclusion, conclude, withCondition } from '../api/clusters/conditions.ts';
import { type ApiObject, fleetKey, type Kind, kindPrefix } from '../api/kind.ts';
import { CONTROLLER_FIELD } from '../api/kinds/cluster.ts';
import { CONNECTOR_REFERENCE, statusOf } from '../api/kinds/cluster-spec.ts';
import { type ConnectorStatus, connectorSpec, connectorStatus, isConnected } from '../api/kinds/connector.ts';
import { ignoreNotFound } from '../api/status.ts';
import { toTimestamp } from '../lib/utc-second.ts';
import type { Work } from '../lib/work-queue.ts';
import { statusUpdate } from '../objects/keyed-writer.ts';
import type { ObjectCache, ObjectReader } from '../objects/reader.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import type { ObjectWriter } from '../objects/writer.ts';
import type { Guard } from '../storage/contract.ts';
import { withVersion } from './prober/readiness.ts';

interface ConnectorReadinessParts {
  readonly catalog: Pick<Catalog, 'clusters' | 'connectors'>;
  readonly reader: Pick<ObjectReader, 'cache' | 'find'>;
  readonly writer: Pick<ObjectWriter, 'remove' | 'update'>;
  /** That this replica leads. */
  readonly guards: () => readonly Guard[];
  readonly now: () => number;
  readonly work: Work;
}

/**
 * A round over all connectors: writes what they report to the condition `Ready` and the version of their clusters,
 * which need not be reachable from here, and deletes those whose cluster is gone.
 */
export function createConnectorRound({ catalog, reader, writer, guards, now, work }: ConnectorReadinessParts) {
  const { clusters, connectors } = catalog;
  const scan = (kind: Kind) => reader.cache(kind).snapshot.scan(kindPrefix(kind));
  const update = statusUpdate(writer, clusters, guards);
  const write = async (cluster: StoredObject, report: ConnectorStatus): Promise<void> => {
    const change = (object: ApiObject): ApiObject => withReport(object, report, now());
    const object = cluster.object();
    if (change(object) !== object) await update(cluster.name, cluster.uid, change).catch(ignoreNotFound);
  };
  return async (): Promise<void> => {
    for (const entry of scan(connectors)) {
      if (work.isUsedUp) await work.turn();
      const connector = entry.object();
      const cluster = reader.find(clusters, fleetKey(entry.name));
      if (cluster !== undefined && cluster.uid === connectorSpec(connector).clusterUID) {
        await write(cluster, connectorStatus(connector));
      } else {
        const options = { dryRun: false, preconditions: { uid: entry.uid }, guards: guards() };
        await writer.remove(connectors, fleetKey(entry.name), options).catch(ignoreNotFound);
      }
    }
    for (const cluster of scan(clusters)) {
      if (work.isUsedUp) await work.turn();
      if (cluster.field(CONTROLLER_FIELD) !== CONNECTOR_REFERENCE) continue;
      if (reader.find(connectors, fleetKey(cluster.name)) === undefined) await write(cluster, {});
    }
  };
}

function withReport(cluster: ApiObject, report: ConnectorStatus, now: number): ApiObject {
  // Its operator has chosen the prober.
  if (probeChoice(cluster.metadata) === 'enabled') return cluster;
  const before = statusOf(cluster);
  const versioned = withVersion(before, report.clusterVersion);
  const next = withCondition(versioned, 'Ready', conclusionOf(report, now), toTimestamp(now));
  return next === before ? cluster : { ...cluster, status: next };
}

function conclusionOf(report: ConnectorStatus, now: number): Conclusion {
  const { renewTime = 'its registration', ready, readyMessage = '', nodes } = report;
  const lost = `The connector of the cluster has not reported since ${renewTime}.`;
  if (!isConnected(report, now)) return conclude('Ready', 'ConnectorLost', lost);
  if (ready !== true) return conclude('Ready', 'ConnectorNotReady', `The API server is not ready: ${readyMessage}`);
  const count = nodes === undefined ? '' : ` ${nodes.ready ?? 0} of ${nodes.total ?? 0} nodes are ready.`;
  return conclude('Ready', 'ConnectorReady', `The API server is ready.${count}`);
}

/** How many connectors report, and how many do not. */
export function connectorCounts(connectors: ObjectCache, now: number): Record<'connected' | 'lost', number> {
  const counts = { connected: 0, lost: 0 };
  connectors.current.forEach((entry) => {
    counts[isConnected(connectorStatus(entry.object()), now) ? 'connected' : 'lost']++;
  });
  return counts;
}
