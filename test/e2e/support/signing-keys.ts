import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Server } from './server.ts';

/** A data directory with a signing key in the format of an older release. The server uses it, and the test knows it. */
export async function dataDirWithKey(): Promise<{ dataDir: string; key: KeyObject; file: string }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'clusterpass-e2e-'));
  await mkdir(join(dataDir, 'keys'), { mode: 0o700 });
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const file = join(dataDir, 'keys', 'es256.pem');
  await writeFile(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  return { dataDir, key: privateKey, file };
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
