import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { setImmediate as nextTick } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BodyReader, MAX_BODY_BYTES } from './body.ts';

const LIMIT_MS = 5_000;
/** More than has to arrive within the limit. */
const PART = Buffer.alloc(330 * 1024, 'x');
const TOO_SMALL = PART.subarray(0, 310 * 1024);

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

function startReading() {
  const request = new PassThrough();
  const reader = new BodyReader({ afterMs: LIMIT_MS, now: () => performance.now() });
  const body = reader.read(request as unknown as IncomingMessage, MAX_BODY_BYTES, () => {});
  body.catch(() => {});
  const receive = async (part: Buffer): Promise<void> => {
    request.write(part);
    await nextTick();
  };
  return { request, body, receive };
}

describe('A21: a body that is large', () => {
  it('has more time as long as enough of it arrives', async () => {
    const { request, body, receive } = startReading();
    for (let i = 0; i < 4; i += 1) {
      await receive(PART);
      vi.advanceTimersByTime(LIMIT_MS);
    }
    request.end();
    expect(await body).toHaveLength(4 * PART.length);
  });

  it('is a 413 as soon as more than the limit has arrived, whatever its headers say', async () => {
    const { body, receive } = startReading();
    let error: unknown;
    body.catch((reason: unknown) => {
      error = reason;
    });
    await receive(Buffer.alloc(MAX_BODY_BYTES, 'x'));
    expect(error).toBeUndefined();
    await receive(Buffer.from('x'));
    expect(error).toMatchObject({ status: { code: 413 } });
  });

  it('of exactly the limit is read', async () => {
    const { request, body, receive } = startReading();
    await receive(Buffer.alloc(MAX_BODY_BYTES, 'x'));
    request.end();
    expect(await body).toHaveLength(MAX_BODY_BYTES);
  });

  it('is a 408 when too little of it arrives in time', async () => {
    const { body, receive } = startReading();
    await receive(PART);
    vi.advanceTimersByTime(LIMIT_MS);
    await receive(TOO_SMALL);
    vi.advanceTimersByTime(LIMIT_MS);
    await expect(body).rejects.toMatchObject({ status: { code: 408 } });
  });
});
