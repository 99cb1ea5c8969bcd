import { isTokenId } from '../api/kinds/issued-token.ts';

/** What is asked about: a token's id, and who has issued it if the token itself was given. */
export interface GivenToken {
  readonly id: string;
  readonly issuer: string | undefined;
}

/**
 * The id of a token, from the token or from the id itself; undefined when it is neither. Nothing is verified: the
 * server knows by the id alone. The text may be a secret, so nobody repeats it.
 */
export function readGivenToken(text: string): GivenToken | undefined {
  const given = text.trim();
  const id = given.toLowerCase();
  if (isTokenId(id)) return { id, issuer: undefined };
  const parts = given.split('.', 4);
  if (parts.length !== 3) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(parts[1] ?? '', 'base64url').toString());
    const { jti, iss } = (claims ?? {}) as { jti?: unknown; iss?: unknown };
    return typeof jti === 'string' && isTokenId(jti) && typeof iss === 'string' ? { id: jti, issuer: iss } : undefined;
  } catch {
    return undefined;
  }
}
