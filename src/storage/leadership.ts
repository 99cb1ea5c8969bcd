import { type Guard, StorageError } from './contract.ts';

/**
 * A leader that dies is replaced within ten seconds: the lease expires, etcd notices within half a second, and the
 * others campaign once a second.
 */
export const LEASE_MS = 6_000;
export const CAMPAIGN_MS = 1_000;
/** Leadership ends this long before the lease expires: a clock may be slow, and started work takes a while. */
export const MARGIN_MS = 1_000;

/**
 * Leader election among the processes that share a store. The leader alone compacts, probes clusters and rotates keys.
 * At most one leads at a time as far as clocks are right; for writes, the fence is exact.
 */
export interface Leadership {
  /** True while this process leads. Call it before each piece of work. */
  leads(): boolean;
  /**
   * A guard for writes that only the leader may make: such a write fails once another process leads. Undefined when
   * this process does not lead, or when no other process can.
   */
  fence(): Guard | undefined;
  /** Resigns, so that another process can lead at once. */
  close(): Promise<void>;
}

/** Of a store that only one process can have open. */
export const soleLeadership: Leadership = {
  leads: () => true,
  fence: () => undefined,
  close: async () => {},
};

/** The same, but without a leader while `holds` returns false: for work that depends on a correct clock. */
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

/** For a process that led before: its fence failed, or its lease has expired. */
export const leadLost = (): StorageError => new StorageError('unavailable', 'this replica no longer leads');
