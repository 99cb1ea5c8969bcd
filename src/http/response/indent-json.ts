const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN = new Set([0x7b, 0x5b]);
const CLOSE = new Set([0x7d, 0x5d]);
const SPACE = 0x20;
const NEWLINE = 0x0a;

/**
 * Indents JSON by two spaces, as Go's json.Indent does: numbers and escapes keep their bytes and keys their order,
 * which a round trip through JavaScript values would not guarantee. `depth` is the nesting at which the result is
 * inserted; its first line is not indented.
 */
export function indentJson(json: Uint8Array, depth = 0): Buffer {
  const out = new GrowingBuffer(json.length * 2 + 64);
  let level = depth;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at] as number;
    if (byte === QUOTE) {
      const end = endOfString(json, at);
      out.copy(json, at, end);
      at = end - 1;
    } else if (OPEN.has(byte)) {
      out.push(byte);
      const next = skipBlanks(json, at + 1);
      if (CLOSE.has(json[next] ?? 0)) {
        out.push(json[next] as number);
        at = next;
      } else out.newline(++level);
    } else if (CLOSE.has(byte)) {
      out.newline(--level);
      out.push(byte);
    } else if (byte === COMMA) {
      out.push(byte);
      out.newline(level);
    } else if (byte === COLON) {
      out.push(byte);
      out.push(SPACE);
    } else if (byte > SPACE) out.push(byte);
  }
  return out.bytes();
}

/** The index after the closing quote. */
function endOfString(json: Uint8Array, start: number): number {
  for (let at = start + 1; at < json.length; at++) {
    if (json[at] === BACKSLASH) at++;
    else if (json[at] === QUOTE) return at + 1;
  }
  return json.length;
}

function skipBlanks(json: Uint8Array, start: number): number {
  let at = start;
  while (at < json.length && (json[at] as number) <= SPACE) at++;
  return at;
}

class GrowingBuffer {
  #buffer: Buffer;
  #length = 0;

  constructor(size: number) {
    this.#buffer = Buffer.allocUnsafe(size);
  }

  push(byte: number): void {
    this.#reserve(1);
    this.#buffer[this.#length++] = byte;
  }

  copy(source: Uint8Array, start: number, end: number): void {
    this.#reserve(end - start);
    this.#buffer.set(source.subarray(start, end), this.#length);
    this.#length += end - start;
  }

  newline(level: number): void {
    this.#reserve(1 + 2 * level);
    this.#buffer[this.#length] = NEWLINE;
    this.#buffer.fill(SPACE, this.#length + 1, this.#length + 1 + 2 * level);
    this.#length += 1 + 2 * level;
  }

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#length + more));
    larger.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = larger;
  }
}
