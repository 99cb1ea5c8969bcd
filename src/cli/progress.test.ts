import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fakeContext } from './cli.fixture.ts';
import { type Context, Invocation, type Run } from './command.ts';
import { runCommand, runProgram } from './program.ts';
import { fetchWithProgress, withProgress } from './progress.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

const LINE = 'Waiting for pass:8443...';
const ERASED = '\r\u001b[K';

/** Runs a command that sends requests one after the other to a server that takes `eachMs` for each. */
function running({
  isTerminal = true,
  requests = 1,
  eachMs,
  between = () => {},
}: {
  isTerminal?: boolean;
  requests?: number;
  eachMs: number;
  between?: (context: Context, done: number) => void;
}) {
  const fake = fakeContext({});
  const context = { ...fake, err: { ...fake.err, isTerminal } };
  const slow = () => new Promise<Response>((resolve) => setTimeout(() => resolve(new Response()), eachMs));
  const run: Run = async (own) => {
    const fetch = fetchWithProgress(own, 'https://pass:8443/x', slow);
    for (let done = 1; done <= requests; done++) {
      await fetch('https://pass:8443/x/version');
      between(own, done);
    }
    return 0;
  };
  const exit = runCommand(async () => run, context, new Invocation([], {}));
  return { exit, written: () => fake.written };
}

describe('the status line', () => {
  it('appears after a second and is erased at the end', async () => {
    const { exit, written } = running({ eachMs: 1_500 });
    await vi.advanceTimersByTimeAsync(999);
    expect(written().err).toBe('');
    await vi.advanceTimersByTimeAsync(1);
    expect(written().err).toBe(LINE);
    await vi.advanceTimersByTimeAsync(500);
    expect(await exit).toBe(0);
    expect(written().err).toBe(LINE + ERASED);
  });

  it('adds up short requests and stays between them', async () => {
    const { exit, written } = running({ requests: 10, eachMs: 400 });
    await vi.advanceTimersByTimeAsync(999);
    expect(written().err).toBe('');
    await vi.advanceTimersByTimeAsync(3_001);
    expect(await exit).toBe(0);
    expect(written().err).toBe(LINE + ERASED);
  });

  it('is erased before the command writes', async () => {
    const { exit, written } = running({
      requests: 2,
      eachMs: 1_200,
      between: (context, done) => {
        context.err.write(`${done}\n`);
      },
    });
    await vi.advanceTimersByTimeAsync(2_400);
    await exit;
    expect(written().err).toBe(`${LINE}${ERASED}1\n${LINE}${ERASED}2\n`);
  });

  it('does not appear within the first second, nor without a terminal', async () => {
    for (const [isTerminal, eachMs] of [
      [true, 900],
      [false, 5_000],
    ] as const) {
      const { exit, written } = running({ isTerminal, eachMs });
      await vi.advanceTimersByTimeAsync(eachMs);
      await exit;
      expect(written().err).toBe('');
    }
  });

  it('shows the oldest wait, and once a second how far it is', async () => {
    const fake = fakeContext({});
    let done = 0;
    const exit = withProgress({ ...fake, err: { ...fake.err, isTerminal: true } }, async ({ progress }) => {
      const end = progress.waitFor(() => `${done} of 300 keys`);
      const endOther = progress.waitFor(() => 'pass:8443');
      for (; done < 200; done++) await new Promise((resolve) => setTimeout(resolve, 10));
      end();
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      endOther();
    });
    await vi.advanceTimersByTimeAsync(3_000);
    await exit;
    const lines = fake.written.err.split(ERASED);
    expect(lines).toEqual([
      expect.stringMatching(/^Waiting for (99|100) of 300 keys\.\.\.$/),
      expect.stringMatching(/^Waiting for (199|200) of 300 keys\.\.\.$/),
      LINE,
      '',
    ]);
  });

  it('is not wider than a terminal, which would wrap it', async () => {
    const fake = fakeContext({});
    const exit = withProgress({ ...fake, err: { ...fake.err, isTerminal: true } }, async ({ progress }) => {
      progress.waitFor(() => `etcd at ${'etcd.example.com, '.repeat(9)}`);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    });
    await vi.advanceTimersByTimeAsync(1_000);
    await exit;
    expect(fake.written.err.replace(ERASED, '')).toHaveLength(79);
  });

  it('is there for commands that are no client', async () => {
    const fake = fakeContext({});
    const context = { ...fake, err: { ...fake.err, isTerminal: true } };
    const exit = runProgram(['store', 'check'], context, async (_, __, { progress, out }) => {
      progress.waitFor(() => 'the store');
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      out.write('fine\n');
      return 3;
    });
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await exit).toBe(3);
    expect(fake.written).toEqual({ out: 'fine\n', err: `Waiting for the store...${ERASED}` });
  });
});
