import { isTokenId } from '../api/kinds/issued-token.ts';

/**
 * The id of a token, from the token or from the id itself; undefined when it is neither. Nothing is verified: the
 * server knows by the id alone. The text may be a secret, so nobody repeats it.
 */
export function tokenIdIn(text: string): string | undefined {
  const given = text.trim();
  const id = given.toLowerCase();
  if (isTokenId(id)) return id;
  const parts = given.split('.', 4);
  if (parts.length !== 3) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(parts[1] ?? '', 'base64url').toString());
    const jti = (claims as { jti?: unknown } | null)?.jti;
    return typeof jti === 'string' && isTokenId(jti) ? jti : undefined;
  } catch {
    return undefined;
  }
}
