import { TOKEN_ANNOTATIONS, type TokenRequest } from '../api/kinds/token-request.ts';
import { ConnectionError } from './errors.ts';
import type { Timing } from './timing.ts';
import type { Transport } from './transport.ts';
import type { IssuedToken, TokenOptions } from './types.ts';

export interface TokenParts {
  readonly transport: Transport;
  readonly timing: Timing;
  readonly productName: string;
}

/** Asks for a token of a service account. */
export async function createToken(parts: TokenParts, options: TokenOptions): Promise<IssuedToken> {
  const { cluster, namespace, name, audiences = [], expirationSeconds, boundObjectRef, dryRun, signal } = options;
  const segments = [cluster, 'api', 'v1', 'namespaces', namespace, 'serviceaccounts', name, 'token'];
  for (const [what, value] of Object.entries({ cluster, namespace, name })) {
    // An empty segment, or one that a URL parser folds away, would name another path.
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
    throw new ConnectionError('the server answered without a token');
  }
  const date = Date.parse(headers.get('date') ?? '');
  return {
    token: token ?? '',
    expirationTimestamp,
    issuedAt: Number.isNaN(date) ? parts.timing.now() : date,
    warnings,
    answer: value,
  };
}

/** Kubernetes has no fields for these. */
function metadataFor({ minExpirationSeconds, forCluster, tracked }: TokenOptions): Pick<TokenRequest, 'metadata'> {
  const annotations = {
    ...(minExpirationSeconds === undefined
      ? {}
      : { [TOKEN_ANNOTATIONS.minExpirationSeconds]: String(minExpirationSeconds) }),
    ...(forCluster === true ? { [TOKEN_ANNOTATIONS.for]: 'cluster' } : {}),
    ...(tracked === true ? { [TOKEN_ANNOTATIONS.tracked]: 'true' } : {}),
  };
  return Object.keys(annotations).length === 0 ? {} : { metadata: { annotations } };
}
