/** Text that is not standard base64 with padding. The message is Go's. */
export class Base64Error extends Error {
  override readonly name = 'Base64Error';
}

const corrupt = (at: number): Base64Error => new Base64Error(`illegal base64 data at input byte ${at}`);

const isDigit = (code: number): boolean =>
  (code >= 0x41 && code <= 0x5a) ||
  (code >= 0x61 && code <= 0x7a) ||
  (code >= 0x30 && code <= 0x39) ||
  code === 0x2b ||
  code === 0x2f;

/**
 * Validates text as Go's `base64.StdEncoding` does (line breaks are allowed anywhere) and returns the canonical form.
 * Node's decoder skips invalid characters.
 */
export function canonicalBase64(text: string): string {
  // Through bytes: unused bits of the last digit must not give two texts for the same data.
  const canonical = Buffer.from(text, 'base64').toString('base64');
  // Equal after the round trip: the decoder skipped nothing, so the text is valid.
  if (canonical === text) return text;
  let digits = 0;
  let at = 0;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isDigit(code)) digits++;
    else if (code !== 0x0a && code !== 0x0d) break;
  }
  checkEnd(text, at, digits % 4);
  return canonical;
}

/** `at` is the first character that is no base64 digit, `open` the number of digits in the unfinished group. */
function checkEnd(text: string, at: number, open: number): void {
  if (at === text.length) {
    if (open !== 0) throw corrupt(at - open);
    return;
  }
  if (text[at] !== '=' || open < 2) throw corrupt(at);
  let next = skipBreaks(text, at + 1);
  if (open === 2) {
    if (next === text.length) throw corrupt(next);
    if (text[next] !== '=') throw corrupt(next);
    next = skipBreaks(text, next + 1);
  }
  if (next < text.length) throw corrupt(next);
}

function skipBreaks(text: string, from: number): number {
  let at = from;
  while (text[at] === '\n' || text[at] === '\r') at++;
  return at;
}
