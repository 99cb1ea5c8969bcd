import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { freePorts } from '../conformance/etcd-process.ts';
import { expectStatus } from './support/expect-status.ts';
import { type Answer, type Server, startServer, tokenOf } from './support/server.ts';

const CONFIGURATION = 'apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt: []\n';

it('R-10: until it can serve, paths other than health and version are 503 with Retry-After', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'clusterpass-e2e-'));
  const configuration = join(dataDir, 'authentication.yaml');
  let started: Promise<Server> | undefined;
  let released = false;
  try {
    // The reader of a named pipe waits for a writer, so this test decides when the start continues.
    execFileSync('mkfifo', ['-m', '600', configuration]);
    // The program prints its address only when it serves.
    const [port = 0] = await freePorts(1);
    started = startServer({ dataDir, port, users: { jane: [] }, args: ['--authentication-config', configuration] });
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
    await writeFile(configuration, CONFIGURATION);
    released = true;
    const server = await started;
    const list = await server.call('GET', '/auth/v1/clusters', { token: tokenOf('jane') });
    expect([list.code, list.json.items]).toEqual([200, []]);
    expect((await call('/readyz')).code).toBe(200);
  } finally {
    // Also when an expectation failed before the start could end, or when the program did.
    if (!released) await Promise.race([writeFile(configuration, CONFIGURATION), started]).catch(() => {});
    await (await started?.catch(() => undefined))?.destroy();
    await rm(dataDir, { recursive: true, force: true });
  }
});
