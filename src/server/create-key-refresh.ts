import { controllerOf } from '../api/kinds/cluster-spec.ts';
import type { ProberParts } from '../clusters/prober/open-prober.ts';
import type { ServeOptions } from '../config/serve-options.ts';
import { unverifiableToken } from '../lib/unverifiable-token.ts';
import type { Issuers } from '../tokens/claims.ts';
import type { StoredKeyRing } from '../tokens/keys/key-ring.ts';
import { refreshTimes } from '../tokens/keys/key-set-refresh.ts';

interface KeyRefreshParts {
  readonly options: Pick<ServeOptions, 'credentialsDir' | 'signingAlgorithm'>;
  readonly issuers: Pick<Issuers, 'issuerFor'>;
  readonly keyRing: Pick<StoredKeyRing, 'revocations'>;
  /** Called when a cluster has answered. */
  readonly count: () => void;
}

/** How the prober makes clusters read the key set again after a key was revoked. A part of `compose`. */
export function createKeyRefresh({ options, issuers, keyRing, count }: KeyRefreshParts): ProberParts['keyRefresh'] {
  const { credentialsDir, signingAlgorithm: algorithm } = options;
  return {
    times: () => refreshTimes(keyRing.revocations()),
    tokenFor: (cluster) => {
      if (credentialsDir !== undefined && controllerOf(cluster) !== undefined) return undefined;
      const issuer = issuers.issuerFor(cluster.metadata.name ?? '');
      return unverifiableToken({ issuer, audience: issuer, algorithm, now: Date.now() });
    },
    count,
  };
}
