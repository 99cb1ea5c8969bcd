import type { Logger } from '../../observability/logger.ts';
import type { Leadership } from '../../storage/leadership.ts';

export interface SweepTimer {
  readonly every: (ms: number, act: () => void) => () => void;
  /** The leader sweeps, for all replicas. */
  readonly leadership: Pick<Leadership, 'leads'>;
  readonly logger: Pick<Logger, 'warn'>;
}

const SWEEP_MS = 1_000;

/** Runs the sweep every second while this replica leads, one at a time. `onFailure` is the text of the log. */
export function startSweep(
  { every, leadership, logger }: SweepTimer,
  sweep: () => Promise<void>,
  onFailure: string,
): () => Promise<void> {
  let running: Promise<void> | undefined;
  const stop = every(SWEEP_MS, () => {
    if (!leadership.leads()) return;
    running ??= sweep()
      .catch((error: unknown) => logger.warn({ err: error }, onFailure))
      .finally(() => {
        running = undefined;
      });
  });
  return async () => {
    stop();
    await running;
  };
}
