import { describe, expect, it } from 'vitest';
import { TokenRejected } from '../../tokens/jws.ts';
import { createAuthenticationLog } from './authentication-log.ts';

describe('the log of refused credentials', () => {
  const start = () => {
    const lines: Record<string, unknown>[] = [];
    const clock = { now: 0 };
    const log = createAuthenticationLog({ info: (fields: object) => lines.push({ ...fields }) }, () => clock.now);
    return { lines, clock, log };
  };

  it('says why', () => {
    const { lines, log } = start();
    log({ auditId: 'a', address: '10.0.0.1', cause: new TokenRejected('service account token has expired') });
    expect(lines).toEqual([{ auditId: 'a', address: '10.0.0.1', reason: 'service account token has expired' }]);
  });

  it('A8: holds nothing of the token', () => {
    const { lines, log } = start();
    const audiences = 'token audiences ["canary" "can\\"ary"] is invalid for the target audiences ["canary"]';
    const token = `eyJ${'canary0A'.repeat(8)}`;
    for (const cause of [audiences, `bad ${token}`, `"${token}`]) log({ auditId: 'a', address: 'b', cause });
    expect(lines.map(({ reason }) => reason)).toEqual([
      'token audiences ["..." "..."] is invalid for the target audiences ["..."]',
      'bad <redacted>',
      '"<redacted>',
    ]);
    log({ auditId: 'a', address: 'c', cause: 'x '.repeat(10_000) });
    expect(String(lines.at(-1)?.reason).length).toBeLessThan(300);
  });

  it('A10: one address, or many, cannot fill the log, and what is left out is counted', () => {
    const { lines, clock, log } = start();
    for (let i = 0; i < 100; i++) log({ auditId: `${i}`, address: 'one', cause: 'x' });
    expect(lines).toHaveLength(5);
    log({ auditId: 'other', address: 'two', cause: 'x' });
    expect(lines.at(-1)).toEqual({ auditId: 'other', address: 'two', reason: 'x', leftOut: 95 });
    for (let i = 0; i < 1_000; i++) log({ auditId: `${i}`, address: `${i}`, cause: 'x' });
    expect(lines).toHaveLength(50);
    clock.now = 60_000;
    log({ auditId: 'later', address: 'one', cause: 'x' });
    expect(lines.at(-1)).toMatchObject({ auditId: 'later', leftOut: 956 });
  });
});
