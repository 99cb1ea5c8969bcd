import type { Catalog } from '../api/catalog.ts';
import { CONDITION_STATUSES, type ConditionStatus } from '../api/clusters/conditions.ts';
import { endpointsInForce } from '../api/clusters/confirmed-endpoint.ts';
import { type Kind, kindPrefix } from '../api/kind.ts';
import { CREDENTIAL_FIELD, READY_FIELD, REASON_FIELD } from '../api/kinds/cluster.ts';
import { bundleEnd } from '../api/kinds/cluster-endpoints.ts';
import { END_FIELD } from '../api/kinds/fleet-role-binding.ts';
import { minorOf } from '../api/kubernetes-support.ts';
import { ENDING_DAYS, type FleetCounts, type FleetHour, type Overview } from '../api/overview.ts';
import { Cache } from '../lib/cache.ts';
import { SharedCall } from '../lib/shared-call.ts';
import type { Work, WorkQueue } from '../lib/work-queue.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { StoredObject } from '../objects/stored-object.ts';

interface OverviewParts {
  readonly catalog: Catalog;
  readonly reader: Pick<ObjectReader, 'cache'>;
  readonly productName: string;
  readonly work: Pick<WorkQueue, 'job'>;
  /** When signing keys and the certificate of the server end (epoch milliseconds). */
  readonly keyEnds: () => readonly (readonly [name: string, end: number])[];
  readonly certificateEnd: () => number | undefined;
  readonly hours: () => Promise<readonly FleetHour[]>;
  readonly now: () => number;
}

const MAX_REASONS = 20;

type Tally = Record<string, number>;

/** A metric has each of these statuses as a series, also without a cluster. */
const NO_STATUS: Tally = Object.fromEntries(CONDITION_STATUSES.map((status) => [status, 0]));

const add = (tally: Tally, key: string): void => {
  tally[key] = (tally[key] ?? 0) + 1;
};

/** Counts over the whole fleet, for the console and for metrics. Without names: who may read it may not see all. */
export function createFleetOverview({ catalog, reader, productName, work, now, ...parts }: OverviewParts) {
  /** When the CA of a cluster ends, at a revision: reading it takes longer than all the rest. */
  const caEnds = new Cache<string, { readonly revision: number; readonly end: number }>({ maxEntries: 100_000 });
  const caEnd = (cluster: StoredObject): number => {
    const known = caEnds.get(cluster.key);
    if (known?.revision === cluster.revision) return known.end;
    const end = bundleEnd(endpointsInForce(cluster.object(), productName));
    caEnds.set(cluster.key, { revision: cluster.revision, end });
    return end;
  };
  const isSoon = (end = Number.POSITIVE_INFINITY): boolean => end - now() < ENDING_DAYS * 86_400_000;

  /** How many objects fulfil the condition. */
  async function count(job: Work, kind: Kind, fulfils: (entry: StoredObject) => boolean): Promise<number> {
    let sum = 0;
    for (const entry of reader.cache(kind).snapshot.scan(kindPrefix(kind))) {
      if (job.isUsedUp) await job.turn();
      if (fulfils(entry)) sum++;
    }
    return sum;
  }
  const isPending = (entry: StoredObject): boolean => entry.field('status.phase') === 'Pending';

  async function countFleet(): Promise<FleetCounts> {
    const job = work.job('overview');
    const [clusters, credentials, reasons, versions] = [{ ...NO_STATUS }, { ...NO_STATUS }, {} as Tally, {} as Tally];
    const clusterCAs = await count(job, catalog.clusters, (cluster) => {
      const status = cluster.field(READY_FIELD);
      add(clusters, status);
      add(reasons, `${status} ${cluster.field(REASON_FIELD)}`);
      add(versions, minorOf(cluster.field('status.version')));
      const usable = cluster.field(CREDENTIAL_FIELD);
      if (usable !== '') add(credentials, usable);
      return isSoon(caEnd(cluster));
    });
    return {
      clusters: clusters as FleetCounts['clusters'],
      credentials,
      reasons: Object.entries(reasons).map(([key, sum]) => {
        const status = key.split(' ', 1)[0] as ConditionStatus;
        return { status, reason: key.slice(status.length + 1), count: sum };
      }),
      versions,
      ends: {
        clusterCAs,
        certificates: isSoon(parts.certificateEnd()) ? 1 : 0,
        signingKeys: parts.keyEnds().filter(([, end]) => isSoon(end)).length,
        bindings: await count(job, catalog.fleetRoleBindings, (each) => isSoon(Date.parse(each.field(END_FIELD)))),
        bootstrapTokens: await count(job, catalog.bootstrapTokens, ({ expiresAt }) => isSoon(expiresAt)),
      },
      waiting: {
        accessrequests: await count(job, catalog.accessRequests, isPending),
        passes: await count(job, catalog.passes, isPending),
      },
    };
  }

  /** The metrics of a scrape ask at the same time: two walks serve them all. */
  const walk = new SharedCall(countFleet);
  const read = async (): Promise<Overview> => {
    const { credentials: _, reasons, ...shown } = await walk.call();
    const frequent = reasons.toSorted((a, b) => b.count - a.count).slice(0, MAX_REASONS);
    return { ...shown, reasons: frequent, hours: await parts.hours() };
  };
  return { counts: () => walk.call(), read };
}
