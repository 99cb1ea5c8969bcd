/**
 * Whether an answer repeats the credential that was sent: as it is, in a JSON text with escapes, or in base64, as in the
 * claims of a token. These are the forms that parts of an answer are read from. Loops over bytes: expressions take
 * several times as long, and the answer may be a mebibyte that is made to be slow.
 */
export function repeatsCredential(body: Buffer, credential: string): boolean {
  if (body.includes(credential)) return true;
  // Shorter texts occur by chance in what is decoded.
  if (credential.length < MIN_LENGTH) return false;
  const text = unescaped(body);
  if (text !== body && text.includes(credential)) return true;
  const shortest = Math.floor((credential.length * 4) / 3);
  for (let start = 0; start < text.length; ) {
    let end = start;
    while (end < text.length && IS_BASE64[text[end] ?? 0] === 1) end++;
    if (end - start >= shortest) {
      // Decodes both alphabets.
      const decoded = Buffer.from(text.toString('latin1', start, end), 'base64');
      if (decoded.includes(credential) || unescaped(decoded).includes(credential)) return true;
    }
    start = end + 1;
  }
  return false;
}

const MIN_LENGTH = 8;

const IS_BASE64 = new Uint8Array(256);
for (const sign of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_') {
  IS_BASE64[sign.charCodeAt(0)] = 1;
}

const BACKSLASH = 0x5c;
const LETTER_U = 0x75;

/**
 * The text without the escapes of RFC 8259 section 7; the same buffer when it has none. A credential is visible ASCII
 * without quotes: `\u00XX` and an escaped sign are all that can stand for its characters.
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

/** Other bytes give some digit: a text that is not JSON is not read. */
const hexDigit = (byte = 0): number => (byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x61 + 10) & 0xf;
