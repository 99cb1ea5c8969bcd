import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

/** In a process of its own: what is set here can not be taken back. */
const PROGRAM = `
  import { readdirSync, readFileSync } from 'node:fs';
  import { getPriority } from 'node:os';
  import { newPrivateKey, signJws } from ${JSON.stringify(new URL('./keys/algorithms.ts', import.meta.url).href)};
  import { letLoopGoFirst } from ${JSON.stringify(new URL('./pool-priority.ts', import.meta.url).href)};
  await signJws('ES256', await newPrivateKey('ES256'), 'x');
  const before = getPriority();
  const moved = letLoopGoFirst();
  const priorities = readdirSync('/proc/self/task').map((task) => [
    readFileSync('/proc/self/task/' + task + '/comm', 'utf8').trim(),
    getPriority(Number(task)),
  ]);
  console.log(JSON.stringify({ before, after: getPriority(), moved, priorities }));
`;

it.runIf(process.platform === 'linux')(
  'A23: signatures give way to the event loop, and nothing else does',
  async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', PROGRAM]);
    const { before, after, moved, priorities } = JSON.parse(stdout) as {
      before: number;
      after: number;
      moved: number;
      priorities: [string, number][];
    };
    const pool = priorities.filter(([name]) => name === 'libuv-worker');
    expect(pool.length).toBeGreaterThan(0);
    expect([moved, after]).toEqual([pool.length, before]);
    for (const [name, priority] of priorities) {
      expect(priority, name).toBe(name === 'libuv-worker' ? Math.min(before + 10, 19) : before);
    }
  },
);
