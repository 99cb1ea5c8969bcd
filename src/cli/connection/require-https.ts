import { UsageError } from '../command.ts';

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
