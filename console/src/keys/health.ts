import { formatTime } from '../components/time.tsx';
import { sumsIn } from './metrics-text.ts';

export interface HealthFact {
  readonly name: string;
  readonly text: string;
  readonly state: 'good' | 'bad' | 'plain';
}

/** The lines of `/readyz?verbose`: `[+]storage ok`. */
export const readinessFacts = (text: string): HealthFact[] =>
  [...text.matchAll(/^\[([+!-])\](\S+) (.*)$/gm)].map(([, sign, name = '', outcome = '']) => ({
    name,
    text: sign === '+' ? 'ok' : outcome.replace('reason withheld', 'the log of the server has the reason'),
    state: sign === '+' ? 'good' : 'bad',
  }));

const seconds = (value: number): string => (value < 1 ? `${Math.round(value * 1_000)} ms` : `${value.toFixed(1)} s`);
const number = (value: number): string => value.toLocaleString();

interface Figure {
  readonly name: string;
  readonly value: number | undefined;
  readonly show: (value: number) => string;
  /** From which value on it is bad. */
  readonly bad?: number;
}

/** What `/metrics` says about the replica that answers. */
export function metricFacts(text: string): HealthFact[] {
  const sums = sumsIn(text);
  const sum = (name: string): number | undefined => sums.get(name);
  const count = sum('clusterpass_store_request_duration_seconds_count');
  const mean = count && (sum('clusterpass_store_request_duration_seconds_sum') ?? 0) / count;
  const rejected = sum('apiserver_flowcontrol_rejected_requests_total') ?? 0;
  const certificates = [...text.matchAll(/^clusterpass_tls_certificate_expiration_timestamp_seconds\{.*\} (\S+)$/gm)];
  const ends = certificates.map(([, end]) => Number(end) * 1_000);
  const leads = (value: number): string => (value > 0 ? 'this replica' : 'another replica');
  const audits = (value: number): string => (value > 0 ? 'cannot be written: no passes are issued' : 'is written');
  const figures: readonly Figure[] = [
    { name: 'Leader', value: sum('clusterpass_leader'), show: leads },
    { name: 'Store, mean response', value: mean || undefined, show: seconds },
    { name: 'Store, failed requests', value: sum('clusterpass_store_errors_total') ?? 0, show: number, bad: 1 },
    { name: 'Watch cache, lag', value: sum('clusterpass_cache_lag_seconds'), show: seconds, bad: 1 },
    { name: 'Clock, distance from the store', value: sum('clusterpass_clock_skew_seconds'), show: seconds, bad: 1 },
    { name: 'Audit log', value: sum('clusterpass_audit_log_failing'), show: audits, bad: 1 },
    { name: 'Audit events lost', value: sum('apiserver_audit_error_total'), show: number, bad: 1 },
    { name: 'First certificate ends', value: ends.length > 0 ? Math.min(...ends) : undefined, show: formatTime },
    { name: 'Open watches', value: sum('apiserver_longrunning_requests') ?? 0, show: number },
    { name: 'Requests rejected (429)', value: rejected, show: number },
  ];
  return figures.flatMap(({ name, value, show, bad }) => {
    if (value === undefined) return [];
    return [{ name, text: show(value), state: bad === undefined ? 'plain' : value >= bad ? 'bad' : 'good' } as const];
  });
}
