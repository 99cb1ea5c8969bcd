import type { JsonObject } from '../../lib/json.ts';
import { jwksUriOf, readDiscovery, tokenOrigins } from './fetch-document.ts';
import { type IssuerKey, readKeySet } from './jwks.ts';

/** Gets a JSON document; rejects with a sentence for the log. Bounded in time and in size. */
export type FetchDocument = (url: string, signal: AbortSignal) => Promise<unknown>;

export interface IssuerKeys {
  /** The keys in memory that a token with this `kid` may be signed with; every key, if it names none. */
  known(kid: string | undefined): readonly IssuerKey[];
  /**
   * As `known`. An unknown `kid` is looked up at the issuer, at most once in ten seconds for all requests. Never
   * rejects: empty when there is no such key.
   */
  find(kid: string | undefined): Promise<readonly IssuerKey[]>;
  /** Whether the last fetch failed. */
  isFailing(): boolean;
  /** The origins at which tokens are obtained, by the last discovery document; empty before the first one. */
  origins(): readonly string[];
  /** Fetches the keys again. When that fails, the keys in memory stay. A key set without a usable key removes them. */
  refresh(): Promise<void>;
  /** Aborts a fetch in progress, so that a silent issuer does not delay the shutdown. */
  close(): void;
}

interface IssuerKeysParts {
  readonly issuerUrl: string;
  readonly discoveryUrl: string;
  readonly fetchDocument: FetchDocument;
  readonly now: () => number;
  /** Why the keys cannot be fetched, once; undefined when they were fetched after such a report. */
  readonly report: (problem: string | undefined) => void;
}

const RETRY_MS = 10_000;
/** For both documents together, because a request waits for them. */
const FETCH_TIMEOUT_MS = 5_000;

export function createIssuerKeys({ issuerUrl, discoveryUrl, fetchDocument, now, report }: IssuerKeysParts): IssuerKeys {
  let keys: readonly IssuerKey[] = [];
  let origins: readonly string[] = [];
  let running: Promise<void> | undefined;
  let lastStart = Number.NEGATIVE_INFINITY;
  let isFailing = false;
  const closing = new AbortController();

  async function fetchKeys(): Promise<void> {
    try {
      const signal = AbortSignal.any([AbortSignal.timeout(FETCH_TIMEOUT_MS), closing.signal]);
      const discovery: JsonObject = readDiscovery(await fetchDocument(discoveryUrl, signal), issuerUrl);
      const jwksUri = jwksUriOf(discovery);
      origins = tokenOrigins(discovery);
      const found = readKeySet(await fetchDocument(jwksUri, signal));
      keys = found;
      if (found.length === 0) throw new Error('its key set has no key that can be used: none is accepted');
      if (isFailing) report(undefined);
      isFailing = false;
    } catch (error) {
      if (closing.signal.aborted) return;
      if (!isFailing) report(error instanceof Error ? error.message : String(error));
      isFailing = true;
    }
  }

  function start(): Promise<void> {
    lastStart = now();
    running = fetchKeys().finally(() => {
      running = undefined;
    });
    return running;
  }

  const known = (kid: string | undefined): readonly IssuerKey[] =>
    kid === undefined ? keys : keys.filter((key) => key.kid === kid);

  return {
    known,
    async find(kid) {
      if (known(kid).length > 0) return known(kid);
      if (running !== undefined) await running;
      // The absolute difference: a clock that was set back must not postpone the next fetch.
      else if (Math.abs(now() - lastStart) >= RETRY_MS) await start();
      return known(kid);
    },
    isFailing: () => isFailing,
    origins: () => origins,
    refresh: () => running ?? start(),
    close: () => closing.abort(),
  };
}
