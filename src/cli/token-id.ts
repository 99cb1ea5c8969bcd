import { isTokenId } from '../api/kinds/issued-token.ts';

export interface TokenReference {
  readonly id: string;
  /** Known if the text was a token, not an ID. */
  readonly issuer: string | undefined;
}

/**
 * Parses a token or a token ID; undefined when the text is neither. The signature is not verified: the server only
 * gets the ID. The text may be a secret, so no message repeats it.
 */
export function parseTokenReference(text: string): TokenReference | undefined {
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
