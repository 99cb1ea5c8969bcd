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
  const dial = createDial(
    rules,
    resolve,
    (address, port) => port === ownPort && isThisMachine(address, ownAddresses()),
  );
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

/** Messages for Node's and OpenSSL's codes of certificate errors. */
const CERTIFICATE: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed and not in the caBundle of the cluster',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate was signed by an authority that is not in the caBundle of the cluster',
  UNABLE_TO_GET_ISSUER_CERT: 'its certificate was signed by an authority that is not in the caBundle of the cluster',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'its certificate was signed by an authority that is not in the caBundle of the cluster',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'its certificate was signed by an authority that is not in the caBundle of the cluster',
  CERT_SIGNATURE_FAILURE: 'its certificate was not signed by the authority that it names',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  HOSTNAME_MISMATCH: 'its certificate is for another name',
};

/** OpenSSL's other certificate errors: the message is made of the code. */
const OTHER_CERTIFICATE =
  /^(?:CERT_\w+|CRL_\w+|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|UNABLE_TO_\w+|ERROR_IN_CERT_\w+)$/;

/** Alerts with which a server refuses a client certificate (RFC 8446 section 6.2). */
const REFUSED_CERTIFICATE =
  /ALERT_(?:BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_\w+|UNKNOWN_CA|ACCESS_DENIED)$/;

const NETWORK: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  UND_ERR_SOCKET: 'the connection was cut',
  ENOTFOUND: 'its name cannot be resolved',
  EAI_AGAIN: 'its name cannot be resolved',
  EHOSTUNREACH: 'there is no way to its address',
  ENETUNREACH: 'there is no way to its address',
};

const SERVER: Readonly<Record<string, string>> = {
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'its answer is too large',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of its answer are too large',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'its answer has another length than it says',
};

const TIMEOUT = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT']);

/** Sorts failures by who can fix them. */
export function explainFailure(error: unknown, sentCertificate: boolean): UpstreamError {
  const cause = innermost(error);
  if (cause instanceof UpstreamError) return cause;
  const { code = '', name } = cause as { code?: string; name: string };
  const failed = (reason: UpstreamError['reason'], message: string) => new UpstreamError(reason, message, { cause });

  if (name === 'TimeoutError' || TIMEOUT.has(code)) return failed('timeout', 'it did not answer in time');
  if (sentCertificate && REFUSED_CERTIFICATE.test(code)) {
    return failed('credential', 'it refused the client certificate');
  }
  const certificate = CERTIFICATE[code];
  if (certificate !== undefined) return failed('tls', certificate);
  if (OTHER_CERTIFICATE.test(code)) return failed('tls', `its certificate was not accepted (${inWords(code)})`);
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_') || code === 'EPROTO') {
    return failed('tls', `TLS failed (${inWords(code)})`);
  }
  const server = SERVER[code];
  if (server !== undefined) return failed('server', server);
  if (name === 'HTTPParserError' || code.startsWith('HPE_')) return failed('server', 'its answer is not HTTP');
  return failed('network', NETWORK[code] ?? `it cannot be reached${code === '' ? '' : ` (${inWords(code)})`}`);
}

const inWords = (code: string): string =>
  code
    .replace(/^ERR_(?:SSL|TLS)_/, '')
    .replaceAll('_', ' ')
    .toLowerCase()
    .slice(0, 100);

function innermost(error: unknown): Error {
  let inner = error;
  for (let depth = 0; depth < 8 && inner instanceof Error && !(inner instanceof UpstreamError); depth++) {
    const next = inner instanceof AggregateError ? inner.errors[0] : inner.cause;
    if (!(next instanceof Error)) break;
    inner = next;
  }
  return inner instanceof Error ? inner : new Error(String(inner));
}
