import { timingSafeEqual } from 'node:crypto';
import {
  BOOTSTRAPPERS,
  bootstrapTokenDigest,
  bootstrapTokenId,
  bootstrapUserName,
} from '../api/bootstrap-credential.ts';
import { type ApiObject, fleetKey, storageKey } from '../api/kind.ts';
import { bootstrapSpec, bootstrapTokenKind } from '../api/kinds/bootstrap-token.ts';
import { TokenRejected } from '../tokens/jws.ts';
import { plainCaller, type TokenAuthenticator } from './token-authenticator.ts';

export interface BootstrapTokenParts {
  /** The stored object of this name, also if it has expired. */
  readonly find: (id: string) => ApiObject | undefined;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Bootstrap tokens. Their caller is in one group only, and reaches nothing but the registration of its cluster. */
export function createBootstrapTokenAuthenticator({ find, now }: BootstrapTokenParts): TokenAuthenticator {
  return {
    authenticateToken: (token) => {
      const text = token.reveal();
      const id = bootstrapTokenId(text);
      if (id === undefined) return undefined;
      const stored = find(id);
      const { tokenDigest = '', expirationTimestamp = '' } = stored === undefined ? {} : bootstrapSpec(stored);
      if (stored === undefined || !isSame(tokenDigest, bootstrapTokenDigest(text))) {
        throw new TokenRejected(`no such bootstrap token: ${id}`);
      }
      const expiresAt = Date.parse(expirationTimestamp);
      const { uid = '' } = stored.metadata;
      const isLive = (): boolean => expiresAt > now() && find(id)?.metadata.uid === uid;
      if (!isLive()) throw new TokenRejected(`the bootstrap token ${id} has expired`);
      const user = { name: bootstrapUserName(id), uid, groups: [BOOTSTRAPPERS], extra: {} };
      return {
        ...plainCaller(user, isLive, expiresAt),
        bootstrapToken: id,
        dependsOn: [storageKey(bootstrapTokenKind, fleetKey(id))],
      };
    },
  };
}

const isSame = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
