import { createPublicKey } from 'node:crypto';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import { JWS_ALGORITHMS } from '../../lib/jws-algorithms.ts';
import type { Logger } from '../../observability/logger.ts';
import { decodeJsonSegment, decodeSegment, encodePayload, readHeader } from '../jws.ts';
import { algorithmOf } from '../keys/algorithms.ts';
import { type VerificationKey, verificationKey } from '../keys/key-material.ts';
import { type KeyEntry, KeysAreExternal, type StoredKeyRing } from '../keys/key-ring.ts';
import { type AudienceAlgorithms, assertPayload, demandOf, SIGNABLE, type Signer } from '../signer.ts';
import { type SignerClient, SignerFailed } from './signer-client.ts';

/** A signer outside of this process: it has the private keys, publishes the public ones, and makes each signature. */
export interface ExternalSigner extends Signer {
  keys(): readonly VerificationKey[];
  find(kid: string): VerificationKey | undefined;
  /** When this process first saw the key. */
  since(kid: string): number;
  /** Fetches the keys again. */
  refresh(): Promise<void>;
  onChange(listener: () => void): void;
  close(): void;
}

interface ExternalSignerOptions {
  readonly client: SignerClient;
  /** Algorithms that tokens for these audiences need. For others the signer chooses. */
  readonly byAudience: AudienceAlgorithms;
  readonly now: () => number;
  /** Repeats the task, until the returned function is called. */
  readonly every: (ms: number, task: () => void) => () => void;
  readonly logger: Pick<Logger, 'info' | 'error'>;
}

const REFRESH_MS = 60_000;
/**
 * For signatures with an unknown key: a signer that uses an unpublished key must not cause a fetch for each of them.
 */
const REFRESH_AT_MOST_MS = 10_000;

/**
 * Rejects with SignerFailed when the signer does not respond: a server that cannot issue tokens should not start. The
 * client belongs to the signer, and is closed then.
 */
export async function openExternalSigner(options: ExternalSignerOptions): Promise<ExternalSigner> {
  const { client, byAudience, now, every, logger } = options;
  const listeners: (() => void)[] = [];
  const firstSeen = new Map<string, number>();
  let keys = new Map<string, VerificationKey>();
  let fetching: Promise<void> | undefined;
  let fetchedAt = Number.NEGATIVE_INFINITY;
  let reported = '';

  async function fetchKeys(): Promise<void> {
    fetchedAt = now();
    const published = readKeys(await client.call({ op: 'keys' }));
    reported = '';
    const isKnown = ({ kid, thumbprint }: VerificationKey): boolean => keys.get(kid)?.thumbprint === thumbprint;
    if (keys.size === published.length && published.every(isKnown)) return;
    keys = new Map(published.map((key) => [key.kid, key]));
    for (const kid of [...firstSeen.keys()]) if (!keys.has(kid)) firstSeen.delete(kid);
    for (const kid of keys.keys()) if (!firstSeen.has(kid)) firstSeen.set(kid, now());
    logger.info({ keys: [...keys.keys()] }, 'external signer keys loaded');
    for (const listener of listeners) listener();
  }

  /** Concurrent calls share one fetch. */
  function refresh(): Promise<void> {
    fetching ??= fetchKeys().finally(() => {
      fetching = undefined;
    });
    return fetching;
  }

  async function keyFor(kid: string): Promise<VerificationKey> {
    if (!keys.has(kid) && (fetching !== undefined || now() - fetchedAt >= REFRESH_AT_MOST_MS)) await refresh();
    const key = keys.get(kid);
    if (key === undefined) throw new SignerFailed('the signer used a key that it does not publish');
    return key;
  }

  await refresh().catch((error: unknown) => {
    // Its socket, or its program, would keep this process running.
    client.close();
    throw error;
  });
  const stopRefreshing = every(REFRESH_MS, () => {
    refresh().catch((error: unknown) => {
      // The keys in memory stay: verifying does not depend on the signer.
      if (reported === String(error)) return;
      reported = String(error);
      logger.error({ err: error }, 'the keys of the external signer could not be read');
    });
  });

  return {
    isLocal: false,
    check(audiences) {
      const demand = demandOf(byAudience, audiences);
      if (demand.problem !== undefined) return { problem: demand.problem };
      const { algorithm } = demand;
      if (algorithm === undefined || [...keys.values()].some(({ alg }) => alg === algorithm)) return SIGNABLE;
      return { problem: `it takes ${algorithm}, and the external signer has no key of that algorithm` };
    },
    async sign(claims) {
      const demand = demandOf(byAudience, claims.aud);
      if (demand.problem !== undefined) throw new SignerFailed(demand.problem);
      const payload = encodePayload(claims);
      // Without a demand the question has no `alg`: signers that know one algorithm need not know the member.
      const wanted = demand.algorithm === undefined ? {} : { alg: demand.algorithm };
      const { header, alg, kid, signature } = readSignature(await client.call({ op: 'sign', payload, ...wanted }));
      const key = await keyFor(kid);
      if (alg !== key.alg) throw new SignerFailed('the algorithm of the header is not that of the key');
      if (demand.algorithm !== undefined && alg !== demand.algorithm) {
        throw new SignerFailed(`the signer was asked for ${demand.algorithm} and signed with ${alg}`);
      }
      const input = `${header}.${payload}`;
      // Our own keys are tried once, when they are read. A signer can be wrong about each signature.
      const holds = signature.length === key.signatureLength && (await key.verify(Buffer.from(input), signature));
      if (!holds) throw new SignerFailed('the signature of the signer is not one of its key');
      assertPayload(payload, claims);
      return `${input}.${signature.toString('base64url')}`;
    },
    keys: () => [...keys.values()],
    find: (kid) => keys.get(kid),
    since: (kid) => firstSeen.get(kid) ?? now(),
    refresh,
    onChange: (listener) => void listeners.push(listener),
    close() {
      stopRefreshing();
      client.close();
    },
  };
}

