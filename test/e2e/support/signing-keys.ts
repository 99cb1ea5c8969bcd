import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'vitest';
import { encryptionKey } from '../../../src/tokens/keys/encryption-key.ts';
import type { RingState } from '../../../src/tokens/keys/ring-state.ts';
import { RING_KEY } from '../../../src/tokens/keys/ring-store.ts';
import type { Server } from './server.ts';

/** The private key that signs by default, which no one else can read: from the store, with the key in its folder. */
export function signingKeyOf({ dataDir }: Pick<Server, 'dataDir'>): KeyObject {
  // The server locks its database.
  const copy = mkdtempSync(join(tmpdir(), 'clusterpass-store-'));
  for (const end of ['', '-wal']) {
    const name = `clusterpass.db${end}`;
    if (existsSync(join(dataDir, name))) copyFileSync(join(dataDir, name), join(copy, name));
  }
  const file = new DatabaseSync(join(copy, 'clusterpass.db'));
  const stored = file.prepare('SELECT value FROM log WHERE key = ? ORDER BY revision DESC LIMIT 1').get(RING_KEY);
  file.close();
  rmSync(copy, { recursive: true });
  const { sealed } = JSON.parse(Buffer.from(stored?.value as Uint8Array).toString()) as { sealed: string };
  const plain = encryptionKey(readFileSync(join(dataDir, 'keys/encryption.key'))).unseal(
    Buffer.from(sealed, 'base64'),
    RING_KEY,
  );
  const { keys } = JSON.parse(String(plain)) as RingState;
  const key = Buffer.from(keys.find(({ state }) => state === 'current')?.privateKey ?? '', 'base64');
  return createPrivateKey({ key, format: 'der', type: 'pkcs8' });
}

export interface Jwk {
  readonly kid: string;
  readonly alg: string;
  readonly kty: string;
}

export const KEY_SET = '/orchestrator/alpha/openid/v1/jwks';

/** The published keys. */
export async function keySetOf(server: Server): Promise<Jwk[]> {
  const answer = await server.call('GET', KEY_SET, { token: null });
  expect(answer.code, answer.text).toBe(200);
  return answer.json.keys;
}

/** The published key with this id. */
export async function publicKeyOf(server: Server, kid: string | undefined): Promise<KeyObject> {
  const found = (await keySetOf(server)).find((key) => key.kid === kid);
  if (found === undefined) throw new Error('no such key is published');
  return createPublicKey({ key: { ...found }, format: 'jwk' });
}
