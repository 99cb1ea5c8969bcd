import { setTimeout as pause } from 'node:timers/promises';
import type { Server } from '../../test/e2e/support/server.ts';

export interface LoopDelay {
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly samples: number;
}

/** The environment of a server whose event loop is to be looked at. */
export const watchingItsLoop = (): Record<string, string> => ({
  NODE_OPTIONS: `--import=${new URL('loop-delay.mjs', import.meta.url).href}`,
});

/** By how much the event loop of the server was late since this was last asked. */
export async function loopDelay({ pid, output }: Pick<Server, 'pid' | 'output'>): Promise<LoopDelay> {
  const from = output.stdout.length;
  process.kill(pid, 'SIGUSR2');
  for (;;) {
    const said = /event loop (\{.*\})\n/.exec(output.stdout.slice(from))?.[1];
    if (said !== undefined) return JSON.parse(said) as LoopDelay;
    await pause(10);
  }
}
