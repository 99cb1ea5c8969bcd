import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { type ApiError, badRequest } from '../api/status.ts';
import { defined } from '../lib/json.ts';

export interface ContinueState {
  /** The revision of all pages; -1 means the latest. */
  readonly revision: number;
  /** The key after which the next page starts. */
  readonly after: string;
  /** Items after this page that the caller may see. */
  readonly remaining?: number;
  /** The revision of the access rules under which the pages were counted. */
  readonly rulesRevision?: number;
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
/** Longer than any token: storage keys have a few hundred bytes. */
const MAX_CONTINUE_LENGTH = 8192;

/** Tokens that share a salt, and so a key. */
const TOKENS_PER_KEY = 2 ** 20;
/** Nonces that are drawn at once: a call of randomBytes costs as much as sealing. Nonces need not be secret. */
const NONCES_PER_DRAW = 256;

interface SealingKey {
  readonly salt: Uint8Array;
  readonly key: KeyObject;
  tokensLeft: number;
}

/**
 * Tokens are sealed with AES-256-GCM. Those of kube-apiserver show the key of the last item in plain base64, and can be
 * forged; here the caller may not be allowed to see that item. Keys are derived from a random salt, one for each
 * process and million tokens: under one key for all tokens random nonces would repeat too soon (NIST SP 800-38D section
 * 8.3: 2^32), and deriving a key for each token costs more than the rest of a page.
 */
export function createContinueTokens({
  key,
  random = randomBytes,
  tokensPerKey = TOKENS_PER_KEY,
}: {
  key: Uint8Array;
  random?: (bytes: number) => Uint8Array;
  tokensPerKey?: number;
}): ContinueTokens {
  if (key.length !== 32) throw new RangeError('the key of continue tokens must have 32 bytes');
  const derived = (salt: Uint8Array): KeyObject =>
    createSecretKey(createHmac('sha256', key).update('continue').update(salt).digest());

  let current: SealingKey | undefined;
  const sealingKey = (): SealingKey => {
    if (current === undefined || current.tokensLeft === 0) {
      const salt = random(SALT_BYTES);
      current = { salt, key: derived(salt), tokensLeft: tokensPerKey };
    }
    current.tokensLeft--;
    return current;
  };
  const keyFor = (salt: Uint8Array): KeyObject =>
    current !== undefined && Buffer.compare(current.salt, salt) === 0 ? current.key : derived(salt);

  let nonces = new Uint8Array(0);
  const nextNonce = (): Uint8Array => {
    if (nonces.length === 0) nonces = Uint8Array.from(random(NONCE_BYTES * NONCES_PER_DRAW));
    const nonce = nonces.subarray(0, NONCE_BYTES);
    nonces = nonces.subarray(NONCE_BYTES);
    return nonce;
  };

  return {
    seal(state, scope) {
      const { salt, key } = sealingKey();
      const nonce = nextNonce();
      const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(authenticatedData(scope));
      const sealed = cipher.update(padded(stateText(state)), 'utf8');
      // Computes the tag; GCM has no last block.
      cipher.final();
      return Buffer.concat([VERSION_BYTE, salt, nonce, sealed, cipher.getAuthTag()]).toString('base64url');
    },

    open(token, scope) {
      const bytes = fromBase64url(token);
      if (bytes === undefined || bytes.length < HEAD_BYTES + TAG_BYTES || bytes[0] !== VERSION) throw refused();
      const salt = bytes.subarray(1, 1 + SALT_BYTES);
      const nonce = bytes.subarray(1 + SALT_BYTES, HEAD_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', keyFor(salt), nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(authenticatedData(scope));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      try {
        const text = Buffer.concat([decipher.update(bytes.subarray(HEAD_BYTES, -TAG_BYTES)), decipher.final()]);
        return readState(text.toString());
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

/** Node's decoder accepts junk, both alphabets and unused bits, so only the canonical text is accepted. */
function fromBase64url(token: string): Buffer | undefined {
  if (token.length > MAX_CONTINUE_LENGTH) return undefined;
  const bytes = Buffer.from(token, 'base64url');
  return bytes.toString('base64url') === token ? bytes : undefined;
}

function stateText({ revision, after, remaining, rulesRevision }: ContinueState): string {
  // Infinity while a binding that has ended is still stored: the next page is counted again.
  return JSON.stringify({ revision, after, remaining, ...(Number.isFinite(rulesRevision) && { rulesRevision }) });
}

/** JSON.parse ignores trailing spaces. */
function padded(text: string): string {
  const length = Buffer.byteLength(text);
  return text + ' '.repeat(Math.ceil(length / BLOCK_BYTES) * BLOCK_BYTES - length);
}

/** Checks the content: in a rolling update a replica of another version, with the same key, may have sealed it. */
function readState(text: string): ContinueState {
  const { revision, after, remaining, rulesRevision } = JSON.parse(text) as Record<string, unknown>;
  const optional = (value: unknown): value is number | undefined => value === undefined || Number.isSafeInteger(value);
  if (!Number.isSafeInteger(revision) || typeof after !== 'string') throw refused();
  if (!optional(remaining) || !optional(rulesRevision)) throw refused();
  return { revision: revision as number, after, ...defined({ remaining, rulesRevision }) };
}
