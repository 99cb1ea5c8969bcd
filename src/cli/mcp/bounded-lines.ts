/** A line, or the news that one was too long or not UTF-8. */
export type Line = { readonly text: string } | { readonly problem: string };

const NEWLINE = 0x0a;

/**
 * Splits bytes into lines of at most `limit` bytes. A longer line is skipped while it arrives, so that memory stays
 * bounded. A last line without a newline counts.
 */
export async function* boundedLines(chunks: AsyncIterable<Uint8Array>, limit: number): AsyncGenerator<Line> {
  let parts: Uint8Array[] = [];
  let length = 0;
  const end = (): Line => {
    const line = length > limit ? tooLong(limit) : decoded(parts);
    parts = [];
    length = 0;
    return line;
  };
  const add = (part: Uint8Array): void => {
    length += part.length;
    if (length <= limit) parts.push(part);
    else parts = [];
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      add(chunk.subarray(from, at));
      yield end();
      from = at + 1;
    }
    if (from < chunk.length) add(chunk.subarray(from));
  }
  if (length > 0) yield end();
}

const tooLong = (limit: number): Line => ({ problem: `the message is longer than ${limit} bytes` });

function decoded(parts: readonly Uint8Array[]): Line {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts)) };
  } catch {
    return { problem: 'the message is not UTF-8' };
  }
}
