import { isIPv4, isIPv6, type Socket } from 'node:net';
import { InFlightCounts } from '../../lib/in-flight-counts.ts';

/**
 * The address that a connection counts for. Of an IPv6 address the first 64 bits: a network gives that much to one
 * customer, who can use any address within it.
 */
export function addressKey(address: string | undefined): string {
  if (address === undefined) return '';
  const mapped = /^::ffff:([0-9.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined && isIPv4(mapped)) return mapped;
  return isIPv6(address) ? networkOf(address) : address;
}

function networkOf(address: string): string {
  const [head = '', tail] = address.toLowerCase().split('::', 2);
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const after = tail === '' ? [] : tail.split(':');
    while (groups.length + after.length < 8) groups.push('0');
    groups.push(...after);
  }
  return `${groups.slice(0, 4).join(':')}::/64`;
}

/** Bounds the open connections of each address. */
export class AddressLimit {
  readonly #limit: number;
  readonly #open = new InFlightCounts();
  readonly #onRefused: (address: string) => void;

  constructor(limit: number, onRefused: (address: string) => void) {
    this.#limit = limit;
    this.#onRefused = onRefused;
  }

  /** How many addresses have open connections. */
  get size(): number {
    return this.#open.size;
  }

  /** False when the connection was closed. */
  accept(socket: Socket): boolean {
    const key = addressKey(socket.remoteAddress);
    if (this.#open.of(key) >= this.#limit) {
      this.#onRefused(key);
      // A reset: a socket that waits until its end is acknowledged still counts as one.
      socket.resetAndDestroy();
      return false;
    }
    socket.once('close', this.#open.add(key));
    return true;
  }
}
