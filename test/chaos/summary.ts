import type { ProblemKind } from './ledger.ts';
import type { Outcome } from './run.ts';

/** What was looked at and what was found, as a table for docs/reliability.md. */
export function summaryOf({ ledger, tokens, unknown, faults, seconds, memory }: Outcome): string {
  const { checked, problems } = ledger;
  const count = (key: string): string => thousands(checked[key] ?? 0);
  const found = (...kinds: ProblemKind[]): number =>
    kinds.reduce((sum, kind) => sum + (problems.get(kind)?.count ?? 0), 0);
  const all = [...faults.values()].reduce((sum, fault) => sum + fault.count, 0);
  const rows: [string, string][] = [
    ['faults', `${all} in ${Math.round(seconds)} s`],
    ...[...faults].map(([kind, fault]): [string, string] => [
      `- ${kind}`,
      `${fault.count} ×; all replicas wrote again after ${Math.round(fault.slowestMs)} ms at most`,
    ]),
    [
      'acknowledged writes',
      `${count('writes')} (and ${thousands(unknown)} tries without a clear answer): lost ${found('lost write')}, versions given twice ${found('version given twice')}`,
    ],
    [
      'compare-and-swap',
      `${count('contests')} contests: two winners ${found('two winners')}, no winner ${found('no winner')}; writes over one that was not seen ${found('lost update')}`,
    ],
    [
      'reads after a write',
      `${count('reads')}: stale ${found('stale read')}, never written ${found('read of nothing')}`,
    ],
    [
      `${checked.watchers} watchers`,
      `${count('events')} events, each of ${count('expectations')} that were due looked for: missed ${found('missed event')}, twice or out of order ${found('event twice or out of order')}, different ${found('different event')}`,
    ],
    ['watches resumed at any replica', `${count('resumed')}: not possible ${found('watch not resumed')}`],
    [
      'token requests',
      `${thousands(tokens.asked)}, failed ${tokens.failed} (${percent(tokens.failed, tokens.asked)}) with all faults; shown to another replica: ${thousands(tokens.accepted)} accepted, refused ${found('token refused')}`,
    ],
    [
      'of these later than 2 s after a death',
      `${thousands(tokens.askedAfterDeath)} after ${tokens.deaths} deaths: failed ${tokens.failedAfterDeath} (${percent(tokens.failedAfterDeath, tokens.askedAfterDeath)}, less than 0.1 % is asked for)`,
    ],
    ['at the end', `${count('finalObjects')} objects compared at all replicas: different ${found('replicas differ')}`],
    ['memory', `largest replica ${memory.replica.join(' -> ')} MB, the judge ${memory.judge.join(' -> ')} MB`],
    ['problems', [...problems].map(([kind, { count: n }]) => `${kind}: ${n}`).join(', ') || 'none'],
  ];
  return ['| checked | found |', '|---|---|', ...rows.map(([what, value]) => `| ${what} | ${value} |`)].join('\n');
}

/** Every problem with some examples; empty when all is well. */
export const problemsIn = ({ ledger }: Outcome): string[] =>
  [...ledger.problems].map(([kind, { count, examples }]) => `${kind} (${count}): ${examples.join('; ')}`);

const thousands = (n: number): string => n.toLocaleString('en-US');
const percent = (part: number, whole: number): string => `${((100 * part) / Math.max(1, whole)).toFixed(3)} %`;
