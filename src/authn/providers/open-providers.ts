import { readFile } from 'node:fs/promises';
import { openWatchedFile, type WatchParts } from '../../lib/watched-file.ts';
import type { TokenSource } from '../token-authenticator.ts';
import { claimedIssuer, createProvider, type Provider } from './provider.ts';
import { createProviderKeys, type FetchDocument } from './provider-keys.ts';
import {
  AuthenticationConfigError,
  type ProviderConfig,
  type ReadOptions,
  readAuthenticationConfig,
} from './read-config.ts';

/** kube-apiserver's `--authentication-config`: people and programs from identity providers. */
export interface Providers extends TokenSource {
  /** Where the tokens of this issuer are to be had, as it says itself; none while that is not known. */
  originsOf(issuer: string): readonly string[];
  /** Reads the file if it has changed. A bad file is reported and the providers in force stay. */
  refresh(): Promise<void>;
  close(): void;
}

export interface ProvidersParts extends WatchParts, ReadOptions {
  readonly file: string;
  /** A way to fetch documents that trusts these authorities (PEM), or the system's. */
  readonly createFetch: (certificateAuthority: string | undefined) => FetchDocument;
  readonly now: () => number;
}

/** Keys that a provider has withdrawn are noticed after this time at the latest, while it answers. */
const REFRESH_KEYS_MS = 5 * 60_000;

/**
 * Rejects with AuthenticationConfigError. That a provider does not answer is no reason not to start: its tokens are
 * refused until it does.
 */
export async function openProviders(parts: ProvidersParts): Promise<Providers> {
  const { file, createFetch, now, every, report } = parts;
  let providers: ReadonlyMap<string, Provider> = new Map();

  function open(config: ProviderConfig): Provider {
    const { url, discoveryUrl, certificateAuthority } = config.issuer;
    const fetchDocument = createFetch(certificateAuthority);
    const provider = createProvider({
      config,
      keys: createProviderKeys({ issuerUrl: url, discoveryUrl, fetchDocument, now, report }),
      now,
    });
    // Not waited for: the first token finds the keys, or waits for them.
    void provider.refreshKeys();
    return provider;
  }

  /** What the file says as before of a provider leaves it alone, with its keys and its callers. */
  function use(configs: readonly ProviderConfig[]): void {
    const before = providers;
    providers = new Map(
      configs.map((config) => {
        const old = before.get(config.issuer.url);
        return [config.issuer.url, old?.config.fingerprint === config.fingerprint ? old : open(config)];
      }),
    );
    const kept = new Set(providers.values());
    for (const old of before.values()) if (!kept.has(old)) old.close();
  }

  const read = (): Promise<readonly ProviderConfig[]> => load(file, parts);
  const watched = await openWatchedFile({ file, read, every, report, onChange: use });
  use(watched.current());
  const stopRefreshing = every(REFRESH_KEYS_MS, () => {
    for (const provider of providers.values()) void provider.refreshKeys();
  });

  return {
    async find(token) {
      const issuer = claimedIssuer(token.reveal());
      return issuer === undefined ? undefined : providers.get(issuer)?.authenticate(token);
    },
    originsOf: (issuer) => providers.get(issuer)?.origins() ?? [],
    refresh: watched.refresh,
    close() {
      watched.close();
      stopRefreshing();
      for (const provider of providers.values()) provider.close();
    },
  };
}

async function load(file: string, options: ReadOptions): Promise<readonly ProviderConfig[]> {
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch {
    throw new AuthenticationConfigError(`authentication configuration ${file} can not be read`);
  }
  try {
    return readAuthenticationConfig(bytes, options);
  } catch (error) {
    if (!(error instanceof AuthenticationConfigError)) throw error;
    throw new AuthenticationConfigError(`authentication configuration ${file}: ${error.message}`);
  }
}
