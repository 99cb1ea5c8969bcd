import { Cache } from './cache.ts';

/**
 * Owner: `utcSecond`. A pure function of its key, so an entry never becomes wrong; 64 entries hold the seconds of "now" and of
 * the few lifetimes that are granted.
 */
const texts = new Cache<number, string>({ maxEntries: 64 });

/** A second since the epoch in UTC, without a zone: `2026-01-02T03:04:05`. */
export function utcSecond(second: number): string {
  return texts.getOrCompute(second, () => new Date(second * 1000).toISOString().slice(0, 19));
}