/** The keys of the external signer, and those that signed here before it, which only verify. */
export function withExternalKeys(ring: StoredKeyRing, signer: ExternalSigner): StoredKeyRing {
  const refusal = (): KeysAreExternal =>
    new KeysAreExternal('the external signer has the keys: rotate and revoke them there');
  return {
    signing: () => {
      throw refusal();
    },
    find: (kid) => signer.find(kid) ?? ring.find(kid),
    all: () => [...signer.keys(), ...ring.all().filter(({ kid }) => signer.find(kid) === undefined)],
    entries: () => [
      ...signer.keys().map(
        (verification): KeyEntry => ({
          kid: isObjectName(verification.kid) ? verification.kid : verification.thumbprint,
          algorithm: verification.alg,
          state: 'external',
          created: signer.since(verification.kid),
          verification,
        }),
      ),
      ...ring.entries().filter(({ kid }) => signer.find(kid) === undefined),
    ],
    rotate: () => Promise.reject(refusal()),
    revoke: (kid) => (ring.find(kid) === undefined ? Promise.reject(refusal()) : ring.revoke(kid)),
    revocations: () => ring.revocations(),
    maintain: () => ring.maintain(),
    position: ring.position,
    onChange(listener) {
      ring.onChange(listener);
      signer.onChange(listener);
    },
    async close() {
      signer.close();
      await ring.close();
    },
  };
}

/** A SigningKey object is named by the id of its key, if that is a valid name. */
const isObjectName = (kid: string): boolean => /^[A-Za-z0-9_-]{1,253}$/.test(kid);

/** A1: the responses of an external signer. Any other response is refused, and no token is issued. */

const MAX_KEYS = 32;
const MAX_KID_BYTES = 1024;
const MAX_RSA_BITS = 8192;

/** A map: the key is from outside, and an object also has the members of its prototype. */
const MEMBERS: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['EC', ['kty', 'crv', 'x', 'y']],
  ['RSA', ['kty', 'n', 'e']],
]);

