import type { ProblemKind } from './history-checker.ts';
import type { Outcome } from './run.ts';

/** The result as a table, for docs/promises.md. */
export function summaryOf({ checker, tokens, unknown, faults, seconds, memory }: Outcome): string {
  const { checked, problems } = checker;
  const count = (key: string): string => thousands(checked[key] ?? 0);
  const found = (...kinds: ProblemKind[]): number =>
    kinds.reduce((sum, kind) => sum + (problems.get(kind)?.count ?? 0), 0);
  const all = [...faults.values()].reduce((sum, fault) => sum + fault.count, 0);
  const rows: [string, string][] = [
    ['faults', `${all} in ${Math.round(seconds)} s`],
    ...[...faults].map(([kind, fault]): [string, string] => [
      `- ${kind}`,
      `${fault.count} ×; etcd was healthy after ${Math.round(fault.slowestEtcdMs)} ms at most, all replicas wrote again at most ${Math.round(fault.slowestMs)} ms later`,
    ]),
    [
      'acknowledged writes',
      `${count('writes')} (and ${thousands(unknown)} with an unknown outcome): lost ${found('lost write')}, versions given twice ${found('version given twice')}`,
    ],
    [
      'compare-and-swap',
      `${count('contests')} contests: two winners ${found('two winners')}, no winner ${found('no winner')}; lost updates ${found('lost update')}`,
    ],
    [
      'reads after a write',
      `${count('reads')}: stale ${found('stale read')}, never written ${found('read of nothing')}`,
    ],
    [
      `${checked.watchers} watchers`,
      `${count('events')} events, ${count('expectations')} expected: missed ${found('missed event')}, twice or out of order ${found('event twice or out of order')}, different ${found('different event')}`,
    ],
    ['watches resumed at any replica', `${count('resumed')}: not possible ${found('watch not resumed')}`],
    [
      'token requests',
      `${thousands(tokens.asked)}, failed ${tokens.failed} (${percent(tokens.failed, tokens.asked)}) with all faults; used at another replica: ${thousands(tokens.accepted)} accepted, refused ${found('token refused')}`,
    ],
    [
      'of these later than 2 s after a death',
      `${thousands(tokens.askedAfterDeath)} after ${tokens.deaths} deaths: failed ${tokens.failedAfterDeath} (${percent(tokens.failedAfterDeath, tokens.askedAfterDeath)}, limit 0.1 %)`,
    ],
    [
      'revocations',
      `${count('revocations')} acknowledged, ${count('revokedTried')} attempts with revoked tokens: accepted too late ${found('late revocation')}`,
    ],
    [
      'bindings that end',
      `${count('endingPasses')} passes: outlived their binding ${found('pass outlives its binding')}; ${count('endedRefused')} requests refused after the end: granted ${found('granted after the end')}; followed by ${count('endsFollowed')} watchers: still shown ${found('shown after the end')}`,
    ],
    ['leaders', `two at a time ${found('two leaders')}, slow takeover ${found('slow takeover')}`],
    ['at the end', `${count('finalObjects')} objects compared at all replicas: different ${found('replicas differ')}`],
    ['memory', `largest replica ${memory.replica.join(' -> ')} MB, the test ${memory.test.join(' -> ')} MB`],
    ['problems', [...problems].map(([kind, { count: n }]) => `${kind}: ${n}`).join(', ') || 'none'],
  ];
  return ['| checked | found |', '|---|---|', ...rows.map(([what, value]) => `| ${what} | ${value} |`)].join('\n');
}

/** Every problem with examples. */
export const problemsIn = ({ checker }: Outcome): string[] =>
  [...checker.problems].map(([kind, { count, examples }]) => `${kind} (${count}): ${examples.join('; ')}`);

const thousands = (n: number): string => n.toLocaleString('en-US');
const percent = (part: number, whole: number): string => `${((100 * part) / Math.max(1, whole)).toFixed(3)} %`;
