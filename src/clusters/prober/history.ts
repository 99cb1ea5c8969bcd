import { FAULT_REASONS, type Fault, type Outcome, SILENCE_REASON, SUCCESS_REASON } from './outcome.ts';

/** What the condition `Ready` says. */
export interface Verdict {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/** What is remembered of a cluster between two looks. Times are those of a clock that only ever grows. */
export interface History {
  /** What is held to be true; undefined as long as nothing is. */
  readonly verdict: Verdict | undefined;
  /** Failed looks since the last one that succeeded. */
  readonly failures: number;
  /** What the last look found wrong, and how many looks in a row found just that. */
  readonly fault: Fault | undefined;
  readonly sameFault: number;
  /** When a look last ended, with whatever result. */
  readonly knownAt: number;
}

/** A glitch of the network or of a credential is over by then; a cluster that is down is not. */
const FAILURES_TO_BELIEVE = 3;
const SILENT_INTERVALS = 5;

/** Starts from what is stored: after a restart the first failure of a cluster that was well is a first failure again. */
export const beginHistory = (stored: Verdict | undefined, now: number): History => ({
  verdict: stored,
  failures: 0,
  fault: undefined,
  sameFault: 0,
  knownAt: now,
});

/** Good news counts at once, bad news when it has come three times in a row. */
export function afterProbe(history: History, outcome: Outcome, now: number): History {
  if (outcome.ready) return { ...beginHistory(READY, now) };
  const { fault } = outcome;
  const failures = history.failures + 1;
  const sameFault = fault === history.fault ? history.sameFault + 1 : 1;
  const next: History = { verdict: history.verdict, failures, fault, sameFault, knownAt: now };
  const found: Verdict = { status: 'False', reason: FAULT_REASONS[fault], message: outcome.message };
  return isBelieved(next, found.reason) ? { ...next, verdict: found } : next;
}

const READY: Verdict = {
  status: 'True',
  reason: SUCCESS_REASON,
  message: 'The API server answers and says that it is ready.',
};

/**
 * While a cluster is down its faults may alternate, between a refusal and a timeout say: another reason counts
 * when it has come three times in a row as well. The words for the same reason may change at any time.
 */
function isBelieved({ verdict, failures, sameFault }: History, reason: string): boolean {
  if (verdict?.status !== 'False') return failures >= FAILURES_TO_BELIEVE;
  return verdict.reason === reason || sameFault >= FAILURES_TO_BELIEVE;
}

/** When this prober has not managed to look for too long, it says so rather than repeat what it once knew. */
export function afterSilence(history: History, now: number, intervalMs: number): History {
  const isSilent = now - history.knownAt >= SILENT_INTERVALS * intervalMs;
  if (!isSilent || history.verdict?.reason === SILENCE_REASON) return history;
  const message = `No look at the cluster has ended for ${SILENT_INTERVALS} intervals: the prober is behind.`;
  // What failed before the gap is no longer in a row with what comes after it.
  return { ...beginHistory({ status: 'Unknown', reason: SILENCE_REASON, message }, history.knownAt) };
}
