import { setTimeout as sleep } from 'node:timers/promises';
import type { Server } from '../../test/e2e/support/server.ts';

/** Delays of the event loop, in milliseconds. */
interface LoopDelay {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly samples: number;
}

/** The environment of a server that reports the delay of its event loop (`loop-delay.mjs`). */
export const loopDelayEnv = (): Record<string, string> => ({
  NODE_OPTIONS: `--import=${new URL('loop-delay.mjs', import.meta.url).href}`,
});

/** The delay of the server's event loop since the last call. */
export async function loopDelay({ pid, output }: Pick<Server, 'pid' | 'output'>): Promise<LoopDelay> {
  const from = output.stdout.length;
  process.kill(pid, 'SIGUSR2');
  for (;;) {
    const line = /event loop (\{.*\})\n/.exec(output.stdout.slice(from))?.[1];
    if (line !== undefined) return JSON.parse(line) as LoopDelay;
    await sleep(10);
  }
}
