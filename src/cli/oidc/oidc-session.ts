/** A login at an identity provider. It lasts as long as the provider refreshes it. */
export interface Session extends ClientSettings {
  /** Stays the same when tokens are refreshed: what was fetched with one of them is good with the next. */
  readonly id: string;
  readonly subject: string;
  readonly refreshToken?: string;
  /** By the clock of this machine, epoch milliseconds: from then on a new token is asked for. */
  readonly refreshAt: number;
  /** The same for the end of the token. */
  readonly endsAt: number;
}

/** What this program is to the provider. */
export interface ClientSettings {
  readonly issuerUrl: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  /** PEM, for the provider alone. */
  readonly issuerCertificateAuthority?: string;
  /** Separated by spaces. Without them, those of the usual ones that the provider has. */
  readonly scopes?: string;
}

/** What a provider answers with, as far as it matters here. */
export interface Tokens {
  readonly idToken: string;
  readonly refreshToken: string | undefined;
  readonly subject: string;
  /** Seconds since the epoch, by the provider's clock. */
  readonly issuedAt: number;
  readonly expiresAt: number;
}

const LONGEST_MARGIN_MS = 60_000;
const MARGIN_SHARE = 0.1;

/** The two clocks may differ, the length of time does not. */
export function timesOf({ issuedAt, expiresAt }: Tokens, now: number): Pick<Session, 'refreshAt' | 'endsAt'> {
  const lifetime = Math.max(0, (expiresAt - issuedAt) * 1000);
  const endsAt = Math.floor(now + lifetime);
  return { refreshAt: Math.floor(endsAt - Math.min(LONGEST_MARGIN_MS, lifetime * MARGIN_SHARE)), endsAt };
}
