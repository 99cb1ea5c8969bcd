import { readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { freePorts } from '../conformance/etcd-process.ts';
import { ASK, codeFor, createCluster, createObjects, issue, tokenPath } from './support/objects.ts';
import { openSocket } from './support/open-socket.ts';
import { CLUSTERS } from './support/paths.ts';
import { logLines, run } from './support/run.ts';
import { FAST_INTERVALS, type Server, startServer, TLS, tokenOf } from './support/server.ts';
import { beforeAllWithServer } from './support/shared-server.ts';
import { brief, Watch } from './support/watch.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('a start', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clusterpass-start-'));
    await writeFile(join(folder, 'config.yaml'), 'lisen: 127.0.0.1:0\n');
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const serve = (...args: string[]) => run(['serve', '--data-dir', join(folder, 'data'), ...args]);

  // Mistakes that are only found without these are in src/config/load-options.test.ts.
  it('with wrong options exits with 2, and names all of them at once', async () => {
    const args = [
      ...['--listen', 'nonsense', '--base-url', 'ftp://x', '--product-name', 'apis', '--store', 'mysql://x'],
      ...['--service-account-max-token-expiration', 'forever', '--log-level', 'loud'],
      ...['--config', join(folder, 'config.yaml')],
    ];
    const { code, stderr, stdout } = await run(['serve', ...args], { CLUSTERPASS_WORKERS: 'many' });
    const flags = args.filter((arg) => arg.startsWith('--') && arg !== '--config');
    for (const text of [...flags, 'lisen', 'CLUSTERPASS_WORKERS']) expect(stderr).toContain(text);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect([code, stdout]).toEqual([2, '']);
  });

  it('on an address in use exits with 1, and says so', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as { port: number };
    const { code, stderr } = await serve('--listen', `127.0.0.1:${port}`);
    other.close();
    expect(code).toBe(1);
    expect(stderr).toContain(`clusterpass: 127.0.0.1:${port} is in use by another program`);
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  it('with a file in place of a folder exits with 1, and names it', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'clusterpass-start-')), 'file');
    await writeFile(file, '');
    const args = ['--data-dir', dirname(file), '--audit-log-path', join(file, 'audit.log')];
    const { code, stderr } = await run(['serve', '--listen', '127.0.0.1:0', ...args]);
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`^clusterpass: cannot use ${file}[^:]*: [a-z ]+$`, 'm'));
    expect(stderr).not.toMatch(/E[A-Z]{4,}| at |mkdir/);
    await rm(dirname(file), { recursive: true });
  });

  it('A1: with an admin token that others can read ends with 1, also when a token file is watched', async () => {
    const data = join(folder, 'admin');
    await mkdir(data, { mode: 0o700 });
    await writeFile(join(data, 'admin.token'), 'a-token-that-everyone-can-read\n', { mode: 0o644 });
    await writeFile(join(folder, 'tokens.csv'), 'token-of-jane-0123456789,jane,1\n', { mode: 0o600 });
    const tokens = ['--token-auth-file', join(folder, 'tokens.csv')];
    const { code, stderr } = await run(['serve', '--data-dir', data, '--listen', '127.0.0.1:0', ...tokens]);
    expect(code).toBe(1);
    expect(stderr).toContain(join(data, 'admin.token'));
  });
});

describe('a start with another --base-url than the last one', () => {
  const warnings = ({ output }: Server): unknown[] =>
    logLines(output.stderr)
      .filter(({ msg }) => String(msg).includes('another --base-url'))
      .map(({ before, baseUrl }) => [before, baseUrl]);

  it('K-09: is warned of once, also with workers, and tokens of the other issuer are refused', async () => {
    const [port = 0] = await freePorts(1);
    const startAs = (host: string, ...args: string[]) =>
      startServer({ dataDir, port, args: ['--base-url', `https://${host}.example.com`, ...args] });
    const dataDir = await mkdtemp(join(tmpdir(), 'clusterpass-moved-'));
    const first = await startAs('cp');
    await createObjects(first);
    const token = await issue(first);
    expect([warnings(first), await codeFor(first, token)]).toEqual([[], 200]);
    await first.stop();
    const second = await startAs('pc', '--workers', '2');
    expect(warnings(second)).toEqual([['https://cp.example.com', 'https://pc.example.com']]);
    expect(await codeFor(second, token)).toBe(401);
    await second.stop();
    const third = await startAs('pc');
    expect(warnings(third)).toEqual([]);
    await third.destroy();
  });
});

