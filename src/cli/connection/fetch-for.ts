import { createNodeFetch } from '../../client/node.ts';
import type { ProxyOptions } from '../../client/proxy.ts';
import type { Fetch } from '../../client/transport.ts';
import { CliError, type Context, UsageError } from '../command.ts';

/** The address of a server in a flag. */
export function checkedUrl(url: URL | null, given: string, flag: string): URL {
  if (url === null) throw new UsageError(`${flag}: ${JSON.stringify(given)} is not a URL`);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw new UsageError(`${flag} must be an https URL`);
  if (url.username !== '' || url.password !== '') throw new UsageError(`${flag} must not contain credentials`);
  return url;
}

/** Refuses an address to which a credential would be sent as plain text. `name` stands for it in the message. */
export function requireHttps(server: string, { name = server, alternative = '' } = {}): void {
  if (!URL.canParse(server)) throw new UsageError(`${name} is not a URL`);
  const { protocol, hostname } = new URL(server);
  if (protocol === 'https:' || isLoopback(hostname)) return;
  throw new UsageError(`${name} is plain HTTP, which exposes the credential on the network: use https${alternative}`);
}

/**
 * Plain HTTP is only safe to these hosts. `hostname` is from a URL: IPv6 addresses have brackets, and a host that ends
 * in a number is an IPv4 address. `node:net` takes long to load.
 */
export const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(hostname);

export interface TlsTrust {
  /** PEM */
  readonly certificateAuthority: string | undefined;
  readonly insecureSkipTlsVerify: boolean;
}

/** What the API server of a cluster may want beyond that, as a kubeconfig has it. PEM. */
interface ClientTls {
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly tlsServerName?: string | undefined;
}

/** A fetch with these TLS settings, through the proxy of the environment. */
export const fetchFor = (
  { certificateAuthority: ca, insecureSkipTlsVerify, cert, key, tlsServerName: servername }: TlsTrust & ClientTls,
  env: Context['env'],
): Fetch =>
  createNodeFetch({
    ...{ ca, insecureSkipTlsVerify, servername, proxy: proxyOf(env) },
    // One without the other is no client certificate.
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
  });

/**
 * The proxy of `HTTPS_PROXY`, and the hosts of `NO_PROXY` that are reached without it. The rules are those of kubectl
 * and other Go programs: upper case comes first, an address without a scheme is one of http, and exceptions are names
 * with their subdomains, addresses, networks, ports, and `*` for all. Loopback addresses need no proxy.
 */
export function proxyOf(env: Context['env']): ProxyOptions | undefined {
  const variable = env.HTTPS_PROXY ? 'HTTPS_PROXY' : 'https_proxy';
  const given = env[variable];
  if (!given) return undefined;
  const proxy = proxyAddress(given);
  const exceptions = (env.NO_PROXY || env.no_proxy || '')
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .filter((entry) => entry !== '');
  return {
    url: proxy?.url ?? '',
    name: `${proxy?.host} of ${variable}`,
    isFor: (address) => {
      if (isLoopback(address.hostname) || exceptions.some((exception) => isCoveredBy(exception, address))) return false;
      // Never directly: the proxy may be what the user relies on.
      if (proxy === undefined) throw new CliError(`${variable} must be the http or https address of a proxy`);
      return true;
    },
  };
}

/** The groups are the host and the port. */
const PROXY =
  /^(?:https?:\/\/)?(?:(?:[\w.~!$&'()*+,;=:@-]|%[0-9a-f]{2})*@)?([\w.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?(?:[/?#][^%\\\s]*)?$/i;

/** Has one meaning in Node and in Go, whose parsers of URLs differ. Undefined for any other text. */
function proxyAddress(given: string): { readonly url: string; readonly host: string } | undefined {
  const [, host = '', port = ''] = PROXY.exec(given) ?? [];
  const url = URL.parse(/^https?:\/\//i.test(given) ? given : `http://${given}`);
  // `127.1` and `0x7f.0.0.1` are addresses for URL, and names for Go.
  const isSame = host.startsWith('[') || url?.hostname === host.toLowerCase();
  return host === '' || url === null || !isSame ? undefined : { url: url.href, host: `${host}${port}` };
}

function isCoveredBy(exception: string, { hostname, port }: URL): boolean {
  if (exception === '*') return true;
  const host = hostname.replace(/^\[|\]$/g, '');
  const network = /^([0-9a-f:.]+)\/([0-9]{1,3})$/.exec(exception);
  if (network !== null) return isInNetwork(host, network[1] ?? '', Number(network[2]));
  const named = withPort(exception);
  if (named.port !== undefined && named.port !== (port || '443')) return false;
  const name = named.name.replace(/^\*(?=\.)/, '');
  return name.startsWith('.') ? host.endsWith(name) : host === name || host.endsWith(`.${name}`);
}

function isInNetwork(host: string, network: string, bits: number): boolean {
  // It takes long to load, and most runs need none of it.
  const { BlockList, isIP } = process.getBuiltinModule('node:net');
  const family = isIP(network);
  if (family === 0 || family !== isIP(host) || bits > (family === 4 ? 32 : 128)) return false;
  const type = family === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(network, bits, type);
  return list.check(host, type);
}

/** An IPv6 address has a port behind brackets only. */
function withPort(exception: string): { readonly name: string; readonly port: string | undefined } {
  const parts = /^\[(.+)\](?::([0-9]+))?$/.exec(exception) ?? /^([^:]*)(?::([0-9]+))?$/.exec(exception);
  return parts === null ? { name: exception, port: undefined } : { name: parts[1] ?? '', port: parts[2] };
}
