import { createHash, createPrivateKey, createPublicKey, type KeyObject, randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  ALGORITHMS,
  type Algorithm,
  algorithmOf,
  newPrivateKey,
  signatureLengthOf,
  signWith,
  verifyWith,
} from './algorithms.ts';
import { ensurePrivateDirectory, ensureSecretFile, readSecretFile, UnsafeFile } from './secret-file.ts';

export interface VerificationKey {
  readonly kid: string;
  readonly alg: Algorithm;
  readonly publicKey: KeyObject;
  readonly signatureLength: number;
  verify(data: Uint8Array, signature: Uint8Array): Promise<boolean>;
}

/** Does not show the private key: nothing but signing needs it. */
export interface SigningKey {
  readonly kid: string;
  readonly alg: Algorithm;
  readonly signatureLength: number;
  sign(data: Uint8Array): Promise<Uint8Array>;
}

export interface KeyRing {
  /** The key of the configured algorithm; it is also among those for verifying. */
  signing(): SigningKey;
  find(kid: string): VerificationKey | undefined;
  /** For verifying and for the published key set: the signing key first. */
  all(): readonly VerificationKey[];
}

/**
 * The keys in a directory. `<algorithm>.pem` (`es256.pem`) signs, and is made when it is missing; every other
 * `*.pem` only verifies. So changing the algorithm keeps what was issued valid, and a key is rotated by renaming
 * its file, retired as long as it lies there, and revoked by deleting it. A fixed name for the key that signs,
 * and not its id, lets processes that start together for the first time agree on one.
 */
export async function openKeyRing({ dir, algorithm }: { dir: string; algorithm: Algorithm }): Promise<KeyRing> {
  await ensurePrivateDirectory(dir);
  const signingFile = fileOf(algorithm);
  await ensureSecretFile(join(dir, signingFile), async () => pem(await newPrivateKey(algorithm)));

  const names = (await readdir(dir)).filter((name) => name.endsWith('.pem') && !name.startsWith('.')).sort();
  const others = names.filter((name) => name !== signingFile);
  const signing = await loadKey(join(dir, signingFile));
  const keys = new Map<string, VerificationKey>([[signing.verification.kid, signing.verification]]);
  for (const name of others) {
    const { verification } = await loadKey(join(dir, name));
    const named = ALGORITHMS.find((candidate) => fileOf(candidate) === name);
    refuseMisnamed(join(dir, name), named, verification.alg);
    keys.set(verification.kid, verification);
  }
  refuseMisnamed(join(dir, signingFile), algorithm, signing.verification.alg);

  const all = [...keys.values()];
  return { signing: () => signing.signing, find: (kid) => keys.get(kid), all: () => all };
}

const fileOf = (algorithm: Algorithm): string => `${algorithm.toLowerCase()}.pem`;

function refuseMisnamed(path: string, named: Algorithm | undefined, actual: Algorithm): void {
  if (named !== undefined && named !== actual) {
    throw new UnsafeFile(`${path} is named for ${named} and holds a key for ${actual}. Rename it.`);
  }
}

const pem = (key: KeyObject): Buffer => Buffer.from(key.export({ type: 'pkcs8', format: 'pem' }));

async function loadKey(path: string): Promise<{ signing: SigningKey; verification: VerificationKey }> {
  const content = await readSecretFile(path);
  if (content === undefined) throw new UnsafeFile(`${path} disappeared while the keys were read.`);
  const privateKey = parsePrivateKey(path, content);
  const alg = algorithmOf(privateKey);
  if (alg === undefined) {
    throw new UnsafeFile(
      `${path} holds a key of an unusable type: it must be P-256, P-384, or RSA of 2048 bits or more.`,
    );
  }
  const publicKey = createPublicKey(privateKey);
  const kid = keyId(publicKey);
  const signatureLength = signatureLengthOf(alg, privateKey);
  const verification: VerificationKey = {
    kid,
    alg,
    publicKey,
    signatureLength,
    verify: (data, signature) => verifyWith(alg, publicKey, data, signature),
  };
  const signing: SigningKey = { kid, alg, signatureLength, sign: (data) => signWith(alg, privateKey, data) };

  // Once per start instead of once per token: a damaged key shows here (see signer.ts).
  const probe = randomBytes(32);
  if (!(await verification.verify(probe, await signing.sign(probe)))) {
    throw new UnsafeFile(`${path} holds a damaged key: it can not verify what it signs.`);
  }
  return { signing, verification };
}

function parsePrivateKey(path: string, content: Buffer): KeyObject {
  try {
    return createPrivateKey({ key: content, format: 'pem' });
  } catch {
    throw new UnsafeFile(`${path} does not hold an unencrypted private key in PEM form (PKCS#8).`);
  }
}

/** K-02: the id follows from the key alone, so every replica and every restart gives the same. */
function keyId(publicKey: KeyObject): string {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64url');
}
