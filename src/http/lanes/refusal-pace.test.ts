import { describe, expect, it } from 'vitest';
import { RefusalPace } from './refusal-pace.ts';

function startPace(maxHeld = 2) {
  let now = 0;
  const wake: (() => void)[] = [];
  const pace = new RefusalPace({
    perSecond: 2,
    holdMs: 1_000,
    maxHeld,
    now: () => now,
    sleep: () => new Promise<void>((resolve) => wake.push(resolve)),
  });
  const log: string[] = [];
  const ask = (who: string): Promise<void> =>
    pace.wait(who).then((answer) => void log.push(`${who} ${answer ? 'answered' : 'cut'}`));
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return { ask, log, wake, settled, later: (ms: number) => (now += ms) };
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

  it('start anew with every second', async () => {
    const { ask, log, later, settled } = startPace();
    for (let i = 0; i < 2; i += 1) void ask('a');
    later(1_000);
    for (let i = 0; i < 2; i += 1) void ask('a');
    await settled();
    expect(log).toHaveLength(4);
  });
});
