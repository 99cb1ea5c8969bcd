import { createPrivateKey, type KeyObject } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../../lib/file-problem.ts';
import { JWS_ALGORITHMS } from '../../lib/jws-algorithms.ts';
import { readSecretFile, UnsafeFile } from '../../lib/secret-file.ts';
import { type Algorithm, algorithmOf } from './algorithms.ts';
import { recordOf } from './key-material.ts';
import { type KeyRecord, retired } from './ring-state.ts';

/** Signing keys as files, for a new ring: `<algorithm>.pem` signs, every other `*.pem` only verifies. */
interface KeyFiles {
  readonly keys: readonly KeyRecord[];
  /** Full paths of their files. */
  readonly files: readonly string[];
}

export async function findKeyFiles(dir: string): Promise<string[]> {
  let names: string[];
  try {
    names = await readdir(dir);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
  return names
    .filter((name) => name.endsWith('.pem') && !name.startsWith('.'))
    .sort()
    .map((name) => join(dir, name));
}

/** The keys of these algorithms stay current. The others are retired, so their tokens stay valid. */
export async function readKeyFiles(options: {
  readonly dir: string;
  readonly algorithms: readonly Algorithm[];
  readonly lifetimeSeconds: number;
  readonly now: number;
}): Promise<KeyFiles> {
  const { dir, algorithms, lifetimeSeconds, now } = options;
  const files = await findKeyFiles(dir);
  const keys: KeyRecord[] = [];
  const namedFor = (path: string): Algorithm | undefined =>
    JWS_ALGORITHMS.find((candidate) => path === join(dir, fileOf(candidate)));
  // First the keys that sign: another file with the same key does not retire it.
  const isNamed = (path: string): boolean => namedFor(path) !== undefined;
  for (const path of [...files.filter(isNamed), ...files.filter((path) => !isNamed(path))]) {
    const content = await readSecretFile(path);
    if (content === undefined) throw new UnsafeFile(`${path} disappeared while the keys were read.`);
    const privateKey = parsePrivateKey(path, content);
    const actual = algorithmOf(privateKey);
    if (actual === undefined) {
      throw new UnsafeFile(
        `${path} holds a key of an unusable type: it must be P-256, P-384, or RSA of 2048 bits or more.`,
      );
    }
    const named = namedFor(path);
    if (named !== undefined && named !== actual) {
      throw new UnsafeFile(`${path} is named for ${named} and holds a key for ${actual}. Rename it.`);
    }
    const record = recordOf(privateKey, actual, now);
    if (keys.some(({ kid }) => kid === record.kid)) continue;
    const key: KeyRecord = { ...record, state: 'current', signsFrom: now, lifetimeSeconds };
    keys.push(named !== undefined && algorithms.includes(named) ? key : retired(key, now));
  }
  return { keys, files };
}

const fileOf = (algorithm: Algorithm): string => `${algorithm.toLowerCase()}.pem`;

function parsePrivateKey(path: string, content: Buffer): KeyObject {
  try {
    return createPrivateKey({ key: content, format: 'pem' });
  } catch {
    throw new UnsafeFile(`${path} does not hold an unencrypted private key in PEM form (PKCS#8).`);
  }
}
