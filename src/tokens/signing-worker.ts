/** The thread that signs, for signing-thread.ts: it is given a key, then texts, a line each, and answers with their signatures. */
import type { KeyObject } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import { signJwsNow } from './keys/algorithms.ts';

let key: KeyObject | undefined;

function signatureOf(input: string): string {
  try {
    return key === undefined ? '' : signJwsNow('ES256', key, input);
  } catch {
    return '';
  }
}

parentPort?.on('message', (message: KeyObject | string) => {
  if (typeof message === 'string') parentPort?.postMessage(message.split('\n').map(signatureOf).join('\n'));
  else key = message;
});
