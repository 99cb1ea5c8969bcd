/** The identity provider that people sign in at, and what this page is called there. */
export interface Provider {
  readonly issuer: string;
  readonly clientId: string;
}

/** The part of OpenID Connect Discovery that is needed. */
export interface Metadata {
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly revocation_endpoint?: string;
  readonly scopes_supported?: readonly string[];
}

/** It answered, and the answer is no: asking once more would not help. */
export class ProviderRefusal extends Error {}

export async function metadataOf(issuer: string): Promise<Metadata> {
  const answer = await askProvider(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  const { issuer: told, authorization_endpoint: authorize, token_endpoint: token } = answer;
  // OpenID Connect Discovery section 4.3: the two must be the same, to the letter.
  if (told !== issuer || !isSecure(authorize) || !isSecure(token)) {
    throw new Error(`The identity provider does not describe itself as ${issuer}.`);
  }
  return answer as unknown as Metadata;
}

const isSecure = (address: unknown): boolean =>
  typeof address === 'string' && URL.canParse(address) && new URL(address).protocol === 'https:';

export async function askProvider(address: string, init: RequestInit = {}): Promise<Record<string, unknown>> {
  let response: Response;
  try {
    response = await fetch(address, { ...init, credentials: 'omit', redirect: 'error', cache: 'no-store' });
  } catch {
    throw new Error(`The identity provider at ${new URL(address).host} does not answer this page.`);
  }
  const answer: unknown = await response.json().catch(() => undefined);
  const object = typeof answer === 'object' && answer !== null ? (answer as Record<string, unknown>) : {};
  if (response.ok) return object;
  const said = `The identity provider refuses: ${object.error_description ?? object.error ?? response.status}`;
  throw response.status < 500 && response.status !== 429 ? new ProviderRefusal(said) : new Error(said);
}
