import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fakeContext } from './cli.fixture.ts';
import type { Command, Context } from './command.ts';
import { Invocation } from './command.ts';
import { runCommand } from './program.ts';
import { whileWaiting } from './progress.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const LINE = 'Waiting for desk:8443...';
const ERASED = '\r\u001b[K';

/** A command that sends some requests, one after the other, to a server that takes this long for each. */
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
  const command: Command = {
    path: ['x'],
    summary: '',
    examples: [],
    load: async () => ({
      run: async (own) => {
        const fetch = whileWaiting(own, 'https://desk:8443/x', slow);
        for (let done = 1; done <= requests; done++) {
          await fetch('https://desk:8443/x/version');
          between(own, done);
        }
        return 0;
      },
    }),
  };
  const ended = runCommand(command, context, new Invocation([], {}));
  return { ended, said: () => fake.said };
}

describe('while a command runs', () => {
  it('a person is told after a second, and the line goes at the end', async () => {
    const { ended, said } = running({ eachMs: 1_500 });
    await vi.advanceTimersByTimeAsync(999);
    expect(said().err).toBe('');
    await vi.advanceTimersByTimeAsync(1);
    expect(said().err).toBe(LINE);
    await vi.advanceTimersByTimeAsync(500);
    expect(await ended).toBe(0);
    expect(said().err).toBe(LINE + ERASED);
  });

  it('many short requests count together, and the line stays from one to the next', async () => {
    const { ended, said } = running({ requests: 10, eachMs: 400 });
    await vi.advanceTimersByTimeAsync(999);
    expect(said().err).toBe('');
    await vi.advanceTimersByTimeAsync(3_001);
    expect(await ended).toBe(0);
    expect(said().err).toBe(LINE + ERASED);
  });

  it('what the command writes is not written into the line', async () => {
    const { ended, said } = running({
      requests: 2,
      eachMs: 1_200,
      between: (context, done) => {
        context.progress.count(done, 2);
        context.err.write(`${done}\n`);
      },
    });
    await vi.advanceTimersByTimeAsync(2_400);
    await ended;
    expect(said().err).toBe(`${LINE}${ERASED}1\n${LINE} (1 of 2)${ERASED}2\n`);
  });

  it('nothing is said before a second, nor to a program', async () => {
    for (const [isTerminal, eachMs] of [
      [true, 900],
      [false, 5_000],
    ] as const) {
      const { ended, said } = running({ isTerminal, eachMs });
      await vi.advanceTimersByTimeAsync(eachMs);
      await ended;
      expect(said().err).toBe('');
    }
  });
});
