import type { ProxyOptions } from '../../client/node-dispatcher.ts';
import type { Context } from '../command.ts';
import { isLoopback } from './require-https.ts';

/**
 * The proxy of `HTTPS_PROXY`, and the hosts of `NO_PROXY` that are reached without it. The rules are those of kubectl
 * and other Go programs: names with their subdomains, addresses, networks, ports, and `*` for all. Loopback addresses
 * need no proxy.
 */
export function proxyOf(env: Context['env']): ProxyOptions | undefined {
  const url = env.https_proxy || env.HTTPS_PROXY;
  if (!url) return undefined;
  const exceptions = (env.no_proxy || env.NO_PROXY || '')
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .filter((entry) => entry !== '');
  return {
    url,
    isFor: (address) =>
      !isLoopback(address.hostname) && !exceptions.some((exception) => isCoveredBy(exception, address)),
  };
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
