import type { Context } from './command.ts';
import { NO_PROGRESS } from './progress.ts';

/** A context that records what is written, with a clock that tests set. */
export function fakeContext(
  env: Record<string, string>,
): Context & { written: { out: string; err: string }; time: number } {
  const written = { out: '', err: '' };
  const recorder = (name: 'out' | 'err') => ({
    isTerminal: false,
    write: (text: string): void => {
      written[name] += text;
    },
  });
  const context = {
    env,
    cwd: '/',
    version: '0.0.0',
    written,
    time: Date.parse('2026-09-01T12:00:00Z'),
    now: () => context.time,
    out: recorder('out'),
    err: recorder('err'),
    readStdin: async () => '',
    progress: NO_PROGRESS,
    stopped: () => new AbortController().signal,
  };
  return context;
}
