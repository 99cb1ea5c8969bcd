/** A small external signer, as an operator might write one: requests on stdin, responses on stdout. */
import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [, , keyFile = ''] = process.argv;
const key = createPrivateKey(readFileSync(keyFile));
const { kty, crv, x, y } = createPublicKey(key).export({ format: 'jwk' });
const kid = 'hsm/slot 1';

/** @param {{ id: number, op: string, payload: string }} question */
function answer({ id, op, payload }) {
  if (op === 'keys') return { id, keys: [{ kid, alg: 'ES256', jwk: { kty, crv, x, y } }] };
  const header = Buffer.from(JSON.stringify({ alg: 'ES256', kid, typ: 'JWT' })).toString('base64url');
  const signature = sign('sha256', Buffer.from(`${header}.${payload}`), { key, dsaEncoding: 'ieee-p1363' });
  return { id, header, signature: signature.toString('base64url') };
}

createInterface({ input: process.stdin }).on('line', (line) => {
  process.stdout.write(`${JSON.stringify(answer(JSON.parse(line)))}\n`);
});
