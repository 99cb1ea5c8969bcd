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

/** What a provider's response has: the ID token, and what it changes in a session. */
export interface Tokens {
  readonly idToken: string;
  readonly session: Omit<Session, keyof ClientSettings | 'id'>;
}
