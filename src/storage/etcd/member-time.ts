import { request as requestPlainly } from 'node:http';
import { request as requestSecurely } from 'node:https';
import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import type { TlsMaterial } from './member.ts';

/**
 * The time by the clock of a member, from the `Date` of an answer (RFC 9110, section 6.6.1). etcd's own messages carry
 * no time; at the address where it takes those it answers HTTP too, unless it was told another (its
 * --listen-client-http-urls). Whatever it answers has the header: what matters is that it was the member, which TLS
 * vouches for as it does for messages.
 */
export function askMemberTime(
  address: string,
  tls: TlsMaterial | undefined,
  withinMs: number,
): Promise<number | undefined> {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
  // A connection of its own each time: it carries the credentials of the moment, and nothing is kept in between.
  const common = { host, port: address.slice(colon + 1), path: '/version', agent: false } as const;
  return new Promise((resolve) => {
    const asked =
      tls === undefined
        ? requestPlainly(common)
        : requestSecurely({
            ...common,
            ...tls,
            // RFC 6066, section 3: the name in a handshake is never an address.
            ...(isIP(host) === 0 ? { servername: host } : {}),
            checkServerIdentity: (_name, certificate) => checkServerIdentity(host, certificate),
          });
    const timer = setTimeout(() => asked.destroy(), withinMs);
    timer.unref();
    asked.once('response', (answer) => {
      const time = Date.parse(answer.headers.date ?? '');
      resolve(Number.isNaN(time) ? undefined : time);
      asked.destroy();
    });
    asked.on('error', () => resolve(undefined));
    asked.once('close', () => {
      clearTimeout(timer);
      resolve(undefined);
    });
    asked.end();
  });
}