describe('A1: a start with a secret that others can read', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clusterpass-modes-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.each([
    ['--token-auth-file', 'token-of-jane-0123456789,jane,1\n', []],
    ['--tls-private-key-file', readFileSync(TLS.keyFile, 'utf8'), ['--tls-cert-file', TLS.certFile]],
    [
      '--etcd-keyfile',
      readFileSync(TLS.keyFile, 'utf8'),
      ['--store', 'etcd://127.0.0.1:1/x', '--etcd-cafile', TLS.caFile, '--etcd-certfile', TLS.certFile],
    ],
    ['--etcd-password-file', 'secret', ['--store', 'etcd://127.0.0.1:1/x', '--etcd-username', 'root']],
    ['--encryption-key-file', 'x'.repeat(32), []],
  ])('ends with 1: %s', async (flag, content, more) => {
    const file = join(folder, flag.slice(2));
    await writeFile(file, content);
    await chmod(file, 0o644);
    const data = ['--data-dir', join(folder, 'data'), '--listen', '127.0.0.1:0'];
    const { code, stderr, stdout } = await run(['serve', ...data, flag, file, ...more]);
    expect(stderr).toContain(`${file} holds a secret and is open to its group or to others (mode 0644)`);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect([code, stdout]).toEqual([1, '']);
  });
});

describe('a start with the wrong file of a key pair', () => {
  const { certFile, keyFile } = TLS;
  const etcd = ['--store', 'etcd://127.0.0.1:1/x', '--etcd-cafile', TLS.caFile];
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clusterpass-pairs-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  // The other mistakes are in src/lib/key-pair-files.test.ts.
  it.each([
    ['', ['--tls-cert-file', keyFile, '--tls-private-key-file', certFile]],
    [' for etcd', [...etcd, '--etcd-certfile', keyFile, '--etcd-keyfile', certFile]],
  ])('says what is wrong%s', async (_, flags) => {
    const data = ['--data-dir', join(folder, 'data'), '--listen', '127.0.0.1:0'];
    const { code, stderr } = await run(['serve', ...data, ...flags]);
    const swapped = `${certFile} holds a certificate, where the private key is expected, and ${keyFile} holds the key`;
    expect([code, stderr]).toEqual([1, `clusterpass: ${swapped}: swap the two files.\n`]);
  });

  it('says that certificate and key of etcd do not belong together', async () => {
    const other = join(folder, 'other.key');
    await writeFile(other, await readFile(join(dirname(keyFile), 'client.key')), { mode: 0o600 });
    const data = ['--data-dir', join(folder, 'data'), '--listen', '127.0.0.1:0'];
    const { code, stderr } = await run([
      'serve',
      ...data,
      ...etcd,
      '--etcd-certfile',
      certFile,
      '--etcd-keyfile',
      other,
    ]);
    const message = `${certFile} and ${other} do not belong together: the certificate is of another key.`;
    expect([code, stderr]).toEqual([1, `clusterpass: ${message}\n`]);
  });
});

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
      const token = (await readFile(file, 'utf8')).trim();
      expect(token).not.toBe(server.adminToken);
      await expect.poll(() => ask(token)).toBe(200);
      expect(await ask(server.adminToken)).toBe(401);
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

  it('B19: is the only server on its data directory', async () => {
    const { code, stderr } = await run(['serve', '--data-dir', server.dataDir, '--listen', '127.0.0.1:0']);
    expect(code).toBe(1);
    const said = stderr.split('\n').filter((line) => line.startsWith('clusterpass:'));
    expect(said).toHaveLength(1);
    expect(said[0]).toMatch(/in use|another process/);
    expect(said[0]).toContain(join(server.dataDir, 'clusterpass.db'));
    expect(stderr).not.toMatch(/\n\s+at /);
    expect((await server.call('GET', CLUSTERS)).code).toBe(200);
  });

  it.each(['/livez', '/readyz', '/healthz'])('decision 8: answers %s to everyone', async (path) => {
    const { code, text } = await server.call('GET', path, { token: null });
    expect({ code, text }).toEqual({ code: 200, text: 'ok' });
    const wrong = await server.call('GET', path, { token: 'nobody' });
    expect(wrong.code).toBe(200);
  });

  it('X-18: answers /version to everyone', async () => {
    const { code, json, text, headers } = await server.call('GET', '/version', { token: null });
    expect(code).toBe(200);
    expect(headers.get('content-type')).toBe('application/json');
    expect(text).toBe(JSON.stringify(json, null, 2));
    expect(Object.keys(json)).toEqual(expect.arrayContaining(['major', 'minor', 'gitVersion', 'platform']));
  });

  it.each<[string, string, number, string | null]>([
    ['GET', '/livez', 200, null],
    ['GET', '/version', 200, null],
    ['GET', '/auth/v1/clusters', 200, 'admin'],
    ['GET', '/auth/v1/clusters', 401, null],
    ['GET', '/nowhere', 403, 'jane'],
    ['GET', '/nowhere', 404, 'admin'],
    ['POST', '/auth/v1/clusters', 405, 'admin'],
    ['GET', `${CLUSTERS}/a%2fb`, 400, 'admin'],
    ['GET', `${CLUSTERS}?timeout=x`, 400, null],
    ['POST', CLUSTERS, 400, 'admin'],
    ['GET', `${CLUSTERS}?watch=1&timeoutSeconds=1`, 200, 'admin'],
  ])('C-01: %s %s (%i) has a new Audit-Id, or the caller’s', async (method, path, code, who) => {
    const token = who === null ? null : who === 'admin' ? server.adminToken : tokenOf(who);
    const options = { token, ...(method === 'POST' ? { body: '{' } : {}) };
    const own = await server.call(method, path, options);
    expect(own.code).toBe(code);
    expect(own.headers.get('audit-id')).toMatch(UUID);
    const theirs = await server.call(method, path, { ...options, headers: { 'Audit-ID': 'my-own/id' } });
    expect(theirs.headers.get('audit-id')).toBe('my-own/id');
  });

  it('A8: writes JSON lines, and no credential in any of them', async () => {
    const issued = await issue(server);
    const forged = `${issued.slice(0, -4)}AAAA`;
    const tokens = [issued, forged, tokenOf('jane'), server.adminToken, 'canary-that-is-no-token-0123456789'];
    for (const token of tokens) {
      await server.call('GET', '/auth/v1/clusters', { token });
      await server.call('GET', `/auth/v1/clusters?access_token=${token}&limit=${token}`, { token });
      await server.call('POST', tokenPath(), { token, body: { ...ASK, status: { token } } });
      await server.call('POST', tokenPath(), { token, body: `{"spec":{"${token}":` });
      await server.call('GET', '/auth/v1/clusters', { headers: { Authorization: `Basic ${token}` } });
      await server.call('GET', '/auth/v1/clusters', { token: null, headers: { 'X-Token': token, Cookie: token } });
    }
    await expect
      .poll(() => logLines(server.output.stderr).filter(({ msg, code }) => msg === 'request' && code === 401).length)
      .toBeGreaterThan(4);
    const everything = server.output.stderr + server.output.stdout;
    for (const token of tokens) expect(everything).not.toContain(token);
    expect(everything).not.toContain('eyJ');
    const requests = logLines(server.output.stderr).filter(({ msg }) => msg === 'request');
    for (const line of requests) {
      expect(line).toMatchObject({ auditId: expect.any(String), verb: expect.any(String), code: expect.any(Number) });
      expect(line.path).not.toContain('?');
    }
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
    await expect.poll(() => logLines(server.output.stderr).length).toBe(before + 2);
    expect(logLines(server.output.stderr).some(({ msg }) => msg === 'forged')).toBe(false);
    for (const character of ['\u001b', '\u2028']) expect(server.output.stderr).not.toContain(character);
  });
});

