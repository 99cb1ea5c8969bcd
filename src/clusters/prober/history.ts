import { type Conclusion, conclude, type ReasonOf } from '../../api/clusters/conditions.ts';
import { FAULT_REASONS, type Fault, type Outcome } from './outcome.ts';

/** What is known of a cluster between two probes. Times are of a monotonic clock. */
export interface History {
  /** Undefined until the first verdict. */
  readonly verdict: Conclusion | undefined;
  /** Whether a probe of the present endpoints has succeeded, as far as is known. */
  readonly wasReady: boolean;
  /** Failed probes since the last successful one. */
  readonly failures: number;
  /** The fault of the last probe, and how many probes in a row found the same. */
  readonly fault: Fault | undefined;
  readonly sameFault: number;
  /** When the last probe finished, with whatever result. */
  readonly probedAt: number;
}

/** Fewer failures can be a glitch of the network or of a credential. */
const FAILURES_FOR_VERDICT = 3;
const MISSED_INTERVALS = 5;

/** Verdicts that do not show that the cluster was ready before. */
const UNPROVEN: ReadonlySet<string> = new Set<ReasonOf<'Ready'>>([
  'ProbeNotYetSucceeded',
  'ProbePending',
  'ProbeMissing',
  'ProbeDisabled',
]);

/** Starts from the stored verdict: after a restart a cluster that was ready needs three failures again. */
export const beginHistory = (
  stored: Conclusion | undefined,
  now: number,
  wasReady = stored !== undefined && !UNPROVEN.has(stored.reason),
): History => ({
  verdict: stored,
  wasReady,
  failures: 0,
  fault: undefined,
  sameFault: 0,
  probedAt: now,
});

/** One success makes the cluster ready; three failures in a row make it unready. */
export function afterProbe(history: History, outcome: Outcome, now: number): History {
  if (outcome.ready) return beginHistory(READY, now);
  const { fault } = outcome;
  const { wasReady } = history;
  const failures = history.failures + 1;
  const sameFault = fault === history.fault ? history.sameFault + 1 : 1;
  const next: History = { verdict: history.verdict, wasReady, failures, fault, sameFault, probedAt: now };
  const found = wasReady ? conclude('Ready', FAULT_REASONS[fault], outcome.message) : NOT_YET;
  return changesVerdict(next, found.reason) ? { ...next, verdict: found } : next;
}

const READY = conclude('Ready', 'ProbeSucceeded', 'The API server answers and says that it is ready.');

/**
 * One text for every fault: a caller who may register clusters could otherwise find out which machines and ports of the
 * server's networks answer.
 */
const NOT_YET = conclude(
  'Ready',
  'ProbeNotYetSucceeded',
  'No probe of this cluster has succeeded yet. Check its address, its caBundle and the way from Clusterpass to it; ' +
    'the log of Clusterpass says what failed.',
);

/** Whether to log the fault that the verdict hides: when it is new, not at every probe. */
export const revealsInLog = ({ wasReady, failures, sameFault }: History): boolean =>
  !wasReady && (failures === FAILURES_FOR_VERDICT || sameFault === FAILURES_FOR_VERDICT);

/**
 * While a cluster is down its faults may alternate, e.g. between a refused connection and a timeout. Another reason
 * also needs three failures in a row. The message of the same reason may change at any time.
 */
function changesVerdict({ verdict, failures, sameFault }: History, reason: string): boolean {
  if (verdict?.status !== 'False') return failures >= FAILURES_FOR_VERDICT;
  return verdict.reason === reason || sameFault >= FAILURES_FOR_VERDICT;
}

/** When no probe has finished for too long, the verdict becomes Unknown. */
export function afterMissedProbes(history: History, now: number, intervalMs: number): History {
  const isMissing = now - history.probedAt >= MISSED_INTERVALS * intervalMs;
  if (!isMissing || history.verdict?.reason === ('ProbeMissing' satisfies ReasonOf<'Ready'>)) return history;
  const message = `No probe has finished for ${MISSED_INTERVALS} intervals: the prober is behind.`;
  // Failures from before the gap do not count any more.
  return beginHistory(conclude('Ready', 'ProbeMissing', message), history.probedAt, history.wasReady);
}
