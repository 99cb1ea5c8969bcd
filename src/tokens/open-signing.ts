import { join } from 'node:path';
import type { SignerAddress } from '../api/signer-address.ts';
import { every } from '../lib/rounds.ts';
import type { Logger } from '../observability/logger.ts';
import type { Issuers } from './claims.ts';
import { openExternalSigner, withExternalKeys } from './external/external-signer.ts';
import { connectSigner, createSignerClient } from './external/signer-client.ts';
import { createIssuerDocuments } from './issuer-documents.ts';
import type { Algorithm } from './keys/algorithms.ts';
import { loadEncryptionKey } from './keys/encryption-key.ts';
import { type KeyRingOptions, openKeyRing } from './keys/key-ring.ts';
import { RING_KEY } from './keys/ring-store.ts';
import { createSigningKeyPublisher, type SigningKeyPublisherParts } from './keys/signing-key-publisher.ts';
import { type AudienceAlgorithms, createSigner } from './signer.ts';

interface SigningOptions extends Pick<KeyRingOptions, 'store' | 'leadership' | 'now' | 'removalTime'> {
  readonly issuers: Issuers;
  readonly objects: Pick<SigningKeyPublisherParts, 'kind' | 'reader' | 'writer'>;
  readonly dataDir: string;
  readonly signingAlgorithm: Algorithm;
  readonly signingAlgorithmFor: AudienceAlgorithms;
  readonly signingKeyRotationMs: number;
  readonly maxTokenExpirationSeconds: number;
  readonly encryptionKeyFile: string | undefined;
  readonly externalSigner: SignerAddress | undefined;
  readonly logger: Logger;
}

/** How often the SigningKey objects are compared with the ring, in memory. */
const PUBLISH_MS = 5_000;

/** The keys, the signer, and the documents that verifiers read. */
export async function openSigning(options: SigningOptions) {
  const { store, issuers, dataDir, signingAlgorithmFor: algorithmFor, leadership, logger } = options;
  const dir = join(dataDir, 'keys');
  const hasSigningKeys = async (): Promise<boolean> => (await store.get(RING_KEY)) !== undefined;
  const encryptionKey = await loadEncryptionKey({ file: options.encryptionKeyFile, dir, hasSigningKeys });
  const { externalSigner: address } = options;
  const external =
    address &&
    (await openExternalSigner({
      client: createSignerClient(
        () =>
          connectSigner(address, (line) => logger.warn({ line }, 'the external signer wrote to its standard error')),
        Date.now,
      ),
      byAudience: algorithmFor,
      now: Date.now,
      every,
      logger,
    }));
  const opened = openKeyRing({
    ...options,
    encryptionKey,
    rules: {
      // With an external signer, a key that is generated here would never sign.
      algorithms: external === undefined ? [...new Set([options.signingAlgorithm, ...algorithmFor.values()])] : [],
      lifetimeSeconds: options.maxTokenExpirationSeconds,
      rotationMs: options.signingKeyRotationMs,
    },
    every,
  });
  const ring = await opened.catch((error: unknown) => {
    external?.close();
    throw error;
  });
  const keyRing = external === undefined ? ring : withExternalKeys(ring, external);
  const publisher = createSigningKeyPublisher({ ...options.objects, keyRing, leadership, logger });
  // After a change the leader alone: another replica may not have observed the newest change yet.
  keyRing.onChange(() => {
    if (leadership.leads()) void publisher.publish();
  });
  // At the start every replica: the ring has just been read, and there may be no leader yet.
  await publisher.publish();
  const stopMaintaining = every(PUBLISH_MS, () => void publisher.maintain());
  const signer = external ?? createSigner(keyRing, algorithmFor);
  for (const [audience, wanted] of algorithmFor) {
    const { problem, warning } = signer.check([audience]);
    const text = problem ?? warning;
    if (text !== undefined) logger.warn({ audience, algorithm: wanted }, text);
  }
  const onChange = (listener: () => void): void => keyRing.onChange(listener);
  return {
    keyRing,
    signer,
    publisher,
    /** Encrypts continue tokens. The same everywhere and after a restart: any replica continues a list. */
    sealKey: encryptionKey.derive('continue tokens'),
    documents: createIssuerDocuments({ keyRing, issuers, onChange }),
    close: async () => {
      stopMaintaining();
      await keyRing.close();
    },
  };
}
