import { join } from 'node:path';
import { openAdminToken } from '../authn/admin-token.ts';
import { type Authenticator, createAuthenticator } from '../authn/authenticator.ts';
import { ensureTokenFile, fixedToken } from '../authn/generated-tokens.ts';
import { createIssuedTokens } from '../authn/issued-token-authenticator.ts';
import { createFetchDocument } from '../authn/providers/fetch-document.ts';
import { openProviders } from '../authn/providers/open-providers.ts';
import { openStaticTokens } from '../authn/static-token-authenticator.ts';
import type { ServeOptions } from '../config/serve-options.ts';
import { every } from '../lib/interval.ts';
import type { Logger } from '../observability/logger.ts';
import type { Issuers } from '../tokens/claims.ts';
import type { Verifier } from '../tokens/verifier.ts';
import { DEMO_USERS } from './demo-users.ts';

export interface CallerParts {
  readonly options: ServeOptions;
  readonly version: string;
  readonly verifier: Verifier;
  readonly issuers: Issuers;
  readonly logger: Logger;
}

export interface Callers {
  readonly authenticator: Authenticator;
  /** Where the tokens of an identity provider are to be had. */
  readonly originsOf: (issuer: string) => readonly string[];
  close(): void;
}

/** Everything by which a caller can be known. A part of `compose`. */
export async function openCallers({ options, version, verifier, issuers, logger }: CallerParts): Promise<Callers> {
  const fixedTokens = options.demo
    ? await Promise.all(
        DEMO_USERS.map(async (user) =>
          fixedToken(await ensureTokenFile(join(options.dataDir, 'demo', `${user.name}.token`)), user),
        ),
      )
    : [];
  const adminToken = await openAdminToken(options.dataDir);
  const { tokenAuthFile, authenticationConfig } = options;
  // These two last, because they start timers: had anything after them failed, nobody would stop those.
  const staticTokens =
    tokenAuthFile === undefined
      ? undefined
      : await openStaticTokens({
          file: tokenAuthFile,
          every,
          report: (problem) => logger.warn({ problem }, 'the token file'),
        });
  const providers =
    authenticationConfig === undefined
      ? undefined
      : await openProviders({
          file: authenticationConfig,
          isOurs: (url) => url.startsWith(issuers.issuerFor('')),
          createFetch: (certificateAuthority) =>
            createFetchDocument({ certificateAuthority, userAgent: `clusterpass/${version}` }),
          now: Date.now,
          every,
          report: (problem) => logger.warn({ problem }, 'an identity provider'),
        }).catch((error: unknown) => {
          staticTokens?.close();
          throw error;
        });
  return {
    authenticator: createAuthenticator({
      staticTokens,
      adminToken,
      fixedTokens,
      issuedTokens: createIssuedTokens({ verifier }),
      providers,
      audienceOf: issuers.issuerFor,
    }),
    originsOf: (issuer) => providers?.originsOf(issuer) ?? [],
    close: () => {
      staticTokens?.close();
      providers?.close();
    },
  };
}
