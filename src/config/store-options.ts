import { join } from 'node:path';
import { isIPv6 } from '../lib/network.ts';
import { flagOf, type OptionName, type OptionValues } from './options.ts';
import { isLoopback } from './values.ts';

/** The store to open. Paths are absolute. */
export type StoreOptions =
  | { readonly engine: 'sqlite'; readonly path: string }
  | {
      readonly engine: 'etcd';
      /** `host:port`, with brackets around an IPv6 address. */
      readonly endpoints: readonly string[];
      readonly prefix: string;
      readonly tls: { readonly caFile: string; readonly certFile?: string; readonly keyFile?: string } | undefined;
      readonly user: { readonly name: string; readonly passwordFile: string } | undefined;
    };

type StoreValues = Pick<OptionValues, Extract<OptionName, 'dataDir' | 'store' | `etcd${string}`>>;

/** The problem with two options that are used together, if only one is set. */
export function missingOfPair(
  values: Partial<OptionValues>,
  one: OptionName,
  other: OptionName,
  what: string,
): string[] {
  const [given, missing] = values[one] === undefined ? [other, one] : [one, other];
  if (values[given] === undefined || values[missing] !== undefined) return [];
  return [`${flagOf(given)} is set and ${flagOf(missing)} is not: ${what} needs both`];
}

/** Validates the options of the store against each other. */
export function resolveStore(values: StoreValues): { store: StoreOptions; problems: string[] } {
  const { etcdCafile: caFile, etcdCertfile: certFile, etcdKeyfile: keyFile, etcdUsername, etcdPasswordFile } = values;
  const url = values.store ?? { engine: 'sqlite' as const, path: join(values.dataDir, 'clusterpass.db') };
  const problems: string[] = [];
  if (url.engine === 'sqlite') {
    const given = { caFile, certFile, keyFile, etcdUsername, etcdPasswordFile };
    if (values.etcdInsecure || Object.values(given).some((value) => value !== undefined)) {
      problems.push(
        '--etcd-* options are set and --store is not an etcd URL: expected --store etcd://HOST:PORT/PREFIX',
      );
    }
    return { store: url, problems };
  }
  problems.push(...missingOfPair(values, 'etcdCertfile', 'etcdKeyfile', 'a client certificate'));
  if (certFile !== undefined && caFile === undefined) {
    problems.push(
      '--etcd-certfile is set and --etcd-cafile is not: without it the certificate of etcd is not verified',
    );
  }
  problems.push(...missingOfPair(values, 'etcdUsername', 'etcdPasswordFile', 'a user'));
  const remote = url.endpoints.find(({ host }) => !isLoopback(host));
  if (caFile === undefined && remote !== undefined && !values.etcdInsecure) {
    problems.push(
      `--store: ${remote.host} would be reached without TLS, and everything stored would cross the network unencrypted; ` +
        'set --etcd-cafile (and --etcd-certfile, --etcd-keyfile), or --etcd-insecure on a trusted network',
    );
  }
  if (caFile !== undefined && values.etcdInsecure)
    problems.push('--etcd-insecure is set together with --etcd-cafile: choose one');
  const tls =
    caFile === undefined
      ? undefined
      : { caFile, ...(certFile === undefined || keyFile === undefined ? {} : { certFile, keyFile }) };
  const user =
    etcdUsername === undefined || etcdPasswordFile === undefined
      ? undefined
      : { name: etcdUsername, passwordFile: etcdPasswordFile };
  const endpoints = url.endpoints.map(({ host, port }) => `${isIPv6(host) ? `[${host}]` : host}:${port}`);
  return { store: { engine: 'etcd', endpoints, prefix: url.prefix, tls, user }, problems };
}
