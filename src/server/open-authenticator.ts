import { join } from 'node:path';
import { fleetKey } from '../api/kind.ts';
import { mcpAudienceOf } from '../api/pass-audience.ts';
import { createAuthenticator } from '../authn/authenticator.ts';
import { createBootstrapTokenAuthenticator } from '../authn/bootstrap-token-authenticator.ts';
import { createConnectorAuthenticator } from '../authn/connector-authenticator.ts';
import {
  type FixedTokenAuthenticator,
  openAdminToken,
  openFixedTokenAuthenticator,
} from '../authn/fixed-token-authenticator.ts';
import { createIssuedTokenAuthenticator, createPeopleAuthenticator } from '../authn/issued-token-authenticator.ts';
import { createFetchDocument } from '../authn/jwt/fetch-document.ts';
import { openJwtAuthenticators } from '../authn/jwt/open-jwt-authenticators.ts';
import { openStaticTokenAuthenticator, type StaticTokenAuthenticator } from '../authn/static-token-authenticator.ts';
import { createFindLive } from '../objects/reader.ts';
import { createPeopleVerifier, createVerifier } from '../tokens/verifier.ts';
import { DEMO_USERS } from './demo-front.ts';
import type { Base, State } from './open-state.ts';

/** Opens every source of callers: static tokens, the admin token, issued tokens, identity providers. */
export async function openAuthenticator(parts: Base & State & { readonly version: string }) {
  const { options, catalog, issuers, clock, signing, logger, work } = parts;
  const { reader } = parts.objects;
  const verifying = { keyRing: signing.keyRing, findLive: createFindLive(catalog, reader), now: Date.now };
  const verifier = createVerifier({ ...verifying, clusterOfIssuer: issuers.clusterOfIssuer });
  const peopleVerifier = createPeopleVerifier({ ...verifying, clusterOfIssuer: issuers.clusterOfPeopleIssuer });
  const mcpAudience = mcpAudienceOf(issuers.baseUrl);
  const closers: (() => void)[] = [];
  const opened = <T extends { close(): void }>(source: T): T => {
    closers.push(() => source.close());
    return source;
  };
  const close = (): void => {
    for (const one of closers) one();
  };
  try {
    const follow = { report: (problem: string) => logger.warn({ problem }, 'token file problem') };
    const fixedTokens: FixedTokenAuthenticator[] = [];
    for (const user of options.demo ? DEMO_USERS : []) {
      const file = join(options.dataDir, 'demo', `${user.name}.token`);
      fixedTokens.push(opened(await openFixedTokenAuthenticator(file, user, follow)));
    }
    const adminToken = opened(await openAdminToken(options.dataDir, follow));
    const { tokenAuthFile = [], authenticationConfig } = options;
    const staticTokens: StaticTokenAuthenticator[] = [];
    for (const file of tokenAuthFile) {
      staticTokens.push(opened(await openStaticTokenAuthenticator({ file, work: work.job('token file'), ...follow })));
    }
    const jwt =
      authenticationConfig === undefined
        ? undefined
        : opened(
            await openJwtAuthenticators({
              file: authenticationConfig,
              mcpAudience,
              isOurs: (url) => url.startsWith(issuers.issuerFor('')),
              createFetch: (certificateAuthority) =>
                createFetchDocument({ certificateAuthority, userAgent: `clusterpass/${parts.version}` }),
              now: Date.now,
              report: (problem) => logger.warn({ problem }, 'authentication configuration problem'),
              reportKeys: (issuer, problem) =>
                problem === undefined
                  ? logger.info({ issuer }, 'the keys of an identity provider are fetched again')
                  : logger.warn({ issuer, problem }, 'the keys of an identity provider cannot be fetched'),
            }),
          );
    // Warnings: the file may be changed while the server runs.
    const { issuer: ofConsole, clientId = '' } = options.consoleProvider ?? {};
    for (const [option, issuer, audience] of [
      ...(options.mcp?.authorizationServers ?? []).map(
        (one) => ['mcp-authorization-server', one, mcpAudience] as const,
      ),
      ...(ofConsole === undefined ? [] : [['console-oidc-issuer', ofConsole, clientId] as const]),
    ]) {
      if (jwt?.has(issuer, audience) === true) continue;
      const text = `the issuer of --${option} is not in --authentication-config with this audience`;
      logger.warn({ issuer, audience }, text);
    }
    const issuedTokens = createIssuedTokenAuthenticator({ verifier, mcpAudience });
    const own = [...staticTokens, adminToken, ...fixedTokens, issuedTokens];
    // Before the issuers of the AuthenticationConfiguration: that of a cluster may be among them.
    const connectors = createConnectorAuthenticator({
      baseUrl: issuers.baseUrl,
      find: (name) => reader.find(catalog.connectors, fleetKey(name)),
      clusterUid: (name) => reader.find(catalog.clusters, fleetKey(name))?.uid,
      now: () => clock.latest(),
    });
    const bootstrapTokens = createBootstrapTokenAuthenticator({
      find: (name) => reader.find(catalog.bootstrapTokens, fleetKey(name))?.object(),
      now: () => clock.latest(),
    });
    const providers = jwt === undefined ? [] : [jwt];
    const people = createPeopleAuthenticator(peopleVerifier);
    return {
      authenticator: createAuthenticator({
        forRequests: [...own, connectors, ...providers, bootstrapTokens],
        forReviews: [...own, ...providers, people],
        forPasses: [issuedTokens, people],
        audienceOf: issuers.issuerFor,
      }),
      /** Origins of the token endpoints of an identity provider, for the console's content security policy. */
      originsOf: (issuer: string) => jwt?.originsOf(issuer) ?? [],
      failing: {
        lines: () => staticTokens.reduce((sum, file) => sum + file.refusedLines(), 0),
        files: () => ({
          'token-auth-file': staticTokens.some((file) => file.isGone()),
          'authentication-config': jwt?.isGone() === true,
        }),
        issuers: () => jwt?.failingIssuers() ?? {},
      },
      close,
    };
  } catch (error) {
    // Sources that are open already have timers.
    close();
    throw error;
  }
}
