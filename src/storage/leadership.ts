import { type Guard, StorageError } from './contract.ts';

/**
 * Which of several processes does what only one must do: compaction, probing, the rotation of keys. At most one leads
 * at a time, as far as clocks can tell; where even that is not enough, the fence is exact.
 */
export interface Leadership {
  /** True while this process is the one. Ask anew before every piece of work. */
  leads(): boolean;
  /**
   * A guard for writes that only the leader may make: such a write fails once another leads, whatever this process
   * still believes. Undefined when this process does not lead, or when nobody else ever can.
   */
  fence(): Guard | undefined;
  /** Gives it up, so that another can take over at once. */
  close(): Promise<void>;
}

/** For a store that only one process can have open. */
export const soleLeadership: Leadership = {
  leads: () => true,
  fence: () => undefined,
  close: async () => {},
};

/** The same, but nobody leads while this does not hold: for work that goes by the clock, while the clock is wrong. */
export const leadsWhile = (
  leadership: Pick<Leadership, 'leads' | 'fence'>,
  holds: () => boolean,
): Pick<Leadership, 'leads' | 'fence'> => ({
  leads: () => leadership.leads() && holds(),
  fence: () => (holds() ? leadership.fence() : undefined),
});

/** The guards of a write that only the leader may make. Throws when this process does not lead. */
export function leaderGuards(leadership: Pick<Leadership, 'leads' | 'fence'>): readonly Guard[] {
  const fence = leadership.fence();
  if (fence !== undefined) return [fence];
  if (leadership.leads()) return [];
  throw leadLost();
}

/** What a leader is told that was asleep: its fence did not hold, or it has noticed before. */
export const leadLost = (): StorageError =>
  new StorageError('unavailable', 'this replica no longer leads, and leaves the work to the one that does');