function readKeys(response: JsonObject): readonly VerificationKey[] {
  requireSuccess(response);
  checkMembers(response, ['id', 'keys'], 'the list of keys');
  const { keys } = response;
  if (!Array.isArray(keys) || keys.length === 0 || keys.length > MAX_KEYS) {
    throw new SignerFailed(`the signer must have 1 to ${MAX_KEYS} keys`);
  }
  const read = keys.map(readKey);
  if (new Set(read.map(({ kid }) => kid)).size < read.length)
    throw new SignerFailed('the signer has two keys of one id');
  return read;
}

function readKey(value: unknown, at: number): VerificationKey {
  const where = `keys[${at}]`;
  if (!isJsonObject(value)) throw new SignerFailed(`${where} must be an object`);
  checkMembers(value, ['kid', 'alg', 'jwk'], where);
  const { alg, jwk } = value;
  const kid = readKid(value.kid, where);
  const members = isJsonObject(jwk) ? MEMBERS.get(jwk.kty) : undefined;
  if (!isJsonObject(jwk) || members === undefined) throw new SignerFailed(`${where}.jwk must be a key of EC or RSA`);
  // Before the key is parsed: a signer that sends a private key is misconfigured.
  checkMembers(jwk, members, `${where}.jwk`);
  let key: VerificationKey['publicKey'];
  try {
    key = createPublicKey({ key: { ...jwk }, format: 'jwk' });
  } catch {
    throw new SignerFailed(`${where}.jwk is not a public key`);
  }
  const algorithm = JWS_ALGORITHMS.find((name) => name === alg);
  if (algorithm === undefined || algorithmOf(key) !== algorithm) {
    throw new SignerFailed(`${where}.alg must be ${JWS_ALGORITHMS.join(', ')}, and that of its key`);
  }
  if ((key.asymmetricKeyDetails?.modulusLength ?? 0) > MAX_RSA_BITS) {
    throw new SignerFailed(`${where}.jwk must have at most ${MAX_RSA_BITS} bits`);
  }
  return verificationKey(key, algorithm, kid);
}

/** The kid appears in headers, logs and the key set. */
function readKid(kid: unknown, where: string): string {
  if (typeof kid !== 'string' || kid === '' || Buffer.byteLength(kid) > MAX_KID_BYTES || /\p{C}/u.test(kid)) {
    throw new SignerFailed(`${where}.kid must have 1 to ${MAX_KID_BYTES} bytes, and no control characters`);
  }
  return kid;
}

function readSignature(response: JsonObject) {
  requireSuccess(response);
  checkMembers(response, ['id', 'header', 'signature'], 'the response');
  const { header, signature } = response;
  if (typeof header !== 'string' || typeof signature !== 'string') {
    throw new SignerFailed('header and signature must be strings');
  }
  let read: ReturnType<typeof readHeader>;
  try {
    // By the verifier's own reader, so that it accepts every token that is issued.
    read = readHeader(header);
  } catch (cause) {
    throw new SignerFailed('the header may have alg, kid and typ (JWT), and must be JSON without white space', {
      cause,
    });
  }
  const { typ } = decodeJsonSegment(header) ?? {};
  if (typ !== undefined && typ !== 'JWT') throw new SignerFailed('typ in the header must be JWT');
  const bytes = decodeSegment(signature);
  if (bytes === undefined || bytes.length === 0)
    throw new SignerFailed('the signature must be base64url, and not empty');
  return { header, alg: read.alg, kid: readKid(read.kid, 'header'), signature: bytes };
}

function requireSuccess({ error }: JsonObject): void {
  if (error !== undefined) throw new SignerFailed(`the signer refused: ${String(error).slice(0, 200)}`);
}

function checkMembers(value: JsonObject, allowed: readonly string[], what: string): void {
  const extra = Object.keys(value).find((member) => !allowed.includes(member));
  if (extra !== undefined)
    throw new SignerFailed(`${what} has an unknown member: ${JSON.stringify(extra.slice(0, 64))}`);
}
