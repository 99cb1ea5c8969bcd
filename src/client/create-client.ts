import { listIssuedTokens, revokeToken } from './issued-tokens.ts';
import { clusterPages, listClusters } from './list-clusters.ts';
import { createToken } from './request-token.ts';
import { realTiming, type Timing } from './timing.ts';
import { createTokenSource, type TokenSource } from './token-source.ts';
import { type Fetch, type Reply, type RequestOptions, type TokenProvider, Transport } from './transport.ts';
import type {
  ClusterEvent,
  ClusterList,
  IssuedToken,
  ListOptions,
  TokenOptions,
  TokenSelection,
  TrackedToken,
  UsableAccounts,
  WatchOptions,
} from './types.ts';
import { watchClusters } from './watch-clusters.ts';

export interface ClientOptions {
  /** The server's root, e.g. `https://desk.example.com`. */
  readonly server: string;
  /** The caller's bearer token, or what gives it. */
  readonly token?: string;
  readonly tokenProvider?: TokenProvider;
  /** Another fetch: in Node, one that trusts a certificate authority of its own (`clusterpass/client/node`). */
  readonly fetch?: Fetch;
  /** The word in the server's paths; see its `--product-name`. */
  readonly productName?: string;
  /** Not in browsers, which set their own. */
  readonly userAgent?: string;
  /** Every warning that the server sends with an answer. */
  readonly onWarning?: (text: string) => void;
  readonly timing?: Timing;
  /** How long a watch may be silent before it counts as lost. */
  readonly watchIdleMs?: number;
}

export interface Client {
  readonly productName: string;
  /** All clusters that the caller sees, as one list. */
  listClusters(options?: ListOptions): Promise<ClusterList>;
  /** The same page by page. */
  clusterPages(options?: ListOptions): AsyncGenerator<ClusterList>;
  /** Every change of them, across interruptions. */
  watchClusters(options?: WatchOptions): AsyncGenerator<ClusterEvent>;
  createToken(options: TokenOptions): Promise<IssuedToken>;
  /** A token of a service account that is refreshed before it ends. */
  tokenSource(options: Omit<TokenOptions, 'dryRun' | 'signal'>): TokenSource;
  /** The tokens that are out and tracked: all of them, or the caller's own, as the rules say. */
  listIssuedTokens(options?: TokenSelection): Promise<TrackedToken[]>;
  /** By the id of the token, its claim `jti`; it need not be tracked. */
  revokeToken(jti: string, options?: { readonly signal?: AbortSignal }): Promise<void>;
  /** A kubeconfig in YAML for one cluster, as the account that is named. There is no secret in it. */
  kubeconfig(options: { readonly cluster: string; readonly namespace: string; readonly name: string }): Promise<string>;
  /** The service accounts of a cluster that the caller may ask a token of. */
  usableAccounts(cluster: string): Promise<UsableAccounts>;
  /** Anything else that the server serves as JSON. */
  request<T>(method: string, path: string, options?: RequestOptions): Promise<Reply<T>>;
}

const WATCH_IDLE_MS = 150_000;

export function createClient(options: ClientOptions): Client {
  const { token, timing = realTiming, productName = 'orchestrator' } = options;
  const tokenProvider = options.tokenProvider ?? (token === undefined ? undefined : () => token);
  const transport = new Transport({
    server: options.server,
    tokenProvider,
    // Looked up at each call: whoever replaces the global one means us, too.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    userAgent: options.userAgent,
    onWarning: options.onWarning,
    timing,
  });
  const tokenParts = { transport, timing, productName };
  const watchParts = { transport, timing, idleMs: options.watchIdleMs ?? WATCH_IDLE_MS };
  return {
    productName,
    listClusters: (list) => listClusters(transport, list),
    clusterPages: (list) => clusterPages(transport, list),
    watchClusters: (watch) => watchClusters(watchParts, watch),
    createToken: (request) => createToken(tokenParts, request),
    tokenSource: (request) => createTokenSource(() => createToken(tokenParts, request), timing),
    listIssuedTokens: (selection) => listIssuedTokens(transport, selection),
    revokeToken: (jti, revoke) => revokeToken(transport, jti, revoke?.signal),
    kubeconfig: async ({ cluster, namespace, name }) => {
      const path = `/auth/v1/clusters/${encodeURIComponent(cluster)}/kubeconfig`;
      const query = { as: `${namespace}/${name}` };
      return (await transport.text('GET', path, { query, accept: 'application/yaml' })).value;
    },
    usableAccounts: async (cluster) => {
      const path = `/auth/v1/clusters/${encodeURIComponent(cluster)}/accounts`;
      return (await transport.request<UsableAccounts>('GET', path)).value;
    },
    request: (method, path, request) => transport.request(method, path, request),
  };
}
