import type { JsonObject } from '../../tokens/jws.ts';

/** What may stand in a header between other origins: a host may have more characters in a URL (`;` for one). */
const ORIGIN = /^https:\/\/(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;

/** The origin of an https address; undefined for anything else. */
export function webOrigin(address: unknown): string | undefined {
  if (typeof address !== 'string' || !URL.canParse(address)) return undefined;
  const { origin } = new URL(address);
  return ORIGIN.test(origin) ? origin : undefined;
}

/** Where a page gets, renews and gives back its tokens, as a discovery document (OpenID Connect Discovery 3) says. */
export function tokenOrigins({ token_endpoint: token, revocation_endpoint: revocation }: JsonObject): string[] {
  const origins = [token, revocation].map(webOrigin).filter((origin) => origin !== undefined);
  return [...new Set(origins)];
}
