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

/** The first 64 primes. Fractions of their roots are the constants. */
const PRIMES = [
  2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109,
  113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193, 197, 199, 211, 223, 227, 229, 233, 239,
  241, 251, 257, 263, 269, 271, 277, 281, 283, 293, 307, 311,
];
const INITIAL = PRIMES.slice(0, 8).map((prime) => (Math.sqrt(prime) * 2 ** 32) | 0);
const ROUNDS = PRIMES.map((prime) => (Math.cbrt(prime) * 2 ** 32) | 0);
