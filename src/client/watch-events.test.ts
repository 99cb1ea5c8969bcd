import { describe, expect, it } from 'vitest';
import { readEvents, type WatchEvent } from './watch-events.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

async function read(chunks: Iterable<Uint8Array>): Promise<WatchEvent[]> {
  const body = ReadableStream.from(chunks) as unknown as ReadableStream<Uint8Array>;
  const events: WatchEvent[] = [];
  for await (const event of readEvents(body, { idleMs: 3_600_000, stop: () => {} })) events.push(event);
  return events;
}

describe('the events of a watch', () => {
  it('are read wherever the network cuts them, also within a character', async () => {
    const expected = ['größer', '𝄞'].map((name) => ({ type: 'ADDED', object: { metadata: { name } } }));
    const all = bytes(`${expected.map((event) => JSON.stringify(event)).join('\n\n')}\n`);
    expect(await read(Array.from(all, (byte) => Uint8Array.of(byte)))).toEqual(expected);
    for (let at = 1; at < all.length; at++)
      expect(await read([all.subarray(0, at), all.subarray(at)])).toEqual(expected);
  });

  it('end with an error for a line that does not end', async () => {
    const chunk = bytes('x'.repeat(1024 * 1024));
    let sent = 0;
    function* endless() {
      for (; sent < 64; sent++) yield chunk;
    }
    await expect(read(endless())).rejects.toThrow('the watch sent a line that is too long');
    expect(sent).toBeLessThan(20);
  });

  it.each([
    ['null', 'an answer of a wrong type'],
    ['{"type":"ADDED","object":{"metadata":5}}', 'metadata of a wrong type'],
    ['{"type":"ADDED","object":{"metadata":{}}}', 'an answer without metadata.name'],
    ['{"type":"BOOKMARK","object":{}}', 'an answer without metadata'],
  ])('end with an error for %s', async (line, problem) => {
    await expect(read([bytes(`${line}\n`)])).rejects.toThrow(`the watch sent ${problem}`);
  });
});
