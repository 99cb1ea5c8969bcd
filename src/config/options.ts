import { file, flag, option } from './option.ts';
import { RECORD_OPTIONS } from './record-options.ts';
import { storeUrl } from './store-url.ts';
import { TOKEN_OPTIONS } from './token-options.ts';
import {
  baseUrl,
  duration,
  existing,
  integer,
  inventoryNamespaces,
  issuerUrl,
  labelKey,
  labelValue,
  listenAddress,
  listOf,
  network,
  origin,
  path,
  productName,
  word,
  workers,
} from './values.ts';

/** Options of the Model Context Protocol over HTTP. */
const MCP_OPTIONS = {
  mcp: flag(
    'Serves agents at `<base-url>/mcp` (Model Context Protocol over HTTP), with tokens whose audience is that address. Needs `--mcp-authorization-server`.',
  ),
  mcpAuthorizationServer: option(
    { value: 'URL', parse: listOf(issuerUrl), repeatable: true },
    'Where clients of `/mcp` get their tokens: an issuer of `--authentication-config`, whose `audiences` there include `<base-url>/mcp`.',
  ),
  mcpAllowedOrigin: option(
    { value: 'ORIGIN', parse: listOf(origin), repeatable: true },
    'An origin of web pages that may call `/mcp`, e.g. `https://agent.example.com`. Requests with another `Origin` header are refused; requests without one do not come from web pages.',
  ),
  mcpCallsPerMinute: option(
    { parse: integer(1, 100_000), default: '60' },
    'How many calls of tools at `/mcp` one user and client may make in a minute, and how many at once. Each process counts its own: with workers and replicas, clients that open many connections get up to as many times more.',
  ),
  mcpPassRequestsPerMinute: option(
    { parse: integer(1, 100_000), default: '10' },
    'How many of these calls may be `pass_request`.',
  ),
  mcpMaxResultBytes: option(
    { value: 'BYTES', parse: integer(8_192, 1_048_576), default: '65536' },
    'The longest result of a tool at `/mcp`. `clusters_list` makes its pages shorter; other tools say that the result is too long.',
  ),
  mcpCallTimeout: option(
    { parse: duration('1s', '30s'), default: '30s' },
    'How long a call at `/mcp` may take. A longer one is answered with 504.',
  ),
} as const;

