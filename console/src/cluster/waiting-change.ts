import type { ApiEndpoints, Cluster } from '../../../src/client/index.ts';
import { digestOf } from '../certificates/certificates.ts';

/** A change of the endpoints that waits for confirmation. */
interface WaitingChange {
  /** In force until the change is confirmed. */
  readonly until: ApiEndpoints;
  readonly next: ApiEndpoints;
  /** `namespace/name` of the credential that is sent to them; `""` if there is none. */
  readonly credential: string;
}

/** The change in the full view of a cluster; undefined if none waits. */
export function waitingChange({ spec = {} }: Cluster, productName: string): WaitingChange | undefined {
  const until = spec.confirmedEndpoints as ApiEndpoints | undefined;
  if (until === undefined) return undefined;
  const next = (spec[`${productName}ApiEndpoints`] ?? {}) as ApiEndpoints;
  const [namespace, name] = credentialOf(spec);
  return { until, next, credential: namespace === '' && name === '' ? '' : `${namespace}/${name}` };
}

function credentialOf(spec: Readonly<Record<string, unknown>>): [namespace: string, name: string] {
  const { controller } = (spec.authInfo ?? {}) as { controller?: { namespace?: string; name?: string } };
  return [controller?.namespace ?? '', controller?.name ?? ''];
}

/** The value of the annotation that confirms the endpoints in the spec; as `clusterpass confirm` computes it. */
export function confirmation(cluster: Cluster, productName: string): Promise<string> {
  const { spec = {} } = cluster;
  const { serverEndpoints = [], caBundle = '' } = (spec[`${productName}ApiEndpoints`] ?? {}) as ApiEndpoints;
  const addresses = serverEndpoints.map(({ clientCIDR = '', serverAddress = '' }) => [clientCIDR, serverAddress]);
  return digestOf(JSON.stringify([cluster.metadata.name, addresses, caBundle, credentialOf(spec)]));
}
