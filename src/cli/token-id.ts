import { recordIdOf } from '../api/connector.ts';
import { isTokenId } from '../api/names.ts';
import { memberOf } from '../lib/json.ts';

export interface TokenReference {
  readonly id: string;
  /** Known if the text was a token, not an ID, and not one that a connector has issued. */
  readonly issuer: string | undefined;
  /** A connector has issued it: it ends with its Secret in the cluster. */
  readonly isOrdered?: boolean;
  readonly audiences?: readonly string[];
  /** Epoch seconds. */
  readonly expiresAt?: number;
}

/**
 * Parses a token or a token ID; undefined when the text is neither. The signature is not verified: the server only
 * gets the ID. The text may be a secret, so no message repeats it.
 */
export function parseTokenReference(text: string): TokenReference | undefined {
  // Audit logs, those of clusters too, have the ID of a token as `JTI=...` (credential-id of Kubernetes).
  const given = text.trim().replace(/^JTI=/, '');
  const id = given.toLowerCase();
  if (isTokenId(id)) return { id, issuer: undefined };
  const parts = given.split('.', 4);
  if (parts.length !== 3) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(parts[1] ?? '', 'base64url').toString());
    const { iss, aud, exp } = (claims ?? {}) as Readonly<Record<string, unknown>>;
    const recordId = recordIdOf(claims);
    if (typeof recordId !== 'string' || !isTokenId(recordId) || typeof iss !== 'string') return undefined;
    return {
      id: recordId,
      ...(recordId === memberOf(claims, 'jti') ? { issuer: iss } : { issuer: undefined, isOrdered: true }),
      ...(Array.isArray(aud) ? { audiences: aud.filter((each) => typeof each === 'string') } : {}),
      ...(typeof exp === 'number' ? { expiresAt: exp } : {}),
    };
  } catch {
    return undefined;
  }
}
