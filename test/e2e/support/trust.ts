import { getCACertificates, setDefaultCACertificates } from 'node:tls';

const USUAL = getCACertificates('default');
/** By the argument `who`: several servers may have the same authority. */
const trusted = new Map<string, string>();

/**
 * This process trusts an authority until `distrust(who)`: the next test file in the process may test what happens
 * without it. Commands that must not trust it run in a separate process (`inProcess: false`).
 */
export function trust(who: string, pem: string): void {
  trusted.set(who, pem);
  setDefaultCACertificates([...USUAL, ...new Set(trusted.values())]);
}

export function distrust(who: string): void {
  if (trusted.delete(who)) setDefaultCACertificates([...USUAL, ...new Set(trusted.values())]);
}
