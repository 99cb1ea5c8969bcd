import { createPublicKey, type KeyObject } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { JWS_ALGORITHMS } from '../../lib/jws-algorithms.ts';
import type { Thread } from '../../lib/worker-rpc.ts';
import { newPrivateKey, verifyWith } from './algorithms.ts';
import { joinTexts, splitTexts } from './signing-messages.ts';
import { SigningThreads } from './signing-threads.ts';

type Received = readonly [id: number, method: string, inputs: string];

/** A thread whose replies a test decides. */
class FakeThread implements Thread {
  readonly #received: Received[] = [];
  readonly #closers: ((cause: unknown) => void)[] = [];
  #deliver: (messages: readonly unknown[]) => void = () => {};
  isTerminated = false;
  isReferenced = true;

  get received(): string[][] {
    return this.#received.map(([, , inputs]) => splitTexts(inputs));
  }

  post(messages: readonly unknown[]): void {
    this.#received.push(...(messages as readonly Received[]));
  }

  onMessages(listener: (messages: readonly unknown[]) => void): void {
    this.#deliver = listener;
  }

  onClose(listener: (cause: unknown) => void): void {
    this.#closers.push(listener);
  }

  end(cause: unknown): void {
    for (const close of this.#closers) close(cause);
  }

  /** Answers the oldest message that has no answer. */
  reply(signatures = this.received[0]?.map((input) => `signature-of-${input}`) ?? []): void {
    const [id] = this.#received.shift() ?? [0];
    this.#deliver([[-id, joinTexts(signatures)]]);
  }

  ref(): void {
    this.isReferenced = true;
  }

  unref(): void {
    this.isReferenced = false;
  }

  terminate(): Promise<number> {
    this.isTerminated = true;
    return Promise.resolve(0);
  }
}

function fakes(maxThreads = 4, algorithm: 'ES256' | 'RS256' = 'ES256') {
  const threads: FakeThread[] = [];
  let ends: (() => void)[] = [];
  const signing = new SigningThreads(algorithm, {} as KeyObject, {
    maxThreads,
    handOver: (act) => ends.push(act),
    start() {
      const thread = new FakeThread();
      threads.push(thread);
      return thread;
    },
  });
  const endTick = (): void => {
    const acts = ends;
    ends = [];
    for (const act of acts) act();
  };
  return { signing, threads, endTick };
}

const numbered = (count: number): string[] => Array.from({ length: count }, (_, index) => `input-${index}`);

describe('signing threads', () => {
  it.each(JWS_ALGORITHMS)('A23: %s is signed in real threads, each input with its own signature', async (algorithm) => {
    const key = await newPrivateKey(algorithm);
    const signing = new SigningThreads(algorithm, key);
    const inputs = numbered(40);
    const signatures = await Promise.all(inputs.map((input) => signing.sign(input)));
    signing.close();
    const publicKey = createPublicKey(key);
    const verified = await Promise.all(
      inputs.map((input, index) =>
        verifyWith(algorithm, publicKey, Buffer.from(input), Buffer.from(signatures[index] ?? '', 'base64url')),
      ),
    );
    expect(verified).toEqual(inputs.map(() => true));
  });

  it('rejects the inputs of a thread that ended, and starts another for the next', async () => {
    const { signing, threads, endTick } = fakes();
    const lost = signing.sign('a');
    endTick();
    threads[0]?.end(new Error('out of memory'));
    await expect(lost).rejects.toThrow('the signing thread ended');
    const next = signing.sign('b');
    endTick();
    threads[1]?.reply();
    expect(await next).toBe('signature-of-b');
  });

  it('signs what it was given before it was closed, then ends its threads', async () => {
    const { signing, threads, endTick } = fakes();
    const sent = signing.sign('a');
    endTick();
    const waiting = signing.sign('b');
    signing.close();
    await expect(signing.sign('c')).rejects.toThrow('no longer in use');
    endTick();
    threads[0]?.reply();
    expect(threads[0]?.isTerminated).toBe(false);
    threads[0]?.reply();
    expect(await Promise.all([sent, waiting])).toEqual(['signature-of-a', 'signature-of-b']);
    expect(threads[0]?.isTerminated).toBe(true);
  });
});
