import type { Context } from '../command.ts';
import type { Connection } from './connection.ts';
import type { Verdict } from './credential-cache.ts';
import { fetchFor, type TlsTrust } from './fetch-for.ts';

interface CheckOptions extends Pick<Context, 'env'> {
  /** Of the whole run. */
  readonly signal: AbortSignal;
}

/** A check must not delay kubectl for long. */
const TIMEOUT_MS = 2_000;

/** Sends Clusterpass a SelfSubjectReview with the token. It refuses a token whose key, account or id was revoked. */
export async function checkAtServer(
  connection: TlsTrust & Pick<Connection, 'server' | 'productName'>,
  cluster: string,
  token: string,
  options: CheckOptions,
): Promise<Verdict> {
  const { server, productName } = connection;
  const path = `/${productName}/${encodeURIComponent(cluster)}/apis/authentication.k8s.io/v1/selfsubjectreviews`;
  const body = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' });
  return send(connection, `${server}${path}`, token, options, { method: 'POST', body });
}

/**
 * Sends the token to the cluster in `KUBERNETES_EXEC_INFO`, to which kubectl is about to send it. Not to the address in
 * the registry, which may have changed since the kubeconfig was written.
 */
export async function checkAtCluster(
  execInfo: string | undefined,
  token: string,
  options: CheckOptions,
): Promise<Verdict> {
  const cluster = clusterIn(execInfo);
  return cluster === undefined
    ? 'unknown'
    : send(cluster, `${cluster.server}/version`, token, options, { method: 'GET' });
}

async function send(
  trust: TlsTrust,
  url: string,
  token: string,
  { env, signal }: CheckOptions,
  init: RequestInit,
): Promise<Verdict> {
  // Only the status of the answer is read.
  const answered = new AbortController();
  try {
    const response = await fetchFor(trust, env)(url, {
      ...init,
      headers: { Accept: 'application/json', 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
      signal: AbortSignal.any([signal, answered.signal, AbortSignal.timeout(TIMEOUT_MS)]),
      // A redirect from an attacker on the network would get the token.
      redirect: 'error',
    });
    if (response.status === 401) return 'refused';
    return response.ok || response.status === 403 ? 'accepted' : 'unknown';
  } catch {
    return 'unknown';
  } finally {
    answered.abort();
  }
}

/** Undefined for a connection that needs more than an address and a CA. */
function clusterIn(execInfo: string | undefined): (TlsTrust & { readonly server: string }) | undefined {
  if (!execInfo) return undefined;
  const { spec } = JSON.parse(execInfo) as { spec?: { cluster?: Record<string, unknown> } };
  const { server, 'certificate-authority-data': ca, ...rest } = spec?.cluster ?? {};
  if (typeof server !== 'string' || !server.startsWith('https://')) return undefined;
  if ('tls-server-name' in rest || 'proxy-url' in rest || 'insecure-skip-tls-verify' in rest) return undefined;
  return {
    server: server.replace(/\/+$/, ''),
    certificateAuthority: typeof ca === 'string' ? Buffer.from(ca, 'base64').toString() : undefined,
    insecureSkipTlsVerify: false,
  };
}