describe('a stop', () => {
  let server: Server;
  beforeAllWithServer((shared) => {
    server = shared;
  });

  const cluster = (name: string): string =>
    JSON.stringify({ apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster', metadata: { name } });
  /** The head of a request with Expect: the response `100 Continue` shows that the request is in flight. */
  const head = (length: number): string =>
    [
      `POST ${CLUSTERS} HTTP/1.1`,
      'Host: x',
      `Authorization: Bearer ${server.adminToken}`,
      'Content-Type: application/json',
      `Content-Length: ${length}`,
      'Expect: 100-continue',
      '\r\n',
    ].join('\r\n');

  it('B16: completes requests in flight, ends watches cleanly, accepts no new connection, and loses no write', async () => {
    const watch = await Watch.open(server, '/auth/v1/clusters?watch=true');
    await createCluster(server, 'first');
    expect((await watch.take(1)).map(brief)).toEqual(['ADDED first']);
    const body = cluster('last');
    const socket = await openSocket(server);
    socket.write(head(body.length));
    await socket.until('100 Continue');

    const stopped = server.stop();
    await expect.poll(() => server.output.stderr).toContain('"stopping"');
    // The stream ends without an error. A broken connection would throw here.
    await watch.rest();
    await expect
      .poll(() =>
        openSocket(server).then(
          () => 'open',
          () => 'refused',
        ),
      )
      .toBe('refused');
    socket.write(body);
    const answer = await socket.rest();
    expect(answer).toMatch(/HTTP\/1\.1 201 Created\r\n/);
    expect(answer).toMatch(/\r\nConnection: close\r\n/i);
    expect(await stopped).toBe(0);

    server = await server.restart();
    const { json } = await server.call('GET', CLUSTERS);
    expect(json.items.map((item: { metadata: { name: string } }) => item.metadata.name)).toEqual(['first', 'last']);
  });

  it('B1: by SIGKILL loses nothing that was acknowledged, and the next start needs no help', async () => {
    const names = Array.from({ length: 50 }, (_, index) => `c-${index}`);
    const acknowledged: string[] = [];
    const writing = names.map(async (name) => {
      try {
        await createCluster(server, name);
        acknowledged.push(name);
      } catch {
        // The connection broke: the write may have happened or not.
      }
    });
    await expect.poll(() => acknowledged.length).toBeGreaterThan(0);
    await server.kill();
    await Promise.all(writing);
    server = await server.restart();
    const { json } = await server.call('GET', CLUSTERS);
    const kept = json.items.map((item: { metadata: { name: string } }) => item.metadata.name);
    expect(kept).toEqual(expect.arrayContaining(acknowledged));
    await createCluster(server, 'after');
  });

  it('ends at once after a second signal', async () => {
    const socket = await openSocket(server);
    socket.write(head(10));
    await socket.until('100 Continue');
    const stopped = server.stop();
    await expect.poll(() => server.output.stderr).toContain('"stopping"');
    process.kill(server.pid, 'SIGTERM');
    expect(await stopped).toBe(1);
  });
});
