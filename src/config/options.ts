import { storeUrl } from './store-url.ts';
import {
  addresses,
  baseUrl,
  boolean,
  duration,
  durationOrNever,
  existing,
  externalSigner,
  integer,
  issuerUrl,
  listenAddress,
  oneOf,
  type Parse,
  path,
  productName,
  word,
  workers,
} from './values.ts';

/** One option of `clusterpass serve`. Its flag, variable and key in the file follow from its name in the table. */
export interface Option<T = unknown> {
  /** The placeholder in help and reference; none for a switch, which is on when its flag stands alone. */
  readonly value?: string;
  readonly parse: Parse<T>;
  /** True: may be given several times, and as a list in the file; in a variable, separated by commas. */
  readonly repeatable?: true;
  /** As it would be typed. Without one the option may stay unset. */
  readonly default?: string;
  /** What happens when it is unset and that is worth saying. */
  readonly defaultText?: string;
  /** One or two sentences for help and reference. */
  readonly doc: string;
}

const option = <T, const D extends { readonly default?: string }>(definition: Option<T> & D): Option<T> & D =>
  definition;

/** Every option there is. docs/options.md is generated from this table (`npm run generate`). */
export const OPTIONS = {
  config: option({
    value: 'FILE',
    parse: existing('file'),
    doc: 'A YAML file with options, each under its name without the dashes. Flags and variables win over it.',
  }),
  listen: option({
    value: 'HOST:PORT',
    parse: listenAddress,
    default: '127.0.0.1:8080',
    doc: 'Where it listens. Without TLS only loopback addresses are served; port 0 takes any free port.',
  }),
  baseUrl: option({
    value: 'URL',
    parse: baseUrl,
    defaultText: 'from `--listen`',
    doc: 'The public address. The issuers of tokens are built from it, so changing it makes issued tokens invalid.',
  }),
  dataDir: option({
    value: 'DIR',
    parse: path,
    default: './.clusterpass',
    doc: 'Folder of the embedded database, the signing keys and the generated admin token (`admin.token`, mode 0600).',
  }),
  store: option({
    value: 'URL',
    parse: storeUrl,
    defaultText: '`sqlite:<data-dir>/clusterpass.db`',
    doc: 'Where objects are kept: `sqlite:PATH`, the embedded engine for one process, or `etcd://HOST:PORT,HOST:PORT/PREFIX` for several replicas.',
  }),
  etcdCafile: option({
    value: 'FILE',
    parse: existing('file'),
    doc: 'Certificates of the authorities, in PEM, that the members of etcd are checked against. It also turns TLS on.',
  }),
  etcdCertfile: option({
    value: 'FILE',
    parse: existing('file'),
    doc: 'Client certificate for etcd in PEM, with `--etcd-keyfile`.',
  }),
  etcdKeyfile: option({
    value: 'FILE',
    parse: existing('file'),
    doc: 'Private key in PEM for `--etcd-certfile`.',
  }),
  etcdUsername: option({
    value: 'NAME',
    parse: word,
    doc: 'User of etcd, where its authentication is on, with `--etcd-password-file`.',
  }),
  etcdPasswordFile: option({
    value: 'FILE',
    parse: existing('file'),
    doc: 'File (mode 0600) with the password of `--etcd-username` and nothing else.',
  }),
  etcdInsecure: option({
    parse: boolean,
    default: 'false',
    doc: 'Lets members of etcd that are not on this machine be reached without TLS. Whoever sees that traffic sees all that is stored.',
  }),
  historyRetention: option({
    value: 'DURATION',
    parse: duration('1s', '8760h'),
    default: '5m',
    doc: 'History younger than this is never compacted away.',
  }),
  historyRevisions: option({
    value: 'N',
    parse: integer(1, 1_000_000_000),
    default: '10000',
    doc: 'Nor are the newest so many revisions, however old. It is also how many changes of each kind a watch can resume over.',
  }),
  tlsCertFile: option({
    value: 'FILE',
    parse: existing('file'),
    doc: 'TLS certificate chain in PEM, with `--tls-private-key-file`. Read again when the file changes.',
  }),
  tlsPrivateKeyFile: option({
    value: 'FILE',
    parse: existing('file'),
    doc: 'Private key in PEM for `--tls-cert-file`. Read again when the file changes.',
  }),
  insecureHttp: option({
    parse: boolean,
    default: 'false',
    doc: 'UNSAFE without a proxy in front that terminates TLS: serves plain HTTP on an address other machines can reach, where anyone on the way can read and reuse tokens.',
  }),
  maxConnections: option({
    value: 'N',
    parse: integer(1, 1_000_000),
    default: '10000',
    doc: 'Connections served at once; more are closed as they arrive. A watch holds one for as long as it lasts.',
  }),
  maxConnectionsPerAddress: option({
    value: 'N',
    parse: integer(1, 1_000_000),
    default: '6000',
    doc: 'Of those, how many from one address (from one /64 network with IPv6). Behind a proxy all callers have its address.',
  }),
  tlsHandshakesPerAddress: option({
    value: 'N',
    parse: integer(0, 1_000_000),
    default: '50',
    doc: 'How many TLS handshakes a second begin for one address (one /64 network with IPv6), and twice as many at once; further connections from there wait for their turn, ten seconds at most. A connection on which somebody authenticates does not count. `0` for no limit: behind a proxy that connects over TLS all callers have its address.',
  }),
  keepAliveTimeout: option({
    value: 'DURATION',
    parse: duration('1s', '1h'),
    default: '5s',
    doc: 'How long a connection without a request is kept. Longer than a proxy in front keeps it, or it may end just as the proxy sends a request on it.',
  }),
  maxTokenRequestsInflight: option({
    value: 'N',
    parse: integer(1, 100_000),
    default: '200',
    doc: 'Token requests under way at once. More wait for their turn, caller by caller, and past `--queue-length-per-caller` are answered with 429.',
  }),
  maxRequestsInflight: option({
    value: 'N',
    parse: integer(1, 100_000),
    default: '100',
    doc: 'The same for lists and other reads.',
  }),
  maxMutatingRequestsInflight: option({
    value: 'N',
    parse: integer(1, 100_000),
    default: '100',
    doc: 'The same for requests that change something.',
  }),
  callerConcurrencyPercent: option({
    value: 'PERCENT',
    parse: integer(1, 100),
    default: '25',
    doc: 'How much of each of these three limits one caller may use, and of the 32 places for bodies beyond 64 KiB; the rest stays free for others.',
  }),
  queueLengthPerCaller: option({
    value: 'N',
    parse: integer(0, 100_000),
    default: '1000',
    doc: 'How many further requests of one caller wait for their turn, in each of these, and for ten seconds at most.',
  }),
  maxWatches: option({
    value: 'N',
    parse: integer(1, 1_000_000),
    default: '8000',
    doc: 'Watches open at once; more are answered with 429. Less than `--max-connections`, so that other requests always find one.',
  }),
  maxWatchesPerCaller: option({
    value: 'N',
    parse: integer(1, 1_000_000),
    default: '5000',
    doc: 'Of those, how many one caller may have.',
  }),
  shutdownDelay: option({
    value: 'DURATION',
    parse: duration('0s', '10m'),
    default: '0s',
    doc: 'How long it goes on serving after a signal to stop, while `/readyz` fails already: the time that a load balancer needs to notice.',
  }),
  tokenAuthFile: option({
    value: 'FILE',
    parse: existing('file'),
    doc: 'Static callers in the CSV format of kube-apiserver: `token,user,uid,"group1,group2"`.',
  }),
  authenticationConfig: option({
    value: 'FILE',
    parse: existing('file'),
    doc: 'Identity providers whose tokens are accepted, in the format of kube-apiserver: an `AuthenticationConfiguration` with JWT issuers. Read again when the file changes.',
  }),
  consoleOidcIssuer: option({
    value: 'URL',
    parse: issuerUrl,
    doc: 'The identity provider at which people sign in to the console, with `--console-oidc-client-id`. Its tokens are accepted if `--authentication-config` says so.',
  }),
  consoleOidcClientId: option({
    value: 'ID',
    parse: word,
    doc: 'What the console is called at that provider: a public client (PKCE, no secret) with the redirect address `<base-url>/console/`.',
  }),
  manifests: option({
    value: 'PATH',
    parse: existing('file or folder'),
    doc: 'YAML files that are applied at start and whenever they change. Objects that live inside a cluster carry the annotation `clusterpass.dev/cluster: <name>`.',
  }),
  credentialsDir: option({
    value: 'DIR',
    parse: existing('folder'),
    doc: "Credentials for clusters that issue their tokens themselves: `<namespace>/<name>/token`, or `tls.crt` and `tls.key` there, for the credential that a cluster's `spec.authInfo.controller` names. Mode 0600; read at each use.",
  }),
  allowUpstreamCidr: option({
    value: 'CIDR',
    parse: addresses,
    repeatable: true,
    doc: "UNSAFE for networks that hold more than clusters: a network that the desk may connect to although it is loopback, link-local, multicast, reserved or a cloud's metadata service, e.g. `127.0.0.0/8`.",
  }),
  serviceAccountMaxTokenExpiration: option({
    value: 'DURATION',
    // T-27: kube-apiserver accepts the same range, 1h to 2^32 seconds.
    parse: duration('1h', '4294967296s'),
    default: '24h',
    doc: 'The longest lifetime that is granted; a request for more is shortened, with a warning.',
  }),
  maxTrackedTokensPerCaller: option({
    value: 'N',
    parse: integer(1, 100_000),
    default: '1000',
    doc: 'How many tokens one caller may have out that are tracked (`clusterpass.dev/tracked`); more are refused.',
  }),
  signingAlgorithm: option({
    value: 'ALGORITHM',
    parse: oneOf('ES256', 'ES384', 'RS256'),
    default: 'ES256',
    doc: 'The algorithm of new signing keys: `ES256`, `ES384`, or `RS256` for verifiers that know no other. After a change the next key has it, and signs once every verifier can know it.',
  }),
  signingKeyRotation: option({
    value: 'DURATION',
    parse: durationOrNever('2h', '87600h'),
    default: '2160h',
    doc: 'How long a signing key signs before the next one takes its place; `0` changes keys only when somebody asks. What an older key signed stays valid.',
  }),
  maxClockSkew: option({
    value: 'DURATION',
    parse: durationOrNever('5s', '1h'),
    default: '30s',
    doc: 'No token is signed while the clock here is further than this from the time that the store goes by: that of most members of etcd, or, with SQLite, one that it had before. 0 signs with any clock.',
  }),
  externalSigner: option({
    value: 'ADDRESS',
    parse: externalSigner,
    doc: 'Somebody else holds the signing keys and is asked for every signature: `unix:PATH`, a socket, or `exec:PROGRAM ARGUMENTS`, a program that is started and answers on its standard output.',
  }),
  encryptionKeyFile: option({
    value: 'FILE',
    parse: existing('file'),
    defaultText: '`<data-dir>/keys/encryption.key`, made at the first start',
    doc: 'The key that encrypts the signing keys in the store and seals continue tokens, the same for all replicas: 32 random bytes, as they are or in base64, in a file that only this user can read. Without it the signing keys are lost, so keep a copy.',
  }),
  probeInterval: option({
    value: 'DURATION',
    parse: durationOrNever('1s', '1h'),
    default: '30s',
    doc: 'How often each cluster is asked whether it is ready and what it runs; `0` for never. Clusters whose condition `Ready` is maintained by somebody else are left alone.',
  }),
  probeKeepaliveConnections: option({
    value: 'N',
    parse: integer(0, 1_000_000),
    default: '10000',
    doc: 'To how many clusters the connection is kept between two looks, at some 100 KB each, as far as `--max-connections` leaves open files for it, and in a quarter of the memory at most; the others get a new one for each look, which costs some milliseconds of a processor. Whatever is kept is made anew about every ten minutes.',
  }),
  productName: option({
    value: 'WORD',
    parse: productName,
    default: 'orchestrator',
    doc: 'The word in the path prefix `/orchestrator/{cluster}` and in the field `spec.orchestratorApiEndpoints`.',
  }),
  workers: option({
    value: 'N',
    parse: workers,
    default: '1',
    doc: 'Processes that serve at the one address, each with the whole fleet in memory; `auto` for one for each processor. One that dies is replaced.',
  }),
  auditLogPath: option({
    value: 'FILE',
    parse: path,
    defaultText: '`<data-dir>/audit/audit.log`',
    doc: 'Where every request is recorded, as lines of JSON in the form of `audit.k8s.io/v1`. No token leaves before its line is on the disk. `/dev/null` keeps none.',
  }),
  auditLogMaxsize: option({
    value: 'MEGABYTES',
    parse: integer(1, 1_000_000),
    default: '100',
    doc: 'An audit log that reaches this size is put aside, under a name with the time.',
  }),
  auditLogMaxage: option({
    value: 'DAYS',
    parse: integer(0, 36_500),
    default: '30',
    doc: 'How long audit logs that were put aside are kept, and `0` for ever. With a limit each holds one day at most.',
  }),
  auditLogMaxbackup: option({
    value: 'N',
    parse: integer(0, 1_000_000),
    default: '50',
    doc: 'How many audit logs that were put aside are kept, and `0` for all of them.',
  }),
  tracingEndpoint: option({
    value: 'URL',
    parse: baseUrl,
    doc: 'A collector of OpenTelemetry to which spans are sent (OTLP over HTTP, in JSON), without its path `/v1/traces`, e.g. `http://127.0.0.1:4318`.',
  }),
  tracingSamplingRatePerMillion: option({
    value: 'N',
    parse: integer(0, 1_000_000),
    default: '10000',
    doc: 'How many of a million requests become spans when their caller does not say; a caller says so with a header `traceparent`.',
  }),
  logLevel: option({
    value: 'LEVEL',
    parse: oneOf('debug', 'info', 'warn', 'error', 'silent'),
    default: 'info',
    doc: 'The least severe log lines that are written: `debug`, `info`, `warn`, `error`, or `silent` for none.',
  }),
  demo: option({
    parse: boolean,
    default: 'false',
    doc: 'Loads the demo fleet: 12 clusters, what lives in them, and three callers with different rights.',
  }),
} as const;

export type OptionName = keyof typeof OPTIONS;

/** Every option by name, parsed; undefined only where the table has no default. */
export type OptionValues = {
  readonly [N in OptionName]:
    | ReturnType<(typeof OPTIONS)[N]['parse']>
    | ((typeof OPTIONS)[N] extends { readonly default: string } ? never : undefined);
};

export const OPTION_NAMES = Object.keys(OPTIONS) as OptionName[];

const hyphenated = (name: OptionName): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** `--base-url` */
export const flagOf = (name: OptionName): string => `--${hyphenated(name)}`;

/** `CLUSTERPASS_BASE_URL` */
export const variableOf = (name: OptionName): string =>
  `CLUSTERPASS_${hyphenated(name).replaceAll('-', '_').toUpperCase()}`;

/** `base-url`. The file cannot name another file. */
export const keyOf = (name: OptionName): string | undefined => (name === 'config' ? undefined : hyphenated(name));
