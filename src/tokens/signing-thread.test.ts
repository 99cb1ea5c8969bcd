import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { ALGORITHMS, type Algorithm, newPrivateKey, signJws } from './keys/algorithms.ts';
import {
  openSigningThread,
  type SigningThread,
  type SigningThreadOptions,
  startSigningWorker,
} from './signing-thread.ts';

/** The real thread and the real pool. Which of them has signed is told by the pool, which is counted. */

const pool = { signed: 0 };
const workers: Worker[] = [];
let keys: Record<Algorithm, KeyObject>;
let other: KeyObject;
const opened: SigningThread[] = [];
const warnings: string[] = [];

beforeAll(async () => {
  const made = await Promise.all(ALGORITHMS.map(async (name) => [name, await newPrivateKey(name)] as const));
  keys = Object.fromEntries(made) as Record<Algorithm, KeyObject>;
  other = await newPrivateKey('ES256');
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((thread) => thread.close()));
  workers.length = 0;
  warnings.length = 0;
});

let clock = 0;
function open(seams: Partial<SigningThreadOptions> = {}): SigningThread {
  const thread = openSigningThread({
    now: () => clock,
    logger: { warn: (_: object, text: string) => warnings.push(text) } as never,
    pool: (...args) => {
      pool.signed += 1;
      return signJws(...args);
    },
    startWorker: () => {
      const worker = new Worker(new URL('./signing-worker.ts', import.meta.url));
      workers.push(worker);
      return worker;
    },
    ...seams,
  });
  opened.push(thread);
  return thread;
}

const isGood = (key: KeyObject, input: string, signature: string): boolean =>
  verify(
    'sha256',
    Buffer.from(input),
    { key: createPublicKey(key), dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );

/** So many at once, each another text; gives how many of them the pool has signed. */
async function signMany(thread: SigningThread, count: number, key = keys.ES256): Promise<number> {
  const before = pool.signed;
  const inputs = Array.from({ length: count }, (_, at) => `header.text-${at}`);
  const signatures = await Promise.all(inputs.map((input) => thread.sign('ES256', key, input)));
  for (const [at, input] of inputs.entries()) expect(isGood(key, input, signatures[at] ?? '')).toBe(true);
  return pool.signed - before;
}

/** A thread that is up. */
async function openReady(): Promise<SigningThread> {
  const thread = open();
  await expect.poll(() => signMany(thread, 2)).toBe(0);
  return thread;
}

test('A23: each gets the signature of its own text, off the event loop, however many there are', async () => {
  const thread = await openReady();
  for (const count of [1, 2, 3, 4, 5, 50]) expect(await signMany(thread, count)).toBe(0);
});

test('the pool signs until the thread is there, and for whoever comes alone there is none', async () => {
  const thread = open();
  for (let count = 0; count < 3; count++) expect(await signMany(thread, 1)).toBe(1);
  expect(workers).toHaveLength(0);
  expect(await signMany(thread, 9)).toBe(9);
  expect(workers).toHaveLength(1);
});

test('after a rotation the new key signs; those who come with both at once get what they asked for', async () => {
  const thread = await openReady();
  expect(await signMany(thread, 3, other)).toBe(0);
  await Promise.all([signMany(thread, 1), signMany(thread, 1, other), signMany(thread, 1)]);
  expect(await signMany(thread, 3)).toBe(0);
});

test.each(ALGORITHMS.filter((name) => name !== 'ES256'))('%s is left to the pool', async (algorithm) => {
  const thread = await openReady();
  const before = pool.signed;
  await Promise.all([1, 2].map(() => thread.sign(algorithm, keys[algorithm], 'text')));
  expect(pool.signed - before).toBe(2);
});

test('a key that can not sign is an error, and of nobody else', async () => {
  const thread = await openReady();
  const unusable = createPublicKey(keys.ES256);
  await expect(thread.sign('ES256', unusable, 'text')).rejects.toThrow();
  expect(await signMany(thread, 2)).toBe(0);
});

test('when the thread ends nobody is left without a signature, and later there is another', async () => {
  const thread = await openReady();
  // What is handed over from here on never reaches it: a thread that is told to end may still answer what it was given.
  const [worker] = workers;
  if (worker !== undefined) worker.postMessage = () => undefined;
  const pending = signMany(thread, 8);
  void worker?.terminate();
  expect(await pending).toBe(8);
  expect(warnings).toHaveLength(1);
  expect(await signMany(thread, 2)).toBe(2);
  expect(workers).toHaveLength(1);
  clock += 10_000;
  await expect.poll(() => signMany(thread, 2)).toBe(0);
  expect(workers).toHaveLength(2);
});

test('where there is no thread to be had the pool signs', async () => {
  const thread = open({
    startWorker: () => {
      throw new Error('EAGAIN');
    },
  });
  for (const count of [2, 4, 9]) expect(await signMany(thread, count)).toBe(count);
  expect(warnings).toHaveLength(1);
});

test('the thread as the program starts it signs', async () => {
  const thread = open({ startWorker: startSigningWorker });
  await expect.poll(() => signMany(thread, 4)).toBe(0);
});

test('once it is closed the pool signs what still comes, and says nothing', async () => {
  const thread = await openReady();
  await thread.close();
  clock += 10_000;
  expect(await signMany(thread, 2)).toBe(2);
  expect(warnings).toEqual([]);
});
