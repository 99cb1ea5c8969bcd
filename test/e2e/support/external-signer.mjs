/** A small external signer, as an operator might write one: requests on stdin, responses on stdout. */
import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [, , keyFile = '', lieFile = ''] = process.argv;
const key = createPrivateKey(readFileSync(keyFile));
const { kty, crv, x, y } = createPublicKey(key).export({ format: 'jwk' });
const kid = 'hsm/slot 1';

/** The fault that the test has set. */
const lie = () => {
  try {
    return readFileSync(lieFile, 'utf8');
  } catch {
    return '';
  }
};

/** @param {{ id: number, op: string, payload: string }} question */
function answer({ id, op, payload }) {
  if (op === 'keys') return { id, keys: [{ kid, alg: 'ES256', jwk: { kty, crv, x, y } }] };
  if (lie() === 'crash') process.exit(1);
  const alg = lie() === 'HS256' ? 'HS256' : 'ES256';
  const header = Buffer.from(JSON.stringify({ alg, kid, typ: 'JWT' })).toString('base64url');
  const signature = sign('sha256', Buffer.from(`${header}.${payload}`), { key, dsaEncoding: 'ieee-p1363' });
  return { id, header, signature: signature.toString('base64url') };
}

createInterface({ input: process.stdin }).on('line', (line) => {
  process.stdout.write(`${JSON.stringify(answer(JSON.parse(line)))}\n`);
});
