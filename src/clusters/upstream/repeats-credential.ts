/**
 * Whether an answer repeats the credential that was sent: verbatim, with JSON escapes, or in base64, as in the claims
 * of a token. Callers see parts of an answer in these forms. It loops over bytes, because regular expressions take
 * several times as long for a hostile answer of a mebibyte.
 */
export function repeatsCredential(body: Buffer, credential: string): boolean {
  if (body.includes(credential)) return true;
  // Shorter texts occur by chance in what is decoded.
  if (credential.length < MIN_LENGTH) return false;
  const text = unescaped(body);
  if (text !== body && text.includes(credential)) return true;
  const decoded = decodedWords(text);
  return decoded.includes(credential) || unescaped(decoded).includes(credential);
}

const MIN_LENGTH = 8;

/** The value of each character of base64, in both alphabets; -1 for others. */
const SIX_BITS = new Int8Array(256).fill(-1);
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
for (const [value, character] of [...ALPHABET].entries()) SIX_BITS[character.charCodeAt(0)] = value;
for (const character of '+-') SIX_BITS[character.charCodeAt(0)] = 62;
for (const character of '/_') SIX_BITS[character.charCodeAt(0)] = 63;

/** The decoded words of base64 in the text, with a zero byte between two words. */
function decodedWords(text: Buffer): Buffer {
  const decoded = Buffer.allocUnsafe(text.length + 1);
  let length = 0;
  let bits = 0;
  let count = 0;
  for (const byte of text) {
    const value = SIX_BITS[byte] ?? -1;
    if (value === -1) {
      decoded[length++] = 0;
      count = 0;
      continue;
    }
    bits = ((bits << 6) | value) & 0xfff;
    count += 6;
    if (count >= 8) {
      count -= 8;
      decoded[length++] = bits >> count;
    }
  }
  return decoded.subarray(0, length);
}

const BACKSLASH = 0x5c;
const LETTER_U = 0x75;

/**
 * The text without the escapes of RFC 8259 section 7; the same buffer when it has none. A credential is visible ASCII
 * without quotes, so its characters can be escaped only as `\u00XX` or with one backslash.
 */
function unescaped(text: Buffer): Buffer {
  const first = text.indexOf(BACKSLASH);
  if (first === -1) return text;
  const plain = Buffer.allocUnsafe(text.length);
  let length = text.copy(plain, 0, 0, first);
  for (let at = first; at < text.length; at++) {
    const byte = text[at] ?? 0;
    if (byte !== BACKSLASH) plain[length++] = byte;
    else if (text[at + 1] === LETTER_U) {
      plain[length++] = (hexDigit(text[at + 4]) << 4) | hexDigit(text[at + 5]);
      at += 5;
    } else plain[length++] = text[++at] ?? 0;
  }
  return plain.subarray(0, length);
}

/** Other bytes give an arbitrary digit: such a text is not JSON, and none of it reaches a caller. */
const hexDigit = (byte = 0): number => (byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x61 + 10) & 0xf;
