import type { IssuedPass, RequestedPass } from '../api/kinds/token-request.ts';
import { realTiming, type Timing } from '../lib/backoff.ts';
import { clusterPages, listClusters } from './list-clusters.ts';
import { type Page, readPages } from './list-pages.ts';
import { type PassOptions, tokenRequests } from './request-token.ts';
import { createTokenSource, type TokenSource } from './token-source.ts';
import { type Fetch, type Reply, type RequestOptions, type TokenProvider, Transport } from './transport.ts';
import type {
  ClusterEvent,
  ClusterList,
  IssuedToken,
  ListOptions,
  RedeemOptions,
  TokenOptions,
  TokenSelection,
  TrackedToken,
  UsableAccounts,
  UserpassOptions,
  WatchOptions,
} from './types.ts';
import { watchClusters } from './watch-clusters.ts';

export interface ClientOptions {
  /** The base URL of the server, e.g. `https://clusterpass.example.com`. */
  readonly server: string;
  /** The caller's bearer token. */
  readonly token?: string;
  /** Used in place of `token`, for tokens that are refreshed. */
  readonly tokenProvider?: TokenProvider;
  /** Where the token comes from and how to replace it, for the error that the server refuses it. */
  readonly credentialSource?: string | undefined;
  /** A replacement for the global fetch, e.g. one with TLS options in Node (`clusterpass/client/node`). */
  readonly fetch?: Fetch;
  /** The product name in the server's paths, see its option `--product-name`. Defaults to `orchestrator`. */
  readonly productName?: string;
  /** The User-Agent header. Browsers ignore it. */
  readonly userAgent?: string;
  /** Called for every Warning header of a response. */
  readonly onWarning?: (text: string) => void;
  readonly timing?: Timing;
  /** After this time without data, a watch reconnects. The server sends a bookmark every minute. */
  readonly watchIdleMs?: number;
}

export interface Client {
  readonly productName: string;
  listClusters(options?: ListOptions): Promise<ClusterList>;
  /** Lists all clusters page by page, at one resourceVersion. Throws a 410 StatusError if that version has expired. */
  clusterPages(options?: ListOptions): AsyncGenerator<ClusterList>;
  /** Watches these clusters and reconnects after interruptions. */
  watchClusters(options?: WatchOptions): AsyncGenerator<ClusterEvent>;
  /** Requests a token of a service account. */
  createToken(options: TokenOptions): Promise<IssuedToken>;
  /** Requests a pass for the caller itself, for a cluster that accepts people. */
  createUserpass(options: UserpassOptions): Promise<IssuedToken>;
  /** Requests a token for a pass (`passes.clusterpass.dev`) that the caller has requested. */
  redeemPass(options: RedeemOptions): Promise<IssuedToken>;
  /** Requests tokens of many service accounts. Each item of the result has a token or an error, in the same order. */
  createPasses(requested: readonly RequestedPass[], options?: PassOptions): Promise<IssuedPass[]>;
  /** A token of a service account that is refreshed before it expires. */
  tokenSource(options: Omit<TokenOptions, 'dryRun' | 'signal'>): TokenSource;
  /** Lists unexpired tracked passes: all of them if the caller may list `issuedtokens`, else the caller's own. */
  listIssuedTokens(options?: TokenSelection): Promise<TrackedToken[]>;
  /** Revokes a token by its `jti` claim, tracked or not. The server, and all who ask it, refuse it from then on. */
  revokeToken(jti: string, options?: { readonly signal?: AbortSignal }): Promise<void>;
  /** A kubeconfig (YAML, without secrets) for one cluster and one service account. */
  kubeconfig(options: { readonly cluster: string; readonly namespace: string; readonly name: string }): Promise<string>;
  /** The service accounts of a cluster for which the caller may request tokens. */
  usableAccounts(cluster: string): Promise<UsableAccounts>;
  /** Gets a path that answers with text, e.g. `/readyz` or `/metrics`. */
  text(path: string, options?: Pick<RequestOptions, 'query' | 'signal'>): Promise<string>;
  /** Sends any other request to the server and parses the JSON response. */
  request<T>(method: string, path: string, options?: RequestOptions): Promise<Reply<T>>;
}

const WATCH_IDLE_MS = 150_000;
const ISSUED_TOKENS = '/apis/clusterpass.dev/v1alpha1/issuedtokens';

export function createClient(options: ClientOptions): Client {
  const { token, timing = realTiming, productName = 'orchestrator' } = options;
  const tokenProvider = options.tokenProvider ?? (token === undefined ? undefined : () => token);
  const transport = new Transport({
    server: options.server,
    tokenProvider,
    credentialSource: options.credentialSource,
    // Looked up for each request, so that a replaced global fetch is used.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    userAgent: options.userAgent,
    onWarning: options.onWarning,
    timing,
  });
  const tokens = tokenRequests(transport, timing, productName);
  const watchParts = { transport, timing, idleMs: options.watchIdleMs ?? WATCH_IDLE_MS };
  return {
    productName,
    listClusters: (list) => listClusters(transport, list),
    clusterPages: (list) => clusterPages(transport, list),
    watchClusters: (watch) => watchClusters(watchParts, watch),
    ...tokens,
    tokenSource: (request) => createTokenSource(() => tokens.createToken(request), timing),
    listIssuedTokens: async (selection = {}) =>
      (await readPages<Page<TrackedToken>>(transport, ISSUED_TOKENS, selection)).flatMap(({ items }) => items),
    revokeToken: async (jti, { signal } = {}) => {
      if (!/^[0-9a-f-]{36}$/.test(jti)) throw new TypeError('jti is not the ID of a token');
      await transport.request('DELETE', `${ISSUED_TOKENS}/${jti}`, { signal });
    },
    kubeconfig: async ({ cluster, namespace, name }) => {
      const path = `/auth/v1/clusters/${encodeURIComponent(cluster)}/kubeconfig`;
      const query = { as: `${namespace}/${name}` };
      return (await transport.text('GET', path, { query, accept: 'application/yaml' })).value;
    },
    usableAccounts: async (cluster) => {
      const path = `/auth/v1/clusters/${encodeURIComponent(cluster)}/accounts`;
      return (await transport.request<UsableAccounts>('GET', path, { expects: 'items' })).value;
    },
    text: async (path, request) => (await transport.text('GET', path, { ...request, accept: '*/*' })).value,
    request: (method, path, request) => transport.request(method, path, request),
  };
}
