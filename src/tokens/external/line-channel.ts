import type { Readable, Writable } from 'node:stream';
import { isJsonObject, type JsonObject } from '../jws.ts';

/** The signer did not answer as it must. The message is for the log, and goes to no caller. */
export class SignerFailed extends Error {
  override readonly name = 'SignerFailed';
}

/** Two streams to somebody who answers each line with a line. */
export interface Line {
  readonly input: Writable;
  readonly output: Readable;
  /** Resolves when there will be no more answers. */
  readonly ended: Promise<string>;
  close(): void;
}

export interface LineChannelOptions {
  /** Opens a connection; rejects when there is nobody. */
  readonly open: () => Promise<Line>;
  readonly now: () => number;
  readonly timeoutMs?: number;
}

/** Questions and answers, one JSON object a line. Answers may come in any order; the `id` tells whose they are. */
export interface LineChannel {
  ask(question: JsonObject): Promise<JsonObject>;
  close(): void;
}

interface Waiting {
  readonly resolve: (answer: JsonObject) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

const TIMEOUT_MS = 5_000;
/** 32 keys of 4,096 bits are some 30,000 characters. */
export const MAX_LINE_BYTES = 256 * 1024;
const MAX_WAITING = 1_000;
/** Whoever does not answer is not called more often than this. */
const REOPEN_MS = 1_000;

export function createLineChannel({ open, now, timeoutMs = TIMEOUT_MS }: LineChannelOptions): LineChannel {
  const waiting = new Map<number, Waiting>();
  let line: Promise<Line> | undefined;
  /** The connection whose answers count. */
  let current: Line | undefined;
  let failed: { readonly error: SignerFailed; readonly at: number } | undefined;
  let lastId = 0;
  let closed = false;

  function settle(id: number): Waiting | undefined {
    const asked = waiting.get(id);
    if (asked !== undefined) clearTimeout(asked.timer);
    waiting.delete(id);
    return asked;
  }

  function fail(why: string): SignerFailed {
    line = undefined;
    current = undefined;
    failed = { error: new SignerFailed(why), at: now() };
    for (const id of [...waiting.keys()]) settle(id)?.reject(failed.error);
    return failed.error;
  }

  function receive(text: string): boolean {
    let answer: unknown;
    try {
      answer = JSON.parse(text);
    } catch {
      return false;
    }
    if (!isJsonObject(answer) || typeof answer.id !== 'number') return false;
    // An answer that comes too late has nobody to go to.
    settle(answer.id)?.resolve(answer);
    return true;
  }

  async function connect(): Promise<Line> {
    const made = await open();
    current = made;
    let received = Buffer.alloc(0);
    const drop = (why: string): void => {
      made.close();
      if (current === made) fail(why);
    };
    made.output.on('data', (chunk: Buffer) => {
      if (current !== made) return undefined;
      received = Buffer.concat([received, chunk]);
      for (let end = received.indexOf(0x0a); end >= 0; end = received.indexOf(0x0a)) {
        const text = received.subarray(0, end).toString('utf8');
        received = received.subarray(end + 1);
        if (!receive(text)) return drop('the signer answered with something that is not an answer');
        if (current !== made) return undefined;
      }
      if (received.length > MAX_LINE_BYTES)
        drop(`the signer answered with a line of more than ${MAX_LINE_BYTES} bytes`);
    });
    made.input.on('error', () => {});
    made.output.on('error', () => {});
    void made.ended.then(drop);
    return made;
  }

  function opened(): Promise<Line> {
    if (line !== undefined) return line;
    if (failed !== undefined && now() - failed.at < REOPEN_MS && now() >= failed.at)
      return Promise.reject(failed.error);
    line = connect().catch((error: unknown) => {
      throw fail(`the signer can not be reached: ${(error as Error).message}`);
    });
    return line;
  }

  return {
    async ask(question) {
      if (closed) throw new SignerFailed('the signer is no longer needed');
      if (waiting.size >= MAX_WAITING) throw new SignerFailed('too many questions to the signer are open');
      const made = await opened();
      if (current !== made) throw failed?.error ?? new SignerFailed('the signer closed the connection');
      lastId += 1;
      const id = lastId;
      return new Promise((resolve, reject) => {
        const late = (): void => settle(id)?.reject(new SignerFailed(`the signer did not answer in ${timeoutMs} ms`));
        waiting.set(id, { resolve, reject, timer: setTimeout(late, timeoutMs) });
        made.input.write(`${JSON.stringify({ id, ...question })}\n`);
      });
    },
    close() {
      closed = true;
      void line?.then((made) => made.close()).catch(() => {});
      fail('the signer is no longer needed');
    },
  };
}
