import { type Cluster, endpointsInForce, type ServerEndpoint } from '../../../src/client/index.ts';

const PREFIX = 'clusterpass.dev/';
/** Used if the server does not announce a maximum. */
const DEFAULT_MAX_SECONDS = 86_400;

/** The fields of a cluster that its page uses. The server computes the annotations with the prefix. */
export interface ClusterDetails {
  readonly issuer: string;
  readonly audience: string;
  /** The maximum lifetime of a pass. */
  readonly maxSeconds: number;
  readonly endpoints: readonly ServerEndpoint[];
  /** PEM in base64. */
  readonly caBundle: string | undefined;
}

export function detailsOf(cluster: Cluster): ClusterDetails {
  const { annotations = {} } = cluster.metadata;
  const { serverEndpoints = [], caBundle } = endpointsInForce(cluster);
  const seconds = Number(annotations[`${PREFIX}max-expiration-seconds`]);
  return {
    issuer: annotations[`${PREFIX}issuer`] ?? '',
    audience: annotations[`${PREFIX}audience`] ?? '',
    maxSeconds: Number.isInteger(seconds) && seconds > 0 ? seconds : DEFAULT_MAX_SECONDS,
    endpoints: serverEndpoints,
    caBundle,
  };
}
