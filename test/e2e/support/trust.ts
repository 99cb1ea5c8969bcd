import { getCACertificates, setDefaultCACertificates } from 'node:tls';

const USUAL = getCACertificates('default');
/** By who asked for it: the same authority may be trusted for several servers. */
const trusted = new Map<string, string>();

/**
 * This process trusts an authority until `who` is done: the next test file in it may look at what is not trusted.
 * Commands that must not trust it run in a process of their own (`inProcess: false`).
 */
export function trust(who: string, pem: string): void {
  trusted.set(who, pem);
  setDefaultCACertificates([...USUAL, ...new Set(trusted.values())]);
}

export function distrust(who: string): void {
  if (trusted.delete(who)) setDefaultCACertificates([...USUAL, ...new Set(trusted.values())]);
}
