import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { CLUSTER_CONDITIONS, conclude, isBadCondition, withCondition } from './conditions.ts';

const T1 = '2026-11-01T00:00:00Z';
const T2 = '2026-11-01T00:05:00Z';

describe('the table of conditions', () => {
  it('the documents list each reason with its status', async () => {
    const pages = await Promise.all(['operations', 'trust'].map((name) => readFile(`docs/${name}.md`, 'utf8')));
    const text = pages.join('\n');
    const listed = [...text.matchAll(/^\| `(True|False|Unknown)` \| `(\w+)` \|/gm)].map(([, status, reason]) => [
      reason,
      status,
    ]);
    const { Ready, CredentialUsable, EndpointsConfirmed } = CLUSTER_CONDITIONS;
    expect(listed.toSorted()).toEqual(
      [...Object.entries(Ready.reasons), ...Object.entries(CredentialUsable.reasons)].toSorted(),
    );
    for (const reason of Object.keys(EndpointsConfirmed.reasons)) expect(text).toContain(`\`${reason}\``);
    for (const type of Object.keys(CLUSTER_CONDITIONS)) expect(text).toContain(`condition \`${type}\``);
  });

  it('a reason decides about the status, and the type about which status is bad', () => {
    expect(conclude('Ready', 'ProbeMissing', 'm')).toEqual({ status: 'Unknown', reason: 'ProbeMissing', message: 'm' });
    expect(isBadCondition({ type: 'Ready', status: 'False' })).toBe(true);
    expect(isBadCondition({ type: 'Ready', status: 'Unknown' })).toBe(false);
    expect(isBadCondition({ type: 'constructor', status: 'False' })).toBe(true);
    expect(isBadCondition({})).toBe(false);
  });
});

describe('a status with a condition', () => {
  const before = withCondition({ version: 'v1' }, 'Ready', conclude('Ready', 'ProbeSucceeded', 'm'), T1);

  it('is the same when nothing but times would change, unless it is a heartbeat', () => {
    const same = conclude('Ready', 'ProbeSucceeded', 'm');
    expect(withCondition(before, 'Ready', same, T2)).toBe(before);
    expect(withCondition(before, 'Ready', same, T2, true).conditions).toEqual([
      { type: 'Ready', ...same, lastHeartbeatTime: T2, lastTransitionTime: T1 },
    ]);
  });

  it('has the time of the transition when the status changes, and loses the condition without a conclusion', () => {
    const down = withCondition(before, 'Ready', conclude('Ready', 'ProbeTimedOut', 'm'), T2);
    expect(down).toMatchObject({ version: 'v1', conditions: [{ status: 'False', lastTransitionTime: T2 }] });
    expect(withCondition(down, 'Ready', undefined, T2)).toEqual({ version: 'v1', conditions: [] });
  });
});
