import type { Catalog } from '../api/catalog.ts';
import { CONDITION_STATUSES, type ConditionStatus } from '../api/clusters/conditions.ts';
import { endpointsInForce } from '../api/clusters/confirmed-endpoint.ts';
import type { Kind } from '../api/kind.ts';
import { CREDENTIAL_FIELD, READY_FIELD, REASON_FIELD } from '../api/kinds/cluster.ts';
import { bundleEnd } from '../api/kinds/cluster-endpoints.ts';
import { END_FIELD } from '../api/kinds/fleet-role-binding.ts';
import { minorOf } from '../api/kubernetes-support.ts';
import { kindPrefix } from '../api/object-key.ts';
import { ENDING_DAYS, type FleetHour, type Overview } from '../api/overview.ts';
import { Cache } from '../lib/cache.ts';
import type { Work } from '../lib/work-queue.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { StoredObject } from '../objects/stored-object.ts';

interface OverviewParts {
  readonly catalog: Catalog;
  readonly reader: Pick<ObjectReader, 'cache'>;
  readonly productName: string;
  /** When signing keys and the certificate of the server end (epoch milliseconds). */
  readonly keyEnds: () => readonly (readonly [name: string, end: number])[];
  readonly certificateEnd: () => number | undefined;
  readonly hours: () => Promise<readonly FleetHour[]>;
  readonly now: () => number;
}

const MAX_REASONS = 20;
const NO_STATUS = Object.fromEntries(CONDITION_STATUSES.map((status) => [status, 0])) as Record<
  ConditionStatus,
  number
>;

/** Counts over the whole fleet, for the console and for metrics. Without names: who may read it may not see all. */
export function createFleetOverview({ catalog, reader, productName, now, ...parts }: OverviewParts) {
  const tally = (kind: Kind, keyOf: (entry: StoredObject) => string): Record<string, number> => {
    const counts: Record<string, number> = {};
    reader.cache(kind).current.forEach((entry) => {
      const key = keyOf(entry);
      counts[key] = (counts[key] ?? 0) + 1;
    });
    return counts;
  };
  /** 0 is counted, so that a metric has every series. */
  const clusters = () => ({ ...NO_STATUS, ...tally(catalog.clusters, (cluster) => cluster.field(READY_FIELD)) });
  /** The same for `CredentialUsable`, of the clusters that name a credential. */
  const credentials = (): Record<string, number> => {
    const { '': _, ...counts } = tally(catalog.clusters, (cluster) => cluster.field(CREDENTIAL_FIELD));
    return { ...NO_STATUS, ...counts };
  };
  const reasons = (): Overview['reasons'] => {
    const counts = tally(catalog.clusters, (one) => `${one.field(READY_FIELD)} ${one.field(REASON_FIELD)}`);
    return Object.entries(counts).map(([key, count]) => {
      const status = key.split(' ', 1)[0] as ConditionStatus;
      return { status, reason: key.slice(status.length + 1), count };
    });
  };
  const versions = () => tally(catalog.clusters, (cluster) => minorOf(cluster.field('status.version')));
  const pending = (kind: Kind) => tally(kind, (entry) => entry.field('status.phase')).Pending ?? 0;
  const waiting = () => ({ accessrequests: pending(catalog.accessRequests), passes: pending(catalog.passes) });

  /** When the CA of a version of a cluster ends: reading it takes longer than all the rest. */
  const caEnds = new Cache<string, number>({ maxEntries: 20_000 });
  const caEnd = (cluster: StoredObject): number =>
    caEnds.getOrCompute(`${cluster.uid} ${cluster.revision}`, () =>
      bundleEnd(endpointsInForce(cluster.object(), productName)),
    );
  const isSoon = (end = Number.POSITIVE_INFINITY): boolean => end - now() < ENDING_DAYS * 86_400_000;
  const ending = async (work: Work, kind: Kind, endOf: (entry: StoredObject) => number | undefined) => {
    let count = 0;
    for (const entry of reader.cache(kind).snapshot.scan(kindPrefix(kind))) {
      if (work.isUsedUp) await work.turn();
      if (isSoon(endOf(entry))) count++;
    }
    return count;
  };
  const ends = async (work: Work): Promise<Overview['ends']> => ({
    clusterCAs: await ending(work, catalog.clusters, caEnd),
    certificates: isSoon(parts.certificateEnd()) ? 1 : 0,
    signingKeys: parts.keyEnds().filter(([, end]) => isSoon(end)).length,
    bindings: await ending(work, catalog.fleetRoleBindings, (binding) => Date.parse(binding.field(END_FIELD))),
    bootstrapTokens: await ending(work, catalog.bootstrapTokens, ({ expiresAt }) => expiresAt),
  });
  const read = async (work: Work): Promise<Overview> => ({
    clusters: clusters(),
    reasons: reasons()
      .toSorted((a, b) => b.count - a.count)
      .slice(0, MAX_REASONS),
    versions: versions(),
    ends: await ends(work),
    waiting: waiting(),
    hours: await parts.hours(),
  });
  return { clusters, credentials, reasons, versions, waiting, ends, read };
}
