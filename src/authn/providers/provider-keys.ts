import type { KeyObject } from 'node:crypto';
import { isJsonObject, type JsonObject } from '../../tokens/jws.ts';
import { type ProviderKey, readKeySet } from './key-set.ts';
import { tokenOrigins } from './token-origins.ts';

/** Gets a JSON document; rejects with a sentence for the log. Bounded in time and in size. */
export type FetchDocument = (url: string, signal: AbortSignal) => Promise<unknown>;

/** The keys of one provider, as it publishes them. */
export interface ProviderKeys {
  /**
   * The keys by which a token with this `kid` may be signed (all of them, if it names none). A key that is not known
   * is looked for at the provider, at most once in ten seconds however many ask. Never rejects: empty when there is
   * none.
   */
  candidates(kid: string | undefined): Promise<readonly ProviderKey[]>;
  /** Whether the provider still publishes this very key. Looks only at memory. */
  has(key: KeyObject): boolean;
  /** Where its tokens are to be had, as the discovery document last said; none before it was read. */
  origins(): readonly string[];
  /** Fetches the keys anew. Those in force stay when that fails. */
  refresh(): Promise<void>;
  /** Ends what is under way: a provider that does not answer must not hold up a stop. */
  close(): void;
}

export interface KeyParts {
  readonly issuerUrl: string;
  readonly discoveryUrl: string;
  readonly fetchDocument: FetchDocument;
  readonly now: () => number;
  readonly report: (problem: string) => void;
}

const RETRY_MS = 10_000;
/** For both documents together: whoever waits for a key waits no longer. */
const FETCH_TIMEOUT_MS = 5_000;

export function createProviderKeys({ issuerUrl, discoveryUrl, fetchDocument, now, report }: KeyParts): ProviderKeys {
  let keys: readonly ProviderKey[] = [];
  let origins: readonly string[] = [];
  let running: Promise<void> | undefined;
  let lastStart = Number.NEGATIVE_INFINITY;
  let reported = '';
  const closing = new AbortController();

  async function fetchKeys(): Promise<void> {
    try {
      const signal = AbortSignal.any([AbortSignal.timeout(FETCH_TIMEOUT_MS), closing.signal]);
      const discovery = readDiscovery(await fetchDocument(discoveryUrl, signal), issuerUrl);
      const jwksUri = keySetAddress(discovery);
      origins = tokenOrigins(discovery);
      const found = readKeySet(await fetchDocument(jwksUri, signal));
      if (found.length === 0) throw new Error('its key set has no key that can be used');
      keys = keptWhereSame(keys, found);
      reported = '';
    } catch (error) {
      if (closing.signal.aborted) return;
      const problem = error instanceof Error ? error.message : String(error);
      // A trouble that lasts is said once, not every ten seconds.
      if (problem !== reported) report(`the keys of ${issuerUrl} can not be had: ${problem}`);
      reported = problem;
    }
  }

  function start(): Promise<void> {
    lastStart = now();
    running = fetchKeys().finally(() => {
      running = undefined;
    });
    return running;
  }

  const matching = (kid: string | undefined): readonly ProviderKey[] =>
    kid === undefined ? keys : keys.filter((key) => key.kid === kid);

  return {
    async candidates(kid) {
      const known = matching(kid);
      if (known.length > 0) return known;
      if (running !== undefined) await running;
      // A clock that was set back must not keep us from asking.
      else if (Math.abs(now() - lastStart) >= RETRY_MS) await start();
      return matching(kid);
    },
    origins: () => origins,
    has: (key) => keys.some((known) => known.key === key),
    refresh: () => running ?? start(),
    close: () => closing.abort(),
  };
}

/** OpenID Connect Discovery 4.3: the document of another issuer says nothing about this one. */
function readDiscovery(document: unknown, issuerUrl: string): JsonObject {
  if (!isJsonObject(document)) throw new Error('its discovery document is not a JSON object');
  const { issuer } = document;
  if (issuer !== issuerUrl) {
    throw new Error(`its discovery document is of another issuer, ${JSON.stringify(issuer)?.slice(0, 200)}`);
  }
  return document;
}

function keySetAddress({ jwks_uri: uri }: JsonObject): string {
  if (typeof uri !== 'string' || !URL.canParse(uri)) throw new Error('its discovery document has no jwks_uri');
  // Whoever could change the keys on the way could sign anything.
  if (new URL(uri).protocol !== 'https:') throw new Error('its jwks_uri is not an https URL');
  return uri;
}

/** A key that stays published stays the same object: what was verified with it stays verified. */
const keptWhereSame = (before: readonly ProviderKey[], found: readonly ProviderKey[]): readonly ProviderKey[] =>
  found.map((key) => before.find((old) => old.kid === key.kid && old.key.equals(key.key)) ?? key);
