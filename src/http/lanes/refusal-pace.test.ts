import { describe, expect, it } from 'vitest';
import { RefusalPace } from './refusal-pace.ts';

function startPace(maxHeld = 2) {
  let now = 0;
  const wake: (() => void)[] = [];
  const holds: number[] = [];
  const pace = new RefusalPace({
    perSecond: 2,
    holdMs: 1_000,
    maxHoldMs: 3_000,
    maxHeld,
    now: () => now,
    sleep: (ms) => {
      holds.push(ms);
      return new Promise<void>((resolve) => wake.push(resolve));
    },
  });
  const log: string[] = [];
  const ask = async (who: string): Promise<void> => {
    log.push(`${who} ${(await pace.wait(who)) ? 'answered' : 'cut'}`);
  };
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return { ask, log, wake, holds, settled, later: (ms: number) => (now += ms) };
}

describe('B15: refusals', () => {
  it('are sent at once, until somebody asks for too many of them', async () => {
    const { ask, log, wake, settled } = startPace();
    for (let i = 0; i < 4; i += 1) void ask('a');
    void ask('b');
    await settled();
    expect(log).toEqual(['a answered', 'a answered', 'b answered']);
    for (const resume of wake) resume();
    await settled();
    expect(log.filter((line) => line === 'a answered')).toHaveLength(4);
  });

  it('are not kept without end: past that the connection is closed', async () => {
    const { ask, log, wake, settled } = startPace(1);
    for (let i = 0; i < 4; i += 1) void ask('a');
    await settled();
    expect(log).toEqual(['a answered', 'a answered', 'a cut']);
    for (const resume of wake) resume();
    await settled();
    void ask('a');
    await settled();
    expect(wake).toHaveLength(2);
  });

  it('are held back the longer the more there are, within limits: more connections do not get more of them', async () => {
    const { ask, holds, wake, settled } = startPace(10);
    for (let i = 0; i < 11; i += 1) void ask('a');
    expect(holds).toEqual([1_000, 1_000, 1_000, 1_500, 2_000, 2_500, 3_000, 3_000, 3_000]);
    for (const resume of wake) resume();
    await settled();
    void ask('a');
    expect(holds.at(-1)).toBe(1_000);
    wake.at(-1)?.();
    await settled();
  });

  it('start anew with every second', async () => {
    const { ask, log, later, settled } = startPace();
    for (let i = 0; i < 2; i += 1) void ask('a');
    later(1_000);
    for (let i = 0; i < 2; i += 1) void ask('a');
    await settled();
    expect(log).toHaveLength(4);
  });
});