/** All options. docs/options.md is generated from this table (`npm run generate`). */
export const OPTIONS = {
  config: file(
    'A YAML file with options, each under its flag name without the dashes. Flags and variables override it.',
  ),
  listen: option(
    { value: 'HOST:PORT', parse: listenAddress, default: '127.0.0.1:8080' },
    'Address and port to listen on. Without TLS only loopback addresses are allowed; port 0 picks a free port.',
  ),
  baseUrl: option(
    { value: 'URL', parse: baseUrl, defaultText: 'from `--listen`' },
    'The public URL. Token issuers are built from it, so changing it invalidates issued tokens. If it has a path, a proxy has to remove that path from requests.',
  ),
  dataDir: option(
    { value: 'DIR', parse: path, default: './.clusterpass' },
    'Folder of the embedded database, the signing keys and the generated admin token (`admin.token`, mode 0600; `clusterpass admin-token rotate` replaces it).',
  ),
  store: option(
    { value: 'URL', parse: storeUrl, defaultText: '`sqlite:<data-dir>/clusterpass.db`' },
    'Where objects are kept: `sqlite:PATH`, the embedded engine for one process, or `etcd://HOST:PORT,HOST:PORT/PREFIX` for several replicas.',
  ),
  etcdCafile: file('CA bundle in PEM that verifies the certificates of the etcd members. Setting it turns TLS on.'),
  etcdCertfile: file('Client certificate for etcd in PEM, with `--etcd-keyfile`.'),
  etcdKeyfile: file('Private key in PEM for `--etcd-certfile`, in a file that only this user can read (mode 0600).'),
  etcdUsername: option(
    { value: 'NAME', parse: word },
    'User name for etcd with authentication enabled, with `--etcd-password-file`.',
  ),
  etcdPasswordFile: file('File (mode 0600) with the password of `--etcd-username` and nothing else.'),
  etcdInsecure: flag(
    'UNSAFE: connects to etcd members on other machines without TLS. Anyone who sees that traffic reads everything that is stored.',
  ),
  historyRetention: option(
    { parse: duration('1s', '8760h'), default: '5m' },
    'History younger than this is not compacted.',
  ),
  historyRevisions: option(
    { parse: integer(1, 1_000_000_000), default: '10000' },
    'The newest revisions that are not compacted, whatever their age. Also how many changes of each kind a watch can resume over, if the past versions of all kinds take at most 256 MiB of memory.',
  ),
  tlsCertFile: file('TLS certificate chain in PEM, with `--tls-private-key-file`. Reloaded when the file changes.'),
  tlsPrivateKeyFile: file(
    'Private key in PEM for `--tls-cert-file`, in a file that only this user can read (mode 0600). Reloaded when the file changes.',
  ),
  insecureHttp: flag(
    'UNSAFE without a proxy in front that terminates TLS: serves plain HTTP on an address that other machines can reach, where anyone on the network path can read and reuse tokens.',
  ),
  maxConnections: option(
    { parse: integer(1, 1_000_000), default: '10000' },
    'Open connections; further ones are closed on arrival. A watch holds its connection until it ends.',
  ),
  maxConnectionsPerAddress: option(
    { parse: integer(1, 1_000_000), default: '6000' },
    'Of those, how many from one address (one /64 network with IPv6). Behind a proxy all callers have its address.',
  ),
  tlsHandshakesPerAddress: option(
    { parse: integer(0, 1_000_000), default: '50' },
    'TLS handshakes per second from one address (one /64 network with IPv6), with a burst of ten times that; further connections are refused. Connections on which a caller authenticated do not count. `0` means no limit: use it behind a proxy that connects over TLS, where all callers have its address.',
  ),
  keepAliveTimeout: option(
    { parse: duration('1s', '1h'), default: '5s' },
    'How long an idle connection is kept open. Set it longer than the idle timeout of a proxy in front, which could otherwise send a request on a connection that is just being closed.',
  ),
  maxTokenRequestsInflight: option(
    { parse: integer(1, 100_000), default: '200' },
    'Token requests in flight. Further ones wait in a queue per caller; when that queue has 1,000 requests, or one has waited for ten seconds, the answer is 429.',
  ),
  maxRequestsInflight: option({ parse: integer(1, 100_000), default: '100' }, 'The same for lists and other reads.'),
  maxMutatingRequestsInflight: option(
    { parse: integer(1, 100_000), default: '100' },
    'The same for requests that change objects.',
  ),
  callerConcurrencyPercent: option(
    { value: 'PERCENT', parse: integer(1, 100), default: '25' },
    'How much of each of these three limits one caller may use. The service accounts of one cluster count as one caller.',
  ),
  maxWatches: option(
    { parse: integer(1, 1_000_000), default: '8000' },
    'Open watches; further ones are answered with 429. Set it below `--max-connections`, so that other requests can connect.',
  ),
  maxWatchesPerCaller: option(
    { parse: integer(1, 1_000_000), default: '1000' },
    'Of those, how many one caller may have, or the service accounts of one cluster together.',
  ),
  maxWatchesWithoutPermission: option(
    { parse: integer(0, 1_000_000), default: '20' },
    'How many a caller may have that may see no cluster. All such callers together have a tenth of `--max-watches`, besides it.',
  ),
  maxRequestMemory: option(
    { value: 'MEGABYTES', parse: integer(1, 1_000_000), default: '256' },
    'Memory for bodies above 64 KiB, selectors of watches, and what clients have not read. Beyond it requests are answered with 429, and watches of slow clients end with 410, those of the caller first that holds most.',
  ),
  maxRequestMemoryPerCaller: option(
    { value: 'MEGABYTES', parse: integer(1, 1_000_000), default: '64' },
    'The same for one caller.',
  ),
  shutdownDelay: option(
    { parse: duration('0s', '10m'), default: '0s' },
    'How long the server keeps serving after a signal to stop, while `/readyz` already fails: the time a load balancer needs to notice. Add it to the time after which the process is killed (`TimeoutStopSec=`, `terminationGracePeriodSeconds`).',
  ),
  tokenAuthFile: option(
    { value: 'FILE', parse: listOf(existing('file')), repeatable: true },
    'Static tokens in the CSV format of kube-apiserver: `token,user,uid,"group1,group2"`, in a file that only this user can read (mode 0600). Reloaded when the file changes; its tokens are refused when it has been gone for a minute. Of a token in two files the first counts.',
  ),
  authenticationConfig: file(
    'Identity providers whose tokens are accepted: an `AuthenticationConfiguration` of kube-apiserver with JWT issuers. Reloaded when the file changes; tokens of its issuers are refused when it has been gone for a minute.',
  ),
  consoleOidcIssuer: option(
    { value: 'URL', parse: issuerUrl },
    'The identity provider where people sign in to the console and, without flags, with `clusterpass login`, with `--console-oidc-client-id`: an issuer of `--authentication-config`, whose `audiences` there include the client id.',
  ),
  consoleOidcClientId: option(
    { value: 'ID', parse: word },
    'Client id of the console at that provider: a public client (PKCE, no secret) with the redirect URI `<base-url>/console/`, and `http://127.0.0.1/callback` for `clusterpass login`.',
  ),
  consoleHelpText: option(
    { value: 'TEXT', parse: word },
    'A public sentence for people who see no cluster, e.g. whom to ask.',
  ),
  manifests: option(
    { value: 'PATH', parse: existing('file or folder') },
    'YAML files that are applied at start, after every change and every five minutes. Objects inside a cluster carry the annotation `clusterpass.dev/in-cluster: <name>`.',
  ),
  manifestsPrune: flag(
    'Deletes objects that came from `--manifests` and are no longer in it. A cluster or a namespace stays while anything from elsewhere is inside it.',
  ),
  manifestsPruneLimit: option(
    { value: 'PERCENT', parse: integer(1, 100), default: '25' },
    'How much of what came from `--manifests` one change of it may delete; beyond that nothing is deleted. `100` also permits an empty folder.',
  ),
  notifyConfig: file(
    'Who is told of access requests, confirmations that wait, keys that end and clusters that fail: a `NotifyConfiguration` with webhooks, Slack, Teams and e-mail. Reloaded when the file changes; the last good one stays in force when it cannot be used.',
  ),
  credentialsDir: option(
    { value: 'DIR', parse: existing('folder') },
    "Credentials for clusters that issue their tokens themselves: `<namespace>/<name>/token`, or `tls.crt` and `tls.key`, for the credential named by a cluster's `spec.authInfo.controller`. Mode 0600; read at each use.",
  ),
  clusterNetworks: option(
    { value: 'CIDR', parse: listOf(network), repeatable: true, defaultText: 'every network but special ones' },
    "A network that clusters are in, e.g. `10.0.0.0/8`. The server connects to registered clusters in these networks only. Special networks (loopback, link-local, multicast, reserved, documentation, translation, a cloud's metadata service) have to be named themselves, e.g. `127.0.0.0/8`: `0.0.0.0/0` does not include them.",
  ),
  confirmEndpoints: flag(
    'A changed address or CA of a cluster waits until a caller with the verb `confirm` confirms it (`clusterpass confirm`). Until then lists, watches, kubeconfigs and the server itself use the previous ones. The registration of a cluster counts as confirmed.',
  ),
  ...TOKEN_OPTIONS,
  ...MCP_OPTIONS,
  probeInterval: option(
    { parse: duration('1s', '1h', { orNever: true }), default: '30s' },
    'How often each cluster is probed for readiness and version; `0` disables probing. Clusters whose `Ready` condition is maintained by another writer are not probed.',
  ),
  inventoryNamespace: option(
    { value: 'NAME[=SELECTOR]', parse: inventoryNamespaces, repeatable: true, separator: ';', default: 'default' },
    'A namespace in which clusters are shown as ClusterProfiles (`multicluster.x-k8s.io`), and the label selector of these clusters; without a selector all. In the variable, several are separated by semicolons.',
  ),
  inventoryManager: option(
    { value: 'NAME', parse: labelValue, default: 'clusterpass' },
    'The name of the cluster manager in ClusterProfiles. Choose a different one for each Clusterpass.',
  ),
  inventoryProvider: option(
    { value: 'NAME', parse: labelValue, default: 'clusterpass' },
    'The name of the access provider in ClusterProfiles, under which controllers configure the credential plugin.',
  ),
  inventoryProperty: option(
    { value: 'LABEL', parse: listOf(labelKey), repeatable: true },
    'A label of clusters that is a property of their ClusterProfiles. `cluster.clusterset.k8s.io` and `clusterset.k8s.io` always are.',
  ),
  productName: option(
    { value: 'WORD', parse: productName, default: 'orchestrator' },
    'The word in the path prefix `/orchestrator/{cluster}` and in the field `spec.orchestratorApiEndpoints`.',
  ),
  workers: option(
    { value: 'N', parse: workers, default: '1' },
    'Processes that serve the address, each with the whole fleet in memory; `auto` for one per CPU. A worker that exits is replaced.',
  ),
  ...RECORD_OPTIONS,
  demo: flag(
    'Loads the demo fleet: 12 clusters with their objects, and three callers with different rights. A later start without it is refused while their grants are in the store.',
  ),
  demoTlsListen: option(
    { value: 'HOST:PORT', parse: listenAddress },
    'With `--demo`, and without a certificate for `--listen`: listens here, or on a free port if this is taken, with TLS and a certificate that is made once, and writes `kubeconfig` in the data directory, with a context for each caller of the demo. `npm start` sets 127.0.0.1:8443.',
  ),
} as const;

export type OptionName = keyof typeof OPTIONS;

/** Every option by name, parsed; undefined only where the table has no default. */
export type OptionValues = {
  readonly [N in OptionName]:
    | ReturnType<(typeof OPTIONS)[N]['parse']>
    | ((typeof OPTIONS)[N] extends { readonly default: string } ? never : undefined);
};

export const OPTION_NAMES = Object.keys(OPTIONS) as OptionName[];

/** `base-url` */
export const keyOf = (name: OptionName): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** `--base-url` */
export const flagOf = (name: OptionName): string => `--${keyOf(name)}`;

/** `CLUSTERPASS_BASE_URL` */
export const variableOf = (name: OptionName): string => `CLUSTERPASS_${keyOf(name).replaceAll('-', '_').toUpperCase()}`;
