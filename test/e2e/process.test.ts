import { execFileSync } from 'node:child_process';
import { appendFile, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../conformance/etcd-process.ts';
import { expectStatus } from './support/expect-status.ts';
import { createObjects } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { logLines, run } from './support/run.ts';
import { type Answer, FAST_INTERVALS, type Server, startServer, tokenOf } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';

describe('A1: tokens of files', () => {
  it('are not rotated in a directory that is not the one of the server, or on a full disk', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'clusterpass-rotate-'));
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
});

describe('a server from its start until its files are gone', () => {
  let dataDir: string;
  let configuration: string;
  let port: number;
  let started: Promise<Server>;
  let server: Server;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'clusterpass-e2e-'));
    configuration = join(dataDir, 'authentication.yaml');
    // The reader of a named pipe waits for a writer, so a test decides when the start continues.
    execFileSync('mkfifo', ['-m', '600', configuration]);
    [port = 0] = await freePorts(1);
    // A file of its own for API servers that ask for each pass.
    const webhook = join(dataDir, 'webhook.csv');
    await writeFile(webhook, `${tokenOf('webhook')},webhook:prod,webhook:prod\n`, { mode: 0o600 });
    // A minute of the monotonic clock takes two seconds.
    const faster =
      'const now = performance.now.bind(performance); performance.now = () => now() * 30;' +
      'const { bigint } = process.hrtime; process.hrtime.bigint = () => bigint() * 30n;';
    // The program prints its address only when it serves.
    started = startServer({
      dataDir,
      port,
      users: { jane: [] },
      args: ['--max-clock-skew', '0', '--authentication-config', configuration, '--token-auth-file', webhook],
      env: {
        NODE_OPTIONS: `${FAST_INTERVALS.NODE_OPTIONS} --import=data:text/javascript,${encodeURIComponent(faster)}`,
      },
    });
    // Awaited below.
    started.catch(() => {});
  });
  afterAll(async () => {
    // Also when an expectation failed before the start could end, or when the program did.
    if (server === undefined) await Promise.race([release(), started]).catch(() => {});
    await (await started.catch(() => undefined))?.destroy();
  });

  /** Lets the start continue. Then the configuration is a file: the server reads it again. */
  async function release(): Promise<void> {
    const text = 'apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt: []\n';
    await writeFile(`${configuration}.next`, text, { mode: 0o600 });
    await writeFile(configuration, text);
    await rename(`${configuration}.next`, configuration);
  }

  it('R-10: until it can serve, paths other than health and version are 503 with Retry-After', async () => {
    const call = async (path: string, token?: string): Promise<Pick<Answer, 'code' | 'text' | 'headers' | 'json'>> => {
      const headers = { 'User-Agent': 'test', ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }) };
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
      const text = await response.text();
      return {
        code: response.status,
        text,
        headers: response.headers,
        get json() {
          return JSON.parse(text);
        },
      };
    };
    await expect
      .poll(
        () =>
          call('/livez').then(
            ({ code }) => code,
            () => 0,
          ),
        { timeout: 30_000 },
      )
      .toBe(200);
    for (const token of [undefined, 'nobody', tokenOf('jane')]) {
      for (const path of ['/auth/v1/clusters', '/apis', '/no/such/path', '/auth/v1/clusters?watch=true']) {
        const answer = await call(path, token);
        expectStatus(answer as Answer, {
          code: 503,
          reason: 'ServiceUnavailable',
          message: 'the server is starting, please try again',
          details: { retryAfterSeconds: 1 },
        });
        expect(answer.headers.get('retry-after')).toBe('1');
      }
    }
    expect((await call('/readyz')).code).toBe(503);
    expect((await call('/version')).code).toBe(200);
    await release();
    server = await started;
    const list = await server.call('GET', '/auth/v1/clusters', { token: tokenOf('jane') });
    expect([list.code, list.json.items]).toEqual([200, []]);
    expect((await call('/readyz')).code).toBe(200);
  });

  it('A1: tokens are withdrawn with their file: the admin token at once, static tokens after a minute', async () => {
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
    await expect.poll(() => Promise.all(['jane', 'webhook'].map(tokenOf).map(ask))).toEqual([401, 200]);
    // The server serves other callers: one bad file that all replicas read must not stop them all.
    const ready = await server.call('GET', '/readyz?verbose', { token: null });
    expect([ready.code, ready.text]).toEqual([200, expect.stringContaining('[!]token-file failed: reason withheld')]);
    expect((await server.call('GET', '/readyz/token-file', { token: null })).code).toBe(503);
    await expect.poll(() => server.output.stderr).toContain('is gone; its previous content is no longer in force');
  });
});

describe('a running server', () => {
  const server = sharedServer();
  beforeAll(() => createObjects(server));

  it('A1: does not open a debugger when it gets the signal for one', async () => {
    process.kill(server.pid, 'SIGUSR1');
    await expect.poll(() => server.output.stderr).toContain('SIGUSR1 ignored: the debugger stays closed');
    expect((await server.call('GET', '/livez')).code).toBe(200);
    expect(server.output.stderr).not.toContain('Debugger listening');
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
