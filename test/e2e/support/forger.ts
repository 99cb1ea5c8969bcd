import { type KeyObject, sign } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import type { Server } from './server.ts';
import { signingKeyOf } from './signing-keys.ts';

/** Signs any claims with the server's own key, as a bug or a thief of the key could. */
export interface Forger {
  readonly key: KeyObject;
  readonly kid: string;
  /** Changes claims of the genuine token; `undefined` removes one. */
  claims(changes?: Record<string, unknown>): Record<string, unknown>;
  forge(parts?: { header?: object; payload?: object | string }): string;
}

export const b64 = (value: string | Uint8Array): string => Buffer.from(value).toString('base64url');

/** Seconds, as claims count them. */
export const inSeconds = (): number => Math.floor(Date.now() / 1000);

export function openForger(server: Server, genuine: string): Forger {
  const key = signingKeyOf(server);
  const kid = decodeProtectedHeader(genuine).kid ?? '';
  const claims: Forger['claims'] = (changes = {}) => JSON.parse(JSON.stringify({ ...decodeJwt(genuine), ...changes }));
  return {
    key,
    kid,
    claims,
    forge({ header = {}, payload = claims() } = {}) {
      const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
      const input = `${b64(JSON.stringify({ alg: 'ES256', kid, ...header }))}.${b64(text)}`;
      return `${input}.${b64(sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }))}`;
    },
  };
}
