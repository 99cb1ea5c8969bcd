import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createObjects } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { logLines, run } from './support/run.ts';
import { FAST_INTERVALS, type Server, startServer, tokenOf } from './support/server.ts';
import { beforeAllWithServer } from './support/shared-server.ts';

describe('A1: tokens of files', () => {
  it('are not rotated in a directory that is not the one of the server, or on a full disk', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'clusterpass-rotate-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, 'admin.token');
    const rotate = ['admin-token', 'rotate', '--data-dir', folder];
    expect(await run(rotate)).toEqual({
      code: 1,
      stdout: '',
      stderr:
        `clusterpass: there is no ${file}: is --data-dir the data directory of the server? ` +
        'If the file was removed, the next start makes a new one\n',
    });
    expect(await readdir(folder)).toEqual([]);
    await writeFile(file, `${'x'.repeat(32)}\n`, { mode: 0o600 });
    const full = await run(rotate, {}, ['prlimit', '--fsize=10']);
    expect(full).toEqual({
      code: 1,
      stdout: '',
      stderr: `clusterpass: cannot use ${file}: the file is larger than this process may write\n`,
    });
    expect(await readdir(folder)).toEqual(['admin.token']);
  });

  it('are withdrawn with their file: the admin token at once, static tokens after a minute', async () => {
    // A minute of the monotonic clock takes two seconds.
    const faster = 'const now = performance.now.bind(performance); performance.now = () => now() * 30;';
    const server = await startServer({
      users: { jane: [] },
      args: ['--max-clock-skew', '0'],
      env: {
        NODE_OPTIONS: `${FAST_INTERVALS.NODE_OPTIONS} --import=data:text/javascript,${encodeURIComponent(faster)}`,
      },
    });
    try {
      const ask = async (token: string) => (await server.call('GET', '/auth/v1/clusters', { token })).code;
      const file = join(server.dataDir, 'admin.token');
      const rotated = await run(['admin-token', 'rotate', '--data-dir', server.dataDir]);
      expect([rotated.code, rotated.stdout]).toEqual([0, '']);
      expect(rotated.stderr).toContain('Each other replica has another admin.token, which stays valid');
      const token = (await readFile(file, 'utf8')).trim();
      expect(token).not.toBe(server.adminToken);
      await expect.poll(() => ask(token)).toBe(200);
      expect(await ask(server.adminToken)).toBe(401);
      // One line with a mistake refuses its own caller: a replica that starts then serves the others, too.
      await appendFile(join(server.dataDir, 'users.csv'), 'no-user-name\n');
      await expect.poll(async () => (await server.call('GET', '/readyz/token-file', { token: null })).code).toBe(503);
      expect(await ask(tokenOf('jane'))).toBe(200);
      const metrics = await server.call('GET', '/metrics', { token });
      expect(metrics.text).toContain('\nclusterpass_caller_lines_refused 1\n');
      await rm(file);
      await expect.poll(() => ask(token)).toBe(401);
      expect([await ask(tokenOf('jane')), (await server.call('GET', '/readyz')).code]).toEqual([200, 200]);
      await rm(join(server.dataDir, 'users.csv'));
      await expect.poll(() => ask(tokenOf('jane'))).toBe(401);
      // The server serves other callers: one bad file that all replicas read must not stop them all.
      const ready = await server.call('GET', '/readyz?verbose', { token: null });
      expect([ready.code, ready.text]).toEqual([200, expect.stringContaining('[!]token-file failed: reason withheld')]);
      expect((await server.call('GET', '/readyz/token-file', { token: null })).code).toBe(503);
      await expect.poll(() => server.output.stderr).toContain('is gone; its previous content is no longer in force');
    } finally {
      await server.destroy();
    }
  });
});

describe('a running server', () => {
  let server: Server;
  beforeAllWithServer(async (shared) => {
    server = shared;
    await createObjects(server);
  });

  it('A1: does not open a debugger when it gets the signal for one', async () => {
    process.kill(server.pid, 'SIGUSR1');
    await expect.poll(() => server.output.stderr).toContain('SIGUSR1 ignored: the debugger stays closed');
    expect((await server.call('GET', '/livez')).code).toBe(200);
    expect(server.output.stderr).not.toContain('Debugger listening');
  });

  it('goes on serving at a SIGHUP, as log rotation sends it', async () => {
    process.kill(server.pid, 'SIGHUP');
    await expect.poll(() => server.output.stderr).toContain('SIGHUP ignored: files are read again without it');
    expect((await server.call('GET', '/livez')).code).toBe(200);
  });

  it('A10: a caller cannot inject lines', async () => {
    const before = logLines(server.output.stderr).length;
    const name = '\u001b[31m{"level":"info"}\u2028x';
    await server.call('GET', `/orchestrator/x/${encodeURIComponent('{"msg":"forged"}')}`, {
      headers: { 'User-Agent': '{"msg":"forged"}', 'Audit-ID': '{"msg":"forged"}' },
    });
    await server.call('POST', CLUSTERS, {
      body: { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster', metadata: { name } },
    });
    await expect.poll(() => logLines(server.output.stderr).length).toBeGreaterThanOrEqual(before + 2);
    expect(logLines(server.output.stderr).some(({ msg }) => msg === 'forged')).toBe(false);
    for (const character of ['\u001b', '\u2028']) expect(server.output.stderr).not.toContain(character);
  });
});
