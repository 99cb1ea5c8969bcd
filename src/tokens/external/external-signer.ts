import type { Logger } from '../../observability/logger.ts';
import { encodePayload } from '../jws.ts';
import type { VerificationKey } from '../keys/key-material.ts';
import { assertSays, type Signer } from '../signer.ts';
import { type LineChannel, SignerFailed } from './line-channel.ts';
import { readKeys, readSigned } from './read-answers.ts';

/** Somebody else holds the keys: we know their public halves, and ask for each signature. */
export interface ExternalSigner extends Signer {
  keys(): readonly VerificationKey[];
  find(kid: string): VerificationKey | undefined;
  /** Since when a key is known here. */
  since(kid: string): number;
  /** Asks for the keys again. */
  refresh(): Promise<void>;
  onChange(listener: () => void): void;
  close(): void;
}

export interface ExternalSignerOptions {
  readonly channel: LineChannel;
  readonly now: () => number;
  /** Starts a task that is repeated; gives what ends it. */
  readonly every: (ms: number, task: () => void) => () => void;
  readonly logger: Pick<Logger, 'info' | 'error'>;
}

const REFRESH_MS = 60_000;
/** A signer that uses a key it did not publish is not asked for its keys at every signature. */
const REFRESH_AT_MOST_MS = 10_000;

/** Rejects with SignerFailed when the signer does not answer: nothing could be issued, so there is no point in starting. */
export async function openExternalSigner(options: ExternalSignerOptions): Promise<ExternalSigner> {
  const { channel, now, every, logger } = options;
  const listeners: (() => void)[] = [];
  const firstSeen = new Map<string, number>();
  let keys = new Map<string, VerificationKey>();
  let asked: Promise<void> | undefined;
  let askedAt = Number.NEGATIVE_INFINITY;
  let reported = '';

  async function readAll(): Promise<void> {
    askedAt = now();
    const read = readKeys(await channel.ask({ op: 'keys' }));
    reported = '';
    const [before, after] = [keys, new Map(read.map((key) => [key.kid, key]))];
    const isSame = ({ kid, publicKey }: VerificationKey): boolean =>
      before.get(kid)?.publicKey.equals(publicKey) === true;
    if (before.size === after.size && read.every(isSame)) return;
    keys = after;
    for (const kid of [...firstSeen.keys()]) if (!after.has(kid)) firstSeen.delete(kid);
    for (const kid of after.keys()) if (!firstSeen.has(kid)) firstSeen.set(kid, now());
    logger.info({ keys: [...after.keys()] }, 'the keys of the external signer');
    for (const listener of listeners) listener();
  }

  /** Many ask at once, and one question is enough. */
  function refresh(): Promise<void> {
    asked ??= readAll().finally(() => {
      asked = undefined;
    });
    return asked;
  }

  async function keyFor(kid: string): Promise<VerificationKey> {
    if (!keys.has(kid) && (asked !== undefined || now() - askedAt >= REFRESH_AT_MOST_MS)) await refresh();
    const key = keys.get(kid);
    if (key === undefined) throw new SignerFailed('the signer used a key that it does not publish');
    return key;
  }

  await refresh();
  const end = every(REFRESH_MS, () => {
    refresh().catch((error: unknown) => {
      // What it published before stays: verifying does not depend on it.
      if (reported === String(error)) return;
      reported = String(error);
      logger.error({ err: error }, 'the keys of the external signer could not be read');
    });
  });

  return {
    isSure: false,
    async sign(claims) {
      const payload = encodePayload(claims);
      const { header, alg, kid, signature } = readSigned(await channel.ask({ op: 'sign', payload }));
      const key = await keyFor(kid);
      if (alg !== key.alg) throw new SignerFailed('the algorithm of the header is not that of the key');
      const input = `${header}.${payload}`;
      // Unlike our own key, this one was not tried before, and a signer has more ways to be wrong.
      const isGood = signature.length === key.signatureLength && (await key.verify(Buffer.from(input), signature));
      if (!isGood) throw new SignerFailed('the signature of the signer is not one of its key');
      assertSays(payload, claims);
      return `${input}.${signature.toString('base64url')}`;
    },
    keys: () => [...keys.values()],
    find: (kid) => keys.get(kid),
    since: (kid) => firstSeen.get(kid) ?? now(),
    refresh,
    onChange: (listener) => void listeners.push(listener),
    close() {
      end();
      channel.close();
    },
  };
}
