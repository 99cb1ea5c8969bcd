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

type Spec = NonNullable<TokenRequest['spec']>;

/** The limit of the server. Repeated here, because the client imports only types. */
export const MAX_PASSES = 500;

export interface PassOptions {
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal;
}

/** The methods of a client that request tokens. */
export function tokenRequests(transport: Transport, timing: Timing, productName: string) {
  async function send(
    path: string,
    options: SentOptions,
    spec: { readonly [K in keyof Spec]?: Spec[K] | undefined },
  ): Promise<IssuedToken> {
    const { dryRun, signal } = options;
    // Members that are undefined are not sent.
    const body = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      ...metadataFor(options),
      spec,
    };
    const { value, headers, warnings } = await transport.request<TokenRequest>('POST', path, {
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
      issuedAt: Number.isNaN(date) ? timing.now() : date,
      warnings,
      tokenRequest: value,
    };
  }

  return {
    createToken: async (options: TokenOptions): Promise<IssuedToken> => {
      const { cluster, namespace, name, audiences = [], expirationSeconds, boundObjectRef } = options;
      checkNames({ cluster, namespace, name });
      const segments = [productName, cluster, 'api', 'v1', 'namespaces', namespace, 'serviceaccounts', name, 'token'];
      const path = `/${segments.map(encodeURIComponent).join('/')}`;
      return send(path, options, { audiences: [...audiences], expirationSeconds, boundObjectRef });
    },
    createUserpass: async (options: UserpassOptions): Promise<IssuedToken> => {
      const { cluster, expirationSeconds } = options;
      checkNames({ cluster });
      const path = `/apis/clusterregistry.k8s.io/v1alpha1/clusters/${encodeURIComponent(cluster)}/userpass`;
      return send(path, options, { expirationSeconds });
    },
    redeemPass: async (options: RedeemOptions): Promise<IssuedToken> => {
      const { handle } = options;
      checkNames({ handle });
      return send(`/apis/clusterpass.dev/v1alpha1/passes/${encodeURIComponent(handle)}/token`, options, {});
    },
    /** In the order of `requested`. Each item has a token or an error. More items than one request takes are split. */
    createPasses: async (
      requested: readonly RequestedPass[],
      { dryRun = false, signal }: PassOptions = {},
    ): Promise<IssuedPass[]> => {
      const passes: IssuedPass[] = [];
      for (let from = 0; from < requested.length; from += MAX_PASSES) {
        const items = requested.slice(from, from + MAX_PASSES);
        const { value } = await transport.request<{ items: IssuedPass[] }>('POST', '/auth/v1/passes', {
          body: { items },
          expects: 'items',
          query: { dryRun: dryRun ? 'All' : undefined },
          signal,
        });
        passes.push(...value.items);
      }
      return passes;
    },
  };
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

/** Options without a field in TokenRequest are annotations. */
function metadataFor(options: SentOptions) {
  const annotations = {
    [ANNOTATIONS.minExpirationSeconds]: options.minExpirationSeconds?.toString(),
    [ANNOTATIONS.for]: options.forCluster === true ? 'cluster' : undefined,
    [ANNOTATIONS.forServer]: options.forServer,
    [ANNOTATIONS.tracked]: options.tracked === true ? 'true' : undefined,
    [ANNOTATIONS.group]: options.group,
    [ANNOTATIONS.codeVerifier]: options.codeVerifier,
  };
  return Object.values(annotations).every((value) => value === undefined) ? {} : { metadata: { annotations } };
}
