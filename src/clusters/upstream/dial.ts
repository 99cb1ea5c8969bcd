import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import type { AddressRules } from '../../api/address-rules.ts';
import { UpstreamError } from './upstream-contract.ts';

/** Every address of a name. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

export const systemResolve: Resolve = async (hostname) =>
  (await lookup(hostname, { all: true, order: 'verbatim' })).map(({ address }) => address);

export interface DialOptions {
  readonly rules: AddressRules;
  readonly resolve: Resolve;
  /** Whether the desk itself listens there. */
  readonly isOwnListener: (address: string, port: number) => boolean;
}

export interface Dial {
  /** Throws when this is an IP address that nothing may be sent to. A name is looked at when it is resolved. */
  checkHost(hostname: string, port: number): void;
  /**
   * For the socket to find its address with: what it gives was checked, and it is what the socket connects to.
   * There is no second resolution whose answer could be another one (CVE-2020-8562).
   */
  lookupFor(port: number): LookupFunction;
}

export function createDial({ rules, resolve, isOwnListener }: DialOptions): Dial {
  const check = (address: string, port: number): void => {
    const refusal = isOwnListener(address, port) ? 'it is the desk itself' : rules.refusal(address);
    if (refusal !== undefined) {
      throw new UpstreamError('address', `the desk does not connect to ${address}, because ${refusal}`);
    }
  };
  return {
    checkHost: (hostname, port) => {
      const bare = hostname.replace(/^\[|\]$/g, '');
      if (isIP(bare) !== 0) check(bare, port);
    },
    lookupFor:
      (port) =>
      (hostname, { all }, callback) => {
        resolve(hostname)
          .then((found) => {
            // One bad address spoils the name: an honest one has none, and the socket may try all of them.
            for (const address of found) check(address, port);
            const addresses = found.map((address) => ({ address, family: isIP(address) }));
            const [first] = addresses;
            if (first === undefined) throw new UpstreamError('network', 'its name has no address');
            if (all === true) callback(null, addresses);
            else callback(null, first.address, first.family);
          })
          .catch((error: NodeJS.ErrnoException) => callback(error, []));
      },
  };
}
