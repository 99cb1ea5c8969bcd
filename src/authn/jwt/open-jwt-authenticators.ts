import { readFile } from 'node:fs/promises';
import { codeOf } from '../../lib/file-problem.ts';
import { type FollowParts, followFiles, GONE_GRACE_MS } from '../../lib/follow-files.ts';
import { every as everyInterval } from '../../lib/rounds.ts';
import type { Secret } from '../../observability/secret.ts';
import type { TokenAuthenticator } from '../token-authenticator.ts';
import { createIssuerKeys, type FetchDocument } from './issuer-keys.ts';
import { claimedIssuer, createJwtAuthenticator, type JwtAuthenticator } from './jwt-authenticator.ts';
import {
  AuthenticationConfigError,
  type JwtAuthenticatorConfig,
  type ReadOptions,
  readAuthenticationConfig,
} from './read-configuration.ts';

/** kube-apiserver's `--authentication-config`: the issuers whose tokens are accepted. */
export interface JwtAuthenticators extends TokenAuthenticator {
  /** Whether the configuration in force has this issuer, with this audience. */
  has(issuer: string, audience: string): boolean;
  /** The origins at which tokens of this issuer are obtained, by its discovery document; empty before it was read. */
  originsOf(issuer: string): readonly string[];
  /** Whether the keys of an issuer could not be fetched when this was last tried; by issuer. */
  failingIssuers(): Readonly<Record<string, boolean>>;
  /** Reads the file if it has changed. A bad file is reported, and the configuration in force stays for a minute. */
  refresh(): Promise<void>;
  /** Whether the file is gone or invalid, so that tokens of its issuers are refused. */
  isGone(): boolean;
  close(): void;
}

interface JwtAuthenticatorsParts extends FollowParts, ReadOptions {
  readonly file: string;
  /** Fetches documents from servers of these authorities (PEM), or of the system's. */
  readonly createFetch: (certificateAuthority: string | undefined) => FetchDocument;
  /** Why the keys of an issuer cannot be fetched; undefined when they were fetched after such a report. */
  readonly reportKeys: (issuer: string, problem: string | undefined) => void;
  /** The audience of tokens for the MCP endpoint. */
  readonly mcpAudience?: string;
  readonly now: () => number;
}

/** A key that an issuer has withdrawn is accepted no longer than this, while the issuer responds. */
const REFRESH_KEYS_MS = 5 * 60_000;

/**
 * Rejects with AuthenticationConfigError or UnsafeFile. An issuer that does not respond does not prevent the start: its
 * tokens are refused until it responds.
 */
export async function openJwtAuthenticators(parts: JwtAuthenticatorsParts): Promise<JwtAuthenticators> {
  const { file, createFetch, mcpAudience, now, every = everyInterval, reportKeys } = parts;
  let authenticators: ReadonlyMap<string, JwtAuthenticator> = new Map();

  function open(config: JwtAuthenticatorConfig): JwtAuthenticator {
    const { url, discoveryUrl, certificateAuthority } = config.issuer;
    const fetchDocument = createFetch(certificateAuthority);
    const reportProblem = (problem: string | undefined) => reportKeys(url, problem);
    const authenticator = createJwtAuthenticator({
      config,
      keys: createIssuerKeys({ issuerUrl: url, discoveryUrl, fetchDocument, now, report: reportProblem }),
      ...(mcpAudience === undefined ? {} : { mcpAudience }),
      now,
    });
    // Not awaited: the first token waits for the keys if they are not there yet.
    void authenticator.refreshKeys();
    return authenticator;
  }

  /** An authenticator whose entry did not change stays, with its keys and its callers. */
  function use(configs: readonly JwtAuthenticatorConfig[]): void {
    const before = authenticators;
    authenticators = new Map(
      configs.map((config) => {
        const old = before.get(config.issuer.url);
        return [config.issuer.url, old?.config.fingerprint === config.fingerprint ? old : open(config)];
      }),
    );
    const inUse = new Set(authenticators.values());
    for (const old of before.values()) if (!inUse.has(old)) old.close();
  }

  const authenticatorOf = (token: Secret): JwtAuthenticator | undefined =>
    authenticators.get(claimedIssuer(token.reveal()) ?? '');

  const read = (): Promise<readonly JwtAuthenticatorConfig[] | undefined> => load(file, parts);
  const whenGone = { value: [], graceMs: GONE_GRACE_MS };
  const what = `--authentication-config ${file}`;
  const followed = await followFiles({ ...parts, what, files: [file], read, whenGone, use });
  const stopRefreshing = every(REFRESH_KEYS_MS, () => {
    for (const authenticator of authenticators.values()) void authenticator.refreshKeys();
  });

  return {
    authenticateToken: (token) => authenticatorOf(token)?.authenticate(token),
    authenticateMcp: (token) => authenticatorOf(token)?.authenticateMcp(token),
    has: (issuer, audience) => authenticators.get(issuer)?.config.issuer.audiences.includes(audience) === true,
    originsOf: (issuer) => authenticators.get(issuer)?.origins() ?? [],
    failingIssuers: () =>
      Object.fromEntries([...authenticators].map(([issuer, authenticator]) => [issuer, authenticator.isFailing()])),
    refresh: followed.refresh,
    isGone: followed.isGone,
    close() {
      followed.close();
      stopRefreshing();
      for (const authenticator of authenticators.values()) authenticator.close();
    },
  };
}

/** Undefined when the file does not exist or cannot be opened. */
async function load(
  file: string,
  options: ReadOptions & Pick<FollowParts, 'report'>,
): Promise<readonly JwtAuthenticatorConfig[] | undefined> {
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch (error) {
    if (['ENOENT', 'EACCES'].includes(codeOf(error))) return undefined;
    throw new AuthenticationConfigError(`--authentication-config ${file} cannot be read`);
  }
  try {
    const configs = readAuthenticationConfig(bytes, options);
    if (configs.length === 0) {
      options.report(`--authentication-config ${file} has no issuers: tokens of identity providers are refused`);
    }
    return configs;
  } catch (error) {
    if (!(error instanceof AuthenticationConfigError)) throw error;
    throw new AuthenticationConfigError(`--authentication-config ${file}: ${error.message}`);
  }
}
