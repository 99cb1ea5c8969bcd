import { join } from 'node:path';
import { type Authenticator, createAuthenticator } from '../authn/authenticator.ts';
import { createFixedTokenAuthenticator, ensureTokenFile, loadAdminToken } from '../authn/fixed-token-authenticator.ts';
import { createIssuedTokenAuthenticator } from '../authn/issued-token-authenticator.ts';
import { createFetchDocument } from '../authn/jwt/fetch-document.ts';
import { openJwtAuthenticators } from '../authn/jwt/open-jwt-authenticators.ts';
import { openStaticTokenAuthenticator } from '../authn/static-token-authenticator.ts';
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
  /** The origins at which tokens of an issuer are obtained. */
  readonly originsOf: (issuer: string) => readonly string[];
  close(): void;
}

/** Everything by which a caller can be known. A part of `compose`. */
export async function openCallers({ options, version, verifier, issuers, logger }: CallerParts): Promise<Callers> {
  const fixedTokens = options.demo
    ? await Promise.all(
        DEMO_USERS.map(async (user) =>
          createFixedTokenAuthenticator(
            await ensureTokenFile(join(options.dataDir, 'demo', `${user.name}.token`)),
            user,
          ),
        ),
      )
    : [];
  const adminToken = await loadAdminToken(options.dataDir);
  const { tokenAuthFile, authenticationConfig } = options;
  // These two last, because they start timers: had anything after them failed, nobody would stop those.
  const staticTokens =
    tokenAuthFile === undefined
      ? undefined
      : await openStaticTokenAuthenticator({
          file: tokenAuthFile,
          every,
          report: (problem) => logger.warn({ problem }, 'the token file'),
        });
  const jwt =
    authenticationConfig === undefined
      ? undefined
      : await openJwtAuthenticators({
          file: authenticationConfig,
          isOurs: (url) => url.startsWith(issuers.issuerFor('')),
          createFetch: (certificateAuthority) =>
            createFetchDocument({ certificateAuthority, userAgent: `clusterpass/${version}` }),
          now: Date.now,
          every,
          report: (problem) => logger.warn({ problem }, 'an issuer of the authentication configuration'),
        }).catch((error: unknown) => {
          staticTokens?.close();
          throw error;
        });
  return {
    authenticator: createAuthenticator({
      staticTokens,
      adminToken,
      fixedTokens,
      issuedTokens: createIssuedTokenAuthenticator({ verifier }),
      jwt,
      audienceOf: issuers.issuerFor,
    }),
    originsOf: (issuer) => jwt?.originsOf(issuer) ?? [],
    close: () => {
      staticTokens?.close();
      jwt?.close();
    },
  };
}
