import type { IssuedPass, RequestedPass, TOKEN_ANNOTATIONS, TokenRequest } from '../api/kinds/token-request.ts';
import type { Timing } from '../lib/backoff.ts';
import { ConnectionError } from './errors.ts';
import type { Transport } from './transport.ts';
import type { IssuedToken, RedeemOptions, TokenOptions, UserpassOptions } from './types.ts';

/** Repeated here, because the client imports only types. The type makes sure that both tables are equal. */
const ANNOTATIONS: typeof TOKEN_ANNOTATIONS = {
  minExpirationSeconds: 'clusterpass.dev/min-expiration-seconds',
  for: 'clusterpass.dev/for',
  forServer: 'clusterpass.dev/for-server',
  tracked: 'clusterpass.dev/tracked',
  group: 'clusterpass.dev/group',
  codeVerifier: 'clusterpass.dev/code-verifier',
};

interface TokenParts {
  readonly transport: Transport;
  readonly timing: Timing;
  readonly productName: string;
}

export async function createToken(parts: TokenParts, options: TokenOptions): Promise<IssuedToken> {
  const { cluster, namespace, name, audiences = [], expirationSeconds, boundObjectRef } = options;
  const segments = [cluster, 'api', 'v1', 'namespaces', namespace, 'serviceaccounts', name, 'token'];
  checkNames({ cluster, namespace, name });
  const path = `/${parts.productName}/${segments.map(encodeURIComponent).join('/')}`;
  return send(parts, path, options, {
    audiences: [...audiences],
    ...(expirationSeconds === undefined ? {} : { expirationSeconds }),
    ...(boundObjectRef === undefined ? {} : { boundObjectRef }),
  });
}

export async function createUserpass(parts: TokenParts, options: UserpassOptions): Promise<IssuedToken> {
  const { cluster, expirationSeconds } = options;
  checkNames({ cluster });
  const path = `/apis/clusterregistry.k8s.io/v1alpha1/clusters/${encodeURIComponent(cluster)}/userpass`;
  return send(parts, path, options, expirationSeconds === undefined ? {} : { expirationSeconds });
}

export async function redeemPass(parts: TokenParts, options: RedeemOptions): Promise<IssuedToken> {
  const { handle } = options;
  checkNames({ handle });
  return send(parts, `/apis/clusterpass.dev/v1alpha1/passes/${encodeURIComponent(handle)}/token`, options, {});
}

function checkNames(names: Readonly<Record<string, string>>): void {
  for (const [what, value] of Object.entries(names)) {
    // A URL parser would remove these segments, and the request would go to another path.
    if (value === '' || value === '.' || value === '..') throw new TypeError(`${what} is not a name`);
  }
}

type SentOptions = Pick<
  TokenOptions,
  'minExpirationSeconds' | 'forCluster' | 'forServer' | 'tracked' | 'dryRun' | 'signal'
> &
  Pick<RedeemOptions, 'codeVerifier'> &
  Pick<UserpassOptions, 'group'>;

async function send(
  parts: TokenParts,
  path: string,
  options: SentOptions,
  spec: NonNullable<TokenRequest['spec']>,
): Promise<IssuedToken> {
  const { dryRun, signal } = options;
  const body: TokenRequest = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    ...metadataFor(options),
    spec,
  };
  const { value, headers, warnings } = await parts.transport.request<TokenRequest>('POST', path, {
    body,
    expects: 'unchecked',
    query: { dryRun: dryRun === true ? 'All' : undefined },
    signal,
  });
  const { token, expirationTimestamp } = (value as TokenRequest | null)?.status ?? {};
  // A proxy may have answered, with anything.
  const isToken = typeof token === 'string' && token !== '';
  if (
    typeof expirationTimestamp !== 'string' ||
    Number.isNaN(Date.parse(expirationTimestamp)) ||
    !(isToken || dryRun === true)
  ) {
    throw new ConnectionError('the response contains no token');
  }
  const date = Date.parse(headers.get('date') ?? '');
  return {
    token: isToken ? token : '',
    expirationTimestamp,
    issuedAt: Number.isNaN(date) ? parts.timing.now() : date,
    warnings,
    tokenRequest: value,
  };
}

/** Options without a field in TokenRequest are annotations. */
function metadataFor({
  minExpirationSeconds,
  forCluster,
  forServer,
  tracked,
  group,
  codeVerifier,
}: SentOptions): Pick<TokenRequest, 'metadata'> {
  const annotations = {
    ...(minExpirationSeconds === undefined ? {} : { [ANNOTATIONS.minExpirationSeconds]: String(minExpirationSeconds) }),
    ...(forCluster === true ? { [ANNOTATIONS.for]: 'cluster' } : {}),
    ...(forServer === undefined ? {} : { [ANNOTATIONS.forServer]: forServer }),
    ...(tracked === true ? { [ANNOTATIONS.tracked]: 'true' } : {}),
    ...(group === undefined ? {} : { [ANNOTATIONS.group]: group }),
    ...(codeVerifier === undefined ? {} : { [ANNOTATIONS.codeVerifier]: codeVerifier }),
  };
  return Object.keys(annotations).length === 0 ? {} : { metadata: { annotations } };
}

const PASSES = '/auth/v1/passes';
/** The limit of the server. Repeated here, because the client imports only types. */
export const MAX_PASSES = 500;

export interface PassOptions {
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal;
}

/** In the order of `requested`. Each item has a token or an error. More items than one request takes are split. */
export async function createPasses(
  transport: Transport,
  requested: readonly RequestedPass[],
  { dryRun = false, signal }: PassOptions = {},
): Promise<IssuedPass[]> {
  const passes: IssuedPass[] = [];
  for (let from = 0; from < requested.length; from += MAX_PASSES) {
    const items = requested.slice(from, from + MAX_PASSES);
    const { value } = await transport.request<{ items: IssuedPass[] }>('POST', PASSES, {
      body: { items },
      expects: 'items',
      query: { dryRun: dryRun ? 'All' : undefined },
      signal,
    });
    passes.push(...value.items);
  }
  return passes;
}
