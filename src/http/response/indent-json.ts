/**
 * Indents JSON by two spaces, as Go's json.Indent does: numbers and escapes keep their bytes and keys their order,
 * which a round trip through JavaScript values would not guarantee. `depth` is the nesting at which the result is
 * inserted; its first line is not indented.
 */
export function indentJson(bytes: Uint8Array | string, depth = 0): string {
  const json = typeof bytes === 'string' ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  let level = depth;
  const newline = (): string => `\n${'  '.repeat(Math.max(level, 0))}`;
  let out = '';
  for (let at = 0; at < json.length; at++) {
    const char = json[at] as string;
    if (char === '"') {
      const end = endOfString(json, at);
      out += json.slice(at, end);
      at = end - 1;
    } else if (char === '{' || char === '[') {
      const next = skipBlanks(json, at + 1);
      if (json[next] === '}' || json[next] === ']') {
        out += char + json[next];
        at = next;
      } else {
        level++;
        out += char + newline();
      }
    } else if (char === '}' || char === ']') {
      level--;
      out += newline() + char;
    } else if (char === ',') out += char + newline();
    else if (char === ':') out += ': ';
    else if (char > ' ') out += char;
  }
  return out;
}

/** The index after the closing quote. */
function endOfString(json: string, start: number): number {
  for (let at = start + 1; at < json.length; at++) {
    if (json[at] === '\\') at++;
    else if (json[at] === '"') return at + 1;
  }
  return json.length;
}

function skipBlanks(json: string, start: number): number {
  let at = start;
  while (at < json.length && (json[at] as string) <= ' ') at++;
  return at;
}
