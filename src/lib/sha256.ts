/**
 * SHA-256 of a text in UTF-8, in hexadecimal (FIPS 180-4, section 6.2). For the names of cached credentials:
 * `node:crypto` takes a fifth of the start of `clusterpass credential` with a cached token, and has no part that loads
 * alone. And for names of objects in the console: a browser computes hashes asynchronously only. This function does not
 * take constant time: secrets are compared and signed with `node:crypto` only.
 */
export function sha256(text: string): string {
  const padded = paddedMessage(new TextEncoder().encode(text));
  const state = Int32Array.from(INITIAL);
  const schedule = new Int32Array(64);
  for (let at = 0; at < padded.byteLength; at += BLOCK) {
    for (let i = 0; i < 16; i++) schedule[i] = padded.getInt32(at + 4 * i);
    addBlock(state, schedule);
  }
  return [...state].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
}

const BLOCK = 64;

/** The message, one bit, zeros, and the length in bits: whole blocks. */
function paddedMessage(message: Uint8Array): DataView {
  const bytes = new Uint8Array(Math.ceil((message.length + 9) / BLOCK) * BLOCK);
  bytes.set(message);
  bytes[message.length] = 0x80;
  const view = new DataView(bytes.buffer);
  view.setBigUint64(bytes.length - 8, BigInt(message.length) * 8n);
  return view;
}

const rotated = (word: number, bits: number): number => (word >>> bits) | (word << (32 - bits));

/** @param schedule begins with the 16 words of the block */
function addBlock(state: Int32Array, schedule: Int32Array): void {
  const w = (i: number): number => schedule[i] ?? 0;
  for (let i = 16; i < 64; i++) {
    const s0 = rotated(w(i - 15), 7) ^ rotated(w(i - 15), 18) ^ (w(i - 15) >>> 3);
    const s1 = rotated(w(i - 2), 17) ^ rotated(w(i - 2), 19) ^ (w(i - 2) >>> 10);
    schedule[i] = w(i - 16) + s0 + w(i - 7) + s1;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let i = 0; i < 64; i++) {
    const choice = (e & f) ^ (~e & g);
    const s1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
    const t1 = (h + s1 + choice + (ROUNDS[i] ?? 0) + w(i)) | 0;
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const s0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + s0 + majority) | 0;
  }
  for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) state[i] = (state[i] ?? 0) + word;
}

/** Fractions of the square roots of the first 8 primes. */
const INITIAL = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];

/** Fractions of the cube roots of the first 64 primes. */
const ROUNDS = [
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
  0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
  0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8,
  0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
  0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
  0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
  0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
  0xc67178f2,
];
