import { isDns1123Subdomain } from '../api/names.ts';
import { asJsonObject, parsedJson } from '../lib/json.ts';
import { UsageError } from './command.ts';

const GROUP = 'client.authentication.k8s.io';
const VERSIONS = [`${GROUP}/v1`, `${GROUP}/v1beta1`];
const VARIABLE = 'KUBERNETES_EXEC_INFO';

/** The question of client-go to an exec plugin (CP-30, CP-31). */
export interface ExecInfo {
  /** E-03: the answer must have the version of the question. Without a question, v1. */
  readonly apiVersion: string;
  /** The cluster that a ClusterProfile names, and the address that the token will be sent to. */
  readonly profile: { readonly cluster: string; readonly server: string } | undefined;
}

export function readExecInfo(text: string | undefined): ExecInfo {
  if (!text) return { apiVersion: `${GROUP}/v1`, profile: undefined };
  const question = parsedJson(text);
  if (question === undefined) throw new UsageError(`${VARIABLE} is not JSON`);
  const { apiVersion, spec } = asJsonObject(question);
  if (typeof apiVersion !== 'string' || !VERSIONS.includes(apiVersion)) {
    const requested = typeof apiVersion === 'string' ? JSON.stringify(apiVersion) : 'no version';
    throw new UsageError(`${VARIABLE} requests ${requested}; supported are ${VERSIONS.join(' and ')}`);
  }
  return { apiVersion, profile: profileIn(asJsonObject(asJsonObject(spec).cluster)) };
}

/**
 * CP-97: of the configuration that a profile carries, only the name of the cluster counts. Who can write profiles must
 * not choose the server that this program sends its own credential to, nor the account.
 */
function profileIn({ server, config }: Record<string, unknown>): ExecInfo['profile'] {
  const { clusterName } = asJsonObject(config);
  if (clusterName === undefined) return undefined;
  if (typeof clusterName !== 'string' || isDns1123Subdomain(clusterName).length > 0) {
    throw new UsageError(`${VARIABLE}: spec.cluster.config.clusterName is not the name of a cluster`);
  }
  if (typeof server !== 'string' || server === '') throw new UsageError(`${VARIABLE}: spec.cluster.server is missing`);
  return { cluster: clusterName, server };
}
