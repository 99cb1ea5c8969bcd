import { isProbeReason } from '../../../src/api/clusters/conditions.ts';
import type { ClusterCondition } from '../../../src/client/index.ts';
import { sumsIn } from './metrics-text.ts';

export interface HealthFact {
  readonly name: string;
  readonly text: string;
  readonly state: 'good' | 'bad' | 'plain';
}

/** The lines of `/readyz?verbose`: `[+]storage ok`. */
export function readinessFacts(text: string): HealthFact[] {
  return [...text.matchAll(/^\[([+-])\](\S+) (.*)$/gm)].map(([, sign, name = '', outcome = '']) => ({
    name: CHECK_NAMES[name] ?? name,
    text:
      sign === '+'
        ? 'ok'
        : outcome.replace(/^failed: reason withheld$/, 'failed: the log of the server has the reason'),
    state: sign === '+' ? 'good' : 'bad',
  }));
}

const CHECK_NAMES: Readonly<Record<string, string>> = {
  ping: 'Process',
  storage: 'Store',
  cache: 'Watch cache',
  'token-file': 'Token file',
  'authentication-config': 'Identity providers',
  shutdown: 'Not shutting down',
};

const seconds = (value: number): string => (value < 1 ? `${Math.round(value * 1_000)} ms` : `${value.toFixed(1)} s`);

/** What `/metrics` says about the replica that answers. */
export function metricFacts(text: string): HealthFact[] {
  const sums = sumsIn(text);
  const sum = (name: string): number | undefined => sums.get(name);
  const fact = (
    name: string,
    value: number | undefined,
    show: (value: number) => HealthFact['text'],
    isBad?: (value: number) => boolean,
  ): HealthFact[] =>
    value === undefined
      ? []
      : [{ name, text: show(value), state: isBad === undefined ? 'plain' : isBad(value) ? 'bad' : 'good' }];
  const count = sum('clusterpass_store_request_duration_seconds_count');
  return [
    ...fact('Leader', sum('clusterpass_leader'), (value) => (value > 0 ? 'this replica' : 'another replica')),
    ...fact(
      'Store, mean response',
      count ? (sum('clusterpass_store_request_duration_seconds_sum') ?? 0) / count : undefined,
      seconds,
    ),
    ...fact(
      'Store, failed requests',
      sum('clusterpass_store_errors_total') ?? 0,
      (value) => value.toLocaleString(),
      (value) => value > 0,
    ),
    ...fact('Watch cache, lag', sum('clusterpass_cache_lag_seconds'), seconds, (value) => value >= 1),
    ...fact('Clock, distance from the store', sum('clusterpass_clock_skew_seconds'), seconds, (value) => value >= 1),
    ...fact(
      'Audit log',
      sum('clusterpass_audit_log_failing'),
      (value) => (value > 0 ? 'cannot be written: no passes are issued' : 'is written'),
      (value) => value > 0,
    ),
    ...fact(
      'Audit events lost',
      sum('apiserver_audit_error_total'),
      (value) => value.toLocaleString(),
      (value) => value > 0,
    ),
    ...fact('Open watches', sum('apiserver_longrunning_requests') ?? 0, (value) => value.toLocaleString()),
    ...fact('Requests rejected (429)', sum('apiserver_flowcontrol_rejected_requests_total') ?? 0, (value) =>
      value.toLocaleString(),
    ),
  ];
}

/** An unchanged condition is written every five minutes at most. */
const OVERDUE_MS = 15 * 60_000;

/** What the conditions of the visible clusters say about the prober. */
export function proberFacts(conditions: readonly (readonly ClusterCondition[])[], now: number): HealthFact[] {
  const probed = conditions.flatMap((all) =>
    all.filter(({ type, reason }) => type === 'Ready' && isProbeReason(reason)),
  );
  if (probed.length === 0) return [{ name: 'Prober', text: 'probes no cluster that you see', state: 'plain' }];
  const overdue = probed.filter(({ lastHeartbeatTime = '' }) => !(now - Date.parse(lastHeartbeatTime) < OVERDUE_MS));
  return [
    { name: 'Prober', text: `${probed.length} of ${conditions.length} clusters`, state: 'plain' },
    {
      name: 'Clusters without a probe for 15 minutes',
      text: String(overdue.length),
      state: overdue.length > 0 ? 'bad' : 'good',
    },
  ];
}
