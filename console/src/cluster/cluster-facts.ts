import { type Cluster, endpointsOf, type ServerEndpoint } from '../../../src/client/index.ts';

const COMPUTED = 'clusterpass.dev/';
const DAY_SECONDS = 86_400;

/** What the pages about one cluster need of it. */
export interface ClusterFacts {
  readonly issuer: string;
  readonly audience: string;
  readonly maxSeconds: number;
  readonly endpoints: readonly ServerEndpoint[];
  /** The one for clients of no particular network. */
  readonly address: string;
  readonly caBundle: string | undefined;
  readonly annotations: readonly (readonly [string, string])[];
}

export function factsOf(cluster: Cluster): ClusterFacts {
  const { annotations = {} } = cluster.metadata;
  const { serverEndpoints = [], caBundle } = endpointsOf(cluster);
  const seconds = Number(annotations[`${COMPUTED}max-expiration-seconds`]);
  return {
    issuer: annotations[`${COMPUTED}issuer`] ?? '',
    audience: annotations[`${COMPUTED}audience`] ?? '',
    maxSeconds: Number.isInteger(seconds) && seconds > 0 ? seconds : DAY_SECONDS,
    endpoints: serverEndpoints,
    address: serverEndpoints.at(-1)?.serverAddress ?? '',
    caBundle,
    annotations: Object.entries(annotations).filter(([key]) => !key.startsWith(COMPUTED)),
  };
}
