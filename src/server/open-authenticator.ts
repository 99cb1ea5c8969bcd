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

export interface AuthenticatorParts {
  readonly options: ServeOptions;
  readonly version: string;
  readonly verifier: Verifier;
  readonly issuers: Issuers;
  readonly logger: Logger;
}

export interface OpenedAuthenticator {
  readonly authenticator: Authenticator;
  /** Origins of the token endpoints of an identity provider, for the console's content security policy. */
  readonly originsOf: (issuer: string) => readonly string[];
  close(): void;
}

/** Opens every source of callers: static tokens, the admin token, issued tokens, identity providers. */
export async function openAuthenticator({
  options,
  version,
  verifier,
  issuers,
  logger,
}: AuthenticatorParts): Promise<OpenedAuthenticator> {
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
  // Last, because these two start timers, which a failure of a later step would leave running.
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
