import { isJsonObject } from '../../src/lib/json.ts';
import { decode } from './certificates/certificates.ts';

/** The claims of a JWT (RFC 7519). They are decoded for display; only the server verifies the signature. */
export interface Claims {
  readonly iss?: string;
  readonly sub?: string;
  readonly aud?: string | readonly string[];
  readonly exp?: number;
  readonly iat?: number;
  readonly nbf?: number;
  readonly jti?: string;
  readonly [claim: string]: unknown;
}

/** Undefined if the token is not a JWT. */
export function decodeClaims(token: string): Claims | undefined {
  const [header, payload, signature, ...more] = token.split('.');
  if (!header || !payload || !signature || more.length > 0) return undefined;
  try {
    const bytes = decode(payload.replaceAll('-', '+').replaceAll('_', '/'));
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
