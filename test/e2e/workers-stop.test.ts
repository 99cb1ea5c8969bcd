import { readFileSync } from 'node:fs';
import { describe, it } from 'vitest';
import { logLines } from './support/run.ts';
import { FAST_TIMEOUTS, type Server, startServer } from './support/server.ts';

const workersOf = ({ pid }: Server): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);

describe.concurrent('a stop of workers', { timeout: 180_000 }, () => {
  it('waits for a --shutdown-delay of any length, and is not caused by SIGHUP to any of them', async ({
    expect,
    onTestFinished,
  }) => {
    const server = await startServer({ args: ['--workers', '2', '--shutdown-delay', '38s'], env: FAST_TIMEOUTS });
    onTestFinished(() => server.destroy());
    const all = [server.pid, ...workersOf(server)];
    for (const pid of all) process.kill(pid, 'SIGHUP');
    await expect.poll(() => server.output.stderr.match(/SIGHUP ignored/g)?.length).toBe(3);
    expect([server.pid, ...workersOf(server)]).toEqual(all);
    expect(await server.stop()).toBe(0);
    // None was killed.
    expect(logLines(server.output.stderr).filter(({ level }) => level === 'error')).toEqual([]);
  });
});
