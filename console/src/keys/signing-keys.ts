import type { ApiObject } from '../../../src/api/kind.ts';
import type { SigningKeyStatus } from '../../../src/api/kinds/signing-key.ts';
import { compareKeyStates } from '../../../src/api/signing-key-order.ts';
import type { Client } from '../../../src/client/index.ts';

export const SIGNING_KEYS = '/apis/clusterpass.dev/v1alpha1/signingkeys';

export interface SigningKey extends SigningKeyStatus {
  readonly name: string;
  readonly state: string;
}

export async function listSigningKeys(client: Client): Promise<SigningKey[]> {
  const { value } = await client.request<{ items: readonly ApiObject[] }>('GET', SIGNING_KEYS);
  return value.items.map(keyOf).sort((a, b) => compareKeyStates(a.state, b.state));
}

export function keyOf({ metadata, status }: ApiObject): SigningKey {
  const { state = '', ...facts } = (status ?? {}) as SigningKeyStatus;
  return { name: metadata.name ?? '', state, ...facts };
}

/** Creating a signing key rotates the keys. Returns the key that signs now, or will sign next. */
export async function rotateKeys(
  client: Client,
  { force, dryRun }: { readonly force: boolean; readonly dryRun: boolean },
): Promise<SigningKey> {
  const { value } = await client.request<ApiObject>('POST', SIGNING_KEYS, {
    query: dryRun ? { dryRun: 'All' } : {},
    body: { apiVersion: 'clusterpass.dev/v1alpha1', kind: 'SigningKey', ...(force ? { spec: { force } } : {}) },
  });
  return keyOf(value);
}

interface KeySet {
  readonly keys?: readonly { readonly kid?: string; readonly alg?: string }[];
}

/** The ids of the keys in the key set that relying parties fetch. It is the same for every cluster. */
export async function publishedKeys(client: Client): Promise<ReadonlySet<string>> {
  const { value } = await client.request<KeySet>('GET', '/openid/v1/jwks');
  return new Set((value.keys ?? []).map(({ kid = '' }) => kid));
}
