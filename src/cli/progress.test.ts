import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { whileWaiting } from './progress.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function waiting(isTerminal: boolean, answerAfterMs: number) {
  let said = '';
  const err = {
    isTerminal,
    write: (text: string): void => {
      said += text;
    },
  };
  const slow = () => new Promise<Response>((resolve) => setTimeout(() => resolve(new Response()), answerAfterMs));
  const answer = whileWaiting({ err }, 'https://desk:8443/x', slow)('https://desk:8443/x/version');
  return { answer, said: () => said };
}

describe('while an answer is waited for', () => {
  it('a person is told after a second, and the line goes', async () => {
    const { answer, said } = waiting(true, 1_500);
    await vi.advanceTimersByTimeAsync(999);
    expect(said()).toBe('');
    await vi.advanceTimersByTimeAsync(1);
    expect(said()).toBe('Waiting for desk:8443...');
    await vi.advanceTimersByTimeAsync(500);
    await answer;
    expect(said()).toBe('Waiting for desk:8443...\r\u001b[K');
  });

  it('nothing is said before that, nor to a program', async () => {
    for (const [isTerminal, ms] of [
      [true, 900],
      [false, 5_000],
    ] as const) {
      const { answer, said } = waiting(isTerminal, ms);
      await vi.advanceTimersByTimeAsync(ms);
      await answer;
      expect(said()).toBe('');
    }
  });
});
