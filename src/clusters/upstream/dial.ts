import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import type { AddressRules } from '../../api/clusters/address-rules.ts';
import { UpstreamError } from './upstream-contract.ts';

/** All addresses of a host name. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

export const systemResolve: Resolve = async (hostname) =>
  (await lookup(hostname, { all: true, order: 'verbatim' })).map(({ address }) => address);

export interface Dial {
  /** Throws for an IP address that is not connected to. A host name is checked when it is resolved. */
  checkHost(hostname: string, port: number): void;
  /**
   * The lookup of the socket. It returns checked addresses, and the socket connects to one of them: there is no second
   * resolution that could return another address (CVE-2020-8562).
   */
  lookupFor(port: number): LookupFunction;
}

/** `isOwnListener`: whether this process listens there. */
export function createDial(
  rules: AddressRules,
  resolve: Resolve,
  isOwnListener: (address: string, port: number) => boolean,
): Dial {
  const check = (address: string, port: number): void => {
    const refusal = isOwnListener(address, port) ? 'it is Clusterpass itself' : rules.refusal(address);
    if (refusal !== undefined) {
      throw new UpstreamError('address', `Clusterpass does not connect to ${address}, because ${refusal}`);
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
            // One refused address refuses the name, because the socket may try all of them.
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
