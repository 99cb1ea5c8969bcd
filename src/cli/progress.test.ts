import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fakeContext } from './cli.fixture.ts';
import { type Context, Invocation, type Run } from './command.ts';
import { runCommand } from './program.ts';
import { fetchWithProgress } from './progress.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

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
});
