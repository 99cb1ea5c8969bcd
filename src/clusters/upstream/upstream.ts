import { type AddressRules, isThisMachine } from '../../api/clusters/address-rules.ts';
import { chooseEndpoint } from '../../api/clusters/choose-endpoint.ts';
import { interfaceAddresses } from '../../lib/network.ts';
import type { Logger } from '../../observability/logger.ts';
import {
  type Connection,
  type ConnectionEnvironment,
  type ConnectionLimits,
  createConnections,
} from './connections.ts';
import { type Credential, type Credentials, createCredentials } from './credentials.ts';
import { createDial, type Resolve, systemResolve } from './dial.ts';
import { explainFailure } from './explain-failure.ts';
import { repeatsCredential } from './repeats-credential.ts';
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
  /** The port that this process listens on. */
  readonly ownPort?: number;
  readonly resolve?: Resolve;
  /** The addresses of this machine. */
  readonly ownAddresses?: () => readonly string[];
  /** The prober has other limits than forwarded requests. */
  readonly limits?: Partial<ConnectionLimits>;
  readonly environment?: ConnectionEnvironment;
}

interface OpenUpstreamOptions {
  readonly rules: AddressRules;
  readonly credentialsDir: string;
  readonly readSecret: (path: string) => Promise<Buffer | undefined>;
  readonly ownPort: number;
  readonly logger: Logger;
}

/** The upstream client of the main thread. */
export function openUpstream({ rules, credentialsDir, readSecret, ownPort, logger }: OpenUpstreamOptions): Upstream {
  const credentials = createCredentials({
    dir: credentialsDir,
    readSecret,
    report: ({ message, error }) => logger.warn(error === undefined ? {} : { err: error }, message),
  });
  return createUpstream({ rules, credentials, ownPort });
}

/** See `Upstream` for what it promises. */
export function createUpstream(options: UpstreamOptions): Upstream {
  const { rules, credentials, ownPort, resolve = systemResolve, ownAddresses = interfaceAddresses, limits } = options;
  const dial = createDial({
    rules,
    resolve,
    isOwnListener: (address, port) => port === ownPort && isThisMachine(address, ownAddresses()),
  });
  const connections = createConnections(dial, limits, options.environment);
  return {
    request: async (cluster, request) => {
      const origin = originOf(cluster, ownAddresses());
      checkPath(origin, request.path);
      const credential = request.credential ? await readCredential(credentials, cluster) : undefined;
      const { hostname, port } = new URL(origin);
      dial.checkHost(hostname, port === '' ? 443 : Number(port));
      const given = request.signal === undefined ? [] : [request.signal];
      const signal = AbortSignal.any([AbortSignal.timeout(request.timeoutMs), ...given]);
      const send = async (isRetry: boolean): Promise<UpstreamAnswer> => {
        const connection = connections.to(cluster, origin, credential);
        try {
          return await roundTrip(connection, request, credential, signal);
        } catch (error) {
          // An abort by the caller is not a failure of the cluster.
          if (request.signal?.aborted === true && signal.reason === request.signal.reason) throw signal.reason;
          const failure = explainFailure(error, credential?.type === 'certificate');
          const wasClosed = failure.reason === 'network' && connection.isReused;
          if (!wasClosed || isRetry || request.method !== 'GET') throw failure;
          connection.drop();
          return send(true);
        }
      };
      return withoutCredential(notRedirect(await send(false)), credential);
    },
    forget: (cluster) => connections.forget(cluster),
    close: () => connections.close(),
  };
}

async function roundTrip(
  { dispatcher, release }: Connection,
  request: UpstreamRequest,
  credential: Credential | undefined,
  signal: AbortSignal,
): Promise<UpstreamAnswer> {
  const { method, path, body, last = false } = request;
  const headers = headersFor(request, credential);
  const answer = await dispatcher.request({ method, path, headers, ...(body === undefined ? {} : { body }), signal });
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  if (last) release();
  return { status: answer.statusCode, headers: answer.headers, body: bytes };
}

/** The endpoint for a client at one of this machine's addresses. */
function originOf({ endpoints }: UpstreamCluster, ownAddresses: readonly string[]): string {
  const address = chooseEndpoint(endpoints.serverEndpoints ?? [], ownAddresses)?.serverAddress ?? '';
  if (address === '') throw new UpstreamError('address', 'it has no address');
  const url = URL.canParse(address) ? new URL(address) : undefined;
  // Validation refuses these, but the object may be older than the validation.
  if (url?.protocol !== 'https:' || url.username !== '' || url.password !== '' || url.pathname !== '/') {
    throw new UpstreamError('address', 'its address is no https URL of a host and a port');
  }
  return url.origin;
}

/** `..` and its other spellings would be resolved by the client, which would then send another path. */
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

/** No header of the caller's request is forwarded. */
function headersFor({ body, bearer }: UpstreamRequest, credential: Credential | undefined): Record<string, string> {
  const token = credential?.type === 'token' ? credential.token.reveal() : bearer;
  return {
    accept: 'application/json',
    'user-agent': 'clusterpass',
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
}

function notRedirect(answer: UpstreamAnswer): UpstreamAnswer {
  if (answer.status >= 300 && answer.status < 400) {
    throw new UpstreamError('server', `it answered with a redirect (${answer.status}), which is not followed`);
  }
  return answer;
}

/**
 * Some gateways repeat the headers of a request that they refuse. Parts of the answer go to the caller, who must never
 * get the credential.
 */
function withoutCredential(answer: UpstreamAnswer, credential: Credential | undefined): UpstreamAnswer {
  if (credential?.type === 'token' && repeatsCredential(answer.body, credential.token.reveal())) {
    throw new UpstreamError('server', `its answer (${answer.status}) repeats the credential of Clusterpass`);
  }
  return answer;
}
