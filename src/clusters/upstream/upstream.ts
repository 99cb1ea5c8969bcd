import { networkInterfaces } from 'node:os';
import { type AddressRules, isThisMachine } from '../../api/address-rules.ts';
import { chooseEndpoint } from '../../api/choose-endpoint.ts';
import {
  type Connection,
  type ConnectionLimits,
  type ConnectionSurroundings,
  createConnections,
} from './connections.ts';
import type { Credential, Credentials } from './credentials.ts';
import { createDial, type Resolve, systemResolve } from './dial.ts';
import { explainFailure } from './explain-failure.ts';
import { startDeadline } from './start-deadline.ts';
import {
  type Upstream,
  type UpstreamAnswer,
  type UpstreamCluster,
  UpstreamError,
  type UpstreamRequest,
} from './upstream-contract.ts';

export interface UpstreamOptions {
  readonly rules: AddressRules;
  readonly credentials: Credentials;
  /** The port that the desk itself listens on. */
  readonly ownPort?: number;
  readonly resolve?: Resolve;
  /** The addresses of the machine that the desk runs on. */
  readonly ownAddresses?: () => readonly string[];
  /** For a client with another rhythm than that of requests that come when they come. */
  readonly limits?: Partial<ConnectionLimits>;
  readonly surroundings?: ConnectionSurroundings;
}

/** The desk's way to the API servers of registered clusters; its promises are on the contract. */
export function createUpstream(options: UpstreamOptions): Upstream {
  const { rules, credentials, ownPort, resolve = systemResolve, ownAddresses = interfaceAddresses, limits } = options;
  const dial = createDial({
    rules,
    resolve,
    isOwnListener: (address, port) => port === ownPort && isThisMachine(address, ownAddresses()),
  });
  const connections = createConnections(dial, limits, options.surroundings);
  return {
    request: async (cluster, request) => {
      const origin = originOf(cluster, ownAddresses());
      checkPath(origin, request.path);
      const credential = request.credential ? await readCredential(credentials, cluster) : undefined;
      const { hostname, port } = new URL(origin);
      dial.checkHost(hostname, port === '' ? 443 : Number(port));
      const deadline = startDeadline(request.timeoutMs, request.signal);
      const send = async (isRepeated: boolean): Promise<UpstreamAnswer> => {
        const connection = connections.to(cluster, origin, credential);
        try {
          return await exchange(connection, request, credential, deadline.signal);
        } catch (error) {
          // The caller's own end is not the cluster's failure.
          if (request.signal?.aborted === true && !deadline.isOver()) throw request.signal.reason;
          const failure = explainFailure(error, credential?.type === 'certificate');
          const wasClosed = failure.reason === 'network' && connection.isUsed;
          if (!wasClosed || isRepeated || request.method !== 'GET') throw failure;
          connection.drop();
          return send(true);
        }
      };
      try {
        return notRevealing(notRedirect(await send(false)), credential);
      } finally {
        deadline.clear();
      }
    },
    forget: (cluster) => connections.forget(cluster),
    close: () => connections.close(),
  };
}

async function exchange(
  { dispatcher, rest }: Connection,
  request: UpstreamRequest,
  credential: Credential | undefined,
  signal: AbortSignal,
): Promise<UpstreamAnswer> {
  const { method, path, body, last = false } = request;
  const headers = headersFor(request, credential);
  const answer = await dispatcher.request({ method, path, headers, ...(body === undefined ? {} : { body }), signal });
  const whole = Buffer.from(await answer.body.arrayBuffer());
  if (last) rest();
  return { status: answer.statusCode, headers: answer.headers, body: whole };
}

export const interfaceAddresses = (): string[] =>
  Object.values(networkInterfaces()).flatMap((addresses) => (addresses ?? []).map(({ address }) => address));

/** Here the desk is the client: the endpoint is the one meant for a client at one of its own addresses. */
function originOf({ endpoints }: UpstreamCluster, ownAddresses: readonly string[]): string {
  const address = chooseEndpoint(endpoints.serverEndpoints ?? [], ownAddresses)?.serverAddress ?? '';
  if (address === '') throw new UpstreamError('address', 'it has no address');
  const url = URL.canParse(address) ? new URL(address) : undefined;
  // Registration refuses these; an object that was stored before is looked at again.
  if (url?.protocol !== 'https:' || url.username !== '' || url.password !== '' || url.pathname !== '/') {
    throw new UpstreamError('address', 'its address is no https URL of a host and a port');
  }
  return url.origin;
}

/** `..` and its spellings would be resolved on the way, and the request would be another one. */
function checkPath(origin: string, path: string): void {
  const url = path.startsWith('/') && URL.canParse(`${origin}${path}`) ? new URL(`${origin}${path}`) : undefined;
  if (url?.origin !== origin || `${url.pathname}${url.search}` !== path || path.includes('//')) {
    throw new UpstreamError('server', 'the path of the request is not in its canonical form');
  }
}

async function readCredential(credentials: Credentials, cluster: UpstreamCluster): Promise<Credential> {
  if (cluster.controller === undefined) throw new UpstreamError('credential', 'it names no credential');
  if (!cluster.confirmed) {
    throw new UpstreamError(
      'credential',
      'its address, its caBundle or its credential was set or changed, and no administrator has confirmed it since',
    );
  }
  return credentials.read(cluster.controller);
}

/** Made from nothing: no header of whoever asked the desk can come along. */
function headersFor({ body }: UpstreamRequest, credential: Credential | undefined): Record<string, string> {
  return {
    accept: 'application/json',
    'user-agent': 'clusterpass',
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(credential?.type === 'token' ? { authorization: `Bearer ${credential.token.reveal()}` } : {}),
  };
}

function notRedirect(answer: UpstreamAnswer): UpstreamAnswer {
  if (answer.status >= 300 && answer.status < 400) {
    throw new UpstreamError('server', `it answered with a redirect (${answer.status}), which is not followed`);
  }
  return answer;
}

/**
 * Some gateways repeat the headers of what they refuse. What a cluster says of a request is passed on to whoever made it,
 * and that must never be the desk's own credential.
 */
function notRevealing(answer: UpstreamAnswer, credential: Credential | undefined): UpstreamAnswer {
  if (credential?.type === 'token' && answer.body.includes(credential.token.reveal())) {
    throw new UpstreamError('server', `its answer (${answer.status}) repeats the credential of the desk`);
  }
  return answer;
}
