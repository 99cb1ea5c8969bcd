import type { Logger } from '../../observability/logger.ts';
import { type AudienceAlgorithms, demandOf } from '../audience-algorithms.ts';
import { encodePayload } from '../jws.ts';
import type { VerificationKey } from '../keys/key-material.ts';
import { type KeyEntry, KeysAreExternal, type StoredKeyRing } from '../keys/key-ring.ts';
import { assertPayload, SIGNABLE, type Signer } from '../signer.ts';
import { type SignerClient, SignerFailed } from './signer-client.ts';
import { readKeys, readSignature } from './signer-responses.ts';

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
