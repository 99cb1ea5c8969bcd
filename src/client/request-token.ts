import type { TOKEN_ANNOTATIONS, TokenRequest } from '../api/kinds/token-request.ts';
import { ConnectionError } from './errors.ts';
import type { Timing } from './timing.ts';
import type { Transport } from './transport.ts';
import type { IssuedToken, TokenOptions } from './types.ts';

/** Repeated here, because the client imports only types. The type makes sure that both tables are equal. */
const ANNOTATIONS: typeof TOKEN_ANNOTATIONS = {
  minExpirationSeconds: 'clusterpass.dev/min-expiration-seconds',
  for: 'clusterpass.dev/for',
  forServer: 'clusterpass.dev/for-server',
  tracked: 'clusterpass.dev/tracked',
};

export interface TokenParts {
  readonly transport: Transport;
  readonly timing: Timing;
  readonly productName: string;
}

export async function createToken(parts: TokenParts, options: TokenOptions): Promise<IssuedToken> {
  const { cluster, namespace, name, audiences = [], expirationSeconds, boundObjectRef, dryRun, signal } = options;
  const segments = [cluster, 'api', 'v1', 'namespaces', namespace, 'serviceaccounts', name, 'token'];
  for (const [what, value] of Object.entries({ cluster, namespace, name })) {
    // A URL parser would remove these segments, and the request would go to another path.
    if (value === '' || value === '.' || value === '..') throw new TypeError(`${what} is not a name`);
  }
  const path = `/${parts.productName}/${segments.map(encodeURIComponent).join('/')}`;
  const body: TokenRequest = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    ...metadataFor(options),
    spec: {
      audiences: [...audiences],
      ...(expirationSeconds === undefined ? {} : { expirationSeconds }),
      ...(boundObjectRef === undefined ? {} : { boundObjectRef }),
    },
  };
  const { value, headers, warnings } = await parts.transport.request<TokenRequest>('POST', path, {
    body,
    ...(dryRun === true ? { query: { dryRun: 'All' } } : {}),
    ...(signal === undefined ? {} : { signal }),
  });
  const { token, expirationTimestamp } = value.status ?? {};
  if (expirationTimestamp === undefined || (!token && dryRun !== true)) {
    throw new ConnectionError('the response contains no token');
  }
  const date = Date.parse(headers.get('date') ?? '');
  return {
    token: token ?? '',
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
}: TokenOptions): Pick<TokenRequest, 'metadata'> {
  const annotations = {
    ...(minExpirationSeconds === undefined ? {} : { [ANNOTATIONS.minExpirationSeconds]: String(minExpirationSeconds) }),
    ...(forCluster === true ? { [ANNOTATIONS.for]: 'cluster' } : {}),
    ...(forServer === undefined ? {} : { [ANNOTATIONS.forServer]: forServer }),
    ...(tracked === true ? { [ANNOTATIONS.tracked]: 'true' } : {}),
  };
  return Object.keys(annotations).length === 0 ? {} : { metadata: { annotations } };
}
