import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { fakeContext } from './cli.fixture.ts';
import { runForCluster } from './run-for-cluster.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clusterpass-exec-'));
});

const TARGET = {
  cluster: 'alpha',
  label: 'alpha',
  server: 'https://alpha.example.com',
  caBundle: undefined,
  namespace: 'ci',
  token: 'a-token',
};

/** Runs a script of sh. `$PID` is a file for the id of a process; `stopAt` interrupts the command once it is there. */
async function runScript(
  script: string,
  { timeoutMs = 60_000 as number | undefined, stopAt = 'never' as 'never' | 'start' | 'pid' } = {},
) {
  const kubeconfigs = await mkdtemp(join(folder, 'kubeconfigs-'));
  const file = join(folder, 'pid');
  const context = { ...fakeContext({}), cwd: folder };
  const interrupt = new AbortController();
  const settings = {
    command: ['sh', '-c', script],
    timeoutMs,
    folder: kubeconfigs,
    signal: interrupt.signal,
  };
  const env = { PATH: process.env.PATH, PID: file };
  const ended = runForCluster(context, { ...TARGET, env }, settings);
  let pid: number | undefined;
  while (stopAt === 'pid' && !pid) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    pid = Number(await readFile(file, 'utf8').catch(() => ''));
  }
  if (stopAt !== 'never') interrupt.abort();
  const failure = await ended;
  expect(await readdir(kubeconfigs)).toEqual([]);
  return { failure, written: context.written, pid };
}

/** Not the rest of a process whose parent has not read its exit code. */
async function isAlive(pid: number | undefined): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  return stat !== undefined && !/\) [ZX] /.test(stat);
}

describe('a command for a cluster', () => {
  it('says how it ended, after all of its output', async () => {
    const { failure, written } = await runScript('echo out; echo err >&2; (sleep 0.1; echo last) & exit 3');
    expect([failure, written]).toEqual(['exit code 3', { out: 'alpha: out\nalpha: last\n', err: 'alpha: err\n' }]);
  });

  it('has an empty input', async () => {
    expect((await runScript('cat')).written.out).toBe('');
  });

  it('is ended with its children at the timeout', async () => {
    // The end of the output shows that no child is left.
    const { failure } = await runScript('sleep 600; true', { timeoutMs: 500 });
    expect(failure).toBe('no result within 0.5 s');
  });

  it.each([2 ** 31, undefined])('is not ended by a timeout of %s ms', async (timeoutMs) => {
    expect((await runScript('sleep 0.1', { timeoutMs })).failure).toBeUndefined();
  });

  it('is ended with its children by an interrupt', async () => {
    const { failure, pid } = await runScript('sleep 600 & echo $! > "$PID"; wait', { stopAt: 'pid' });
    expect(failure).toBe('ended by SIGTERM');
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it('is killed with its children if they ignore SIGTERM', async () => {
    const script = 'sh -c \'trap "" TERM; echo $$ > "$PID"; while :; do sleep 1; done\'; true';
    const { failure, pid } = await runScript(script, { stopAt: 'pid' });
    expect(failure).toBe('killed');
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it('is killed with children that write elsewhere', async () => {
    const script = 'sh -c \'trap "" TERM; echo $$ > "$PID"; while :; do sleep 1; done\' > /dev/null 2>&1 & wait';
    const { failure, pid } = await runScript(script, { stopAt: 'pid' });
    expect(failure).toBe('ended by SIGTERM');
    await expect.poll(() => isAlive(pid)).toBe(false);
  });
});
