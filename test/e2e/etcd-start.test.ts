import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithEtcd, type Etcd, etcdCall, freePorts, startEtcd } from '../conformance/etcd-process.ts';
import { PROGRAM } from '../program.ts';

const GRPC = /grpc|deadline|UNAVAILABLE|LB pick|Resolution note|etcdserver|\n\s+at /i;

interface Started {
  readonly child: ChildProcess;
  readonly url: string;
  readonly output: { text: string };
  readonly ended: Promise<unknown[]>;
}

describeWithEtcd('B33: a start while etcd is unreachable', () => {
  let folder: string;
  let etcd: Etcd;
  const children: ChildProcess[] = [];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clusterpass-wait-'));
    await writeFile(join(folder, 'key'), randomBytes(32).toString('base64'), { mode: 0o600 });
    etcd = await startEtcd();
    // A member that is killed before it has written its identity does not start again.
    await etcdCall(etcd, '/v3/kv/range', { key: Buffer.from('/').toString('base64') });
    await etcd.members[0]?.kill();
  });
  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL');
    await etcd.destroy();
  });

  async function start(name: string, ...args: string[]): Promise<Started> {
    const [port] = await freePorts(1);
    const child = spawn(
      process.execPath,
      [
        ...[PROGRAM, 'serve', '--data-dir', join(folder, name), '--listen', `127.0.0.1:${port}`],
        ...['--store', `etcd://${etcd.endpoints.join(',')}/wait`, '--encryption-key-file', join(folder, 'key')],
        ...['--probe-interval', '0', ...args],
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    children.push(child);
    const output = { text: '' };
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output.text += text;
      });
    }
    return { child, url: `http://127.0.0.1:${port}`, output, ended: once(child, 'exit') };
  }
  const waits = ({ output }: Started): number => output.text.split('waiting for the store').length - 1;
  const codeOf = (url: string): Promise<number> =>
    fetch(url).then(
      ({ status }) => status,
      () => 0,
    );

  it('waits and logs it, is alive and not ready, and serves as soon as etcd is reachable', async () => {
    const started = await start('one');
    await expect.poll(() => waits(started)).toBeGreaterThanOrEqual(2);
    expect(started.output.text).toContain(`${etcd.endpoints[0]}: connect ECONNREFUSED`);
    expect(started.output.text).not.toMatch(GRPC);
    expect(await codeOf(`${started.url}/livez`)).toBe(200);
    expect(await codeOf(`${started.url}/readyz`)).toBe(503);
    // The lines above say why, and a probe asks every few seconds.
    await expect.poll(() => started.output.text).toContain('"path":"/readyz","code":503');
    expect(started.output.text).not.toContain('health check failed');
    expect(started.child.exitCode).toBeNull();
    await etcd.members[0]?.restart();
    await expect.poll(() => codeOf(`${started.url}/readyz`)).toBe(200);
    expect(started.output.text).toContain('Clusterpass serves');
    started.child.kill('SIGTERM');
    expect(await started.ended).toEqual([0, null]);
    await etcd.members[0]?.kill();
  });
});
