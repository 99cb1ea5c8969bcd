import { describe, expect, it } from 'vitest';
import { afterMissedProbes, afterProbe, beginHistory, type History, revealsInLog } from './history.ts';
import type { Fault, Outcome } from './outcome.ts';

const READY: Outcome = { ready: true, version: 'v1.36.4' };
const down = (fault: Fault, message: string = fault): Outcome => ({ ready: false, fault, message });

/** Status and reason after each probe. */
function verdicts(start: History, ...outcomes: Outcome[]): (string | undefined)[] {
  let history = start;
  return outcomes.map((outcome, index) => {
    history = afterProbe(history, outcome, index);
    const { status, reason } = history.verdict ?? {};
    return status === undefined ? undefined : `${status} ${reason}`;
  });
}

const UP = afterProbe(beginHistory(undefined, 0), READY, 0);

describe('the condition Ready', () => {
  it('is True after one success, whatever was before', () => {
    expect(verdicts(beginHistory(undefined, 0), READY)).toEqual(['True ProbeSucceeded']);
    const failures = [down('tls'), down('tls'), down('tls'), READY];
    expect(verdicts(UP, ...failures).at(-1)).toBe('True ProbeSucceeded');
  });

  it('is False after three failures in a row, not after two', () => {
    expect(verdicts(UP, down('network'), down('network'), down('network'))).toEqual([
      'True ProbeSucceeded',
      'True ProbeSucceeded',
      'False ProbeNetworkFailed',
    ]);
    const interrupted = [down('network'), down('network'), READY, down('network'), down('network')];
    expect(new Set(verdicts(UP, ...interrupted))).toEqual(new Set(['True ProbeSucceeded']));
  });

  it('names the last of three different faults, and keeps it while they alternate', () => {
    const faults = [down('network'), down('timeout'), down('unready'), down('network'), down('unready')];
    expect(verdicts(UP, ...faults).slice(2)).toEqual(Array(3).fill('False ProbeServerNotReady'));
  });

  it('changes its reason after another fault three times in a row', () => {
    const faults = ['tls', 'tls', 'tls', 'credential', 'credential', 'credential'].map((fault) => down(fault as Fault));
    expect(verdicts(UP, ...faults).slice(2)).toEqual([
      'False ProbeTLSFailed',
      'False ProbeTLSFailed',
      'False ProbeTLSFailed',
      'False ProbeCredentialFailed',
    ]);
  });

  it('starts from the stored verdict: a cluster that was ready needs three failures', () => {
    const stored = { status: 'False', reason: 'ProbeTLSFailed', message: '' } as const;
    expect(verdicts(beginHistory(stored, 0), down('network'))).toEqual(['False ProbeTLSFailed']);
    const well = { status: 'True', reason: 'ProbeSucceeded', message: '' } as const;
    expect(verdicts(beginHistory(well, 0), down('tls'), down('tls'))).toEqual(Array(2).fill('True ProbeSucceeded'));
  });
});

describe('A11: a cluster that was never ready', () => {
  const FAULTS: Fault[] = ['network', 'timeout', 'tls', 'credential', 'unready', 'answer', 'address'];
  const probed = (start: History, ...outcomes: Outcome[]): History =>
    outcomes.reduce((history, outcome) => afterProbe(history, outcome, 0), start);
  const three = (fault: Fault): Outcome[] => Array(3).fill(down(fault, `10.0.0.1 ${fault}`));

  it('has one text for every fault', () => {
    const found = FAULTS.map((fault) => probed(beginHistory(undefined, 0), ...three(fault)).verdict);
    expect(new Set(found.map((verdict) => JSON.stringify(verdict))).size).toBe(1);
    expect(found[0]).toMatchObject({ status: 'False', reason: 'ProbeNotYetSucceeded' });
    expect(found[0]?.message).not.toContain('10.0.0.1');
  });

  it.each(['ProbeNotYetSucceeded', 'ProbePending', 'ProbeMissing', 'ProbeDisabled'])(
    'is one whose stored reason is %s',
    (reason) => {
      const start = beginHistory({ status: 'Unknown', reason, message: '' }, 0);
      const missed = afterMissedProbes(start, 10_000_000, 1);
      for (const fault of FAULTS) {
        expect(probed(start, ...three(fault)).verdict?.reason).toBe('ProbeNotYetSucceeded');
        expect(probed(missed, ...three(fault)).verdict?.reason).toBe('ProbeNotYetSucceeded');
      }
    },
  );

  it('is not one that was ready, also after missed probes and after a restart', () => {
    const missed = afterMissedProbes(UP, 10_000_000, 1);
    expect(probed(missed, ...three('tls')).verdict?.reason).toBe('ProbeTLSFailed');
    const stored = beginHistory({ status: 'False', reason: 'ProbeTLSFailed', message: '' }, 0);
    expect(probed(stored, ...three('network')).verdict?.reason).toBe('ProbeNetworkFailed');
  });

  it('tells the log once what fails, and again when it is another fault', () => {
    let history = beginHistory(undefined, 0);
    const told = [...three('network'), ...three('network'), ...three('tls')].map((outcome) => {
      history = afterProbe(history, outcome, 0);
      return revealsInLog(history);
    });
    expect(told).toEqual([false, false, true, false, false, false, false, false, true]);
  });
});

describe('missed probes', () => {
  it('make the condition Unknown after five intervals without any result, not before', () => {
    expect(afterMissedProbes(UP, 149_999, 30_000)).toBe(UP);
    const missed = afterMissedProbes(UP, 150_000, 30_000);
    expect(missed.verdict).toMatchObject({ status: 'Unknown', reason: 'ProbeMissing' });
    expect(afterMissedProbes(missed, 200_000, 30_000)).toBe(missed);
  });

  it('are counted from the last probe, even if it failed', () => {
    const failed = afterProbe(UP, down('network'), 100_000);
    expect(afterMissedProbes(failed, 200_000, 30_000)).toBe(failed);
  });

  it('end a row of failures', () => {
    const failing = afterProbe(afterProbe(UP, down('network'), 0), down('network'), 0);
    const missed = afterMissedProbes(failing, 150_000, 30_000);
    expect(verdicts(missed, down('network'), down('network'), down('network'))).toEqual([
      'Unknown ProbeMissing',
      'Unknown ProbeMissing',
      'False ProbeNetworkFailed',
    ]);
  });
});
