import { refreshAfter } from '../../client/token-source.ts';

/** A session at an identity provider, part of a stored login. */
export interface Session extends ClientSettings {
  /** Constant across refreshes: credentials cached with one ID token are used with the next. */
  readonly id: string;
  readonly subject: string;
  readonly refreshToken?: string;
  /** When the ID token is refreshed. By the clock of this machine, epoch milliseconds. */
  readonly refreshAt: number;
  /** When the ID token expires, by the same clock. */
  readonly expiresAt: number;
}

/** The settings of this program as a client of the provider. */
export interface ClientSettings {
  readonly issuerUrl: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  /** PEM, for the provider only. */
  readonly issuerCertificateAuthority?: string;
  /** Separated by spaces or commas. Defaults to the usual scopes that the provider supports. */
  readonly scopes?: string;
}

/** The tokens in a provider's response. */
export interface Tokens {
  readonly idToken: string;
  readonly refreshToken: string | undefined;
  readonly subject: string;
  /** `iat` and `exp` of the ID token: seconds since the epoch, by the provider's clock. */
  readonly iat: number;
  readonly exp: number;
}

/** Computed from the lifetime, because the provider's clock may differ from this machine's. */
export function timesOf({ iat, exp }: Tokens, now: number): Pick<Session, 'refreshAt' | 'expiresAt'> {
  const lifetime = Math.max(0, (exp - iat) * 1000);
  const expiresAt = Math.floor(now + lifetime);
  return { refreshAt: Math.floor(now + refreshAfter(lifetime)), expiresAt };
}
