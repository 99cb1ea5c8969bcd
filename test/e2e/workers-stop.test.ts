import { readFileSync } from 'node:fs';
import { describe, it } from 'vitest';
import { logLines } from './support/run.ts';
import { FAST_TIMEOUTS, type Server, startServer } from './support/server.ts';

/**
 * A worker that is not told to wait has 35 seconds to stop, which take seven here. The tests are concurrent: they only
 * wait.
 */
const STOP_MS = 35_000;

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

  it('kills a worker that does not stop, and says so', async ({ expect, onTestFinished }) => {
    const server = await startServer({ args: ['--workers', '2'], env: FAST_TIMEOUTS });
    onTestFinished(() => server.destroy());
    process.kill(workersOf(server)[0] ?? 0, 'SIGSTOP');
    expect(await server.stop()).toBe(0);
    expect(logLines(server.output.stderr).filter(({ level }) => level === 'error')).toMatchObject([
      { msg: 'a worker did not stop in time and was killed: requests in flight were lost', timeoutMs: STOP_MS },
    ]);
  });
});
