import { createRounds } from '../lib/rounds.ts';
import type { Logger } from '../observability/logger.ts';
import type { Leadership } from '../storage/leadership.ts';

export interface SweepTimer {
  readonly every: (ms: number, act: () => void) => () => void;
  /** The leader sweeps, for all replicas. */
  readonly leadership: Pick<Leadership, 'leads'>;
  readonly logger: Pick<Logger, 'warn'>;
}

/** Runs the sweep at an interval while this replica leads. `onFailure` is the text of the log. */
export function startSweep(
  { every, leadership, logger }: SweepTimer,
  sweep: () => Promise<void>,
  onFailure: string,
  sweepMs = 1_000,
): () => Promise<void> {
  const rounds = createRounds(sweep, (error) => logger.warn({ err: error }, onFailure));
  const stop = every(sweepMs, () => {
    if (leadership.leads()) rounds.start();
  });
  return async () => {
    stop();
    await rounds.ended();
  };
}
