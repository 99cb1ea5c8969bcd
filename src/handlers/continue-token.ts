import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { type ApiError, badRequest } from '../api/status.ts';

export interface ContinueState {
  /** The revision of all pages; -1 means the latest. */
  readonly revision: number;
  /** The key after which the next page starts. */
  readonly after: string;
}

export interface ContinueTokens {
  /**
   * `scope` names the list that the token belongs to: path, selectors and caller. Every other list refuses the token:
   * its position would mean nothing there, and it could reveal something to another caller.
   */
  seal(state: ContinueState, scope: string): string;
  /** @throws ApiError 400 unless `seal` made the token, with the same key and for the same scope. */
  open(token: string, scope: string): ContinueState;
}

/** The first byte is the version of the format. */
const VERSION = 1;
const VERSION_BYTE = Buffer.of(VERSION);
const SALT_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + SALT_BYTES + NONCE_BYTES;
/** The plaintext is padded to a multiple of this, so that its length reveals nothing about a key. */
const BLOCK_BYTES = 128;
/**
 * Tokens are sealed with AES-256-GCM. Those of kube-apiserver show the key of the last item in plain base64, and can be
 * forged; here the caller may not be allowed to see that item. Each process derives its key from a random salt: under
 * one key for all of them random nonces would repeat too soon (NIST SP 800-38D section 8.3: 2^32).
 */
export function createContinueTokens({ key }: { readonly key: Uint8Array }): ContinueTokens {
  const derived = (salt: Uint8Array): KeyObject =>
    createSecretKey(createHmac('sha256', key).update('continue').update(salt).digest());
  const ownSalt = randomBytes(SALT_BYTES);
  const ownKey = derived(ownSalt);

  return {
    seal(state, scope) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', ownKey, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(authenticatedData(scope));
      const sealed = cipher.update(padded(JSON.stringify(state)), 'utf8');
      // Computes the tag; GCM has no last block.
      cipher.final();
      return Buffer.concat([VERSION_BYTE, ownSalt, nonce, sealed, cipher.getAuthTag()]).toString('base64url');
    },

    open(token, scope) {
      const bytes = Buffer.from(token, 'base64url');
      // Node's decoder accepts junk, both alphabets and unused bits, so only the canonical text is accepted.
      const isCanonical = bytes.toString('base64url') === token;
      if (!isCanonical || bytes.length < HEAD_BYTES + TAG_BYTES || bytes[0] !== VERSION) throw refused();
      const salt = bytes.subarray(1, 1 + SALT_BYTES);
      const nonce = bytes.subarray(1 + SALT_BYTES, HEAD_BYTES);
      const opening = ownSalt.equals(salt) ? ownKey : derived(salt);
      const decipher = createDecipheriv('aes-256-gcm', opening, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(authenticatedData(scope));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      try {
        const text = Buffer.concat([decipher.update(bytes.subarray(HEAD_BYTES, -TAG_BYTES)), decipher.final()]);
        return JSON.parse(text.toString()) as ContinueState;
      } catch {
        throw refused();
      }
    },
  };
}

/** L-31. One text for every error, so that it reveals nothing about the token. */
const refused = (): ApiError =>
  badRequest('invalid continue token: continue key is not valid: it was not issued for this list');

/** The additional authenticated data: the version and the list. */
const authenticatedData = (scope: string): Buffer => Buffer.from(`${String.fromCharCode(VERSION)}${scope}`);

/** JSON.parse ignores trailing spaces. */
function padded(text: string): string {
  const length = Buffer.byteLength(text);
  return text + ' '.repeat(Math.ceil(length / BLOCK_BYTES) * BLOCK_BYTES - length);
}
