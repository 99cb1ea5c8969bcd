import type { Context } from './command.ts';
import { NO_PROGRESS } from './progress.ts';

/** Surroundings that a test looks into. */
export function fakeContext(
  env: Record<string, string>,
): Context & { said: { out: string; err: string }; time: number } {
  const said = { out: '', err: '' };
  const writer = (name: 'out' | 'err') => ({
    isTerminal: false,
    write: (text: string): void => {
      said[name] += text;
    },
  });
  const context = {
    env,
    cwd: '/',
    version: '0.0.0',
    said,
    time: Date.parse('2026-09-01T12:00:00Z'),
    now: () => context.time,
    out: writer('out'),
    err: writer('err'),
    readStdin: async () => '',
    progress: NO_PROGRESS,
    stopped: () => new AbortController().signal,
  };
  return context;
}
