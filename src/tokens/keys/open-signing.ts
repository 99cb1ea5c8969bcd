import { join } from 'node:path';
import type { SignerAddress } from '../../api/signer-address.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Store } from '../../storage/contract.ts';
import type { Leadership } from '../../storage/leadership.ts';
import type { Issuers } from '../claims.ts';
import { openExternalSigner } from '../external/external-signer.ts';
import { createLineChannel } from '../external/line-channel.ts';
import { ringWithSigner } from '../external/ring-with-signer.ts';
import { openSignerLine } from '../external/signer-line.ts';
import { createIssuerDocuments, type IssuerDocuments } from '../issuer-documents.ts';
import { createSigner, type Signer } from '../signer.ts';
import { openSigningThread } from '../signing-thread.ts';
import type { Algorithm } from './algorithms.ts';
import { openEncryptionKey } from './encryption-key.ts';
import { openKeyRing, type StoredKeyRing } from './key-ring.ts';
import {
  createSigningKeyPublisher,
  type SigningKeyPublisher,
  type SigningKeyPublisherParts,
} from './signing-key-publisher.ts';

/** Everything that has to do with our signature: the keys, who signs, and what verifiers are told. */
export interface Signing {
  readonly keyRing: StoredKeyRing;
  readonly signer: Signer;
  /** Seals continue tokens: a list that was begun at one replica, or before a restart, is continued at any. */
  readonly sealKey: Uint8Array;
  readonly documents: IssuerDocuments;
  readonly publisher: SigningKeyPublisher;
  close(): Promise<void>;
}

export interface SigningOptions {
  readonly store: Store;
  readonly issuers: Issuers;
  /** Where the keys are shown as objects. */
  readonly objects: Omit<SigningKeyPublisherParts, 'keyRing'>;
  readonly dataDir: string;
  readonly algorithm: Algorithm;
  readonly rotationMs: number;
  readonly maxLifetimeSeconds: number;
  readonly encryptionKeyFile: string | undefined;
  readonly externalSigner: SignerAddress | undefined;
  readonly leadership: Pick<Leadership, 'leads' | 'fence'>;
  readonly logger: Logger;
}

const every = (ms: number, task: () => void): (() => void) => {
  const timer = setInterval(task, ms);
  timer.unref();
  return () => clearInterval(timer);
};

export async function openSigning(options: SigningOptions): Promise<Signing> {
  const { store, issuers, dataDir, leadership, logger } = options;
  const dir = join(dataDir, 'keys');
  const encryptionKey = await openEncryptionKey({ file: options.encryptionKeyFile, dir });
  const { externalSigner: address } = options;
  const external =
    address &&
    (await openExternalSigner({
      channel: createLineChannel({ open: () => openSignerLine(address), now: Date.now }),
      now: Date.now,
      every,
      logger,
    }));
  const thread = openSigningThread({ now: () => performance.now(), logger });
  const opened = openKeyRing({
    store,
    encryptionKey,
    rules: {
      // No key is made here that would never sign.
      algorithm: external === undefined ? options.algorithm : undefined,
      lifetimeSeconds: options.maxLifetimeSeconds,
      rotationMs: options.rotationMs,
    },
    legacyDir: dir,
    leadership,
    now: Date.now,
    every,
    logger,
    sign: thread.sign,
  });
  const ring = await opened.catch((error: unknown) => {
    external?.close();
    throw error;
  });
  const keyRing = external === undefined ? ring : ringWithSigner(ring, external);
  const publisher = createSigningKeyPublisher({ ...options.objects, keyRing });
  const show = (): Promise<void> =>
    publisher.sync().catch((error: unknown) => logger.error({ err: error }, 'the signing keys could not be shown'));
  // One replica is enough, and another one may not have heard of the newest change yet.
  keyRing.onChange(() => {
    if (leadership.leads()) void show();
  });
  await show();
  const onChange = (listener: () => void): void => keyRing.onChange(listener);
  return {
    keyRing,
    signer: external ?? createSigner(keyRing),
    publisher,
    sealKey: encryptionKey.derive('continue tokens'),
    documents: createIssuerDocuments({ keyRing, issuers, onChange }),
    async close() {
      await keyRing.close();
      await thread.close();
    },
  };
}
